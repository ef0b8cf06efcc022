"""The built-in models, the models behind litellm, and the protocol that all providers implement."""

from __future__ import annotations

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.models._refusals import RENAMED, SYSTEM, refusal_lines
from pytest_tablebench.models._tokenizers import picture_size, picture_tokens
from pytest_tablebench.models.base import (
    MAX_REPLY,
    Message,
    Provider,
    Reply,
    Request,
    as_read,
    limited,
)
from pytest_tablebench.models.batch_service import BATCH_PROVIDERS
from pytest_tablebench.models.gguf import PREFIX, SMOLLM2, GGUFModel, find_model
from pytest_tablebench.models.litellm_facts import Resolution, needs_litellm
from pytest_tablebench.models.litellm_model import LiteLLMModel
from pytest_tablebench.models.model_table import litellm_version, not_tested
from pytest_tablebench.util.names import unknown_name

__all__ = [
    "BATCH_PROVIDERS",
    "MAX_REPLY",
    "RENAMED",
    "SYSTEM",
    "GGUFModel",
    "LiteLLMModel",
    "Message",
    "Provider",
    "Reply",
    "Request",
    "Resolution",
    "as_read",
    "limited",
    "litellm_version",
    "make_provider",
    "needs_litellm",
    "not_tested",
    "picture_size",
    "picture_tokens",
    "refusal_lines",
]


_BUILT_IN = ("tablebench/lexical", SMOLLM2, "tablebench/scripted:PATH")


def make_provider(
    name: str,
    *,
    api_base: str | None = None,
    timeout: float = 120.0,
    max_reply: int = MAX_REPLY,
) -> Provider | LiteLLMModel:
    """Make the provider for a model name; the engine calls a `LiteLLMModel` asynchronously.

    Arguments:
        name: a built-in model, `gguf:PATH`, or any name that litellm takes.
        api_base: address of the server, for models behind litellm.
        timeout: seconds one call may take, for models behind litellm.
        max_reply: bytes of UTF-8 that an answer keeps, for models behind litellm.

    Raises:
        SettingsError: the name is empty, or there is no such built-in model or file.
    """
    if not name.strip():
        raise SettingsError("the model name is empty; try tablebench/lexical or gpt-4o")
    if name.startswith(PREFIX) or name == SMOLLM2:
        return find_model(name, timeout=timeout, max_reply=max_reply)
    if not name.startswith("tablebench/"):
        return LiteLLMModel(model=name, api_base=api_base, timeout=timeout, max_reply=max_reply)
    kind, colon, path = name.removeprefix("tablebench/").partition(":")
    if kind == "lexical" and not colon:
        from pytest_tablebench.models.lexical.model import LexicalModel

        return LexicalModel()
    if kind == "scripted" and path:
        from pytest_tablebench.models._scripted import ScriptedModel

        return ScriptedModel.from_file(path)
    raise SettingsError(unknown_name("built-in model", name, _BUILT_IN))
