"""Which call starts when: queues, retries, the budget, and when to give up.

Knows no sockets: calls are started and outcomes delivered through two functions, time comes from
a clock and a timer that are handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_tablebench.errors import MODEL_STOPPED, STOPPED, ModelError
from pytest_tablebench.executors._lane_state import SPARE_RETRIES, LaneState, Totals
from pytest_tablebench.executors._pace import Pace
from pytest_tablebench.executors._queue import Job
from pytest_tablebench.executors._wire import error_fields
from pytest_tablebench.models.retry import RetryPolicy

WAIT_S = 5.0
"""Seconds without any answer from which a provider is said to be waited for; less where there is
less patience."""


MOST_LOSSES = 3
"""Times a call is made anew because whoever made it is gone."""


@dataclass(frozen=True)
class Lane:
    """One model of a run; models of one provider share its pace.

    `priced` is False where nobody knows a call's price before its reply: under a budget such calls
    start as far as the dearest one so far lets it be kept. `at_once`: calls to its provider that
    may be under way, where that is less than the run's.
    """

    model: str
    provider: str
    priced: bool = True
    at_once: int | None = None


@dataclass(frozen=True)
class RunLimits:
    """What a run may do at most."""

    connections: int
    retries: int
    max_cost: float | None = None
    patience: float = 180.0


@dataclass(frozen=True)
class Wait:
    """A provider that answers nothing at the moment.

    Arguments:
        models: those of the run that it has.
        reason: the kind of the last failure.
        since: the time of the first one.
        until: when it will be asked no more.
    """

    models: tuple[str, ...]
    reason: str
    since: float
    until: float


@dataclass
class Dispatcher:
    """Starts jobs as limits allow, and sees each through to its answer or its last error.

    Arguments:
        lanes: the models of the run.
        limits: calls in flight, retries and budget.
        clock: seconds, from any starting point.
        later: calls a function after so many seconds.
        start: hands a job to a caller.
        deliver: tells the askers of a job what came of it.
        look: returns an answer that has come to be known otherwise since the job was asked for;
            it costs no call.
    """

    lanes: Sequence[Lane]
    limits: RunLimits
    clock: Callable[[], float]
    later: Callable[[float, Callable[[], None]], object]
    start: Callable[[Job], None]
    deliver: Callable[[Job, dict[str, Any]], None]
    look: Callable[[Job], Mapping[str, Any] | None] = lambda _: None
    in_flight: int = 0
    most_in_flight: int = 0
    stopped: ModelError | None = None
    spent_usd: float = 0.0
    totals: list[Totals] = field(init=False)

    def __post_init__(self) -> None:
        self.totals = [Totals() for _ in self.lanes]
        most, patience = self.limits.connections, self.limits.patience
        self.paces = {
            lane.provider: Pace(min(most, lane.at_once or most), patience) for lane in self.lanes
        }
        self.policy = RetryPolicy(self.limits.retries)
        self._lane_states = [LaneState() for _ in self.lanes]
        self._turn = 0
        self._wake_at = 0.0
        self._resting: set[Job] = set()
        self._last_errors: dict[str, ModelError] = {}
        self._watched: set[str] = set()

    def submit(self, job: Job) -> None:
        """Take a job; its outcome is delivered in any case."""
        state = self._lane_states[job.lane]
        stopped = self.stopped or state.given_up
        if stopped is not None:
            self.deliver(job, {"error": error_fields(stopped)})
            return
        state.queue.push(job)
        self.pump()

    def pump(self) -> None:
        """Start as many jobs as may start now."""
        now = self.clock()
        blocked = 0
        while self.in_flight < self.limits.connections and blocked < len(self.lanes):
            lane = self._turn % len(self.lanes)
            self._turn += 1
            queue, pace = self._lane_states[lane].queue, self.paces[self.lanes[lane].provider]
            if not queue or not pace.may_start(now) or not self._affordable(lane):
                blocked += 1
                if queue and pace.cool_until > now:
                    self._wake(pace.cool_until - now)
                continue
            blocked = 0
            job = queue.pop()
            reply = self.look(job)
            if reply is not None:
                self.deliver(job, {"reply": dict(reply)})
                continue
            job.attempt += 1
            job.started = now
            self.totals[lane].attempts += 1
            self.in_flight += 1
            self._lane_states[lane].in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self.in_flight)
            pace.start(now)
            self.start(job)

    def _wake(self, seconds: float) -> None:
        """Look again when a cool-down is over; one timer for all that wait for it."""
        at = self.clock() + seconds
        if abs(at - self._wake_at) > 1e-3:
            self._wake_at = at
            self.later(seconds, self._awake)

    def _awake(self) -> None:
        self._wake_at = 0.0  # a timer may be early: what waits then needs another one
        self.pump()

    def succeed(self, job: Job, reply: Mapping[str, Any]) -> None:
        """Take a caller's reply."""
        self.in_flight -= 1
        state, cost = self._lane_states[job.lane], reply.get("cost_usd")
        state.in_flight -= 1
        state.most_usd = max(state.most_usd or 0.0, cost or 0.0)
        self.paces[self.lanes[job.lane].provider].succeed()
        state.answered()
        self.totals[job.lane].add(reply)
        self.deliver(job, {"reply": dict(reply)})
        self._spend(cost)
        self.pump()

    def _affordable(self, lane: int) -> bool:
        """Whether the budget surely bears one more call, where only replies tell the price."""
        limit, state = self.limits.max_cost, self._lane_states[lane]
        if limit is None or self.lanes[lane].priced or not state.in_flight:
            return True
        if state.most_usd is None:
            return False
        return self.spent_usd + (state.in_flight + 1) * state.most_usd <= limit + 1e-9

    def _spend(self, cost: float | None) -> None:
        self.spent_usd += cost or 0.0
        limit = self.limits.max_cost
        if limit is None or self.stopped is not None:
            return
        if cost is None:
            self.stop(
                "the price of an answer is unknown, so --bench-max-cost cannot be kept",
                reason="budget",
            )
        elif self.spent_usd >= limit:
            self.stop(
                f"the budget of {limit:g} USD is spent ({self.spent_usd:.4f} USD)", reason="budget"
            )

    def fail(self, job: Job, error: ModelError) -> None:
        """Take a caller's error: ask again later, or deliver it and see whether to go on."""
        self.in_flight -= 1
        self._lane_states[job.lane].in_flight -= 1
        now = self.clock()
        state, provider = self._lane_states[job.lane], self.lanes[job.lane].provider
        pace = self.paces[provider]
        wait = self.policy.wait(error, job.attempt) if error.retryable else None
        unreachable = error.reason == "unreachable"
        pace.fail(
            now,
            passing=error.retryable,
            turned_away=error.reason in {"rate_limit", "timeout"} and error.retryable,
            unreachable=unreachable,
            retry_after=error.retry_after if wait is not None else None,
            wait=wait,
        )
        if unreachable and pace.down_since is not None:
            # It has answered before: this is an outage, which does not use the case's retries up.
            job.attempt = min(job.attempt, self.limits.retries, 4)
            wait = self.policy.wait(error, job.attempt) if self.limits.retries else None
            if wait is not None and not self._ended(state):
                # All wait together, so that all go on at once when it is back.
                pace.cool_until = max(pace.cool_until, now + wait)
                wait = 0.0
        elif state.retries >= SPARE_RETRIES + self.totals[job.lane].calls_paid:
            wait = None
        else:
            state.retries += wait is not None
        over = pace.out(now) and not pace.in_flight
        if wait is not None and not over and not self._ended(state):
            self.totals[job.lane].retries += 1
            self._resting.add(job)
            if wait:
                self.later(wait, lambda: self._again(job))
            else:
                self._again(job)
        else:
            self._give_up(job, error)
        self._check_silence(provider, now, error)
        self.pump()

    def give_back(self, job: Job, error: ModelError) -> None:
        """Take a call back from somebody who is gone; it is made anew, which is no retry.

        The provider has nothing to do with it. A call that was lost too often has failed: it may
        be what ends those who make it.
        """
        job.losses += 1
        if job.losses > MOST_LOSSES:
            self.fail(job, error)
            return
        self.in_flight -= 1
        state = self._lane_states[job.lane]
        state.in_flight -= 1
        self.paces[self.lanes[job.lane].provider].in_flight -= 1
        job.attempt -= 1
        job.urgent = True
        if self._ended(state):
            ended = self.stopped or state.given_up or error
            self.deliver(job, {"error": error_fields(ended)})
        else:
            state.queue.push(job)
        self.pump()

    # A provider that answers nothing.

    def waits(self) -> list[Wait]:
        """Return who has answered nothing for a while."""
        now, waits = self.clock(), []
        for provider, pace in self.paces.items():
            since = pace.silent_since
            if since is None or pace.idle_since is not None:
                continue
            if now - since >= min(WAIT_S, pace.patience / 4):
                models = tuple(lane.model for lane in self.lanes if lane.provider == provider)
                reason = self._last_errors[provider].reason
                waits.append(Wait(models, reason, since, since + pace.patience))
        return waits

    def _check_silence(self, provider: str, now: float, error: ModelError) -> None:
        """After a failure, see whether the provider is silent, and since when."""
        pace, self._last_errors[provider] = self.paces[provider], error
        if pace.silent_since is None:
            return
        if pace.out(now):
            self._look_at(provider)
        elif not pace.in_flight and not self._has_waiting(provider):
            pace.rest(now)
        elif provider not in self._watched:
            self._watched.add(provider)
            self.later(pace.patience, lambda: self._watch(provider))

    def _watch(self, provider: str) -> None:
        """Give a provider up where it has been silent for too long by now; else look again then."""
        self._watched.remove(provider)
        pace = self.paces[provider]
        if pace.silent_since is None or pace.idle_since is not None:
            return
        left = pace.silent_since + pace.patience - self.clock()
        if left > 0:
            self._watched.add(provider)
            self.later(left, lambda: self._watch(provider))
        else:
            self._look_at(provider)

    def _look_at(self, provider: str) -> None:
        """Give up the models of a provider, unless a call under way may still be answered."""
        pace = self.paces[provider]
        if pace.in_flight:
            return
        why = (
            f"stopped, because no call was answered for {pace.patience:g} s (--bench-patience): "
            f"{self._last_errors[provider]}"
        )
        for number, lane in enumerate(self.lanes):
            if lane.provider == provider:
                self.give_up(number, why)

    def _has_waiting(self, provider: str) -> bool:
        """Whether a call to one of a provider's models waits."""
        lanes = {n for n, lane in enumerate(self.lanes) if lane.provider == provider}
        queued = any(self._lane_states[lane].queue for lane in lanes)
        return queued or any(job.lane in lanes for job in self._resting)

    def _again(self, job: Job) -> None:
        if job not in self._resting:
            return  # told of the stop already
        self._resting.remove(job)
        job.urgent = True
        self._lane_states[job.lane].queue.push(job)
        self.pump()

    def _give_up(self, job: Job, error: ModelError) -> None:
        error = self.policy.final(error, job.attempt)
        why = self._lane_states[job.lane].failed(error)
        self.deliver(job, {"error": {**error_fields(error), "given_up": why}})
        if why is not None:
            self.give_up(job.lane, why)

    def _ended(self, state: LaneState) -> bool:
        return self.stopped is not None or state.given_up is not None

    def give_up(self, lane: int, why: str) -> None:
        """Start no further call to one model; with the last of them the run stops."""
        state = self._lane_states[lane]
        if self._ended(state):
            return
        state.given_up = ModelError(why, reason=MODEL_STOPPED)
        if all(other.given_up for other in self._lane_states):
            self.stop(why, reason=MODEL_STOPPED)
        else:
            self._turn_away([lane], state.given_up)

    def stop(self, why: str, *, reason: str = STOPPED) -> None:
        """Start no further call; whatever waits is told why. Calls in flight go on."""
        if self.stopped is not None:
            return
        self.stopped = ModelError(why, reason=reason)
        self._turn_away(range(len(self.lanes)), self.stopped)

    def _turn_away(self, lanes: Sequence[int], error: ModelError) -> None:
        """Tell all that wait for a call to these models that there will be none."""
        resting = {job for job in self._resting if job.lane in lanes}
        self._resting -= resting
        for lane in lanes:
            queue = self._lane_states[lane].queue
            while queue:
                self.deliver(queue.pop(), {"error": error_fields(error)})
        for job in resting:
            self.deliver(job, {"error": error_fields(error)})
