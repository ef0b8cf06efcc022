"""Outages, the end of a run and its budget, under a clock of the test's own."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest

from pytest_tablebench.executors.local._course import GIVE_UP_AFTER, SPARE_RETRIES, STOP_AFTER
from pytest_tablebench.executors.local._dispatch import Wait
from tests.support.desk import (
    DOWN,
    FILTERED,
    KEY,
    LIMITED,
    PATIENCE_S,
    REFUSED,
    SERVER,
    SLOW,
    Desk,
    keys,
)

pytestmark = pytest.mark.usefixtures("seeded")

# Outages.


def answered_desk(**options: Any) -> Desk:
    """A desk whose provider has answered once."""
    desk = Desk(**options)
    desk.submit("first")
    desk.succeed()
    return desk


def test_an_outage_uses_up_no_retries() -> None:
    desk = answered_desk(retries=1)
    desk.submit("a")
    while desk.now < 1000 + PATIENCE_S - 10:
        if desk.under_way:
            desk.fail(DOWN)
        else:
            assert desk.pass_time()
    assert "a" not in desk.delivered
    while not desk.under_way:
        assert desk.pass_time()
    desk.succeed()
    assert desk.reasons() == {}


def test_an_outage_has_one_call_at_a_time() -> None:
    desk = answered_desk()
    desk.submit(*keys(20))
    assert len(desk.under_way) == 4
    for _ in range(4):
        desk.fail(DOWN)
    for _ in range(40):
        assert len(desk.under_way) <= 1
        if desk.under_way:
            desk.fail(DOWN)
        else:
            assert desk.pass_time()
    while not desk.under_way:
        assert desk.pass_time()
    desk.succeed()
    # It is back: as many as may be, at once.
    assert len(desk.under_way) == 4


def test_an_outage_takes_nothing_from_the_retries_of_the_run() -> None:
    desk = answered_desk(connections=64)
    desk.submit(*keys(300))
    while desk.now < 1000 + 60:  # a minute without the server
        if desk.under_way:
            desk.fail(DOWN)
        else:
            assert desk.pass_time()
    while not desk.under_way:
        assert desk.pass_time()
    desk.succeed()
    for _ in range(20):
        desk.fail(SERVER)
    assert desk.reasons() == {}


def test_an_outage_without_end_ends_the_run() -> None:
    desk = answered_desk(connections=4)
    desk.submit(*keys(20))
    ends(desk, DOWN)
    assert desk.now == 1000 + PATIENCE_S
    assert desk.dispatcher.stopped is not None
    assert "it failed: unreachable" in str(desk.dispatcher.stopped)
    assert len(desk.reasons()) == 20


# Patience: a provider that answers nothing at all.


def ends(desk: Desk, *kinds: tuple[str, dict[str, Any]], **more: Any) -> None:
    """Have calls fail in these ways, in turns, until the run stops or nothing is left to do."""
    ways = cycle(kinds)
    while desk.dispatcher.stopped is None and (desk.under_way or desk.pass_time()):
        if desk.under_way:
            desk.fail(next(ways), **more)


@pytest.mark.parametrize(
    ("kinds", "more"),
    [
        ((LIMITED,), {}),
        ((LIMITED,), {"retry_after": 7.0}),
        ((LIMITED,), {"retry_after": 59.0}),
        ((SERVER, LIMITED, SLOW), {}),
    ],
)
@pytest.mark.parametrize("answered", [0, 1])
def test_a_provider_that_answers_nothing_ends_the_run(
    kinds: tuple[Any, ...], more: dict[str, float], answered: int
) -> None:
    # More retries than there is time for: neither they nor their number end it.
    desk = Desk(connections=8, retries=1000, patience=60.0)
    desk.submit(*keys(16 + answered))
    for _ in range(answered):
        desk.succeed()
    ends(desk, *kinds, **more)
    assert desk.now == 1000 + 60
    stopped = str(desk.dispatcher.stopped)
    assert stopped.startswith(
        "stopped, because no call was answered for 60 s (--bench-patience): it failed: "
    )
    assert len(desk.delivered) == 16 + answered
    assert set(desk.reasons().values()) <= {"model_stopped"}


def test_any_answer_begins_the_wait_anew() -> None:
    desk = Desk(connections=1, retries=1000, patience=60.0)
    desk.submit(*keys(5))
    for _ in range(4):
        begun = desk.now
        desk.fail(LIMITED, retry_after=50.0)
        while not desk.under_way:
            assert desk.pass_time()
        assert desk.now == begun + 50
        desk.succeed()
    assert desk.dispatcher.stopped is None


def test_calls_under_way_are_waited_for_however_long_they_take() -> None:
    desk = Desk(connections=3, retries=1000, patience=60.0)
    desk.submit(*keys(6))
    thinking = desk.under_way[0]
    while desk.now < 1000 + 300 and (len(desk.under_way) > 1 or desk.pass_time()):
        while len(desk.under_way) > 1:
            desk.fail(LIMITED, job=desk.under_way[-1])
    # Nothing was begun after the end of patience, and nothing ended either.
    assert desk.dispatcher.stopped is None
    assert desk.under_way == [thinking]
    desk.succeed()
    assert desk.dispatcher.stopped is None
    assert desk.under_way  # the others are asked again at once


def test_the_last_call_under_way_ends_it_where_it_fails_too() -> None:
    desk = Desk(connections=2, retries=1000, patience=60.0)
    desk.submit(*keys(6))
    while len(desk.under_way) > 1 or desk.pass_time():
        while len(desk.under_way) > 1:
            desk.fail(LIMITED, job=desk.under_way[-1])
    desk.fail(SLOW)
    assert "60 s (--bench-patience): it failed: timeout" in str(desk.dispatcher.stopped)
    # The case of that call has its own reason, and its own message.
    assert desk.reasons()["k0"] == "timeout"


def test_a_pause_in_which_nobody_asks_is_no_wait() -> None:
    desk = Desk(connections=1, retries=0, patience=60.0)
    desk.submit("a")
    desk.fail(LIMITED)
    while desk.pass_time():
        pass
    desk.now += 500
    desk.submit("b", "c")
    desk.fail(LIMITED)
    assert desk.dispatcher.stopped is None
    desk.succeed()
    assert "reply" in desk.delivered["c"][0]


def test_only_the_models_of_a_silent_provider_are_given_up() -> None:
    desk = Desk(connections=4, retries=1000, patience=60.0, providers=("p", "p", "q"))
    for lane in range(3):
        desk.submit(*(f"{lane} {n}" for n in range(30)), lane=lane)
    while desk.under_way or desk.pass_time():
        silent = [job for job in desk.under_way if job.lane != 2]
        if silent:
            desk.fail(LIMITED, job=silent[0])
        elif desk.under_way:
            desk.succeed()
    assert desk.dispatcher.stopped is None
    ended = {key: outcomes[0] for key, outcomes in desk.delivered.items()}
    assert all(("reply" in outcome) == key.startswith("2") for key, outcome in ended.items())
    assert len(ended) == 90
    [message] = {outcome["error"]["message"] for k, outcome in ended.items() if k[0] != "2"}
    assert "(--bench-patience)" in message


def test_who_is_waited_for_is_told() -> None:
    desk = Desk(connections=2, retries=1000, patience=60.0, providers=("p", "p", "q"))
    for lane in range(3):
        desk.submit(f"{lane}", lane=lane)
    assert desk.dispatcher.waits() == []
    desk.fail(LIMITED, retry_after=20.0)
    assert desk.dispatcher.waits() == []  # nothing to speak of yet
    desk.now += 5
    wait = Wait(("m0", "m1"), "rate_limit", 1000.0, 1060.0)
    assert desk.dispatcher.waits() == [wait]
    desk.fail(SLOW, job=next(job for job in desk.under_way if job.lane == 1))
    assert desk.dispatcher.waits() == [replace(wait, reason="timeout")]
    while not any(job.lane < 2 for job in desk.under_way):
        assert desk.pass_time()
    while desk.under_way:
        desk.succeed()
    assert desk.dispatcher.waits() == []


# The end of a run.


@pytest.mark.parametrize(
    ("kind", "after"), [(KEY, STOP_AFTER), (SERVER, GIVE_UP_AFTER), (REFUSED, GIVE_UP_AFTER)]
)
def test_failures_in_a_row_stop_the_run(kind: tuple[str, dict[str, Any]], after: int) -> None:
    desk = Desk(connections=1, retries=0)
    desk.submit(*keys(after + 30))
    for place in range(after):
        assert desk.dispatcher.stopped is None, place
        desk.fail(kind)
    assert desk.dispatcher.stopped is not None
    assert f"stopped after {after} cases in a row" in str(desk.dispatcher.stopped)
    assert f"it failed: {kind[0]}" in str(desk.dispatcher.stopped)
    assert not desk.under_way
    reasons = desk.reasons()
    assert len(reasons) == after + 30
    assert Counter(reasons.values()) == {kind[0]: after, "model_stopped": 30}
    # Whoever asks later is told the same.
    desk.submit("later")
    assert desk.reasons()["later"] == "model_stopped"


def test_an_answer_between_begins_the_count_anew() -> None:
    desk = Desk(connections=1, retries=0)
    desk.submit(*keys(100))
    for kind, after in ((KEY, STOP_AFTER), (SERVER, GIVE_UP_AFTER)):
        for _ in range(after - 1):
            desk.fail(kind)
        desk.succeed()
    assert desk.dispatcher.stopped is None


def test_failures_of_single_cases_never_stop_the_run() -> None:
    desk = Desk(connections=1, retries=0)
    desk.submit(*keys(100))
    for _ in range(100):
        desk.fail(FILTERED)
    assert desk.dispatcher.stopped is None


@pytest.mark.parametrize(("kind", "after"), [(KEY, STOP_AFTER), (REFUSED, GIVE_UP_AFTER)])
def test_a_model_that_fails_always_stops_no_other(
    kind: tuple[str, dict[str, Any]], after: int
) -> None:
    desk = Desk(connections=2, retries=0, providers=("p", "p"))
    desk.submit(*(f"bad {n}" for n in range(50)), lane=0)
    desk.submit(*(f"good {n}" for n in range(50)), lane=1)
    while desk.under_way:
        # The bad one is always ahead: its failures follow each other, and answers come between.
        for job in [job for job in desk.under_way if job.lane == 0]:
            desk.fail(kind, job=job)
        desk.succeed()
    assert desk.dispatcher.stopped is None
    reasons = Counter(desk.reasons().values())
    assert reasons == {kind[0]: after, "model_stopped": 50 - after}
    assert all("reply" in desk.delivered[f"good {n}"][0] for n in range(50))
    # Whoever asks later is told the same; the other one goes on.
    desk.submit("bad later", lane=0)
    assert f"stopped after {after} cases in a row" in str(desk.delivered["bad later"])
    desk.submit("good later", lane=1)
    desk.succeed()
    assert "reply" in desk.delivered["good later"][0]


def test_answers_of_one_model_do_not_hide_that_another_one_fails() -> None:
    desk = Desk(connections=1, retries=0, providers=("p", "q"))
    desk.submit(*keys(10), lane=0)
    desk.submit(*(f"good {n}" for n in range(10)), lane=1)
    for _ in range(STOP_AFTER):
        desk.fail(KEY)
        desk.succeed()
    assert Counter(desk.reasons().values()) == {KEY[0]: 3, "model_stopped": 7}


def test_the_run_stops_with_its_last_model() -> None:
    desk = Desk(connections=1, retries=0, providers=("p", "q"))
    desk.submit(*keys(STOP_AFTER), lane=0)
    desk.submit(*(f"other {n}" for n in range(STOP_AFTER)), lane=1)
    while desk.under_way:
        assert desk.dispatcher.stopped is None
        desk.fail(KEY)
    assert desk.dispatcher.stopped is not None
    assert desk.dispatcher.stopped.reason == "model_stopped"


def test_one_model_does_not_use_up_the_retries_of_another() -> None:
    desk = Desk(connections=1000, retries=1000, providers=("p", "q"))
    desk.submit(*keys(SPARE_RETRIES + 1), lane=0)
    for _ in range(SPARE_RETRIES + 1):
        desk.fail(SERVER)
    assert len(desk.reasons()) == 1
    desk.submit("good", lane=1)
    desk.fail(SERVER, job=desk.under_way[-1])
    assert "good" not in desk.reasons()


def test_what_is_to_be_asked_again_is_told_of_a_stop_at_once() -> None:
    desk = Desk(connections=2)
    desk.submit("resting", "under way", "waiting")
    desk.fail(LIMITED, retry_after=50.0)
    desk.dispatcher.stop("enough")
    assert desk.reasons() == {"resting": "stopped", "waiting": "stopped"}
    # A call under way goes on, and its answer counts.
    desk.succeed()
    assert "reply" in desk.delivered["under way"][0]
    while desk.pass_time():
        pass
    assert desk.started == {"resting": 1, "under way": 1}
    assert len(desk.delivered["resting"]) == 1


def test_the_first_reason_of_a_stop_stays() -> None:
    desk = Desk()
    desk.dispatcher.stop("first")
    desk.dispatcher.stop("second", reason="budget")
    desk.submit("a")
    assert desk.delivered["a"][0]["error"]["message"] == "first"


def test_after_a_stop_a_failed_call_is_not_asked_again() -> None:
    desk = Desk()
    desk.submit("a")
    desk.dispatcher.stop("enough")
    desk.fail(SERVER)
    assert desk.reasons() == {"a": "server_error"}
    assert not desk.pass_time()


# Money.


def test_a_budget_stops_new_calls() -> None:
    desk = Desk(connections=2, max_cost=1.0)
    desk.submit(*keys(10))
    for _ in range(4):  # 4 x 0.25
        assert desk.dispatcher.stopped is None
        desk.succeed()
    assert len(desk.under_way) == 1
    desk.succeed()
    assert not desk.under_way
    assert desk.dispatcher.spent_usd == pytest.approx(1.25)
    assert Counter(desk.reasons().values()) == {"budget": 5}
    desk.submit("later")
    assert desk.reasons()["later"] == "budget"


def test_a_budget_with_unknown_prices_says_so() -> None:
    desk = Desk(connections=1, max_cost=1.0)
    desk.submit("a", "b")
    desk.succeed(cost=None)
    assert desk.reasons() == {"b": "budget"}
    assert "price" in desk.delivered["b"][0]["error"]["message"]


def test_totals_by_model_are_unknown_with_an_unknown_part() -> None:
    desk = Desk(providers=("p", "q"))
    desk.submit("a", "b", lane=0)
    desk.submit("c", lane=1)
    desk.succeed(cost=0.5)
    desk.succeed(cost=None)
    desk.succeed(cost=0.125)
    first, second = desk.dispatcher.totals
    assert (first.calls_paid, first.prompt_tokens, first.completion_tokens) == (2, 14, 6)
    assert first.cost_usd is None
    assert (second.calls_paid, second.cost_usd) == (1, 0.125)
