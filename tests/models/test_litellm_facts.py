"""Facts about a model before its first call.

The expected facts are those of the providers' documentation: OpenAI's reasoning models take
`max_completion_tokens` and no temperature but 1, Anthropic's API has no seed and calls `stop`
`stop_sequences`, Gemini's calls `max_tokens` `max_output_tokens`, Mistral's calls `seed`
`random_seed`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import Resolution
from pytest_tablebench.models.litellm_facts import resolve, tokens_of
from tests.support.calls import QUIETLY, Make, asking
from tests.support.openai_server import OpenAIServer

pytestmark = QUIETLY

USUAL = {"temperature": 0, "max_tokens": 64, "seed": 7}


@pytest.fixture(autouse=True)
def no_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove addresses of servers from the environment."""
    for provider in ("OPENAI", "HOSTED_VLLM", "ANTHROPIC", "OLLAMA"):
        for kind in ("BASE_URL", "API_BASE"):
            monkeypatch.delenv(f"{provider}_{kind}", raising=False)


# Parameters


@pytest.mark.parametrize("model", ["gpt-4o", "openai/test-model", "hosted_vllm/test", "no-such"])
def test_parameters_are_sent_unchanged(model: str) -> None:
    found = resolve(model, None, USUAL)
    assert (found.params, found.sent, found.dropped) == (USUAL, USUAL, {})


@pytest.mark.parametrize(
    ("model", "sent", "dropped"),
    [
        ("o1", {"max_completion_tokens": 64, "seed": 7}, {"temperature"}),
        ("azure/o3-mini", {"max_completion_tokens": 64, "seed": 7}, {"temperature"}),
        ("gpt-5", {"max_completion_tokens": 64, "seed": 7}, {"temperature"}),
        ("anthropic/claude-sonnet-4-5", {"temperature": 0, "max_tokens": 64}, {"seed"}),
        (
            "gemini/gemini-2.5-flash",
            {"temperature": 0, "max_output_tokens": 64, "seed": 7},
            set(),
        ),
        (
            "mistral/mistral-large-latest",
            {"temperature": 0, "max_tokens": 64, "random_seed": 7},
            set(),
        ),
        ("ollama/llama3.2", {"temperature": 0, "num_predict": 64, "seed": 7}, set()),
    ],
)
def test_parameters_are_renamed_or_dropped_by_provider(
    model: str, sent: dict[str, Any], dropped: set[str]
) -> None:
    found = resolve(model, None, USUAL)
    assert found.sent == sent
    assert set(found.dropped) == dropped
    assert found.params == {k: v for k, v in USUAL.items() if k not in dropped}
    for name, why in found.dropped.items():
        assert name in why
        assert "\n" not in why
        assert "drop_params" not in why  # advice that only users of litellm can follow


def test_an_allowed_value_of_a_restricted_parameter_is_sent() -> None:
    assert resolve("o1", None, {"temperature": 1}).sent == {"temperature": 1}


@pytest.mark.parametrize("first", ["temperature", "reasoning_effort"])
def test_a_parameter_can_depend_on_another(first: str) -> None:
    # GPT-5.1 takes a temperature if reasoning is off, in any order of parameters.
    params: dict[str, Any] = {"temperature": 0, "reasoning_effort": "none"}
    ordered = {first: params[first], **params}
    found = resolve("gpt-5.1", None, ordered)
    assert (found.sent, found.dropped) == (params, {})
    assert list(found.params) == list(ordered)
    assert set(resolve("gpt-5.1", None, {**ordered, "reasoning_effort": "low"}).dropped) == {
        "temperature"
    }


def test_a_parameter_unknown_to_litellm_is_sent() -> None:
    assert resolve("hosted_vllm/test", None, {"top_k": 5}).sent == {"top_k": 5}
    body = {"extra_body": {"guided_choice": ["a"]}}
    assert resolve("hosted_vllm/test", None, body).sent == {"guided_choice": ["a"]}


def test_options_of_litellm_are_not_sent() -> None:
    params = {"allowed_openai_params": ["seed"], "seed": 7}
    assert resolve("anthropic/claude-sonnet-4-5", None, params).sent == {"seed": 7}


def test_values_of_headers_are_recorded_as_digests() -> None:
    params = {"extra_headers": {"X-Gateway-Key": "hunter2hunter2"}}
    found = resolve("openai/test-model", None, params)
    # The first 12 digits of the SHA-256 of the value as JSON.
    assert found.sent == {"extra_headers": {"X-Gateway-Key": "sha256:9543e889fed0"}}


