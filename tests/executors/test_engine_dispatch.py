"""Which call starts when, under a clock of the test's own: no sockets, no waiting."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench.executors.local._course import SPARE_RETRIES
from pytest_tablebench.executors.local._queue import Job, JobQueue
from tests.support.desk import (
    DOWN,
    FILTERED,
    KEY,
    LIMITED,
    REFUSED,
    SERVER,
    Desk,
    keys,
)
from tests.support.matrix import draws

pytestmark = pytest.mark.usefixtures("seeded")

# Rules that hold whatever comes.

OUTCOMES = st.sampled_from(["succeed", SERVER, DOWN, LIMITED, KEY, FILTERED, REFUSED])


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
    desk = Desk(connections=connections, retries=retries, max_cost=max_cost, providers=providers)
    dispatcher = desk.dispatcher
    for number, key in enumerate(keys(jobs)):
        desk.submit(key, lane=number % lanes)
    stopped_with = None
    for outcome, retry_after in wishes:
        assert len(desk.under_way) == dispatcher.in_flight <= connections
        if not desk.under_way:
            if not desk.pass_time():
                break
            continue
        if outcome == "succeed":
            desk.succeed()
        else:
            desk.fail(outcome, retry_after=retry_after)
        if dispatcher.stopped is not None:
            if stopped_with is None:
                stopped_with = desk.started.copy()
            assert desk.started == stopped_with, "a call began after the stop"
    while desk.under_way or desk.pass_time():
        if desk.under_way:
            desk.succeed()
    assert sorted(desk.delivered) == sorted(keys(jobs))
    assert all(len(outcomes) == 1 for outcomes in desk.delivered.values())
    answered = [key for key, (outcome,) in desk.delivered.items() if "reply" in outcome]
    assert dispatcher.answered == len(answered)
    assert sum(total.attempts for total in dispatcher.totals) == desk.started.total()
    assert dispatcher.most_in_flight <= connections
    if max_cost is not None:
        # All that was in flight when the budget was reached, and no more. Quarters are exact in
        # floats; their sum with the budget is not.
        assert dispatcher.spent_usd - connections * 0.25 < max_cost


@given(st.integers(1, 6), st.integers(1, 30))
def test_first_come_first_served(connections: int, jobs: int) -> None:
    desk = Desk(connections=connections)
    desk.submit(*keys(jobs))
    assert [job.key for job in desk.under_way] == keys(jobs)[:connections]
    order = []
    while desk.under_way:
        order.append(desk.under_way[0].key)
        desk.succeed()
    assert order == keys(jobs)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.integers(0, 3))
def test_askers_take_turns(askers: list[int], urgent: int) -> None:
    """Whoever asks for much does not keep the others waiting."""
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
        # Nobody who still waits is more than one turn behind.
        waiting = [taken[other] for other in left if taken[other] < left[other]]
        assert all(taken[asker] - others <= 1 for others in waiting)
    assert not queue
    with pytest.raises(IndexError):
        queue.pop()


# Retries.


def test_a_passing_failure_is_asked_again_before_new_ones() -> None:
    desk = Desk(connections=1)
    desk.submit("a", "b", "c")
    desk.fail(SERVER)
    assert desk.under_way[0].key == "b"  # meanwhile
    assert desk.pass_time()
    desk.succeed()
    assert [job.key for job in desk.under_way] == ["a"]
    desk.succeed()
    assert [job.key for job in desk.under_way] == ["c"]
    assert desk.dispatcher.retries == 1


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_case_is_given_up_after_its_retries(retries: int) -> None:
    desk = Desk(retries=retries)
    desk.submit("a")
    while desk.under_way or desk.pass_time():
        if desk.under_way:
            desk.fail(SERVER)
    assert desk.started["a"] == retries + 1
    (outcome,) = desk.delivered["a"]
    assert outcome["error"]["reason"] == "server_error"
    assert ("(after" in outcome["error"]["message"]) == (retries > 0)


@pytest.mark.parametrize("kind", [KEY, FILTERED, REFUSED])
def test_what_cannot_pass_is_not_asked_again(kind: tuple[str, dict[str, Any]]) -> None:
    desk = Desk()
    desk.submit("a")
    desk.fail(kind)
    assert desk.reasons() == {"a": kind[0]}
    assert not desk.pass_time()


def test_a_wish_of_the_server_holds_for_all_calls_of_its_provider() -> None:
    desk = Desk(providers=("p", "p", "q"), connections=1)
    desk.submit("a", lane=0)
    desk.submit("b", lane=1)
    start = desk.now
    desk.fail(LIMITED, retry_after=20.0)
    assert not desk.under_way
    desk.submit("c", lane=2)  # another provider
    assert [job.key for job in desk.under_way] == ["c"]
    desk.succeed()
    while not desk.under_way:
        assert desk.pass_time()
    assert desk.now >= start + 20


def test_a_timer_that_is_early_loses_no_call() -> None:
    desk = Desk(connections=1, early=0.01)
    desk.submit("a", "b")
    desk.fail(LIMITED, retry_after=1.0)
    while desk.under_way or desk.pass_time():
        if desk.under_way:
            desk.succeed()
    assert sorted(desk.delivered) == ["a", "b"]


def test_a_run_has_a_limit_of_retries_too() -> None:
    desk = Desk(connections=1000, retries=1000)
    number = SPARE_RETRIES + 50
    desk.submit(*keys(number))
    for _ in range(SPARE_RETRIES):
        desk.fail(SERVER)
    assert not desk.delivered
    assert desk.dispatcher.retries == SPARE_RETRIES
    desk.fail(SERVER)
    assert list(desk.reasons().values()) == ["server_error"]
    # Every answer gives one more.
    desk.succeed()
    desk.fail(SERVER)
    assert len(desk.reasons()) == 1
    desk.fail(SERVER)
    assert len(desk.reasons()) == 2


def test_a_lane_that_takes_few_at_once_leaves_room_for_others() -> None:
    desk = Desk(connections=4, providers=("file", "p"), at_once=(1, None))
    desk.submit(*keys(5), lane=0)
    desk.submit("a", "b", "c", "d", lane=1)
    assert sorted(job.lane for job in desk.under_way) == [0, 1, 1, 1]
    desk.succeed()
    assert sorted(job.lane for job in desk.under_way) == [0, 1, 1, 1]
