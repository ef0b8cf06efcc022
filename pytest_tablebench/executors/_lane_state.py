"""The state of one model's lane: failures, retries and costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_tablebench.errors import CONTENT_FILTER, STOP_AFTER, ModelError
from pytest_tablebench.executors._queue import JobQueue

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