def test_a_wrong_value_fails_only_in_the_call() -> None:
    found = resolve("gpt-4o", None, {"temperature": "hot", "max_tokens": [1]})
    assert found.params == {"temperature": "hot", "max_tokens": [1]}


def test_the_callers_parameters_are_not_changed() -> None:
    params = {"stop": ["x"], "extra_body": {"a": 1}}
    resolve("anthropic/claude-sonnet-4-5", None, params)
    assert params == {"stop": ["x"], "extra_body": {"a": 1}}


@pytest.mark.usefixtures("api_key")
@pytest.mark.parametrize("model", ["openai/test-model", "openai/o1", "hosted_vllm/test"])
@pytest.mark.parametrize(
    "params", [USUAL, {"top_p": 0.5, "stop": ["x"]}, {"extra_body": {"a": 1}, "seed": 1}, {}]
)
def test_the_recorded_parameters_equal_those_received(
    make: Make, openai_server: OpenAIServer, model: str, params: dict[str, Any]
) -> None:
    found = resolve(model, openai_server.url, params)
    make(model, openai_server).complete(asking(**found.params))
    (received,) = openai_server.requests
    body = {k: v for k, v in received.body.items() if k not in {"model", "messages"}}
    assert body == found.sent


# Provider, prices, limits


def test_a_known_model_has_prices_and_limits() -> None:
    found = resolve("gpt-4o", None, {})
    # 2.50 and 10.00 dollars for a million tokens in and out, and a window of 128,000.
    assert found.input_cost_per_token == pytest.approx(2.5e-6)
    assert found.output_cost_per_token == pytest.approx(1e-5)
    assert found.max_input_tokens == 128_000
    assert found.provider == "openai"
    assert found.tokenizer == "o200k_base"
    assert found.litellm_version


@pytest.mark.parametrize("model", ["no-such-thing", "no-such/thing", "tablebench/lexical", "/", ""])
def test_an_unknown_model_has_no_facts(model: str) -> None:
    found = resolve(model, None, {"temperature": 0})
    assert found == Resolution(
        params={"temperature": 0},
        sent={"temperature": 0},
        reasons=False,
        litellm_version=found.litellm_version,
    )


@pytest.mark.parametrize(
    ("model", "params", "reasons"),
    [
        ("o3-mini", {}, True),
        ("deepseek/deepseek-reasoner", {}, True),
        ("gemini/gemini-2.5-flash", {}, True),
        ("gpt-4o", {}, False),
        ("anthropic/claude-sonnet-4-5", {}, False),  # it thinks only on request
        ("anthropic/claude-sonnet-4-5", {"reasoning_effort": "high"}, True),
        ("anthropic/claude-sonnet-4-5", {"thinking": {"type": "disabled"}}, False),
    ],
)
def test_reasoning_models_are_recognized(model: str, params: dict[str, Any], reasons: bool) -> None:
    found = resolve(model, None, {"temperature": 0, "max_tokens": 512, **params})
    assert found.reasons is reasons
    is_claude_that_thinks = reasons and "claude" in model
    assert ("temperature" in found.dropped) is (is_claude_that_thinks or model == "o3-mini")


@pytest.mark.parametrize("model", ["ollama/llama3.2", "hosted_vllm/test", "openrouter/openai/o1"])
def test_a_price_of_zero_is_unknown(model: str) -> None:
    found = resolve(model, None, {})
    assert (found.input_cost_per_token, found.output_cost_per_token) == (None, None)


@pytest.mark.parametrize("model", ["gpt-4o", "o1", "no-such"])
def test_facts_are_read_back_from_json(model: str) -> None:
    found = resolve(model, "http://localhost/v1", {**USUAL, "stop": ["x"]})
    assert Resolution.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_unknown_fields_of_facts_are_ignored() -> None:
    assert Resolution.from_json({"provider": "openai", "later": 1}) == Resolution(provider="openai")


def test_a_parameter_that_is_no_json_can_be_recorded() -> None:
    found = resolve("openai/test-model", None, {"seed": object()})
    assert json.dumps(found.to_json())


def test_a_missing_litellm_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(ModelError, match="pip install litellm"):
        resolve("gpt-4o", None, {})
    with pytest.raises(ModelError, match="pip install litellm"):
        tokens_of("gpt-4o", ())


