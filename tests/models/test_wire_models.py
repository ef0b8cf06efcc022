"""Parameters, facts and prices of every model that is called without litellm equal litellm's.

The models are those of litellm's table. Nothing is sent.
"""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from pytest_tablebench.models import litellm_facts
from pytest_tablebench.models._openai_prices import price
from pytest_tablebench.models._openai_providers import (
    PROVIDERS,
    Unforeseen,
    body_fields,
    check_model,
)
from pytest_tablebench.models.litellm_facts import resolve
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.models.model_table import model_table
from tests.support.calls import QUIETLY, TESTED_LITELLM
from tests.support.openai_server import OpenAIServer, error, nonsense, text
from tests.support.wire_parameters import PARAMS

pytestmark = [QUIETLY, TESTED_LITELLM]

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


MODELS = list(wire_models())

FURTHER: dict[str, dict[str, Any]] = {
    "no thoughts": {"reasoning_effort": "none", "temperature": 0},
    "few thoughts": {"reasoning_effort": "minimal"},
    "some thoughts": {"thinking": {"type": "enabled", "budget_tokens": 3000}},
    "thoughts off": {"thinking": {"type": "disabled"}},
    "two limits": {"max_tokens": 5, "max_completion_tokens": 6},
    "warm": {"temperature": 0.5, "seed": 3, "top_k": 2},
    "json": {"response_format": {"type": "json_object"}},
    "nothing": {"temperature": None},
    "a body with the same name": {"seed": 1, "extra_body": {"seed": 2}},
}


