"""The executor of this machine and of a cluster: a connection to the run's broker."""

from __future__ import annotations

import json
import selectors
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_tablebench.errors import ENGINE, ModelError
from pytest_tablebench.executors._protocol import Outcome, Work
from pytest_tablebench.executors._wire import (
    LineSplitter,
    execute_body,
    header,
    pack,
    read_error,
    read_score,
    request_body,
    to_json,
)
from pytest_tablebench.executors.local._local_work import grade_body
from pytest_tablebench.metrics.steps import Execute, Grade, read_execution
from pytest_tablebench.models import Reply

SLICE_S = 0.5
"""Longest single wait on the socket: Windows delivers Ctrl-C only between two waits."""

CONNECT_S = 30.0
"""Seconds without a connection after which the broker counts as gone."""


@dataclass(frozen=True)
class Address:
    """The port where a run's broker listens, and the token that it expects."""

    port: int
    token: str


class LocalExecutor:
    """Sends requests, programs and answers to the run's broker, and receives the outcomes.

    It is for one thread and does nothing in the background: only `outcomes` and questions read
    the socket. Without a broker the executor is `lost` from the beginning.

    Arguments:
        role: `runner` for a process that runs cases, `keeper` for the process that keeps the
            run, which also receives totals and notes.
        lanes: the models of the run, in the broker's order.
    """

    def __init__(
        self, address: Address, role: Literal["runner", "keeper"], lanes: Sequence[str] = ()
    ) -> None:
        self.address = address
        self.notes: dict[str, Any] = {}
        """The broker's notes, by name."""
        self.waits: list[dict[str, Any]] = []
        """Providers that answer nothing at the moment: `Dispatcher.waits`, with clock times."""
        self._lanes = {model: number for number, model in enumerate(lanes)}
        self._socket = socket.socket()
        self._selector = selectors.DefaultSelector()
        self._lines = LineSplitter()
        self._outcomes: list[tuple[str, Outcome]] = []
        self._answers: dict[int, dict[str, Any]] = {}
        self._numbers = 0
        self._unsent = bytearray()
        self._gone: str | None = None
        self._totals: dict[str, Any] | None = None
        try:
            self._socket.settimeout(CONNECT_S)
            self._socket.connect(("127.0.0.1", address.port))
            self._socket.settimeout(None)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(self._socket, selectors.EVENT_READ)
        except OSError as error:
            self._gone = str(error)
        self._send(pack({"token": address.token, "role": role}))

    @property
    def lost(self) -> ModelError | None:
        if self._gone is None:
            return None
        return ModelError(
            f"the process that makes the model calls is gone ({self._gone}); run again",
            reason=ENGINE,
            whole_run=True,
        )

    def submit(self, work: Work, lane: str) -> None:
        """Submit a request, a program, or an answer to score.

        The first request of a conversation is sent with the next message or call of `outcomes`,
        so that many requests wake the broker once. Raises `ModelError` for an unknown lane.
        """
        task = work.task
        if isinstance(task, Execute):
            self._send(pack({"do": "run", "key": work.key}, execute_body(task)))
        elif isinstance(task, Grade):
            self._send(pack({"do": "grade", "key": work.key}, grade_body(task)))
        elif lane not in self._lanes:
            raise ModelError(f"the run has no lane for {lane}", reason=ENGINE)
        else:
            head = {"lane": self._lanes[lane], "step": task.step, "again": work.again}
            if "tools" in task.params:
                head["programs"] = True  # its reply may call one
            body = request_body(task, work.media)
            self._unsent += pack({"do": "ask", "key": work.key, **head}, body)
            if task.step:
                self._send()

    def outcomes(self, *, wait: bool) -> Sequence[tuple[str, Outcome]]:
        self._read(SLICE_S if wait and not self._outcomes else 0)
        arrived, self._outcomes = self._outcomes, []
        return arrived

    def totals(self) -> Mapping[str, Any] | None:
        """Return the last totals that the broker sent, None before the first."""
        return self._totals

    def question(self, name: str, body: Mapping[str, Any]) -> Any:
        """Ask about a model, and wait. Raises `ModelError` if the broker is gone."""
        return self._converse({"do": "question", "what": name}, to_json(body))

    def stop(self, why: str) -> None:
        self._send(pack({"do": "stop", "why": why}))

    def finish(self) -> Mapping[str, Any] | None:
        """End the broker; return the run's totals, or the last ones sent if it is gone."""
        try:
            return dict(self._converse({"do": "finish"}))
        except ModelError:
            return self._totals

    def close(self) -> None:
        self._selector.close()
        self._socket.close()
        self._gone = self._gone or "closed"

    def _converse(self, head: dict[str, Any], body: bytes | None = None) -> Any:
        self._numbers += 1
        number = self._numbers
        self._send(pack({**head, "id": number}, body))
        while number not in self._answers:
            if self.lost is not None:
                raise self.lost
            self._read(SLICE_S)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise read_error(answer["error"])
        return answer["result"]

    def _send(self, data: bytes = b"") -> None:
        """Send the delayed messages, then this one."""
        data, self._unsent = bytes(self._unsent + data), bytearray()
        if self._gone is not None:
            return
        try:
            self._socket.sendall(data)
        except OSError as error:
            self._gone = str(error)

    def _read(self, timeout: float) -> None:
        """Read all messages that have arrived; wait at most `timeout` seconds for the first."""
        if self._unsent:
            self._send()
        if self._gone is not None:
            return
        try:
            while self._selector.select(timeout):
                data = self._socket.recv(1 << 18)
                if not data:
                    self._gone = "it ended"
                    return
                for line in self._lines.feed(data):
                    self._receive(line)
                timeout = 0
        except OSError as error:
            self._gone = str(error)

    def _receive(self, line: bytes) -> None:
        head, body = header(line)
        if "key" in head:
            self._outcomes.append((head["key"], _outcome(head, body)))
        elif "re" in head:
            self._answers[head["re"]] = head
        elif "totals" in head:
            self._totals = head["totals"]
        elif "waits" in head:
            self.waits = head["waits"]
        elif "note" in head:
            self.notes[head["note"]] = json.loads(body)


def _outcome(head: Mapping[str, Any], body: bytes) -> Outcome:
    if "error" in head:
        return read_error(head["error"])
    if "score" in head:
        return read_score(head["score"])
    return Reply(**head["reply"]) if "reply" in head else read_execution(json.loads(body))
