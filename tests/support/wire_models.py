"""The models of the providers that are called without litellm."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_tablebench.models._openai_providers import PROVIDERS, Unforeseen, check_model
from pytest_tablebench.models.model_table import model_table

UNLISTED = ("test-model", "Qwen/Qwen2.5-7B-Instruct", "vendor/model-70b")


def wire_models() -> Iterator[tuple[str, str]]:
    """Yield provider and name of each model in litellm's table, and of some others."""
    listed = {
        (entry["litellm_provider"], name.removeprefix(f"{entry['litellm_provider']}/"))
        for name, entry in model_table().items()
        if entry.get("litellm_provider") in PROVIDERS
    }
    for provider, name in sorted(listed | {(p, name) for p in PROVIDERS for name in UNLISTED}):
        try:
            check_model(provider, name)
        except Unforeseen:
            continue
        yield provider, name
