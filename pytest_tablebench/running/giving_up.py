"""When a process asks a model no more: after failures that no other case can survive either.

The engine counts over all processes of a run; here stands what this process sees of it, and what
concerns models that are asked in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_tablebench.errors import ENGINE, MODEL_STOPPED, PENDING, STOPPED, ModelError

if TYPE_CHECKING:
    from pytest_tablebench.datasets.case import Case

STOP_AFTER = 3
"""Failures in a row that no other case of a model can survive either, until it is given up."""


@dataclass
class GivingUp:
    """What failed since the last answer, by model.

    Arguments:
        models: those of the run, by name; it goes on until all of them are given up.
        patience: seconds for which a provider in this process may answer nothing.
        is_engines: whether the engine asks a model.
    """

    models: Sequence[str]
    patience: float
    is_engines: Callable[[str], bool]
    stopped: str | None = None
    """Why nothing is asked any more."""
    _given_up: dict[str, str] = field(default_factory=dict)
    _failing: dict[str, set[Case]] = field(default_factory=dict)
    _silence: dict[str, float] = field(default_factory=dict)
    """Seconds that calls in this process took to fail."""

    def refusal(self, model: str) -> ModelError | None:
        """Return why a model is not asked, if it is not."""
        if self.stopped is not None:
            return ModelError(self.stopped, reason=STOPPED)
        why = self._given_up.get(model)
        return None if why is None else ModelError(why, reason=MODEL_STOPPED)

    def answered(self, model: str) -> None:
        """Take note of an answer that was not stored before."""
        self._failing.pop(model, None)
        self._silence.pop(model, None)

    def failed(self, case: Case, error: ModelError, seconds: float) -> None:
        """Take note of a case without an answer, and of the seconds it took to fail."""
        model = case.model
        if self.stopped is not None or error.reason == PENDING:
            return
        if error.reason == STOPPED:
            self.stopped = str(error)
        elif error.reason == MODEL_STOPPED:
            self._give_up(model, str(error))
        elif error.reason == ENGINE and error.whole_run:
            for other in filter(self.is_engines, self.models):
                self._give_up(other, f"stopped: {error}")
        else:
            self._heed_silence(model, error, seconds)
            self._count(case, error)

    def _count(self, case: Case, error: ModelError) -> None:
        if not error.whole_run:
            self._failing.pop(case.model, None)
            return
        # A case may be begun several times, when the window moves; it counts once.
        failing = self._failing.setdefault(case.model, set())
        failing.add(case)
        if len(failing) >= STOP_AFTER:
            why = f"stopped after {STOP_AFTER} cases in a row without an answer: {error}"
            self._give_up(case.model, why)

    def _heed_silence(self, model: str, error: ModelError, seconds: float) -> None:
        """Give up a provider in this process that has answered nothing for too long.

        What the engine asks, it gives up itself.
        """
        if self.is_engines(model):
            return
        if not error.retryable:
            self._silence.pop(model, None)
            return
        self._silence[model] = self._silence.get(model, 0.0) + seconds
        if self._silence[model] >= self.patience:
            self._give_up(
                model,
                f"stopped, because no call was answered for {self.patience:g} s "
                f"(--bench-patience): {error}",
            )

    def _give_up(self, model: str, why: str) -> None:
        """Ask one model no more; without any left, nothing."""
        self._given_up.setdefault(model, why)
        if len(self._given_up) >= len(self.models):
            self.stopped = why
