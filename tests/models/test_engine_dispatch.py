"""Which call starts when, under a clock of the test's own: no sockets, no waiting."""

from __future__ import annotations

import heapq
import random
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models.engine._dispatch import (
    GIVE_UP_AFTER,
    SPARE_RETRIES,
    STOP_AFTER,
    Dispatcher,
    Lane,
    Limits,
)
from pytest_tablebench.models.engine._pace import OUTAGE_S
from pytest_tablebench.models.engine._queue import Job, JobQueue

REPLY = {"text": "ok", "prompt_tokens": 7, "completion_tokens": 3, "cost_usd": 0.25}
SERVER = ("server_error", {"retryable": True})
DOWN = ("unreachable", {"retryable": True, "whole_run": True})
LIMITED = ("rate_limit", {"retryable": True})
KEY = ("auth", {"whole_run": True})
FILTERED = ("content_filter", {})
REFUSED = ("bad_request", {})


def failure(kind: tuple[str, dict[str, Any]], **more: Any) -> ModelError:
    reason, flags = kind
    return ModelError(f"it failed: {reason}", reason=reason, **flags, **more)


class Desk:
    """A dispatcher, its clock and timers, the calls under way and what was delivered."""

    def __init__(
        self,
        *,
        connections: int = 4,
        retries: int = 5,
        max_cost: float | None = None,
        providers: tuple[str, ...] = ("p",),
        early: float = 0.0,
    ) -> None:
        self.now = 1000.0
        self.under_way: list[Job] = []
        self.delivered: dict[str, list[dict[str, Any]]] = {}
        self.started: Counter[str] = Counter()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._early = early
        lanes = [Lane(f"m{number}", provider) for number, provider in enumerate(providers)]
        self.dispatcher = Dispatcher(
            lanes,
            Limits(connections, retries, max_cost),
            lambda: self.now,
            self._later,
            self._start,
            self._deliver,
        )

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        at = self.now + max(0.0, seconds - self._early)
        heapq.heappush(self._timers, (at, next(self._numbers), call))

    def _start(self, job: Job) -> None:
        self.started[job.key] += 1
        self.under_way.append(job)

    def _deliver(self, job: Job, outcome: dict[str, Any]) -> None:
        self.delivered.setdefault(job.key, []).append(outcome)

    def submit(self, *keys: str, lane: int = 0) -> None:
        for key in keys:
            self.dispatcher.submit(Job(key, lane, b"{}"))

    def succeed(self, cost: float | None = 0.25) -> None:
        self.dispatcher.succeed(self.under_way.pop(0), {**REPLY, "cost_usd": cost})

    def fail(self, kind: tuple[str, dict[str, Any]], **more: Any) -> None:
        self.dispatcher.fail(self.under_way.pop(0), failure(kind, **more))

    def pass_time(self) -> bool:
        """Go on to the next timer; False without any."""
        if not self._timers:
            return False
        self._early /= 2
        at, _, call = heapq.heappop(self._timers)
        self.now = max(self.now, at)
        call()
        return True

    def reasons(self) -> dict[str, str]:
        """What was delivered of each job that ended without an answer."""
        return {
            key: outcome["error"]["reason"]
            for key, (outcome,) in self.delivered.items()
            if "error" in outcome
        }


def keys(number: int) -> list[str]:
    return [f"k{place}" for place in range(number)]


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    """Back-off is drawn from the module's generator."""
    state = random.getstate()
    random.seed(7)
    yield
    random.setstate(state)


# Rules that hold whatever comes.

OUTCOMES = st.sampled_from(["succeed", SERVER, DOWN, LIMITED, KEY, FILTERED, REFUSED])


@settings(max_examples=200)
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
    while desk.now < 1000 + OUTAGE_S - 10:
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
    while desk.under_way or desk.pass_time():
        if desk.under_way:
            desk.fail(DOWN)
    assert 1000 + OUTAGE_S < desk.now < 1000 + OUTAGE_S + 120
    assert desk.dispatcher.stopped is not None
    assert "it failed: unreachable" in str(desk.dispatcher.stopped)
    assert len(desk.reasons()) == 20


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
    assert Counter(reasons.values()) == {kind[0]: after, "stopped": 30}
    # Whoever asks later is told the same.
    desk.submit("later")
    assert desk.reasons()["later"] == "stopped"


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
