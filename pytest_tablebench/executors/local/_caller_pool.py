"""Calls and questions that wait for a ready caller: shared by all kinds of callers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from pytest_tablebench.errors import ModelError
from pytest_tablebench.executors._queue import Job
from pytest_tablebench.executors._wire import error_fields
from pytest_tablebench.executors.local._connection import Connection

OnAnswer = Callable[[dict[str, Any]], None]
"""Receives the answer to a question: its `result`, or an `error` as JSON values."""

Question = tuple[str, bytes, OnAnswer]
"""A question about a model (its facts, a count of tokens): name, body, receiver of the answer."""


class CallListener(Protocol):
    """Receives the outcomes of calls."""

    token: str

    def called(self, job: Job, head: Mapping[str, Any]) -> None:
        """Receive the outcome of a call: a `reply`, perhaps `unstored`, or an `error`."""

    def lost(self, job: Job) -> None:
        """Handle a call whose process ended before it reported an outcome."""

    def note(self, name: str, texts: Sequence[str]) -> None:
        """Pass a caller's note on, which replaces an older note of that name."""

    def broken(self, error: ModelError) -> None:
        """Handle that no further call can be made."""


class CallerPool:
    """Makes the calls that the dispatcher starts. Without a ready caller they wait.

    `config` is the broker's configuration.
    """

    port = 0
    """The port to which callers connect. Set it before the start."""

    def __init__(self, config: Mapping[str, Any], listener: CallListener) -> None:
        self._config = config
        self._loop = asyncio.get_running_loop()
        self._listener = listener
        self._waiting: list[Job] = []
        self._waiting_questions: list[Question] = []
        self._asked: dict[int, tuple[object, Question]] = {}
        """Questions that a caller answers, by number, with that caller."""
        self._numbers = 0
        self._broken: ModelError | None = None
        self._closing = False

    def start(self) -> None:
        """Start the callers. Calls may be submitted before."""
        raise NotImplementedError

    def close(self, done: Callable[[], None]) -> None:
        """Start nothing more. Calls in flight are finished and stored; then call `done`."""
        raise NotImplementedError

    def _send_call(self, job: Job) -> bool:
        """Send a call to the caller with the fewest calls; return False if none is ready."""
        raise NotImplementedError

    def _send_question(self, number: int, name: str, body: bytes) -> object | None:
        """Send a question to a caller; return that caller, None if none is ready."""
        raise NotImplementedError

    def call(self, job: Job) -> None:
        """Make a call; the listener receives its outcome once."""
        if self._broken is not None:
            self._listener.called(job, {"error": error_fields(self._broken)})
        elif self._send_call(job):
            job.started = self._loop.time()
        else:
            self._waiting.append(job)

    def question(self, name: str, body: bytes, on_answer: OnAnswer) -> None:
        """Answer a question about a model."""
        if self._broken is not None:
            on_answer({"error": error_fields(self._broken)})
            return
        self._numbers += 1
        caller = self._send_question(self._numbers, name, body)
        if caller is None:
            self._waiting_questions.append((name, body, on_answer))
        else:
            self._asked[self._numbers] = caller, (name, body, on_answer)

    def run(self, do: str, key: str, body: bytes) -> bool:  # noqa: ARG002 - for subclasses
        """Run a program or score an answer where the calls are made; False: not done there."""
        return False

    def receive(self, connection: Connection, head: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Handle a message of a caller that has connected. By default callers do not connect."""
        connection.close()

    def left(self, connection: Connection) -> None:
        """Handle the end of a caller's connection."""

    def _send_waiting(self) -> None:
        questions, self._waiting_questions = self._waiting_questions, []
        for question in questions:
            self.question(*question)
        jobs, self._waiting = self._waiting, []
        for job in jobs:
            self.call(job)

    def _ask_again(self, caller: object) -> None:
        """Repeat the questions that a caller did not answer before it ended."""
        for number in [n for n, (holder, _) in self._asked.items() if holder is caller]:
            self.question(*self._asked.pop(number)[1])

    def _break(self, error: ModelError) -> None:
        """Fail everything that waits: no call can be made any more."""
        self._broken = error
        self._send_waiting()
        self._listener.broken(error)
