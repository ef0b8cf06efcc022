"""The order and time of calls, under a simulated clock: no sockets, no waiting."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench.executors._pace import SPARE_RETRIES
from pytest_tablebench.executors._protocol import Job, JobQueue
from tests.support.dispatch_simulation import (
    DOWN,
    FILTERED,
    KEY,
    LIMITED,
    PAID,
    REFUSED,
    SERVER,
    DispatchSimulation,
    keys,
)
from tests.support.matrix import draws

pytestmark = pytest.mark.usefixtures("seeded")

# Invariants.

OUTCOMES = st.sampled_from(["succeed", SERVER, DOWN, LIMITED, KEY, FILTERED, REFUSED, PAID])


@settings(max_examples=draws(200))
@given(
    connections=st.integers(1, 8),
    retries=st.integers(0, 4),
    jobs=st.integers(1, 40),
    max_cost=st.none() | st.floats(0.25, 5),
    lanes=st.integers(1, 3),
    shared=st.booleans(),
    wishes=st.lists(st.tuples(OUTCOMES, st.none() | st.floats(0, 100)), max_size=150),
)
def test_every_job_is_delivered_once_within_all_limits(  # noqa: PLR0917 - drawn by name
    connections: int,
    retries: int,
    jobs: int,
    max_cost: float | None,
    lanes: int,
    shared: bool,
    wishes: list[tuple[Any, float | None]],
) -> None:
    providers = tuple("p" if shared else f"p{lane}" for lane in range(lanes))
    simulation = DispatchSimulation(
        connections=connections, retries=retries, max_cost=max_cost, providers=providers
    )
    dispatcher = simulation.dispatcher
    for number, key in enumerate(keys(jobs)):
        simulation.submit(key, lane=number % lanes)
    stopped_with, paid = None, 0
    for outcome, retry_after in wishes:
        assert len(simulation.under_way) == dispatcher.in_flight <= connections
        if not simulation.under_way:
            if not simulation.pass_time():
                break
            continue
        if outcome == "succeed":
            simulation.succeed()
        else:
            simulation.fail(outcome, retry_after=retry_after)
            paid += outcome is PAID
        if dispatcher.stopped is not None:
            if stopped_with is None:
                stopped_with = simulation.started.copy()
            assert simulation.started == stopped_with, "a call began after the stop"
    while simulation.under_way or simulation.pass_time():
        if simulation.under_way:
            simulation.succeed()
    assert sorted(simulation.delivered) == sorted(keys(jobs))
    assert all(len(outcomes) == 1 for outcomes in simulation.delivered.values())
    answered = [key for key, (outcome,) in simulation.delivered.items() if "reply" in outcome]
    assert sum(total.calls_paid for total in dispatcher.totals) == len(answered) + paid
    assert dispatcher.spent_usd == (len(answered) + paid) * 0.25
    assert sum(total.attempts for total in dispatcher.totals) == simulation.started.total()
    assert dispatcher.most_in_flight <= connections
    if max_cost is not None:
        # Only calls in flight exceed the budget. Quarters are exact in floats; their sum with the
        # budget is not.
        assert dispatcher.spent_usd - connections * 0.25 < max_cost


@given(st.integers(1, 6), st.integers(1, 30))
def test_calls_start_in_the_order_of_submission(connections: int, jobs: int) -> None:
    simulation = DispatchSimulation(connections=connections)
    simulation.submit(*keys(jobs))
    assert [job.key for job in simulation.under_way] == keys(jobs)[:connections]
    order = []
    while simulation.under_way:
        order.append(simulation.under_way[0].key)
        simulation.succeed()
    assert order == keys(jobs)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 3))
def test_askers_take_turns(askers: list[int], urgent: int) -> None:
    """A client with many requests does not delay the others."""
    queue, left = JobQueue(), Counter(askers)
    for number, asker in enumerate(askers):
        queue.push(Job(str(number), 0, b"", asker=asker))
    for number in range(urgent):
        queue.push(Job(f"again {number}", 0, b"", asker=9, urgent=True))
    assert [queue.pop().key for _ in range(urgent)] == [
        f"again {number}" for number in reversed(range(urgent))
    ]
    last: dict[int, int] = {}
    taken: Counter[int] = Counter()
    for _ in askers:
        job = queue.pop()
        asker = askers[int(job.key)]
        assert int(job.key) > last.get(asker, -1)  # each in its own order
        last[asker] = int(job.key)
        taken[asker] += 1
        # No waiting client is more than one turn behind.
        waiting = [taken[other] for other in left if taken[other] < left[other]]
        assert all(taken[asker] - others <= 1 for others in waiting)
    assert not queue
    with pytest.raises(IndexError):
        queue.pop()


# Retries.


def test_a_retry_starts_before_new_calls() -> None:
    simulation = DispatchSimulation(connections=1)
    simulation.submit("a", "b", "c")
    simulation.fail(SERVER)
    assert simulation.under_way[0].key == "b"  # meanwhile
    assert simulation.pass_time()
    simulation.succeed()
    assert [job.key for job in simulation.under_way] == ["a"]
    simulation.succeed()
    assert [job.key for job in simulation.under_way] == ["c"]
    assert simulation.dispatcher.totals[0].retries == 1


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_case_fails_after_its_last_retry(retries: int) -> None:
    simulation = DispatchSimulation(retries=retries)
    simulation.submit("a")
    while simulation.under_way or simulation.pass_time():
        if simulation.under_way:
            simulation.fail(SERVER)
    assert simulation.started["a"] == retries + 1
    (outcome,) = simulation.delivered["a"]
    assert outcome["error"]["reason"] == "server_error"
    assert ("(after" in outcome["error"]["message"]) == (retries > 0)


@pytest.mark.parametrize("kind", [KEY, FILTERED, REFUSED])
def test_permanent_failures_are_not_retried(kind: tuple[str, dict[str, Any]]) -> None:
    simulation = DispatchSimulation()
    simulation.submit("a")
    simulation.fail(kind)
    assert simulation.reasons() == {"a": kind[0]}
    assert not simulation.pass_time()


def test_retry_after_pauses_all_calls_of_the_provider() -> None:
    simulation = DispatchSimulation(providers=("p", "p", "q"), connections=1)
    simulation.submit("a", lane=0)
    simulation.submit("b", lane=1)
    start = simulation.now
    simulation.fail(LIMITED, retry_after=20.0)
    assert not simulation.under_way
    simulation.submit("c", lane=2)  # another provider
    assert [job.key for job in simulation.under_way] == ["c"]
    simulation.succeed()
    while not simulation.under_way:
        assert simulation.pass_time()
    assert simulation.now >= start + 20


def test_an_early_timer_loses_no_call() -> None:
    simulation = DispatchSimulation(connections=1, early=0.01)
    simulation.submit("a", "b")
    simulation.fail(LIMITED, retry_after=1.0)
    while simulation.under_way or simulation.pass_time():
        if simulation.under_way:
            simulation.succeed()
    assert sorted(simulation.delivered) == ["a", "b"]


def test_the_run_has_a_limit_of_retries() -> None:
    simulation = DispatchSimulation(connections=1000, retries=1000)
    number = SPARE_RETRIES + 50
    simulation.submit(*keys(number))
    for _ in range(SPARE_RETRIES):
        simulation.fail(SERVER)
    assert not simulation.delivered
    assert simulation.dispatcher.totals[0].retries == SPARE_RETRIES
    simulation.fail(SERVER)
    assert list(simulation.reasons().values()) == ["server_error"]
    # Every answer allows one more retry.
    simulation.succeed()
    simulation.fail(SERVER)
    assert len(simulation.reasons()) == 1
    simulation.fail(SERVER)
    assert len(simulation.reasons()) == 2


def test_a_lane_with_a_limit_leaves_connections_for_others() -> None:
    simulation = DispatchSimulation(connections=4, providers=("file", "p"), at_once=(1, None))
    simulation.submit(*keys(5), lane=0)
    simulation.submit("a", "b", "c", "d", lane=1)
    assert sorted(job.lane for job in simulation.under_way) == [0, 1, 1, 1]
    simulation.succeed()
    assert sorted(job.lane for job in simulation.under_way) == [0, 1, 1, 1]
