"""Outages, the end of a run and its budget, under a simulated clock."""

from __future__ import annotations

from collections import Counter
from itertools import cycle
from typing import Any

import pytest

from pytest_tablebench.errors import STOP_AFTER
from pytest_tablebench.executors._pace import GIVE_UP_AFTER, SPARE_RETRIES
from tests.support.dispatch_simulation import (
    DOWN,
    FILTERED,
    KEY,
    LIMITED,
    PATIENCE_S,
    REFUSED,
    SERVER,
    SLOW,
    DispatchSimulation,
    keys,
)

pytestmark = pytest.mark.usefixtures("seeded")

# Outages.


def answered_desk(**options: Any) -> DispatchSimulation:
    """A simulation whose provider has answered once."""
    simulation = DispatchSimulation(**options)
    simulation.submit("first")
    simulation.succeed()
    return simulation


def test_an_outage_uses_no_retries_of_the_case() -> None:
    simulation = answered_desk(retries=1)
    simulation.submit("a")
    while simulation.now < 1000 + PATIENCE_S - 10:
        if simulation.under_way:
            simulation.fail(DOWN)
        else:
            assert simulation.pass_time()
    assert "a" not in simulation.delivered
    while not simulation.under_way:
        assert simulation.pass_time()
    simulation.succeed()
    assert simulation.reasons() == {}


def test_during_an_outage_one_call_is_in_flight() -> None:
    simulation = answered_desk()
    simulation.submit(*keys(20))
    assert len(simulation.under_way) == 4
    for _ in range(4):
        simulation.fail(DOWN)
    for _ in range(40):
        assert len(simulation.under_way) <= 1
        if simulation.under_way:
            simulation.fail(DOWN)
        else:
            assert simulation.pass_time()
    while not simulation.under_way:
        assert simulation.pass_time()
    simulation.succeed()
    # After the outage all connections are used at once.
    assert len(simulation.under_way) == 4


def test_an_outage_uses_no_retries_of_the_run() -> None:
    simulation = answered_desk(connections=64)
    simulation.submit(*keys(300))
    while simulation.now < 1000 + 60:  # a minute without the server
        if simulation.under_way:
            simulation.fail(DOWN)
        else:
            assert simulation.pass_time()
    while not simulation.under_way:
        assert simulation.pass_time()
    simulation.succeed()
    for _ in range(20):
        simulation.fail(SERVER)
    assert simulation.reasons() == {}


def test_an_outage_longer_than_the_patience_ends_the_run() -> None:
    simulation = answered_desk(connections=4)
    simulation.submit(*keys(20))
    ends(simulation, DOWN)
    assert simulation.now == 1000 + PATIENCE_S
    assert simulation.dispatcher.stopped is not None
    assert "it failed: unreachable" in str(simulation.dispatcher.stopped)
    assert len(simulation.reasons()) == 20


# Patience: a provider that answers nothing at all.


def ends(simulation: DispatchSimulation, *kinds: tuple[str, dict[str, Any]], **more: Any) -> None:
    """Let calls fail in turn with `kinds` until the run stops or no call is left."""
    ways = cycle(kinds)
    while simulation.dispatcher.stopped is None and (
        simulation.under_way or simulation.pass_time()
    ):
        if simulation.under_way:
            simulation.fail(next(ways), **more)


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
def test_a_provider_without_any_answer_ends_the_run(
    kinds: tuple[Any, ...], more: dict[str, float], answered: int
) -> None:
    # With so many retries only the patience ends the run.
    simulation = DispatchSimulation(connections=8, retries=1000, patience=60.0)
    simulation.submit(*keys(16 + answered))
    for _ in range(answered):
        simulation.succeed()
    ends(simulation, *kinds, **more)
    assert simulation.now == 1000 + 60
    stopped = str(simulation.dispatcher.stopped)
    assert stopped.startswith(
        "stopped, because no call was answered for 60 s (--bench-patience): it failed: "
    )
    assert len(simulation.delivered) == 16 + answered
    assert set(simulation.reasons().values()) <= {"model_stopped"}


