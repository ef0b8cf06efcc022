"""Track which models a process no longer calls.

The dispatcher counts failed calls and gives models up. This module records which ones, and counts
the cases whose requests could not be made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_tablebench.errors import (
    ENGINE,
    MODEL_STOPPED,
    PENDING,
    STOP_AFTER,
    STOPPED,
    ModelError,
)

if TYPE_CHECKING:
    from pytest_tablebench.datasets.case import Case


@dataclass
class GivingUp:
    """The models that are given up, and failures since the last answer of the others.

    Arguments:
        models: names of the run's models; the run continues until all are given up.
        is_engines: returns whether the engine calls a model.
    """

    models: Sequence[str]
    is_engines: Callable[[str], bool]
    stopped: str | None = None
    """The reason if no further call is made."""
    _given_up: dict[str, str] = field(default_factory=dict)
    _failing: dict[str, set[Case]] = field(default_factory=dict)

    def refusal(self, model: str) -> ModelError | None:
        """Return the error of further cases of a model, None if it is still called."""
        if self.stopped is not None:
            return ModelError(self.stopped, reason=STOPPED)
        why = self._given_up.get(model)
        return None if why is None else ModelError(why, reason=MODEL_STOPPED)

    def answered(self, model: str) -> None:
        """Reset the count of failures after an answer that was not stored before."""
        self._failing.pop(model, None)

    def failed(self, case: Case, error: ModelError, *, is_outcome: bool) -> None:
        """Record a case without an answer; `is_outcome` says that a call for it was made."""
        if self.stopped is not None or error.reason == PENDING:
            return
        if error.reason == STOPPED:
            self.stopped = str(error)
        elif error.reason == MODEL_STOPPED or error.given_up is not None:
            self._give_up(case.model, error.given_up or str(error))
        elif error.reason == ENGINE and error.whole_run:
            for model in filter(self.is_engines, self.models):
                self._give_up(model, f"stopped: {error}")
        elif not is_outcome and not error.whole_run:
            self._failing.pop(case.model, None)
        elif not is_outcome:
            # A case may be begun several times, when the window moves; it counts once.
            failing = self._failing.setdefault(case.model, set())
            failing.add(case)
            if len(failing) >= STOP_AFTER:
                why = f"stopped after {STOP_AFTER} cases in a row without an answer: {error}"
                self._give_up(case.model, why)

    def _give_up(self, model: str, why: str) -> None:
        self._given_up.setdefault(model, why)
        if len(self._given_up) >= len(self.models):
            self.stopped = why
