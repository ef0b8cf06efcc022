"""The state of a model's lane and the pace of its calls: how many at once, and outages.

Pure arithmetic on times that the caller passes in; nothing here waits.

The room (calls in flight) follows the share of calls that the provider turned away. After every
round (as many ended calls as there is room) the room shrinks by half that share, as in DCTCP
(Alizadeh et al. 2010, section 3.1). It settles quickly at what a provider accepts and does not
collapse when a few calls are turned away. A round without any gives a little more room.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_tablebench.errors import CONTENT_FILTER, STOP_AFTER, ModelError
from pytest_tablebench.executors._protocol import JobQueue

GIVE_UP_AFTER = 20
"""Calls in a row that failed after all retries, until the model is given up."""

SPARE_RETRIES = 200
"""Retries that a model may use in addition to one per answer."""

NOT_OF_THE_MODEL = frozenset({"context_window", CONTENT_FILTER, "budget"})
"""Reasons of failures that concern one case and not the model."""


@dataclass
class LaneState:
    """The queue of one model, its failures in a row, and the retries it has used."""

    queue: JobQueue = field(default_factory=JobQueue)
    whole_run_failures: int = 0
    other_failures: int = 0
    retries: int = 0
    in_flight: int = 0
    most_usd: float | None = None
    given_up: ModelError | None = None

    def answered(self) -> None:
        self.whole_run_failures = self.other_failures = 0

    def expect(self, cost: float | None) -> None:
        """Note the price of a call; unknown ones count as 0."""
        self.most_usd = max(self.most_usd or 0.0, cost or 0.0)

    def failed(self, error: ModelError) -> str | None:
        """Count a final failure; return the reason if the model is to be given up, else None."""
        if error.whole_run:
            self.whole_run_failures += 1
        elif error.reason not in NOT_OF_THE_MODEL:
            self.other_failures += 1
        if self.whole_run_failures >= STOP_AFTER:
            return f"stopped after {STOP_AFTER} cases in a row without an answer: {error}"
        if self.other_failures >= GIVE_UP_AFTER:
            return (
                f"stopped after {GIVE_UP_AFTER} cases in a row without an answer, for all their "
                f"retries: {error}"
            )
        return None


SPENT = ("prompt_tokens", "completion_tokens", "cost_usd")
"""What a call may cost, as `Reply` names it."""


def plus(total: float | None, part: float | None) -> float | None:
    """Return the sum, None if a part is unknown."""
    return None if total is None or part is None else total + part


@dataclass
class Totals:
    """Calls, tokens and cost of one model. A sum with an unknown part is None."""

    calls_paid: int = 0
    attempts: int = 0
    retries: int = 0
    prompt_tokens: int | None = 0
    completion_tokens: int | None = 0
    cost_usd: float | None = 0.0

    def add(self, reply: Mapping[str, Any]) -> None:
        self.calls_paid += 1
        for name in SPENT:
            setattr(self, name, plus(getattr(self, name), reply.get(name)))


GROWTH = 0.05
"""Share by which the room grows after a round without a call turned away."""

CROWDED = 0.5
"""From this share of a round turned away, all calls wait, not only those turned away."""


@dataclass
class Pace:
    """Room and cool-down of one provider, shared by all workers of a run.

    Arguments:
        most: the largest number of calls in flight.
        patience: seconds without any answer after which the provider is given up.
    """

    most: int
    patience: float
    room: float = field(init=False)
    in_flight: int = 0
    cool_until: float = 0.0
    down_since: float | None = None
    silent_since: float | None = None
    """Time since which every call has failed temporarily, moved by the time without calls."""
    idle_since: float | None = None
    """Time since which no call to a silent provider is due."""
    answered: int = 0
    _ended: int = 0
    _turned_away: int = 0

    def __post_init__(self) -> None:
        self.room = float(self.most)

    @property
    def limit(self) -> int:
        """Calls that may be in flight now; one if the provider is down, to find when it is back."""
        return 1 if self.down_since is not None else max(1, int(self.room))

    def may_start(self, now: float) -> bool:
        return self.in_flight < self.limit and now >= self.cool_until and not self.out(now)

    def out(self, now: float) -> bool:
        """Return whether the provider was silent for too long, not counting time without calls."""
        if self.silent_since is None:
            return False
        until = now if self.idle_since is None else self.idle_since
        return until - self.silent_since >= self.patience

    def start(self, now: float) -> None:
        self.in_flight += 1
        if self.silent_since is not None and self.idle_since is not None:
            self.silent_since += now - self.idle_since
        self.idle_since = None

    def rest(self, now: float) -> None:
        """Stop counting silence, because no call waits for this provider."""
        self.idle_since = now

    def succeed(self) -> None:
        self.in_flight -= 1
        self.answered += 1
        self.down_since = self.silent_since = None
        self._end_one(turned_away=False)

    def fail(
        self,
        now: float,
        *,
        passing: bool = False,
        turned_away: bool = False,
        unreachable: bool = False,
        retry_after: float | None = None,
        wait: float | None = None,
    ) -> None:
        """Record a failed call.

        Arguments:
            now: the time.
            passing: a retry may help.
            turned_away: by a rate limit or a timeout, so fewer calls may help.
            unreachable: no connection was made.
            retry_after: seconds that the provider requested; all calls wait that long.
            wait: seconds that this call waits before its retry.
        """
        self.in_flight -= 1
        if unreachable:
            if self.answered and self.down_since is None:
                self.down_since = now
        elif self.down_since is not None:
            self.down_since = None  # it is reachable again
        if not passing:
            self.silent_since = None  # a permanent error is an answer too
        elif self.silent_since is None:
            self.silent_since = now
        crowded = self._turned_away + 1 > CROWDED * max(self.room, self._ended + 1)
        if retry_after is not None:
            self.cool_until = max(self.cool_until, now + retry_after)
        elif turned_away and crowded and wait is not None:
            self.cool_until = max(self.cool_until, now + wait)
        self._end_one(turned_away=turned_away)

    def _end_one(self, *, turned_away: bool) -> None:
        self._ended += 1
        self._turned_away += turned_away
        if self._ended < self.room:
            return
        share = self._turned_away / self._ended
        if share:
            self.room = max(1.0, self.room * (1 - share / 2))
        else:
            self.room = min(float(self.most), self.room + max(1.0, GROWTH * self.room))
        self._ended = self._turned_away = 0