def test_any_answer_restarts_the_patience() -> None:
    simulation = DispatchSimulation(connections=1, retries=1000, patience=60.0)
    simulation.submit(*keys(5))
    for _ in range(4):
        begun = simulation.now
        simulation.fail(LIMITED, retry_after=50.0)
        while not simulation.under_way:
            assert simulation.pass_time()
        assert simulation.now == begun + 50
        simulation.succeed()
    assert simulation.dispatcher.stopped is None


def test_calls_in_flight_may_exceed_the_patience() -> None:
    simulation = DispatchSimulation(connections=3, retries=1000, patience=60.0)
    simulation.submit(*keys(6))
    thinking = simulation.under_way[0]
    while simulation.now < 1000 + 300 and (len(simulation.under_way) > 1 or simulation.pass_time()):
        while len(simulation.under_way) > 1:
            simulation.fail(LIMITED, job=simulation.under_way[-1])
    # After the patience no call starts, and the call in flight is not stopped.
    assert simulation.dispatcher.stopped is None
    assert simulation.under_way == [thinking]
    simulation.succeed()
    assert simulation.dispatcher.stopped is None
    assert simulation.under_way  # the others are asked again at once


def test_a_failure_of_the_last_call_in_flight_ends_the_run() -> None:
    simulation = DispatchSimulation(connections=2, retries=1000, patience=60.0)
    simulation.submit(*keys(6))
    while len(simulation.under_way) > 1 or simulation.pass_time():
        while len(simulation.under_way) > 1:
            simulation.fail(LIMITED, job=simulation.under_way[-1])
    simulation.fail(SLOW)
    assert "60 s (--bench-patience): it failed: timeout" in str(simulation.dispatcher.stopped)
    # The case of that call has the reason of its own failure.
    assert simulation.reasons()["k0"] == "timeout"


def test_a_pause_without_calls_does_not_count_as_waiting() -> None:
    simulation = DispatchSimulation(connections=1, retries=0, patience=60.0)
    simulation.submit("a")
    simulation.fail(LIMITED)
    while simulation.pass_time():
        pass
    simulation.now += 500
    simulation.submit("b", "c")
    simulation.fail(LIMITED)
    assert simulation.dispatcher.stopped is None
    simulation.succeed()
    assert "reply" in simulation.delivered["c"][0]


def test_only_the_models_of_a_silent_provider_are_stopped() -> None:
    simulation = DispatchSimulation(
        connections=4, retries=1000, patience=60.0, providers=("p", "p", "q")
    )
    for lane in range(3):
        simulation.submit(*(f"{lane} {n}" for n in range(30)), lane=lane)
    while simulation.under_way or simulation.pass_time():
        silent = [job for job in simulation.under_way if job.lane != 2]
        if silent:
            simulation.fail(LIMITED, job=silent[0])
        elif simulation.under_way:
            simulation.succeed()
    assert simulation.dispatcher.stopped is None
    ended = {key: outcomes[0] for key, outcomes in simulation.delivered.items()}
    assert all(("reply" in outcome) == key.startswith("2") for key, outcome in ended.items())
    assert len(ended) == 90
    [message] = {outcome["error"]["message"] for k, outcome in ended.items() if k[0] != "2"}
    assert "(--bench-patience)" in message


def test_waits_name_models_and_reason() -> None:
    simulation = DispatchSimulation(
        connections=2, retries=1000, patience=60.0, providers=("p", "p", "q")
    )
    for lane in range(3):
        simulation.submit(f"{lane}", lane=lane)
    assert simulation.dispatcher.waits() == []
    simulation.fail(LIMITED, retry_after=20.0)
    assert simulation.dispatcher.waits() == []  # nothing to speak of yet
    simulation.now += 5
    wait = {"models": ["m0", "m1"], "reason": "rate_limit", "since": 1000.0, "until": 1060.0}
    assert simulation.dispatcher.waits() == [wait]
    simulation.fail(SLOW, job=next(job for job in simulation.under_way if job.lane == 1))
    assert simulation.dispatcher.waits() == [{**wait, "reason": "timeout"}]
    while not any(job.lane < 2 for job in simulation.under_way):
        assert simulation.pass_time()
    while simulation.under_way:
        simulation.succeed()
    assert simulation.dispatcher.waits() == []