# Tokens


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        # OpenAI's cookbook: 3 tokens per message, its role and text, and 3 to start the reply.
        # "hello world" is 2 tokens in either encoding and "user" 1.
        ("gpt-4", 3 + 1 + 2 + 3),
        ("gpt-4o", 3 + 1 + 2 + 3),
        ("openai/gpt-4o", 3 + 1 + 2 + 3),
        ("azure/gpt-4o", 3 + 1 + 2 + 3),
        ("openai/gpt-oss-20b", 3 + 1 + 2 + 3),
    ],
)
def test_the_tokens_of_a_short_prompt_are_counted(model: str, tokens: int) -> None:
    assert tokens_of(model, user("hello world")) == tokens


def test_the_system_message_is_counted() -> None:
    both = [{"role": "system", "content": "hello world"}, *user("hello world")]
    assert tokens_of("gpt-4o", both) == 3 + 1 + 2 + 3 + 1 + 2 + 3


def test_tokens_are_counted_in_the_models_encoding() -> None:
    # The newer encoding has one token for words that the older one splits.
    text = user("नमस्ते दुनिया " * 50)
    older, newer = tokens_of("gpt-4", text), tokens_of("gpt-4o", text)
    assert older is not None
    assert newer is not None
    assert newer < older / 2


def test_special_tokens_in_a_table_are_text() -> None:
    count = tokens_of("gpt-4o", user("<|endoftext|>"))
    assert count is not None
    assert count > 3 + 1 + 1 + 3


def test_anthropic_models_use_litellms_tokenizer() -> None:
    count = tokens_of("claude-opus-4-5", user("hello world"))
    assert count is not None
    assert 3 + 2 < count < 20
    assert resolve("claude-opus-4-5", None, {}).tokenizer == "anthropic"


@pytest.mark.parametrize(
    "model",
    [
        "openai/test-model",
        "hosted_vllm/meta-llama/Llama-3.1-8B",
        "groq/llama-3.1-8b-instant",
        "ollama/llama3.2",
        "replicate/meta/llama-2-70b-chat",
        "cohere/command-r",
        "gemini/gemini-2.5-flash",
        "claude-3-haiku-20240307",
        "gpt2",
        "no-such",
        "",
    ],
)
def test_without_a_known_tokenizer_tokens_are_not_counted(model: str) -> None:
    assert tokens_of(model, user("hello world")) is None
    assert resolve(model, None, {}).tokenizer is None


def test_without_the_encoding_file_tokens_are_not_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUSTOM_TIKTOKEN_CACHE_DIR", str(tmp_path))
    assert tokens_of("gpt-4o", user("hello world")) is None


# No network

OFFLINE = """
import json, os, socket, sys
reached = []
def watch(event, args):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        reached.append(repr(args[1] if event == "socket.connect" else args[0]))
sys.addaudithook(watch)
os.environ["LITELLM_DROP_PARAMS"] = "True"
from pytest_tablebench.models.base import Message, as_openai
from pytest_tablebench.models.litellm_facts import load, resolve, tokens_of
from pytest_tablebench.serializers import Image
providers = [getattr(provider, "value", provider) for provider in load().provider_list]
names = ["gpt-4o", "meta-llama/Llama-3-8b-chat", "claude-opus-4-5", "command-r", "llama-2-7b"]
image = ("See ", Image("image/png", b"no picture that could be measured"))
params = {
    "temperature": 0, "max_tokens": 9, "reasoning_effort": "low",
    "response_format": {"type": "json_object"},
}
asked = 0
for model in [f"{provider}/{name}" for provider in providers for name in names[:2]] + names:
    resolve(model, None, params)
    tokens_of(model, as_openai((Message("user", "How many?"), Message("user", image))))
    asked += 1
quiet = list(reached)
try:
    socket.create_connection(("127.0.0.1", 9), timeout=1)
except OSError:
    pass
dropped = sorted(resolve("o1", None, {"temperature": 0}).dropped), load().drop_params
print(json.dumps([asked, quiet, reached, dropped]))
"""


@pytest.fixture(scope="module")
def offline(run_python: Callable[..., subprocess.CompletedProcess[str]]) -> list[Any]:
    """Return the output of a process in which litellm is told to drop parameters silently."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OPENAI_API_KEY", "sk-local-0123456789abcdef")
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            environment.setenv(name, "http://127.0.0.1:9")
            environment.setenv(name.lower(), "http://127.0.0.1:9")
        output: list[Any] = json.loads(run_python(OFFLINE).stdout)
    return output


def test_facts_of_all_providers_need_no_connection(offline: list[Any]) -> None:
    asked, quiet, reached, _ = offline
    assert asked > 2 * 50
    assert quiet == []
    assert reached  # the audit hook does record a connection


def test_dropped_parameters_are_reported_despite_litellms_environment_variable(
    offline: list[Any],
) -> None:
    assert offline[3] == [["temperature"], False]
