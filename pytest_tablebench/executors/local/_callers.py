"""The callers of one machine: start them, share calls among them, replace those that end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from pytest_tablebench.errors import ENGINE, ModelError
from pytest_tablebench.executors._process import processors
from pytest_tablebench.executors._protocol import Job
from pytest_tablebench.executors._wire import error_fields, pack, read_error
from pytest_tablebench.executors.local._caller_processes import CallerProcesses
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


PER_CALLER = 64
"""Calls in flight that one process can make: litellm needs 3 ms of CPU a call."""

GUARD_S = 20.0
"""Seconds beyond a call's time limit after which its caller counts as stuck."""

MOST_RESTARTS = 3


def caller_count(connections: int) -> int:
    """Return how many processes the connections need, at most one per processor."""
    return max(1, min(processors(), -(-connections // PER_CALLER)))


class LocalCallers(CallerPool):
    """Processes of this machine that make calls and connect to a port of this process.

    `config` also contains `callers`, the number of processes, `timeout`, seconds of a call, and
    `needs_litellm`, whether litellm makes the calls to a model.
    """

    def __init__(self, config: Mapping[str, Any], listener: CallListener) -> None:
        super().__init__(config, listener)
        self._ready: list[Connection] = []
        self._processes = CallerProcesses()
        self._restarts = 0

    def start(self) -> None:
        """Start the first process. Each further one starts when the one before is ready.

        With few processors, importing litellm in several processes at once delays the first call.
        """
        if self._config["callers"]:
            self._start_caller()
        self._guard()

    def _start_caller(self) -> None:
        config = {**self._config, "port": self.port, "token": self._listener.token}
        has_models = any(lane.get("reference") is None for lane in self._config["lanes"])
        needs_litellm = self._config["needs_litellm"]
        self._processes.start(pack(config), has_models=has_models, needs_litellm=needs_litellm)

    def _guard(self) -> None:
        """Kill callers that exceed their time limits; replace one that never became ready."""
        limit = self._config["timeout"] + GUARD_S
        now = self._loop.time()
        for caller in list(self._ready):
            if any(now - job.started > limit for job in caller.jobs.values()):
                self._processes.kill(caller.pid)
                caller.close()
        is_wanted = self._config["callers"] > 0 and not self._closing
        if is_wanted and not self._ready and not self._processes.alive():
            self._replace_caller()
        if not self._closing:
            self._loop.call_later(1.0, self._guard)

    def _replace_caller(self) -> None:
        self._restarts += 1
        if self._restarts > MOST_RESTARTS:
            self._break(
                ModelError(
                    "the processes that make the model calls keep ending; check the free memory",
                    reason=ENGINE,
                    whole_run=True,
                )
            )
        else:
            self._start_caller()

    def _send_call(self, job: Job) -> bool:
        if not self._ready:
            return False
        caller = min(self._ready, key=lambda connection: len(connection.jobs))
        self._numbers += 1
        caller.jobs[self._numbers] = job
        head = {"do": "call", "n": self._numbers, "lane": job.lane, "server": job.server}
        caller.send(head, job.body)
        return True

    def _send_question(self, number: int, name: str, body: bytes) -> Connection | None:
        if not self._ready:
            return None
        self._ready[0].send({"do": name, "n": number}, body)
        return self._ready[0]

    def receive(self, connection: Connection, head: Mapping[str, Any]) -> None:
        if "ready" in head:
            self._ready.append(connection)
            if self._processes.alive() < self._config["callers"]:
                self._start_caller()
            self._send_waiting()
        elif "broken" in head:
            self._break(read_error(head["broken"]))
        elif "note" in head:
            self._listener.note(head["note"], head["texts"])
        elif head["n"] in self._asked:
            _, (_, _, on_answer) = self._asked.pop(head["n"])
            on_answer({name: head[name] for name in ("result", "error") if name in head})
        else:
            self._listener.called(connection.jobs.pop(head["n"]), head)

    def left(self, connection: Connection) -> None:
        """Replace a caller that has ended; report its calls as lost."""
        if connection in self._ready:
            self._ready.remove(connection)
        lost, connection.jobs = list(connection.jobs.values()), {}
        if self._closing:
            return
        self._replace_caller()
        self._ask_again(connection)
        for job in lost:
            self._listener.lost(job)

    def close(self, done: Callable[[], None]) -> None:
        self._closing = True
        for caller in self._ready:
            caller.send({"do": "close"})
        # One more turn of the loop sends these messages.
        self._loop.call_later(0.05, done)