# The end of a run.


@pytest.mark.parametrize(
    ("kind", "after"), [(KEY, STOP_AFTER), (SERVER, GIVE_UP_AFTER), (REFUSED, GIVE_UP_AFTER)]
)
def test_failures_in_a_row_stop_the_run(kind: tuple[str, dict[str, Any]], after: int) -> None:
    simulation = DispatchSimulation(connections=1, retries=0)
    simulation.submit(*keys(after + 30))
    for place in range(after):
        assert simulation.dispatcher.stopped is None, place
        simulation.fail(kind)
    assert simulation.dispatcher.stopped is not None
    assert f"stopped after {after} cases in a row" in str(simulation.dispatcher.stopped)
    assert f"it failed: {kind[0]}" in str(simulation.dispatcher.stopped)
    assert not simulation.under_way
    reasons = simulation.reasons()
    assert len(reasons) == after + 30
    assert Counter(reasons.values()) == {kind[0]: after, "model_stopped": 30}
    # A later request fails with the same reason.
    simulation.submit("later")
    assert simulation.reasons()["later"] == "model_stopped"


def test_an_answer_restarts_the_count_of_failures() -> None:
    simulation = DispatchSimulation(connections=1, retries=0)
    simulation.submit(*keys(100))
    for kind, after in ((KEY, STOP_AFTER), (SERVER, GIVE_UP_AFTER)):
        for _ in range(after - 1):
            simulation.fail(kind)
        simulation.succeed()
    assert simulation.dispatcher.stopped is None


def test_failures_of_single_cases_never_stop_the_run() -> None:
    simulation = DispatchSimulation(connections=1, retries=0)
    simulation.submit(*keys(100))
    for _ in range(100):
        simulation.fail(FILTERED)
    assert simulation.dispatcher.stopped is None


@pytest.mark.parametrize(("kind", "after"), [(KEY, STOP_AFTER), (REFUSED, GIVE_UP_AFTER)])
def test_a_failing_model_stops_no_other(kind: tuple[str, dict[str, Any]], after: int) -> None:
    simulation = DispatchSimulation(connections=2, retries=0, providers=("p", "p"))
    simulation.submit(*(f"bad {n}" for n in range(50)))
    simulation.submit(*(f"good {n}" for n in range(50)), lane=1)
    while simulation.under_way:
        # The bad model fails several times in a row, with answers of the other in between.
        for job in [job for job in simulation.under_way if job.lane == 0]:
            simulation.fail(kind, job=job)
        simulation.succeed()
    assert simulation.dispatcher.stopped is None
    reasons = Counter(simulation.reasons().values())
    assert reasons == {kind[0]: after, "model_stopped": 50 - after}
    assert all("reply" in simulation.delivered[f"good {n}"][0] for n in range(50))
    # A later request fails with the same reason; the other model continues.
    simulation.submit("bad later")
    assert f"stopped after {after} cases in a row" in str(simulation.delivered["bad later"])
    simulation.submit("good later", lane=1)
    simulation.succeed()
    assert "reply" in simulation.delivered["good later"][0]


def test_answers_of_one_model_do_not_hide_failures_of_another() -> None:
    simulation = DispatchSimulation(connections=1, retries=0, providers=("p", "q"))
    simulation.submit(*keys(10))
    simulation.submit(*(f"good {n}" for n in range(10)), lane=1)
    for _ in range(STOP_AFTER):
        simulation.fail(KEY)
        simulation.succeed()
    assert Counter(simulation.reasons().values()) == {KEY[0]: 3, "model_stopped": 7}


