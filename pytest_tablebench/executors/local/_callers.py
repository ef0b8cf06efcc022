"""The callers of one machine: how many there are, who makes which call, and those that end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from pytest_tablebench.errors import ENGINE, ModelError
from pytest_tablebench.executors._process import processors
from pytest_tablebench.executors._queue import Job
from pytest_tablebench.executors._wire import error_fields, pack, read_error
from pytest_tablebench.executors.local._caller_processes import CallerProcesses
from pytest_tablebench.executors.local._connection import Connection

PER_CALLER = 64
"""Calls in flight up to which one calling process is enough: litellm costs 3 ms of CPU a call."""

GUARD_S = 20.0
"""Seconds beyond a call's own time limit after which its caller counts as stuck."""

MOST_RESTARTS = 3

OnAnswer = Callable[[dict[str, Any]], None]
"""Takes the answer to a question: its `result`, or an `error` as JSON values."""


def caller_count(connections: int, number: int | None = None) -> int:
    """Return how many processes make so many calls at a time: by need, up to the processors."""
    if number is not None:
        return number
    return max(1, min(processors(), -(-connections // PER_CALLER)))


class CallListener(Protocol):
    """Receives the outcomes of calls."""

    token: str

    def called(self, job: Job, head: Mapping[str, Any]) -> None:
        """Take what came of a call: a `reply`, perhaps `unstored`, or an `error`."""

    def lost(self, job: Job) -> None:
        """Take note that whoever made a call is gone, and told nothing of it."""

    def problems(self, source: object, problems: Sequence[str]) -> None:
        """Take all that one caller has found wrong with the store's files so far."""

    def refused(self, model: str, part: str, why: str) -> None:
        """Leave a part out of later requests to a model: it refused that part."""

    def broken(self, error: ModelError) -> None:
        """Take note that no call can be made any more."""


class CallerPool(Protocol):
    """What makes the calls that the dispatcher starts."""

    port: int

    def start(self) -> None:
        """Get ready; calls may be handed out before."""

    def call(self, job: Job) -> None:
        """Make a call; the listener receives its outcome once."""

    def question(self, name: str, body: bytes, tell: OnAnswer) -> None:
        """Answer a question about a model (its facts, a count of tokens)."""

    def run(self, do: str, key: str, body: bytes) -> bool:
        """Have a program run, or an answer scored, where the calls are made.

        Returns False to leave it to this process.
        """
        ...

    def receive(self, connection: Connection, head: Mapping[str, Any]) -> None:
        """Take a message of a caller that has connected."""

    def left(self, connection: Connection) -> None:
        """Take note that a caller's connection ended."""

    def close(self, done: Callable[[], None]) -> None:
        """Start nothing more; what is in flight is finished and stored. Then `done` is called."""


class LocalCallers:
    """The calling processes of one machine, which connect to a port of this process.

    Arguments:
        config: of the callers, with `callers`, how many there are to be; `timeout` of a call.
        loop: in which everything happens.
        listener: receives the outcomes of calls.
    """

    def __init__(
        self, config: Mapping[str, Any], loop: asyncio.AbstractEventLoop, listener: CallListener
    ) -> None:
        self.port = 0
        """Where they connect to; to be set before they start."""
        self._config = config
        self._loop = loop
        self._listener = listener
        self._ready: list[Connection] = []
        self._processes = CallerProcesses()
        self._restarts = 0
        self._numbers = 0
        self._waiting: list[Job] = []
        self._questions: dict[int, tuple[Connection, str, bytes, OnAnswer]] = {}
        self._later_questions: list[tuple[str, bytes, OnAnswer]] = []
        self._broken: ModelError | None = None
        self._closing = False

    def start(self) -> None:
        """Start the first process, and watch over all.

        The next one follows whenever one is ready: importing litellm in several at once keeps the
        first call waiting for longer, where processors are few.
        """
        if self._config["callers"]:
            self._start_caller()
        self._guard()

    def _start_caller(self) -> None:
        config = {**self._config, "port": self.port, "token": self._listener.token}
        needs_litellm = any(lane.get("reference") is None for lane in self._config["lanes"])
        self._processes.start(pack(config), needs_litellm=needs_litellm)

    def _guard(self) -> None:
        """End a caller that no longer minds its time limits, and notice one that never came."""
        limit = self._config["timeout"] + GUARD_S
        now = self._loop.time()
        for caller in list(self._ready):
            if any(now - job.started > limit for job in caller.jobs.values()):
                self._processes.kill(caller.pid)
                caller.close()
        ours = self._config["callers"] > 0 and not self._closing
        if ours and not self._ready and not self._processes.alive():
            self._replace_caller()
        if not self._closing:
            self._loop.call_later(1.0, self._guard)

    def _replace_caller(self) -> None:
        self._restarts += 1
        if self._restarts > MOST_RESTARTS:
            self._break(
                ModelError(
                    "the processes that make the model calls keep ending; is memory short?",
                    reason=ENGINE,
                    whole_run=True,
                )
            )
        else:
            self._start_caller()

    def _break(self, error: ModelError) -> None:
        self._broken = error
        for _, _, tell in self._take(self._later_questions):
            tell({"error": error_fields(error)})
        for job in self._take(self._waiting):
            self._listener.called(job, {"error": error_fields(error)})
        self._listener.broken(error)

    def call(self, job: Job) -> None:
        """Have the caller with the fewest calls under way make one more."""
        if self._broken is not None:
            self._listener.called(job, {"error": error_fields(self._broken)})
            return
        if not self._ready:
            self._waiting.append(job)
            return
        caller = min(self._ready, key=lambda connection: len(connection.jobs))
        self._numbers += 1
        caller.jobs[self._numbers] = job
        job.started = self._loop.time()
        head = {"do": "call", "n": self._numbers, "lane": job.lane, "server": job.server}
        caller.send(head, job.body)

    def question(self, name: str, body: bytes, tell: OnAnswer) -> None:
        if self._broken is not None:
            tell({"error": error_fields(self._broken)})
        elif not self._ready:
            self._later_questions.append((name, body, tell))
        else:
            self._numbers += 1
            self._questions[self._numbers] = self._ready[0], name, body, tell
            self._ready[0].send({"do": name, "n": self._numbers}, body)

    def receive(self, connection: Connection, head: Mapping[str, Any]) -> None:
        if "ready" in head:
            self._ready.append(connection)
            if self._processes.alive() < self._config["callers"]:
                self._start_caller()
            for question in self._take(self._later_questions):
                self.question(*question)
            for job in self._take(self._waiting):
                self.call(job)
        elif "broken" in head:
            self._break(read_error(head["broken"]))
        elif "problems" in head:
            self._listener.problems(connection.pid, head["problems"])
        elif "refused" in head:
            self._listener.refused(head["refused"], head["part"], head["why"])
        elif "transport" in head:
            self._listener.problems(f"transport of {head['transport']}", [head["why"]])
        elif "result" in head:
            self._questions.pop(head["n"])[3]({"result": head["result"]})
        else:
            self._listener.called(connection.jobs.pop(head["n"]), head)

    def left(self, connection: Connection) -> None:
        """Replace a caller that has ended, and see to what it was doing."""
        if connection in self._ready:
            self._ready.remove(connection)
        lost, connection.jobs = list(connection.jobs.values()), {}
        if self._closing:
            return
        self._replace_caller()
        for number in [n for n, question in self._questions.items() if question[0] is connection]:
            self.question(*self._questions.pop(number)[1:])
        for job in lost:
            self._listener.lost(job)

    def run(self, do: str, key: str, body: bytes) -> bool:  # noqa: ARG002 - none of theirs
        """Return False: whoever holds the callers has programs run and answers scored."""
        return False

    def close(self, done: Callable[[], None]) -> None:
        """Have the callers end by themselves, after what is in flight."""
        self._closing = True
        for caller in self._ready:
            caller.send({"do": "close"})
        # Once round the loop, so that what was sent goes out.
        self._loop.call_later(0.05, done)

    @staticmethod
    def _take(items: list[Any]) -> list[Any]:
        taken, items[:] = items[:], []
        return taken
