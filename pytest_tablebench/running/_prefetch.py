"""Run the conversations of the current case and, ahead of time, of the next ones.

Pytest runs items one after the other, but calls take long and can run in parallel. So when a case
starts, the conversations of the next cases in the window begin too. Nothing runs in the background
of this process: the engine's processes make the calls, and outcomes are received when a case starts
or waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import (
    ENGINE,
    MODEL_STOPPED,
    PENDING,
    STOP_AFTER,
    STOPPED,
    ModelError,
    TableBenchError,
)
from pytest_tablebench.executors import Executor, Outcome
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Ask, Execution, Grade, Step
from pytest_tablebench.models import Reply
from pytest_tablebench.running._conversation import ConversationDriver
from pytest_tablebench.running._limits import is_cut
from pytest_tablebench.running._lookup import Exchange, StepLookup
from pytest_tablebench.running.answer import picture_of
from pytest_tablebench.running.case import CaseRun


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


BATCH = 8
"""Cases are begun in groups of at least one such part of the window."""


class PrefetchWindow:
    """All conversations of one process.

    Arguments:
        lookup: turns steps into work, and finds outcomes in the store.
        executor: does all other work.
        models: names of the run's models.
        leave_out: receives a model, a parameter that its server refused, and the reason; returns
            whether requests without the parameter follow.
    """

    def __init__(
        self,
        *,
        lookup: StepLookup[ConversationDriver],
        executor: Executor,
        models: Sequence[str],
        leave_out: Callable[[str, str, str], bool] = lambda *_: True,
    ) -> None:
        self.on_wait: Callable[[Sequence[Mapping[str, Any]]], None] | None = None
        """Receives the silent providers while a case waits for its answer."""
        self.size = 0
        """Number of cases that are begun ahead of the current one."""
        self._lookup = lookup
        self._driver = lookup.driver
        self._executor = executor
        self._exchange = Exchange[CaseRun](lambda: executor)
        self._leave_out = leave_out
        self._giving_up = GivingUp(models, self._is_engines)
        self._plan: Sequence[Case | None] = ()
        self._ahead: dict[int, CaseRun] = {}
        self._first = self._next = 0
        self._failed_keys: set[str] = set()
        """Keys of failed requests of finished items; a rerun tries them again."""

    @property
    def stopped(self) -> str | None:
        """The reason if no further call is made."""
        return self._giving_up.stopped

    def stop(self, why: str) -> None:
        """Make no further call."""
        self._giving_up.stopped = why

    def expect(self, plan: Sequence[Case | None]) -> None:
        """Set the cases that will run, in order, with None for other items."""
        self._plan = plan

    def begin_first(self) -> None:
        """Begin the first cases of the plan, which some process of the run will need."""
        self._reach(0)

    def case(self, case: Case, position: int | None = None) -> CaseRun:
        """Return a case that `complete` can end; its conversation may have begun ahead.

        `position` is the case's place in the plan that `expect` received.
        """
        ahead = None if position is None else self._ahead.get(position)
        return ahead or CaseRun(case, position)

    def complete(self, run: CaseRun) -> None:
        """End the conversation of a case, and begin the conversations of the next cases."""
        if run.position is not None:
            self._reach(run.position, run)
            self._ahead.pop(run.position, None)
        if not run.started:
            run.now = True
            self._begin(run)
        while not run.done:
            self._receive_outcomes(wait=True)
            if not run.done and self.on_wait is not None:
                self.on_wait(self._executor.waits)
        failed = run.error is not None or run.unscored is not None
        if failed and run.key is not None:
            self._failed_keys.add(run.key)

    # Ahead.

    def _reach(self, position: int, current: CaseRun | None = None) -> None:
        passed: Iterable[int] = range(self._first, position)
        if not self._first <= position <= self._next:
            # xdist has assigned another part of the plan.
            passed, self._next = list(self._ahead), position
        self._first = position
        for number in passed:
            if (run := self._ahead.pop(number, None)) is not None:
                run.dropped = True
        end = min(position + self.size, len(self._plan))
        if end - self._next < self.size // BATCH and end < len(self._plan):
            end = self._next  # larger groups take less time
        while self._next < end and self.stopped is None:
            case = self._plan[self._next]
            if case is not None and self._is_prefetched(case):
                run = (current if self._next == position else None) or CaseRun(case, self._next)
                self._ahead[self._next] = run
                self._begin(run)
            self._next += 1
        self._receive_outcomes(wait=False)

    def _is_prefetched(self, case: Case) -> bool:
        """Return whether the engine makes the calls of a case; prefetching helps only then."""
        try:
            route = self._driver.conversations.route_of(case, None)
            return not route.in_process and not self._lookup.replay
        except TableBenchError:
            return False  # the case itself reports the error

    def _begin(self, run: CaseRun) -> None:
        run.started = time.perf_counter()
        run.error = self._giving_up.refusal(run.model)
        if run.error is not None:
            return
        try:
            self._do(run, self._driver.begin(run))
        except Exception as error:  # the item shows the traceback of an error in the user's code
            self._fail(run, error)

    def _do(self, run: CaseRun, step: Step | Grade) -> None:
        failed_keys = self._failed_keys if run.now else ()
        following: Step | Grade | None = step
        while following is not None:
            run.step = following
            work, lane, outcome = self._lookup.look(run, following, failed_keys)
            if outcome is None:
                self._exchange.submit(run, work, lane)
                return
            following = self._receive(run, outcome)

    def _receive_outcomes(self, *, wait: bool) -> None:
        for _, runs, outcome in self._exchange.outcomes(wait=wait):
            for run in runs:
                self._arrived(run, outcome)

    def _arrived(self, run: CaseRun, outcome: Outcome) -> None:
        if isinstance(outcome, Exception) and not self._is_left_out(run, outcome):
            self._fail(run, outcome, is_outcome=True)
            return
        if isinstance(outcome, Reply) and is_cut(outcome) and run.key is not None:
            run.arrived[run.key] = outcome
        try:
            if isinstance(outcome, Exception) or run.key in run.arrived:
                following = run.step  # repeat it without the parameter, or with the reply
            else:
                following = self._receive(run, outcome)
            if following is not None and not run.dropped:
                self._do(run, following)
        except Exception as error:
            self._fail(run, error)

    def _is_left_out(self, run: CaseRun, error: Exception) -> bool:
        """Return whether the server refused a parameter that is left out from now on."""
        part, step = getattr(error, "refused", None), run.step
        if part is None or part in run.refused or not isinstance(step, Ask):
            return False
        run.refused.add(part)
        return self._leave_out(self._driver.model(run, step), part, str(error))

    def _receive(self, run: CaseRun, outcome: Reply | Execution | Score) -> Step | Grade | None:
        picture = None if isinstance(outcome, Score) else picture_of(outcome)
        if picture is not None:
            self._lookup.pictures.keep(run.model, [picture])
        was_judged = run.judged
        try:
            return self._driver.receive(run, outcome)
        finally:
            is_answered = not was_judged and run.answer is not None
            if is_answered and not getattr(outcome, "from_store", True):
                self._giving_up.answered(run.model)

    def _fail(self, run: CaseRun, error: Exception, *, is_outcome: bool = False) -> None:
        following = self._driver.take_error(run, error)
        final = run.error or error
        is_over = run.error is not None
        if isinstance(final, ModelError) and (is_over or final.reason in {STOPPED, ENGINE}):
            self._giving_up.failed(run.case, final, is_outcome=is_outcome)
        if following is not None:
            try:
                self._do(run, following)
            except Exception as raised:
                self._fail(run, raised)

    def _is_engines(self, model: str) -> bool:
        """Return whether the engine calls a model; True if that is unknown."""
        try:
            return not self._driver.conversations.route(model, None).in_process
        except TableBenchError:
            return True