def test_the_run_stops_with_its_last_model() -> None:
    simulation = DispatchSimulation(connections=1, retries=0, providers=("p", "q"))
    simulation.submit(*keys(STOP_AFTER))
    simulation.submit(*(f"other {n}" for n in range(STOP_AFTER)), lane=1)
    while simulation.under_way:
        assert simulation.dispatcher.stopped is None
        simulation.fail(KEY)
    assert simulation.dispatcher.stopped is not None
    assert simulation.dispatcher.stopped.reason == "model_stopped"


def test_one_model_does_not_use_up_the_retries_of_another() -> None:
    simulation = DispatchSimulation(connections=1000, retries=1000, providers=("p", "q"))
    simulation.submit(*keys(SPARE_RETRIES + 1))
    for _ in range(SPARE_RETRIES + 1):
        simulation.fail(SERVER)
    assert len(simulation.reasons()) == 1
    simulation.submit("good", lane=1)
    simulation.fail(SERVER, job=simulation.under_way[-1])
    assert "good" not in simulation.reasons()


def test_pending_retries_fail_at_once_after_a_stop() -> None:
    simulation = DispatchSimulation(connections=2)
    simulation.submit("resting", "under way", "waiting")
    simulation.fail(LIMITED, retry_after=50.0)
    simulation.dispatcher.stop("enough")
    assert simulation.reasons() == {"resting": "stopped", "waiting": "stopped"}
    # A call in flight continues, and its answer counts.
    simulation.succeed()
    assert "reply" in simulation.delivered["under way"][0]
    while simulation.pass_time():
        pass
    assert simulation.started == {"resting": 1, "under way": 1}
    assert len(simulation.delivered["resting"]) == 1


def test_the_first_reason_of_a_stop_is_kept() -> None:
    simulation = DispatchSimulation()
    simulation.dispatcher.stop("first")
    simulation.dispatcher.stop("second", reason="budget")
    simulation.submit("a")
    assert simulation.delivered["a"][0]["error"]["message"] == "first"


def test_after_a_stop_a_failed_call_is_not_retried() -> None:
    simulation = DispatchSimulation()
    simulation.submit("a")
    simulation.dispatcher.stop("enough")
    simulation.fail(SERVER)
    assert simulation.reasons() == {"a": "server_error"}
    assert not simulation.pass_time()


# Money.


def test_a_budget_stops_new_calls() -> None:
    simulation = DispatchSimulation(connections=2, max_cost=1.0)
    simulation.submit(*keys(10))
    for _ in range(4):  # 4 x 0.25
        assert simulation.dispatcher.stopped is None
        simulation.succeed()
    assert len(simulation.under_way) == 1
    simulation.succeed()
    assert not simulation.under_way
    assert simulation.dispatcher.spent_usd == pytest.approx(1.25)
    assert Counter(simulation.reasons().values()) == {"budget": 5}
    simulation.submit("later")
    assert simulation.reasons()["later"] == "budget"


def test_a_budget_with_an_unknown_price_stops_the_run() -> None:
    simulation = DispatchSimulation(connections=1, max_cost=1.0)
    simulation.submit("a", "b")
    simulation.succeed(cost=None)
    assert simulation.reasons() == {"b": "budget"}
    assert "price" in simulation.delivered["b"][0]["error"]["message"]


def test_totals_are_unknown_if_a_part_is_unknown() -> None:
    simulation = DispatchSimulation(providers=("p", "q"))
    simulation.submit("a", "b")
    simulation.submit("c", lane=1)
    simulation.succeed(cost=0.5)
    simulation.succeed(cost=None)
    simulation.succeed(cost=0.125)
    first, second = simulation.dispatcher.totals
    assert (first.calls_paid, first.prompt_tokens, first.completion_tokens) == (2, 14, 6)
    assert first.cost_usd is None
    assert (second.calls_paid, second.cost_usd) == (1, 0.125)
