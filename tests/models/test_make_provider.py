from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.models import Message, Request, make_provider
from pytest_tablebench.models._scripted import ScriptedModel
from pytest_tablebench.models.litellm_model import LiteLLMModel


@pytest.mark.parametrize("name", ["gpt-4o", "ollama/llama3.2", "hosted_vllm/tablebench/lexical"])
def test_any_other_name_goes_to_litellm_unchanged(name: str) -> None:
    provider = make_provider(name, api_base="http://localhost:8000/v1", timeout=7)
    assert isinstance(provider, LiteLLMModel)
    assert (provider.model, provider.api_base, provider.timeout) == (
        name,
        "http://localhost:8000/v1",
        7,
    )


def test_the_default_time_limit_is_120_seconds() -> None:
    provider = make_provider("gpt-4o")
    assert isinstance(provider, LiteLLMModel)
    assert (provider.api_base, provider.timeout) == (None, 120)


def test_the_name_of_the_lexical_model_makes_it() -> None:
    from pytest_tablebench.models.lexical.model import LexicalModel

    assert isinstance(make_provider("tablebench/lexical"), LexicalModel)


@pytest.mark.parametrize("name", ["script.jsonl", "a:b.jsonl"])
def test_the_name_of_a_script_makes_a_scripted_model(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text('{"default": "26"}\n', encoding="utf-8")
    provider = make_provider(f"tablebench/scripted:{path}")
    assert isinstance(provider, ScriptedModel)
    assert provider.complete(Request("test", (Message("user", "hi"),))).text == "26"


@pytest.mark.parametrize(
    "name",
    [
        "tablebench/",
        "tablebench/lexicon",
        "tablebench/lexical:x",
        "tablebench/scripted",
        "tablebench/scripted:",
        "tablebench/gpt-4o",
    ],
)
def test_an_unknown_built_in_model_is_refused(name: str) -> None:
    with pytest.raises(SettingsError) as caught:
        make_provider(name)
    for part in (name, "tablebench/lexical", "tablebench/scripted:PATH"):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", ["", "  "])
def test_an_empty_name_is_refused(name: str) -> None:
    with pytest.raises(SettingsError, match="empty"):
        make_provider(name)


LOADED = """
import json, sys
from pathlib import Path
import pytest_tablebench.datasets.pull
from pytest_tablebench.datasets.starter.starter import Starter
from pytest_tablebench.models import make_provider
make_provider("gpt-4o")
make_provider("tablebench/lexical")
source = Starter().open(Path("."))
Starter().prompt(source.example(source.example_ids(1)[0]), lambda table: "")
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_models_pulls_and_the_embedded_dataset_load_no_heavy_library(
    run_python: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    loaded = set(json.loads(run_python(LOADED).stdout))
    assert "pytest_tablebench" in loaded
    assert not loaded & {
        *("litellm", "tenacity", "openai", "httpx", "aiohttp", "pydantic", "pandas", "numpy"),
        *("spacy", "pytest", "_pytest", "pooch", "requests", "huggingface_hub", "tqdm", "filelock"),
    }
