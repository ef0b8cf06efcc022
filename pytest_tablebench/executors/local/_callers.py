"""The callers of one machine: start them, share calls among them, replace those that end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_tablebench.errors import ENGINE, ModelError
from pytest_tablebench.executors._process import processors
from pytest_tablebench.executors._queue import Job
from pytest_tablebench.executors._wire import pack, read_error
from pytest_tablebench.executors.local._caller_pool import CallerPool, CallListener
from pytest_tablebench.executors.local._caller_processes import CallerProcesses
from pytest_tablebench.executors.local._connection import Connection

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
