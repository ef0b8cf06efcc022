"""A dispatcher with a simulated clock: no sockets, no waiting."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from itertools import count, zip_longest
from typing import Any

from pytest_tablebench.errors import ModelError
from pytest_tablebench.executors._dispatch import Dispatcher, Lane
from pytest_tablebench.executors._protocol import Job

REPLY = {"text": "ok", "prompt_tokens": 7, "completion_tokens": 3, "cost_usd": 0.25}
SERVER = ("server_error", {"retryable": True})
DOWN = ("unreachable", {"retryable": True, "whole_run": True})
LIMITED = ("rate_limit", {"retryable": True})
KEY = ("auth", {"whole_run": True})
FILTERED: tuple[str, dict[str, bool]] = ("content_filter", {})
PAID = ("server_error", {"retryable": True, "spent": {**REPLY, "text": ""}})
"""An error in a response that was paid for."""
SLOW = ("timeout", {"retryable": True})
REFUSED: tuple[str, dict[str, bool]] = ("bad_request", {})

PATIENCE_S = 180.0
"""Default seconds that a provider may leave all calls unanswered."""


def failure(kind: tuple[str, dict[str, Any]], **more: Any) -> ModelError:
    reason, flags = kind
    return ModelError(f"it failed: {reason}", reason=reason, **flags, **more)


class DispatchSimulation:
    """A dispatcher, its clock and timers, the calls in flight and the delivered outcomes."""

    def __init__(
        self,
        *,
        connections: int = 4,
        retries: int = 5,
        max_cost: float | None = None,
        patience: float = PATIENCE_S,
        providers: tuple[str, ...] = ("p",),
        early: float = 0.0,
        at_once: tuple[int | None, ...] = (),
    ) -> None:
        self.now = 1000.0
        self.under_way: list[Job] = []
        self.delivered: dict[str, list[dict[str, Any]]] = {}
        self.started: Counter[str] = Counter()
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._early = early
        lanes = [
            Lane(f"m{number}", None, provider, at_once=most)
            for number, (provider, most) in enumerate(zip_longest(providers, at_once))
        ]
        self.dispatcher = Dispatcher(
            lanes,
            connections,
            retries,
            max_cost,
            patience,
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

    def fail(
        self, kind: tuple[str, dict[str, Any]], *, job: Job | None = None, **more: Any
    ) -> None:
        """Let a call fail, by default the oldest one."""
        ended = self.under_way.pop(0 if job is None else self.under_way.index(job))
        self.dispatcher.fail(ended, failure(kind, **more))

    def pass_time(self) -> bool:
        """Advance to the next timer; return False without any."""
        if not self._timers:
            return False
        self._early /= 2
        at, _, call = heapq.heappop(self._timers)
        self.now = max(self.now, at)
        call()
        return True

    def reasons(self) -> dict[str, str]:
        """The delivered reasons of each job that ended without an answer."""
        return {
            key: outcome["error"]["reason"]
            for key, (outcome,) in self.delivered.items()
            if "error" in outcome
        }


def keys(number: int) -> list[str]:
    return [f"k{place}" for place in range(number)]
