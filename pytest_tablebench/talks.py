"""Conversations with models: the answers of the cases that run now, and of those that come next.

Pytest runs items one after the other; calls take long and may run side by side. So whenever a
case starts, the conversations of the next ones are begun as well, as far ahead as the window
reaches. Nothing runs in the background of this process: the engine's own processes make the
calls, and what has arrived is taken in whenever a case starts or waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_tablebench._giving_up import GivingUp
from pytest_tablebench._notices import notice
from pytest_tablebench.answers import Answer, StepFacts, answer_of, step_facts
from pytest_tablebench.errors import ModelError, StoreError, TableBenchError
from pytest_tablebench.executors import Executor, Outcome, Work
from pytest_tablebench.metrics.steps import Ask, Execute, Execution, Step
from pytest_tablebench.models import MAX_REPLY, Reply, Request, ask, limited
from pytest_tablebench.names import printable
from pytest_tablebench.serializers.content import Content, images_of
from pytest_tablebench.strategies import Task

if TYPE_CHECKING:
    from pytest_tablebench.cases import Case
    from pytest_tablebench.compat import Compat
    from pytest_tablebench.datasets import Example
    from pytest_tablebench.models import Provider
    from pytest_tablebench.models.store import Store
    from pytest_tablebench.results import MediaFolder
    from pytest_tablebench.strategies import Conversation, Strategy

__all__ = ["Line", "Talk", "Talks"]

PROGRAMS = "programs"
"""The lane of what runs in the sandbox."""


@dataclass(frozen=True)
class Line:
    """How one model is asked.

    Arguments:
        model: its name.
        params: parameters sent with every request.
        api_base: the endpoint, part of what an answer depends on.
        provider: answers in this process; None: the engine makes the calls.
        stored: whether its answers are kept and looked up.
    """

    model: str
    params: Mapping[str, Any]
    api_base: str | None = None
    provider: Provider | None = None
    stored: bool = True


@dataclass(eq=False)
class Talk:
    """The conversation about one case: under way until it has an answer or an error."""

    case: Case
    example: Example | None = None
    prompt: Content | None = None
    answer: Answer | None = None
    error: Exception | None = None
    conversation: Conversation | None = None
    steps: list[StepFacts] = field(default_factory=list)
    step: Step | None = None
    """What it waits for."""
    started: float = 0.0
    dropped: bool = False
    now: bool = False
    """Begun for an item that runs, not ahead."""
    key: str | None = None
    """Of its last request."""

    @property
    def done(self) -> bool:
        """Whether there is an answer or an error."""
        return self.answer is not None or self.error is not None


class Talks:
    """All conversations of one process.

    Arguments:
        render: makes the example and the prompt of a case.
        strategy: how a task becomes an answer.
        compat: the mode, for strategies.
        line: how a model is asked, by its name; may wait for the engine the first time.
        store: answers kept; None without any.
        executor: does what the process itself does not; made when it is needed first.
        models: those of the run, by name; it goes on until all of them are given up.
        retries: further attempts at calls made in this process.
        patience: seconds for which a provider in this process may answer nothing.
        clock: seconds, from any starting point.
        max_reply: bytes of UTF-8 that an answer keeps.
        keep: whether answers got in this process go into the store.
        replay: whether what is not in the store has no answer.
    """

    def __init__(
        self,
        *,
        render: Callable[[Case], tuple[Example, Content]],
        strategy: Strategy,
        compat: Compat = "fixed",
        line: Callable[[str], Line],
        store: Callable[[], Store | None],
        executor: Callable[[], Executor],
        models: Sequence[str],
        retries: int,
        patience: float,
        clock: Callable[[], float] = time.perf_counter,
        max_reply: int = MAX_REPLY,
        keep: bool = False,
        replay: bool = False,
    ) -> None:
        self.on_wait: Callable[[Sequence[Mapping[str, Any]]], None] | None = None
        """Told, while a case waits for its answer, who answers nothing at the moment."""
        self.window = 0
        """Cases that are begun ahead of the one that runs."""
        self.media: Callable[[str], MediaFolder] | None = None
        """Where the pictures that a model is shown are kept, by its name."""
        self._render = render
        self._strategy = strategy
        self._line = line
        self._open_store = store
        self._make_executor = executor
        self._compat = compat
        self._giving_up = GivingUp(models, patience, self._is_engines)
        self._retries = retries
        self._clock = clock
        self._max_reply = max_reply
        self._keep = keep
        self._replay = replay
        self._plan: Sequence[Case | None] = ()
        self._ahead: dict[int, Talk] = {}
        self._first = self._next = 0
        self._waiting: dict[str, list[Talk]] = {}
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

    def talk(self, case: Case, position: int | None = None) -> Talk:
        """Return a case's finished conversation, and begin those of the cases after it.

        `position` is the case's place in what `expect` was told.
        """
        if position is not None:
            self._reach(position)
        talk = self._ahead.pop(position, None) if position is not None else None
        if talk is None:
            talk = self._begin(case, now=True)
        while not talk.done:
            self._take_in(wait=True)
            if not talk.done and self._executor is not None and self.on_wait is not None:
                self.on_wait(self._executor.waits)
        if talk.error is not None and talk.key is not None:
            self._failed_keys.add(talk.key)
        return talk

    # Ahead.

    def _reach(self, position: int) -> None:
        """Begin what the window holds from here on; drop what lies behind or was passed over."""
        if not self._first <= position <= self._next:
            # Another part of the plan, as xdist hands them out.
            self._next = position
        self._first = position
        for passed in [n for n in self._ahead if not position <= n < self._next]:
            self._ahead.pop(passed).dropped = True
        if self._executor is not None:
            self._take_in(wait=False)
        end = min(position + self.window, len(self._plan))
        while self._next < end and self.stopped is None:
            case = self._plan[self._next]
            if case is not None and self._goes_ahead(case):
                self._ahead[self._next] = self._begin(case)
            self._next += 1

    def _goes_ahead(self, case: Case) -> bool:
        """Whether somebody else makes the call meanwhile: only then is there a use in it."""
        try:
            return self._line(case.model).provider is None and not self._replay
        except TableBenchError:
            return False  # the case itself will say what is wrong

    def _begin(self, case: Case, *, now: bool = False) -> Talk:
        talk = Talk(case, started=self._clock(), now=now)
        talk.error = self._giving_up.refusal(case.model)
        if talk.error is not None:
            return talk
        try:
            talk.example, talk.prompt = self._render(case)
            talk.conversation = self._strategy.converse(self._task(talk.example, talk.prompt))
            self._do(talk, next(talk.conversation))
        except TableBenchError as error:
            self._fail(talk, error)
        except Exception as error:
            # A part of the user's own failed: its item shows where.
            talk.error = error
        return talk

    def _task(self, example: Example, prompt: Content) -> Task:
        return Task(example, prompt, self._compat)

    def first_request(self, case: Case, example: Example, prompt: Content) -> Request | None:
        """Return what a case's conversation begins with, None where that is no question.

        Raises `ModelError`.
        """
        step = next(self._strategy.converse(self._task(example, prompt)))
        return self._request(case, step, 0) if isinstance(step, Ask) else None

    def _request(self, case: Case, step: Ask, number: int) -> Request:
        line = self._line(step.model or case.model)
        return Request(
            line.model,
            step.messages,
            line.params,
            api_base=line.api_base,
            strategy=self._strategy.name,
            step=number,
            repeat=case.repeat,
            case_id=case.case_id,
        )

    def _do(self, talk: Talk, step: Step) -> None:
        """Have one step of a conversation done: from the store, here or by the executor."""
        while True:
            talk.step = step
            work, found = self._look(talk, step)
            if found is None:
                lane = PROGRAMS if isinstance(step, Execute) else step.model or talk.case.model
                return self._submit(talk, work, lane)
            following = self._go_on(talk, found)
            if following is None:
                return None
            step = following

    def _look(self, talk: Talk, step: Step) -> tuple[Work, Reply | None]:
        """Return the work that a step means, and what came of it where that is known here."""
        if isinstance(step, Execute):
            talk.key = step.key()
            return Work(talk.key, step, again=self._is_again(talk)), None
        line = self._line(step.model or talk.case.model)
        request = self._request(talk.case, step, len(talk.steps))
        talk.key = request.key()
        self._keep_images(talk.case.model, request)
        media = None if self.media is None else self.media(talk.case.model).path
        work = Work(talk.key, request, again=self._is_again(talk), media=media)
        return work, self._at_once(talk.key, request, line)

    def _is_again(self, talk: Talk) -> bool:
        return talk.now and talk.key in self._failed_keys

    def _keep_images(self, model: str, request: Request) -> None:
        """Lay the pictures where callers and the model's page find them."""
        if self.media is None:
            return
        for message in request.messages:
            for image in images_of(message.content):
                try:
                    self.media(model).put(image)
                except OSError as error:
                    raise ModelError(f"a picture cannot be kept: {error}", reason="error") from None

    def _at_once(self, key: str, request: Request, line: Line) -> Reply | None:
        """Return the reply that can be had without the engine, None where only it can tell."""
        store = self._open_store() if line.stored else None
        if store is not None:
            found = store.get(key)
            if found is not None:
                return limited(found, self._max_reply)
            if self._replay:
                raise ModelError(
                    f"not in the answer store: {store.explain(request)}", reason="not_stored"
                )
        if line.provider is None:
            return None
        if store is not None and (found := store.look_again(key)) is not None:
            # Another process of this run, or another run, was faster.
            return limited(found, self._max_reply)
        if (refusal := self._giving_up.refusal(line.model)) is not None:
            raise refusal
        reply = ask(line.provider, request, retries=self._retries, max_reply=self._max_reply)
        if store is not None and self._keep:
            try:
                store.put(request, reply)
            except StoreError as error:
                # This one is paid for and counts; the next one would be paid for again.
                if error.whole_run:
                    self.stop(f"stopped, because answers cannot be kept: {error}")
                else:
                    notice(f"{printable(request.case_id)}: {error}")
        return reply

    def _submit(self, talk: Talk, work: Work, lane: str) -> None:
        waiting = self._waiting.setdefault(work.key, [])
        waiting.append(talk)
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
            for talk in self._waiting.pop(key, []):
                self._arrived(talk, outcome)
        if executor.lost is not None:
            for talk in [talk for waiting in self._waiting.values() for talk in waiting]:
                self._fail(talk, executor.lost)
            self._waiting.clear()

    def _arrived(self, talk: Talk, outcome: Outcome) -> None:
        if isinstance(outcome, ModelError):
            self._fail(talk, outcome)
            return
        try:
            following = self._go_on(talk, outcome)
            if following is not None and not talk.dropped:
                self._do(talk, following)
        except TableBenchError as error:
            self._fail(talk, error)
        except Exception as error:
            talk.error = error

    def _go_on(self, talk: Talk, found: Reply | Execution) -> Step | None:
        """Give a conversation what came of its step; return the next one, None when it is over."""
        if talk.conversation is None or talk.step is None or talk.key is None:
            raise RuntimeError("an outcome for a conversation that never began")
        talk.steps.append(step_facts(talk.step, talk.key, found))
        try:
            return talk.conversation.send(found)
        except StopIteration as end:
            if not found.from_store:
                self._giving_up.answered(talk.case.model)
            elapsed = self._clock() - talk.started
            talk.answer = answer_of(str(end.value), talk.steps, elapsed)
            talk.conversation = None
            return None

    def _fail(self, talk: Talk, error: Exception) -> None:
        talk.error = error
        talk.conversation = None
        if isinstance(error, ModelError):
            self._giving_up.failed(talk.case, error, self._clock() - talk.started)

    def _is_engines(self, model: str) -> bool:
        """Whether the engine asks a model; where it is gone it cannot tell more about one."""
        try:
            return self._line(model).provider is None
        except TableBenchError:
            return True
