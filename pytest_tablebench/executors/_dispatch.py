"""Decide which call starts when: queues, retries, the budget, and when to give up.

Uses no sockets: functions that are passed in start calls, deliver outcomes and measure time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_tablebench.errors import MODEL_STOPPED, STOPPED, ModelError
from pytest_tablebench.executors._pace import SPARE_RETRIES, SPENT, LaneState, Pace, Totals, plus
from pytest_tablebench.executors._protocol import Job
from pytest_tablebench.executors._wire import error_fields
from pytest_tablebench.models.retry import RetryPolicy

WAIT_S = 5.0
"""Seconds of silence after which a provider is reported; at most a quarter of the patience."""

MOST_LOSSES = 3
"""Times that a call is repeated because its caller was lost."""


@dataclass(frozen=True)
class Lane:
    """One model of a run, and how it is called. Models of one provider share its pace.

    Arguments:
        reference: where callers find the maker of a registered provider; None: it has none. The
            price of its calls is known only from replies. Under a budget, the dispatcher starts as
            many of them as the budget covers at the highest price seen.
        at_once: the largest number of calls to the provider in flight; None: the run's.
        file: the model's file if the run serves it.
        asked_as: litellm's name of a model that the run serves.
    """

    model: str
    api_base: str | None = field(repr=False)
    provider: str = field(repr=False)
    reference: Mapping[str, Any] | None = field(default=None, repr=False)
    at_once: int | None = None
    file: str | None = None
    asked_as: str | None = None


@dataclass
class Dispatcher:
    """Starts jobs as limits allow, and delivers the answer or the final error of each.

    Arguments:
        connections: the largest number of calls in flight.
        max_cost: US dollars that all calls may cost; None: no limit.
        patience: seconds without any answer after which a provider is given up.
        clock: returns seconds, from any starting point.
        later: calls a function after so many seconds.
        start: sends a job to a caller.
        deliver: sends the outcome of a job to its askers.
        look: returns an answer that another process has stored since the job was submitted.
    """

    lanes: Sequence[Lane]
    connections: int
    retries: int
    max_cost: float | None
    patience: float
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
        most = self.connections
        self.paces = {
            lane.provider: Pace(min(most, lane.at_once or most), self.patience)
            for lane in self.lanes
        }
        self.policy = RetryPolicy(self.retries)
        self._lane_states = [LaneState() for _ in self.lanes]
        self._turn = 0
        self._wake_at = 0.0
        self._retries: set[Job] = set()
        self._last_errors: dict[str, ModelError] = {}
        self._watched: set[str] = set()

    def submit(self, job: Job) -> None:
        """Queue a job. Its outcome is always delivered."""
        state = self._lane_states[job.lane]
        end = self._end_of(state)
        if end is not None:
            self.deliver(job, {"error": error_fields(end)})
            return
        state.queue.push(job)
        self.pump()

    def pump(self) -> None:
        now = self.clock()
        blocked = 0
        while self.in_flight < self.connections and blocked < len(self.lanes):
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
        at = self.clock() + seconds
        if abs(at - self._wake_at) > 1e-3:
            self._wake_at = at
            self.later(seconds, self._awake)

    def _awake(self) -> None:
        self._wake_at = 0.0  # a timer may be early; `pump` then sets another one
        self.pump()

    def _end_call(self, job: Job) -> tuple[LaneState, Pace]:
        self.in_flight -= 1
        state = self._lane_states[job.lane]
        state.in_flight -= 1
        return state, self.paces[self.lanes[job.lane].provider]

    def succeed(self, job: Job, reply: Mapping[str, Any]) -> None:
        state, pace = self._end_call(job)
        cost = reply.get("cost_usd")
        state.expect(cost)
        pace.succeed()
        state.answered()
        self.totals[job.lane].add(reply)
        self.deliver(job, {"reply": dict(reply)})
        self._spend(cost)
        self.pump()

    def _affordable(self, lane: int) -> bool:
        """Return whether the budget covers one more call at the highest price seen."""
        limit, state = self.max_cost, self._lane_states[lane]
        if limit is None or self.lanes[lane].reference is None or not state.in_flight:
            return True
        if state.most_usd is None:
            return False
        return self.spent_usd + (state.in_flight + 1) * state.most_usd <= limit + 1e-9

    def _spend(self, cost: float | None) -> None:
        self.spent_usd += cost or 0.0
        limit = self.max_cost
        if limit is None:
            return
        if cost is None:
            why = "the price of an answer is unknown, so --bench-max-cost cannot be kept"
            self.stop(why, reason="budget")
        elif self.spent_usd >= limit:
            why = f"the budget of {limit:g} USD is spent ({self.spent_usd:.4f} USD)"
            self.stop(why, reason="budget")

    def fail(self, job: Job, error: ModelError) -> None:
        """Retry a failed call later, or deliver its error and check whether to give up."""
        now, provider = self.clock(), self.lanes[job.lane].provider
        state, pace = self._end_call(job)
        if error.spent is not None:
            self._pay(job, error.spent)
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
            job.attempt = min(job.attempt, self.retries, 4)
            wait = self.policy.wait(error, job.attempt) if self.retries else None
            if wait is not None and self._end_of(state) is None:
                # All calls wait together, so that all continue when the provider is back.
                pace.cool_until = max(pace.cool_until, now + wait)
                wait = 0.0
        elif state.retries >= SPARE_RETRIES + self.totals[job.lane].calls_paid:
            wait = None
        else:
            state.retries += wait is not None
        over = pace.out(now) and not pace.in_flight
        if wait is not None and not over and self._end_of(state) is None:
            self.totals[job.lane].retries += 1
            self._retries.add(job)
            if wait:
                self.later(wait, lambda: self._retry(job))
            else:
                self._retry(job)
        else:
            self._fail_finally(job, error)
        self._last_errors[provider] = error
        self._check_silence(provider)
        self.pump()

    def _pay(self, job: Job, spent: Mapping[str, Any]) -> None:
        cost = spent.get("cost_usd")
        before = job.spent or dict.fromkeys(SPENT, 0)
        job.spent = {name: plus(before[name], spent.get(name)) for name in SPENT}
        self._lane_states[job.lane].expect(cost)
        self.totals[job.lane].add(spent)
        self._spend(cost)

    def give_back(self, job: Job, error: ModelError) -> None:
        """Queue the call of a lost caller again, which does not count as a retry.

        A call that was lost too often fails, because it may be what crashes the callers.
        """
        job.losses += 1
        if job.losses > MOST_LOSSES:
            self.fail(job, error)
            return
        _, pace = self._end_call(job)
        pace.in_flight -= 1
        job.attempt -= 1
        job.urgent = True
        self.submit(job)
        self.pump()

    # A provider that answers nothing.

    def waits(self) -> list[dict[str, Any]]:
        """Return the providers that have answered nothing for a while.

        Each has its `models`, the `reason` of the last failure, the time `since` which all calls
        have failed, and the time `until` which it is not given up.
        """
        now = self.clock()
        waits: list[dict[str, Any]] = []
        for provider, pace in self.paces.items():
            since = pace.silent_since
            if since is None or pace.idle_since is not None:
                continue
            if now - since >= min(WAIT_S, pace.patience / 4):
                models = [lane.model for lane in self.lanes if lane.provider == provider]
                reason, until = self._last_errors[provider].reason, since + pace.patience
                waits.append({"models": models, "reason": reason, "since": since, "until": until})
        return waits

    def _check_silence(self, provider: str) -> None:
        """Give up a provider that was silent for too long; else check again when it may be."""
        now, pace = self.clock(), self.paces[provider]
        if pace.silent_since is None or pace.idle_since is not None:
            return
        if pace.out(now):
            self._give_up_silent(provider)
        elif not pace.in_flight and not self._has_waiting(provider):
            pace.rest(now)
        elif provider not in self._watched:
            self._watched.add(provider)
            left = pace.silent_since + pace.patience - now
            self.later(left, lambda: self._watch(provider))

    def _watch(self, provider: str) -> None:
        self._watched.remove(provider)
        self._check_silence(provider)

    def _give_up_silent(self, provider: str) -> None:
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
        lanes = {n for n, lane in enumerate(self.lanes) if lane.provider == provider}
        queued = any(self._lane_states[lane].queue for lane in lanes)
        return queued or any(job.lane in lanes for job in self._retries)

    def _retry(self, job: Job) -> None:
        if job not in self._retries:
            return  # the stop was delivered already
        self._retries.remove(job)
        job.urgent = True
        self.submit(job)

    def _fail_finally(self, job: Job, error: ModelError) -> None:
        error = self.policy.final(error, job.attempt)
        why = self._lane_states[job.lane].failed(error)
        self.deliver(job, {"error": {**error_fields(error), "given_up": why, "spent": job.spent}})
        if why is not None:
            self.give_up(job.lane, why)

    def _end_of(self, state: LaneState) -> ModelError | None:
        return self.stopped or state.given_up

    def give_up(self, lane: int, why: str) -> None:
        """Start no further call to one model. The run stops with its last model."""
        state = self._lane_states[lane]
        if self._end_of(state) is not None:
            return
        state.given_up = ModelError(why, reason=MODEL_STOPPED)
        if all(other.given_up for other in self._lane_states):
            self.stop(why, reason=MODEL_STOPPED)
        else:
            self._cancel([lane], state.given_up)

    def stop(self, why: str, *, reason: str = STOPPED) -> None:
        """Start no further call, and deliver the reason to waiting jobs."""
        if self.stopped is not None:
            return
        self.stopped = ModelError(why, reason=reason)
        self._cancel(range(len(self.lanes)), self.stopped)

    def _cancel(self, lanes: Sequence[int], error: ModelError) -> None:
        resting = {job for job in self._retries if job.lane in lanes}
        self._retries -= resting
        for lane in lanes:
            queue = self._lane_states[lane].queue
            while queue:
                self.deliver(queue.pop(), {"error": error_fields(error)})
        for job in resting:
            self.deliver(job, {"error": error_fields(error)})
