"""Conversations with models: the answers of the cases that run now, and of those that come next.

Pytest runs items one after the other; calls take long and may run side by side. So whenever a
case starts, the conversations of the next ones are begun as well, as far ahead as the window
reaches. Nothing runs in the background of this process: the engine's own processes make the
calls, and what has arrived is taken in whenever a case starts or waits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_tablebench._notices import notice
from pytest_tablebench.errors import (
    ENGINE,
    MODEL_STOPPED,
    STOPPED,
    ModelError,
    StoreError,
    TableBenchError,
)
from pytest_tablebench.models import Reply, Request, ask
from pytest_tablebench.models.engine import Client
from pytest_tablebench.names import printable
from pytest_tablebench.serializers.content import Content, images_of

if TYPE_CHECKING:
    from pytest_tablebench.cases import Case
    from pytest_tablebench.datasets import Example
    from pytest_tablebench.models import Message, Provider
    from pytest_tablebench.models.store import Store
    from pytest_tablebench.results import MediaFolder
    from pytest_tablebench.strategies import Conversation, Strategy

__all__ = ["Answer", "Line", "Talk", "Talks"]

STOP_AFTER = 3
"""Failures in a row that no other case of a model can survive either, until it is given up."""


@dataclass(frozen=True)
class Answer:
    """What a model said about a case, whichever number of calls it took.

    `calls` are those made in this run, which identical requests share; `from_store`: there were
    none.
    """

    text: str
    flags: tuple[str, ...] = ()
    calls: int = 1
    latency_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    from_store: bool = False

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Line:
    """How one model is asked.

    Arguments:
        model: its name.
        params: parameters sent with every request.
        api_base: the endpoint, part of what an answer depends on.
        provider: answers in this process; None: the engine makes the calls.
        lane: number of the model in the engine.
        stored: whether its answers are kept and looked up.
    """

    model: str
    params: Mapping[str, Any]
    api_base: str | None = None
    provider: Provider | None = None
    lane: int = 0
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
    replies: list[Reply] = field(default_factory=list)
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
        strategy: how a prompt becomes requests.
        line: how a model is asked, by its name; may wait for the engine the first time.
        store: answers kept; None without any.
        client: connects to the engine, when it is needed first; None where there is none.
        models: those of the run, by name; it goes on until all of them are given up.
        retries: further attempts at calls made in this process.
        patience: seconds for which a provider in this process may answer nothing.
        clock: seconds, from any starting point.
        keep: whether answers got in this process go into the store.
        replay: whether what is not in the store has no answer.
    """

    def __init__(
        self,
        *,
        render: Callable[[Case], tuple[Example, Content]],
        strategy: Strategy,
        line: Callable[[str], Line],
        store: Callable[[], Store | None],
        client: Callable[[], Client],
        models: Sequence[str],
        retries: int,
        patience: float,
        clock: Callable[[], float] = time.perf_counter,
        keep: bool = False,
        replay: bool = False,
    ) -> None:
        self.stopped: str | None = None
        """Why nothing is asked any more."""
        self.given_up: dict[str, str] = {}
        """Why a model is asked no more, by its name."""
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
        self._connect = client
        self._models = models
        self._retries = retries
        self._patience = patience
        self._clock = clock
        self._keep = keep
        self._replay = replay
        self._plan: Sequence[Case | None] = ()
        self._ahead: dict[int, Talk] = {}
        self._first = self._next = 0
        self._waiting: dict[str, list[Talk]] = {}
        self._client: Client | None = None
        self._failing: dict[str, set[Case]] = {}
        """Cases that failed for a reason that concerns all, since the last answer of the model."""
        self._silence: dict[str, float] = {}
        """Seconds that calls in this process took to fail since the last answer, by model."""
        self._failed_keys: set[str] = set()
        """Requests that an item had no answer to: its rerun means them."""

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
            if not talk.done and self._client is not None and self.on_wait is not None:
                self.on_wait(self._client.waits)
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
        if self._client is not None:
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
        if self.stopped is not None:
            talk.error = ModelError(self.stopped, reason=STOPPED)
            return talk
        if case.model in self.given_up:
            talk.error = ModelError(self.given_up[case.model], reason=MODEL_STOPPED)
            return talk
        try:
            talk.example, talk.prompt = self._render(case)
            talk.conversation = self._strategy.converse(talk.prompt)
            self._ask(talk, next(talk.conversation))
        except TableBenchError as error:
            self._fail(talk, error)
        except Exception as error:
            # A part of the user's own failed: its item shows where.
            talk.error = error
        return talk

    def first_request(self, case: Case, prompt: Content) -> Request:
        """Return what a case's conversation begins with. Raises `ModelError`."""
        return self._request(case, next(self._strategy.converse(prompt)), 0)

    def _request(self, case: Case, messages: tuple[Message, ...], step: int) -> Request:
        line = self._line(case.model)
        return Request(
            case.model,
            messages,
            line.params,
            api_base=line.api_base,
            strategy=self._strategy.name,
            step=step,
            repeat=case.repeat,
            case_id=case.case_id,
        )

    def _ask(self, talk: Talk, messages: tuple[Message, ...]) -> None:
        """Have one step of a conversation answered, from the store, here or by the engine."""
        while True:
            line = self._line(talk.case.model)
            request = self._request(talk.case, messages, len(talk.replies))
            key = talk.key = request.key()
            self._keep_images(request)
            reply = self._at_once(key, request, line)
            if reply is None:
                return self._send(talk, key, request, line)
            following = self._go_on(talk, reply)
            if following is None:
                return None
            messages = following

    def _keep_images(self, request: Request) -> None:
        """Lay the pictures where callers and pages find them."""
        if self.media is None:
            return
        for message in request.messages:
            for image in images_of(message.content):
                try:
                    self.media(request.model).put(image)
                except OSError as error:
                    raise ModelError(f"a picture cannot be kept: {error}", reason="error") from None

    def _at_once(self, key: str, request: Request, line: Line) -> Reply | None:
        """Return the reply that can be had without the engine, None where only it can tell."""
        store = self._open_store() if line.stored else None
        if store is not None:
            found = store.get(key)
            if found is not None:
                return found
            if self._replay:
                raise ModelError(
                    f"not in the answer store: {store.explain(request)}", reason="not_stored"
                )
        if line.provider is None:
            return None
        if store is not None and (found := store.look_again(key)) is not None:
            return found  # another process of this run, or another run, was faster
        if self.stopped is not None:
            raise ModelError(self.stopped, reason=STOPPED)
        reply = ask(line.provider, request, retries=self._retries)
        if store is not None and self._keep:
            try:
                store.put(request, reply)
            except StoreError as error:
                # This one is paid for and counts; the next one would be paid for again.
                if error.whole_run:
                    self.stopped = f"stopped, because answers cannot be kept: {error}"
                else:
                    notice(f"{printable(request.case_id)}: {error}")
        return reply

    def _send(self, talk: Talk, key: str, request: Request, line: Line) -> None:
        waiting = self._waiting.setdefault(key, [])
        waiting.append(talk)
        if len(waiting) == 1:
            if self._client is None:
                self._client = self._connect()
            again = talk.now and key in self._failed_keys
            media = None if self.media is None else self.media(line.model).path
            self._client.ask(key, request, lane=line.lane, again=again, media=media)

    def _take_in(self, *, wait: bool) -> None:
        """Go on with the conversations whose replies have arrived."""
        client = self._client
        if client is None:
            return
        for key, outcome in client.outcomes(wait=wait):
            for talk in self._waiting.pop(key, []):
                self._arrived(talk, outcome)
        if client.lost is not None:
            for talk in [talk for waiting in self._waiting.values() for talk in waiting]:
                self._fail(talk, client.lost)
            self._waiting.clear()

    def _arrived(self, talk: Talk, outcome: Reply | ModelError) -> None:
        if isinstance(outcome, ModelError):
            self._fail(talk, outcome)
            return
        try:
            following = self._go_on(talk, outcome)
            if following is not None and not talk.dropped:
                self._ask(talk, following)
        except TableBenchError as error:
            self._fail(talk, error)
        except Exception as error:
            talk.error = error

    def _go_on(self, talk: Talk, reply: Reply) -> tuple[Message, ...] | None:
        """Give a conversation its reply; return its next messages, None when it is over."""
        talk.replies.append(reply)
        if talk.conversation is None:
            raise RuntimeError("a reply to a conversation that never began")
        try:
            return talk.conversation.send(reply)
        except StopIteration as end:
            if not reply.from_store:
                self._failing.pop(talk.case.model, None)
                self._silence.pop(talk.case.model, None)
            elapsed = self._clock() - talk.started
            talk.answer = _answer(str(end.value), talk.replies, elapsed)
            talk.conversation = None
            return None

    def _fail(self, talk: Talk, error: Exception) -> None:
        talk.error = error
        talk.conversation = None
        if not isinstance(error, ModelError) or self.stopped is not None:
            return
        if error.reason == STOPPED:
            self.stopped = str(error)
            return
        model = talk.case.model
        if error.reason == MODEL_STOPPED:
            self._give_up(model, str(error))
            return
        if error.reason == ENGINE and error.whole_run:
            for other in filter(self._is_engines, self._models):
                self._give_up(other, f"stopped: {error}")
            return
        self._heed_silence(talk, error)
        if not error.whole_run:
            self._failing.pop(model, None)
            return
        # A case may be begun several times, when the window moves; it counts once.
        failing = self._failing.setdefault(model, set())
        failing.add(talk.case)
        if len(failing) >= STOP_AFTER:
            why = f"stopped after {STOP_AFTER} cases in a row without an answer: {error}"
            self._give_up(model, why)

    def _heed_silence(self, talk: Talk, error: ModelError) -> None:
        """Give up a provider in this process that has answered nothing for too long.

        What the engine asks, it gives up itself.
        """
        model = talk.case.model
        if self._is_engines(model):
            return
        if not error.retryable:
            self._silence.pop(model, None)
            return
        seconds = self._silence.get(model, 0.0) + self._clock() - talk.started
        self._silence[model] = seconds
        if seconds >= self._patience:
            self._give_up(
                model,
                f"stopped, because no call was answered for {self._patience:g} s "
                f"(--bench-patience): {error}",
            )

    def _is_engines(self, model: str) -> bool:
        """Whether the engine asks a model; where it is gone it cannot tell more about one."""
        try:
            return self._line(model).provider is None
        except TableBenchError:
            return True

    def _give_up(self, model: str, why: str) -> None:
        """Ask one model no more; without any left, nothing."""
        self.given_up.setdefault(model, why)
        if len(self.given_up) >= len(self._models):
            self.stopped = why


def _answer(text: str, replies: list[Reply], elapsed: float) -> Answer:
    flags = ("truncated",) if any(reply.finish_reason == "length" for reply in replies) else ()
    return Answer(
        text=text,
        flags=flags,
        calls=sum(not reply.from_store for reply in replies),
        latency_s=_total([reply.latency_s for reply in replies]) or round(elapsed, 6),
        prompt_tokens=_total([reply.prompt_tokens for reply in replies]),
        completion_tokens=_total([reply.completion_tokens for reply in replies]),
        cost_usd=_total([reply.cost_usd for reply in replies]),
        from_store=all(reply.from_store for reply in replies),
    )


def _total(values: list[Any]) -> Any:
    """Sum, or None when any part is unknown."""
    if not values or any(value is None for value in values):
        return None
    return sum(values) if all(isinstance(value, int) for value in values) else math.fsum(values)
