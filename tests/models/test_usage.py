"""Token counts, costs and times of a reply are valid or unknown."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import MAX_REPLY, Reply, limited
from pytest_tablebench.models._completions import sound_usage

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (7, 7),
        (7.0, 7),
        (10**9, 10**9),
        (10**9 + 1, None),
        (-1, None),
        (7.5, None),
        (10**400, None),
        (NAN, None),
        (INF, None),
        (True, None),
        ("7", None),
        ([7], None),
        (None, None),
    ],
)
def test_invalid_token_counts_are_unknown(value: Any, expected: int | None) -> None:
    reply = Reply("26", prompt_tokens=value, completion_tokens=value)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("26", expected, expected)
    assert type(reply.prompt_tokens) in {int, type(None)}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.5, 0.5),
        (0, 0.0),
        (2, 2.0),
        (-0.087, None),
        (NAN, None),
        (INF, None),
        (10**400, None),
        (1e300, None),
        ("0.1", None),
        (True, None),
    ],
)
def test_invalid_costs_and_times_are_unknown(value: Any, expected: float | None) -> None:
    reply = Reply("26", cost_usd=value, latency_s=value)
    assert (reply.cost_usd, reply.latency_s) == (expected, expected)


@pytest.mark.parametrize("value", [5, ["stop"], {"a": 1}, True])
def test_a_reason_that_is_no_text_is_unknown(value: Any) -> None:
    assert Reply("26", value).finish_reason is None


# Fields of a server's response, before litellm reads them

OPENAI = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
SOUND: list[Any] = [
    None,
    OPENAI,
    {**OPENAI, "prompt_tokens_details": {"cached_tokens": 5, "audio_tokens": None}},
    {**OPENAI, "completion_tokens_details": None, "queue_time": 0.031, "service_tier": "default"},
    {**OPENAI, "cost": 0.00014, "is_byok": False, "cost_details": {"upstream": None}},
    # Anthropic counts tokens from its cache separately.
    {"input_tokens": 7, "cache_read_input_tokens": 900, "output_tokens": 3},
    {"input_tokens": 7, "cache_creation": {"ephemeral_5m_input_tokens": 7}, "output_tokens": 3},
    {"billed_units": {"input_tokens": 7}, "tokens": {"output_tokens": 3}},
]
UNSOUND: list[Any] = [
    "lots",
    [1, 2],
    7,
    {**OPENAI, "prompt_tokens": -7},
    {**OPENAI, "prompt_tokens": 7.5},
    {**OPENAI, "prompt_tokens": NAN},
    {**OPENAI, "completion_tokens": "many"},
    {**OPENAI, "completion_tokens": [3]},
    {**OPENAI, "completion_tokens": {}},
    {**OPENAI, "total_tokens": 10**400},
    {**OPENAI, "prompt_tokens_details": "none"},
    {**OPENAI, "prompt_tokens_details": {"cached_tokens": 1_000_000}},  # of 7
    {**OPENAI, "completion_tokens_details": [1]},
    {**OPENAI, "cost": -1},
    {**OPENAI, "cost": INF},
]


@pytest.mark.parametrize("usage", SOUND)
def test_a_valid_usage_is_kept(usage: Any) -> None:
    reply = {"usage": usage, "id": "x"}
    assert not sound_usage(reply)
    assert reply == {"usage": usage, "id": "x"}


@pytest.mark.parametrize("usage", UNSOUND)
def test_a_wrong_number_makes_the_usage_unknown(usage: Any) -> None:
    reply = {"usage": usage, "id": "x"}
    assert sound_usage(reply)
    assert set(reply["usage"].values()) == {0}
    assert {*OPENAI} <= {*reply["usage"]}


def test_usages_of_other_providers_are_read() -> None:
    gemini = {"usageMetadata": {"promptTokenCount": -7, "candidatesTokenCount": 3}}
    assert sound_usage(gemini)
    assert gemini["usageMetadata"]["promptTokenCount"] == 0
    ollama = {"prompt_eval_count": 7, "eval_count": "many", "message": {"content": "26"}}
    assert sound_usage(ollama)
    assert ollama == {"prompt_eval_count": 0, "eval_count": 0, "message": {"content": "26"}}
    assert not sound_usage([{"usage": 7}])


# The length of an answer


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("x" * 1000, "x" * 1000),
        ("x" * 1001, "x" * 1000),
        ("é" * 501, "é" * 500),
        ("a" + "é" * 501, "a" + "é" * 499),
        ("漢" * 400, "漢" * 333),
        ("😀" * 251, "😀" * 250),
        ("\ud800" * 400, "\ud800" * 333),
    ],
)
def test_an_answer_is_cut_between_characters(text: str, kept: str) -> None:
    reply = limited(Reply(text, "stop", 7, 3), 1000)
    assert reply.text == kept
    assert reply.cut == (text != kept)
    assert (reply.finish_reason, reply.prompt_tokens) == ("stop", 7)


@pytest.mark.parametrize(
    ("returned", "named"),
    [("26", "str"), (None, "NoneType"), (Reply(26), "int")],  # type: ignore[arg-type]
)
def test_a_users_provider_that_returns_no_reply_is_named(returned: Any, named: str) -> None:
    with pytest.raises(ModelError, match=f"returned {named}; it has to return a Reply") as caught:
        limited(returned, MAX_REPLY)
    assert caught.value.reason == "bad_reply"