def litellms_fields(provider: str, name: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the fields that litellm adds to a body; None if it refuses a parameter."""
    named = {key: copy.deepcopy(value) for key, value in params.items() if key != "extra_headers"}
    try:
        fields = load().get_optional_params(
            model=name, custom_llm_provider=provider, max_retries=0, **named
        )
    except load().UnsupportedParamsError:
        return None
    extra = fields.pop("extra_body", None) or {}
    inner = {"stream", "max_retries", "fake_stream"}
    return {**{key: fields[key] for key in fields if key not in inner}, **extra}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_parameters_of_every_model_are_those_of_litellm(provider: str) -> None:
    wrong, equal = [], 0
    for _, name in (model for model in MODELS if model[0] == provider):
        for kind, params in {**PARAMS, **FURTHER}.items():
            try:
                ours = body_fields(provider, name, params)
            except Unforeseen:
                continue
            if ours != (theirs := litellms_fields(provider, name, params)):
                wrong.append((name, kind, ours, theirs))
            equal += 1
    assert wrong == []
    assert equal >= 3 * 8  # of the models outside of the table


KINDS = ("the usual", "none", "stop", "extra_headers", "reasoning_effort", "thinking")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_facts_about_every_model_are_those_of_litellm(
    monkeypatch: pytest.MonkeyPatch, provider: str
) -> None:
    wrong, equal = [], 0
    for _, name in (model for model in MODELS if model[0] == provider):
        model = f"{provider}/{name}"
        for kind in KINDS:
            ours = litellm_facts._without_litellm(model, None, PARAMS[kind])
            if ours is None:
                continue
            with monkeypatch.context() as only_litellm:
                only_litellm.setattr(litellm_facts, "_without_litellm", lambda *_: None)
                theirs = resolve(model, None, PARAMS[kind])
            pair = [
                {**facts.to_json(), "dropped": sorted(facts.dropped)} for facts in (ours, theirs)
            ]
            if pair[0] != pair[1]:
                wrong.append((model, kind, *pair))
            equal += 1
    assert wrong == []
    assert equal >= 3 * 2


PROMPT, COMPLETION = "prompt_tokens_details", "completion_tokens_details"
DETAILS: list[dict[str, Any]] = [
    {},
    {PROMPT: {"cached_tokens": 600}, COMPLETION: None},
    {"prompt_cache_hit_tokens": 600, "prompt_cache_miss_tokens": 400},
    {COMPLETION: {"reasoning_tokens": 5, "accepted_prediction_tokens": 0}},
    {PROMPT: {"cached_tokens": 600, "text_tokens": 1000}, COMPLETION: {"reasoning_tokens": 0}},
]
SIZES = ((1000, 100), (200_000, 50), (300_000, 7000))
TIERS = ((None, None), ("flex", "flex"), ("priority", "default"), (None, "priority"))


def test_the_price_in_a_reply_precedes_the_tables() -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "cost": 0.25}
    assert price("openai", "gpt-4o", reply("gpt-4o", usage, None), None) == 0.25
    # 2.50 and 10.00 dollars for a million tokens in and out.
    free = price("openai", "gpt-4o", reply("gpt-4o", {**usage, "cost": 0}, None), None)
    assert free == pytest.approx(0.0035)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_prices_of_every_model_are_those_of_litellm(provider: str) -> None:
    wrong, priced = [], 0
    for _, name in (model for model in MODELS if model[0] == provider):
        for prompt, completion in SIZES:
            counts = {"prompt_tokens": prompt, "completion_tokens": completion}
            for details in DETAILS:
                usage = {**counts, "total_tokens": prompt + completion, **details}
                for tiers in TIERS[:1] if details else TIERS:
                    try:
                        ours = price(provider, name, reply(name, usage, tiers[1]), tiers[0])
                    except Unforeseen:  # prices that direct calls do not know
                        continue
                    theirs = litellms_price(provider, name, usage, *tiers)
                    if (ours or 0) != pytest.approx(theirs or 0, rel=1e-9):
                        wrong.append((name, usage, tiers, ours, theirs))
                    priced += ours is not None
    assert wrong == []
    chat = [entry for entry in model_table().values() if entry.get("mode") == "chat"]
    assert bool(priced) is any(entry.get("litellm_provider") == provider for entry in chat)


def reply(name: str, usage: dict[str, Any], tier: str | None) -> dict[str, Any]:
    return {"model": name, "usage": usage, **({} if tier is None else {"service_tier": tier})}


def litellms_price(
    provider: str, name: str, usage: dict[str, Any], requested: str | None, served: str | None
) -> float | None:
    litellm = load()
    response = litellm.ModelResponse(model=name, usage=litellm.Usage(**usage))
    if served is not None:
        response.service_tier = served
    try:
        cost: float = litellm.response_cost_calculator(
            response_object=response,
            model=f"{provider}/{name}",
            custom_llm_provider=provider,
            call_type="acompletion",
            optional_params={} if requested is None else {"service_tier": requested},
            cache_hit=False,
        )
    except Exception:  # litellm raises a bare Exception for a model without a price
        return None
    return cost or None


@pytest.mark.parametrize(
    ("hour", "cost"),
    [
        # 1,000 tokens in and 100 out for .15 and .6 dollars a million, half of the day's price.
        ("2026-11-25T10:00", 0.15e-3 + 0.06e-3),
        ("2026-11-25T09:59", 0.3e-3 + 0.12e-3),
        ("2026-11-28T09:59", 0.15e-3 + 0.06e-3),
        ("2026-11-25T05:59", 0.15e-3 + 0.06e-3),
        ("2026-11-25T06:00", 0.3e-3 + 0.12e-3),
    ],
)
def test_prices_of_deepseek_depend_on_the_hour(hour: str, cost: float) -> None:
    body = reply("deepseek-v4-flash", {"prompt_tokens": 1000, "completion_tokens": 100}, None)
    now = datetime.fromisoformat(hour).replace(tzinfo=UTC)
    assert price("deepseek", "deepseek-v4-flash", body, None, now) == pytest.approx(cost)


WITHOUT = """
import asyncio, sys
from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import LiteLLMModel, Message, Request
from pytest_tablebench.models.litellm_facts import resolve, tokens_of
from pytest_tablebench.models.openai_wire import WireModel
from pytest_tablebench.models.litellm_model import close
async def call():
    model = LiteLLMModel("openai/gpt-4o", sys.argv[1], 30)
    direct = WireModel(model, connections=1, tell=sys.exit)
    await direct.warm_up()
    request = Request("openai/gpt-4o", (Message("user", "?"),), {"temperature": 0})
    answer = await direct.acomplete(request)
    for reason in ("server_error", "bad_reply", "rate_limit"):
        try:
            await direct.acomplete(request)
        except ModelError as error:
            assert error.reason == reason, error
    await close()
    return answer
answer = asyncio.run(call())
facts = resolve("openai/gpt-4o", None, {"temperature": 0})
tokens = tokens_of("openai/gpt-4o", [{"role": "user", "content": "hello world"}])
assert (answer.text, answer.cost_usd is not None, tokens) == ("26", True, 9), answer
assert facts.max_input_tokens == 128_000
print([name for name in ("litellm", "openai", "httpx") if name in sys.modules])
"""


def test_calls_facts_and_failures_import_no_litellm(
    api_key: str, openai_server: OpenAIServer, run_python: Callable[..., Any]
) -> None:
    answer = text("26", usage=(10, 2), model="gpt-4o")
    openai_server.queue(answer, error(500), nonsense(), error(429))
    ended: subprocess.CompletedProcess[str] = run_python(WITHOUT, openai_server.url)
    assert ended.stdout.strip() == "[]"
    assert json.dumps(dict(openai_server.requests[0].headers)).count(api_key) == 1
