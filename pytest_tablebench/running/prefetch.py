"""Conversations with models: the answers of the cases that run now, and of those that come next.

Pytest runs items one after the other; calls take long and may run side by side. So whenever a
case starts, the conversations of the next ones are begun as well, as far ahead as the window
reaches. Nothing runs in the background of this process: the engine's own processes make the
calls, and what has arrived is taken in whenever a case starts or waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import (
    ENGINE,
    PENDING,
    REFUSED,
    STOPPED,
    ModelError,
    TableBenchError,
)
from pytest_tablebench.executors import Executor, Outcome, Work
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Ask, Execute, Execution, Grade, Step
from pytest_tablebench.models import MAX_REPLY, Reply, Request
from pytest_tablebench.running.answer import picture_of
from pytest_tablebench.running.conversation import ConversationDriver
from pytest_tablebench.running.conversations import Conversations
from pytest_tablebench.running.giving_up import GivingUp
from pytest_tablebench.running.judging import Judging
from pytest_tablebench.running.limits import is_cut, limit_of
from pytest_tablebench.running.pending import PendingCase, Route, is_of_the_engine
from pytest_tablebench.running.replies import Replies
from pytest_tablebench.serializers.content import Image, images_of

if TYPE_CHECKING:
    from pytest_tablebench.datasets.case import Case
    from pytest_tablebench.results import MediaFolder
    from pytest_tablebench.store import Store

__all__ = ["PendingCase", "PrefetchWindow", "Route"]

BATCH = 8
"""The share of the window that is begun together."""

PROGRAMS = "programs"
"""The lane of what asks no model: programs, and answers that are scored elsewhere."""


class PrefetchWindow:
    """All conversations of one process.

    Arguments:
        conversations: begins the conversation about a case.
        judging: begins the conversation about a score, where a metric has one.
        store: answers kept; None without any.
        executor: does what the process itself does not; made when it is needed first.
        models: those of the run, by name; it goes on until all of them are given up.
        retries: further attempts at calls made in this process.
        patience: seconds for which a provider in this process may answer nothing.
        clock: seconds, from any starting point.
        max_reply: bytes of UTF-8 that an answer keeps.
        keep: whether answers got in this process go into the store.
        replay: whether what is not in the store has no answer.
        leave_out: takes a model, a parameter that its server refused, and why.
    """

    def __init__(
        self,
        *,
        conversations: Conversations,
        judging: Judging | None = None,
        store: Callable[[], Store | None],
        executor: Callable[[], Executor],
        models: Sequence[str],
        retries: int,
        patience: float,
        clock: Callable[[], float] = time.perf_counter,
        max_reply: int = MAX_REPLY,
        keep: bool = False,
        replay: bool = False,
        leave_out: Callable[[str, str, str], None] = lambda *_: None,
    ) -> None:
        self.on_wait: Callable[[Sequence[Mapping[str, Any]]], None] | None = None
        """Told, while a case waits for its answer, who answers nothing at the moment."""
        self.size = 0
        """Cases that are begun ahead of the one that runs."""
        self.media: Callable[[str], MediaFolder] | None = None
        """Where the pictures that a model is shown are kept, by its name."""
        self._driver = ConversationDriver(conversations, clock, judging or Judging())
        self._route = conversations.route
        self._make_executor = executor
        self._leave_out = leave_out
        self._giving_up = GivingUp(models, patience, self._is_engines)
        self._replies = Replies(
            store=store,
            giving_up=self._giving_up,
            retries=retries,
            max_reply=max_reply,
            keep=keep,
            replay=replay,
        )
        self._clock = clock
        self._plan: Sequence[Case | None] = ()
        self._ahead: dict[int, PendingCase] = {}
        self._first = self._next = 0
        self._waiting: dict[str, list[PendingCase]] = {}
        self._executor: Executor | None = None
        self._failed_keys: set[str] = set()
        """Requests that an item had no answer to: its rerun means them."""

    @property
    def stopped(self) -> str | None:
        """Why nothing is asked any more."""
        return self._giving_up.stopped

    def stop(self, why: str) -> None:
        """Ask nothing more."""
        self._giving_up.stopped = why

    def expect(self, plan: Sequence[Case | None]) -> None:
        """Take note of the cases that will run, in their order; None for other items."""
        self._plan = plan

    def complete(self, case: Case, position: int | None = None) -> PendingCase:
        """Return a case's finished conversation, and begin those of the cases after it.

        `position` is the case's place in what `expect` was told.
        """
        if position is not None:
            self._reach(position)
        pending = self._ahead.pop(position, None) if position is not None else None
        if pending is None:
            pending = self._begin(case, now=True)
        while not pending.done:
            self._take_in(wait=True)
            if not pending.done and self._executor is not None and self.on_wait is not None:
                self.on_wait(self._executor.waits)
        failed = pending.error is not None or pending.unscored is not None
        if failed and pending.key is not None:
            self._failed_keys.add(pending.key)
        return pending

    # Ahead.

    def _reach(self, position: int) -> None:
        """Begin what the window holds from here on; drop what lies behind or was passed over."""
        passed: Iterable[int] = range(self._first, position)
        if not self._first <= position <= self._next:
            # Another part of the plan, as xdist hands them out.
            passed, self._next = list(self._ahead), position
        self._first = position
        for number in passed:
            if (pending := self._ahead.pop(number, None)) is not None:
                pending.dropped = True
        end = min(position + self.size, len(self._plan))
        if end - self._next < self.size // BATCH and end < len(self._plan):
            end = self._next  # many together take less time than one after each item
        while self._next < end and self.stopped is None:
            case = self._plan[self._next]
            if case is not None and self._goes_ahead(case):
                self._ahead[self._next] = self._begin(case)
            self._next += 1
        self._take_in(wait=False)

    def _goes_ahead(self, case: Case) -> bool:
        """Whether somebody else makes the call meanwhile: only then is there a use in it."""
        try:
            route = self._route(case.model, case.dataset)
            return route.provider is None and not self._replies.replay
        except TableBenchError:
            return False  # the case itself will say what is wrong

    def _begin(self, case: Case, *, now: bool = False) -> PendingCase:
        pending = PendingCase(case, started=self._clock(), now=now)
        pending.error = self._giving_up.refusal(case.model)
        if pending.error is not None:
            return pending
        try:
            self._do(pending, self._driver.begin(pending))
        except Exception as error:  # of a part of the user's own its item shows where
            self._fail(pending, error)
        return pending

    def _do(self, pending: PendingCase, step: Step | Grade) -> None:
        """Have one step of a conversation done: from the store, here or by the executor."""
        while True:
            pending.step = step
            work, found = self._look(pending, step)
            if found is None:
                lane = self._driver.model(pending, step) if isinstance(step, Ask) else PROGRAMS
                return self._submit(pending, work, lane)
            following = self._go_on(pending, found)
            if following is None:
                return None
            step = following

    def _look(
        self, pending: PendingCase, step: Step | Grade
    ) -> tuple[Work, Reply | Execution | None]:
        """Return the work that a step means, and what came of it where that is known here."""
        if isinstance(step, Execute):
            pending.key = step.key()
            work = Work(pending.key, step, again=self._is_again(pending))
            return work, self._replies.ran(pending.key)
        if isinstance(step, Grade):
            pending.key = step.key()
            return Work(pending.key, step), None
        request, route = self._driver.request(pending, step)
        self._keep_images(pending.case.model, request)
        stands = self._replies.settled(request, route, pending.arrived)
        pending.key = stands.request.key()
        pending.limit = limit_of(stands.request.params)
        pending.replaced = stands.replaced
        media = None if self.media is None else self.media(pending.case.model).path
        work = Work(pending.key, stands.request, again=self._is_again(pending), media=media)
        return work, stands.reply

    def _is_again(self, pending: PendingCase) -> bool:
        return pending.now and pending.key in self._failed_keys

    def _keep_images(self, model: str, request: Request) -> None:
        """Lay the pictures where callers and the model's page find them."""
        for message in request.messages:
            self._keep(model, images_of(message.content))

    def _keep(self, model: str, images: Iterable[Image]) -> None:
        if self.media is None:
            return
        for image in images:
            try:
                self.media(model).put(image)
            except OSError as error:
                raise ModelError(f"a picture cannot be kept: {error}", reason="error") from None

    def _submit(self, pending: PendingCase, work: Work, lane: str) -> None:
        waiting = self._waiting.setdefault(work.key, [])
        waiting.append(pending)
        if len(waiting) == 1:
            try:
                if self._executor is None:
                    self._executor = self._make_executor()
                self._executor.submit(work, lane)
            except BaseException:
                del self._waiting[work.key]
                raise

    def _take_in(self, *, wait: bool) -> None:
        """Go on with the conversations whose outcomes have arrived."""
        executor = self._executor
        if executor is None:
            return
        for key, outcome in executor.outcomes(wait=wait):
            for pending in self._waiting.pop(key, []):
                self._arrived(pending, outcome)
        if executor.lost is not None:
            for pending in [one for waiting in self._waiting.values() for one in waiting]:
                self._fail(pending, executor.lost)
            self._waiting.clear()

    def _arrived(self, pending: PendingCase, outcome: Outcome) -> None:
        if isinstance(outcome, ModelError) and not self._is_left_out(pending, outcome):
            self._fail(pending, outcome)
            return
        try:
            if isinstance(outcome, ModelError):
                if pending.step is not None and not pending.dropped:
                    self._do(pending, pending.step)
                return
            if isinstance(outcome, Reply) and is_cut(outcome) and pending.key is not None:
                pending.arrived[pending.key] = outcome
                if pending.step is not None and not pending.dropped:
                    self._do(pending, pending.step)
                return
            following = self._go_on(pending, outcome)
            if following is not None and not pending.dropped:
                self._do(pending, following)
        except Exception as error:
            self._fail(pending, error)

    def _is_left_out(self, pending: PendingCase, error: ModelError) -> bool:
        """Return whether the server refused a parameter that is left out from now on."""
        part, step = error.refused, pending.step
        if part is None or part in pending.refused or not isinstance(step, Ask):
            return False
        pending.refused.add(part)
        self._leave_out(self._driver.model(pending, step), part, str(error))
        return True

    def _go_on(
        self, pending: PendingCase, outcome: Reply | Execution | Score
    ) -> Step | Grade | None:
        """Pass an outcome to its conversation; return the next step, None when it is over."""
        picture = None if isinstance(outcome, Score) else picture_of(outcome)
        if picture is not None:
            self._keep(pending.case.model, [picture])
        was_judged = pending.judged
        try:
            return self._driver.receive(pending, outcome)
        finally:
            is_answered = not was_judged and pending.answer is not None
            if is_answered and not getattr(outcome, "from_store", True):
                self._giving_up.answered(pending.case.model)

    def _fail(self, pending: PendingCase, error: Exception) -> None:
        waits = isinstance(error, ModelError) and error.reason == PENDING
        if pending.judged and not waits and not is_of_the_engine(pending, error):
            return self._not_judged(pending, error)
        if isinstance(error, ModelError) and error.reason == REFUSED and not pending.judged:
            try:
                following = self._driver.refuse(pending, error)
                return None if following is None else self._do(pending, following)
            except Exception as raised:  # mostly itself: a strategy that has no other question
                error = raised
        self._driver.fail(pending, error)
        if isinstance(error, ModelError):
            self._giving_up.failed(pending.case, error, self._clock() - pending.started)
        return None

    def _not_judged(self, pending: PendingCase, error: Exception) -> None:
        if isinstance(error, ModelError) and error.reason in {STOPPED, ENGINE}:
            self._giving_up.failed(pending.case, error, 0.0)
        following = self._driver.without_judge(pending, error)
        if following is None:
            return
        try:
            self._do(pending, following)
        except Exception as again:
            self._fail(pending, again)

    def _is_engines(self, model: str) -> bool:
        """Whether the engine asks a model; where it is gone it cannot tell more about one."""
        try:
            return self._route(model, None).provider is None
        except TableBenchError:
            return True
