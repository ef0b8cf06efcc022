"""Token limits: room for thinking, and what is asked again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_tablebench.models import Message, Reply, Request, Resolution
from pytest_tablebench.running._limits import Limit, Use, limits_of, reply_within_limits, room_for

USUAL = {"temperature": 0, "max_tokens": 512}
MARKED = Resolution(reasons=True, max_output_tokens=100_000)
ASKED = Request("m", (Message("user", "How old?"),), USUAL)

WHOLE = Reply("26", "stop")
CUT = Reply("The age of", "length")
EMPTY = Reply("", "length")
THOUGHTS = Reply("<think>Let me see", "length")


@pytest.mark.parametrize(
    ("params", "facts", "tokens", "limits"),
    [
        (USUAL, None, 8192, {}),
        (USUAL, Resolution(reasons=False), 8192, {}),
        (USUAL, MARKED, 8192, {"max_tokens": 8704}),
        (USUAL, MARKED, 0, {}),
        (USUAL, replace(MARKED, max_output_tokens=8000), 8192, {"max_tokens": 8000}),
        (USUAL, replace(MARKED, max_output_tokens=256), 8192, {"max_tokens": 512}),
        ({"max_completion_tokens": 100}, MARKED, 1000, {"max_completion_tokens": 1100}),
        ({}, MARKED, 8192, {}),
    ],
)
def test_room_for_thinking(
    params: dict[str, int], facts: Resolution | None, tokens: int, limits: dict[str, int]
) -> None:
    assert room_for(params, facts, tokens) == limits


@pytest.mark.parametrize(
    "sent",
    [
        {"thinking": {"type": "enabled", "budget_tokens": 4096}},
        {"thinkingConfig": {"thinkingBudget": 4096, "includeThoughts": True}},
    ],
)
def test_the_limit_is_above_a_budget_of_thoughts(sent: dict[str, object]) -> None:
    facts = Resolution(sent=sent, reasons=True)
    assert room_for(USUAL, facts, 0) == {"max_tokens": 512 + 4096}
    assert room_for(USUAL, facts, 1024) == {"max_tokens": 512 + 4096}
    assert room_for(USUAL, facts, 8192) == {"max_tokens": 512 + 8192}


def asked(
    limits: tuple[Limit, ...], replies: dict[int, Reply], *, asks: bool = True
) -> tuple[list[tuple[int, str]], int, Reply | None, list[int]]:
    """Look replies up by their limit; return the look-ups, and what they ended in."""
    looked: list[tuple[int, str]] = []

    def find(request: Request, use: Use) -> Reply | None:
        looked.append((request.params["max_tokens"], use))
        return replies.get(request.params["max_tokens"])

    end = reply_within_limits(ASKED, limits, find, asks=asks)
    replaced = [request.params["max_tokens"] for request, _ in end.replaced]
    return looked, end.request.params["max_tokens"], end.reply, replaced


def test_a_model_that_nothing_is_known_of_gets_room_where_it_was_cut_off_thinking() -> None:
    limits = limits_of(USUAL, None, 8192, None)
    assert asked(limits, {}) == ([(512, "first")], 512, None, [])
    for reply in (WHOLE, CUT):
        assert asked(limits, {512: reply})[1:] == (512, reply, [])
    for reply in (EMPTY, THOUGHTS, replace(CUT, reasoning_tokens=400)):
        assert asked(limits, {512: reply})[1:] == (8704, None, [512])
        assert asked(limits, {512: reply, 8704: WHOLE})[1:] == (8704, WHOLE, [512])
        # Nothing is asked: the reply that is there counts.
        assert asked(limits, {512: reply}, asks=False)[1:] == (512, reply, [])


def test_a_marked_model_keeps_replies_of_a_lower_limit_that_ended_by_themselves() -> None:
    limits = limits_of(USUAL, MARKED, 8192, None)
    assert asked(limits, {}) == ([(512, "stored"), (8704, "first")], 8704, None, [])
    assert asked(limits, {512: WHOLE})[1:] == (512, WHOLE, [])
    assert asked(limits, {512: EMPTY})[1:] == (8704, None, [])
    assert asked(limits, {512: CUT, 8704: CUT})[1:] == (8704, CUT, [])


def test_only_what_was_cut_off_is_asked_again() -> None:
    limits = limits_of(USUAL, None, 0, 4096)
    assert asked(limits, {512: WHOLE})[1:] == (512, WHOLE, [])
    assert asked(limits, {512: CUT})[1:] == (4096, None, [512])
    assert asked(limits, {512: CUT, 4096: CUT})[1:] == (4096, CUT, [512])


def test_limits_rise() -> None:
    limits = limits_of(USUAL, None, 8192, 4096)
    assert [limit.tokens for limit in limits] == [512, 4096, 8704]
    assert asked(limits, {512: EMPTY})[1:] == (4096, None, [512])
    assert asked(limits, {512: EMPTY, 4096: EMPTY})[1:] == (8704, None, [512, 4096])
    lower = limits_of(USUAL, None, 0, 256)
    assert asked(lower, {512: CUT})[1:] == (512, CUT, [])
    assert limits_of({}, MARKED, 8192, 4096) == ()
