"""The side of the processes that run items: asks ahead, and takes outcomes as they come."""

from __future__ import annotations

import json
import selectors
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pytest_tablebench.errors import ENGINE, ModelError
from pytest_tablebench.executors.local._metrics import grade_body
from pytest_tablebench.executors.local._wire import (
    LineSplitter,
    execute_body,
    header,
    pack,
    read_error,
    read_reply,
    read_score,
    request_body,
    to_json,
)
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Execute, Execution, Grade, read_execution
from pytest_tablebench.models.base import Reply, Request

Outcome: TypeAlias = Reply | Execution | Score | ModelError

SLICE_S = 0.5
"""Longest single wait on the socket: Windows delivers Ctrl-C only between two waits."""

CONNECT_S = 30.0
"""Seconds after which nobody listens."""


@dataclass(frozen=True)
class Address:
    """Where a run's broker listens, and the word it wants to hear."""

    port: int
    token: str


class Client:
    """A connection to the broker of a run, for one thread.

    Nothing happens in the background: the socket is read whenever something is asked or awaited.
    Where nobody listens any more, the connection is `lost` from the beginning.
    """

    def __init__(self, address: Address, role: Literal["runner", "owner"]) -> None:
        self.address = address
        self._socket = socket.socket()
        self._selector = selectors.DefaultSelector()
        self._lines = LineSplitter()
        self._outcomes: list[tuple[str, Outcome]] = []
        self._answers: dict[int, dict[str, Any]] = {}
        self._numbers = 0
        self._unsent = bytearray()
        self._gone: str | None = None
        self.totals: dict[str, Any] | None = None
        self.notes: dict[str, Any] = {}
        """What the broker has told, by name."""
        self.waits: list[dict[str, Any]] = []
        """Who answers nothing at the moment: fields of `Wait`, with times of day."""
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
        """Why nothing more will come, once the connection has ended."""
        return None if self._gone is None else self._lost()

    def ask(
        self,
        key: str,
        request: Request,
        *,
        lane: int,
        again: bool = False,
        media: Path | None = None,
    ) -> None:
        """Have a request answered; `outcomes` tells what came of it.

        The first question of a conversation goes out with the next message or look at what has
        come: many together wake the broker once. `again`: what failed in this run is tried once
        more, rather than told once more. `media` is the folder in which the request's pictures lie.
        """
        head = {"do": "ask", "key": key, "lane": lane, "step": request.step, "again": again}
        self._unsent += pack(head, request_body(request, media))
        if request.step:
            self._send()

    def run(self, key: str, task: Execute | Grade) -> None:
        """Have a program run, or an answer scored; `outcomes` tells what came of it."""
        if isinstance(task, Execute):
            self._send(pack({"do": "run", "key": key}, execute_body(task)))
        else:
            self._send(pack({"do": "grade", "key": key}, grade_body(task)))

    def outcomes(self, *, wait: bool) -> list[tuple[str, Outcome]]:
        """Return what has come of requests since the last time, by key.

        With `wait` it gives what comes some time, but returns now and then without any.
        """
        self._read(SLICE_S if wait and not self._outcomes else 0)
        found, self._outcomes = self._outcomes, []
        return found

    def question(self, what: str, body: Mapping[str, Any]) -> Any:
        """Ask about a model, and wait. Raises `ModelError` when nothing can be asked."""
        return self._converse({"do": "question", "what": what}, to_json(body))

    def stop(self, why: str) -> None:
        """Have no further call started, by anybody."""
        self._send(pack({"do": "stop", "why": why}))

    def finish(self) -> dict[str, Any] | None:
        """End the broker's work; return the totals of the run, None when it is gone already."""
        try:
            totals = self._converse({"do": "finish"}, None)
        except ModelError:
            return self.totals
        return dict(totals)

    def look(self) -> None:
        """Take in what has arrived, without waiting."""
        self._read(0)

    def close(self) -> None:
        """Close the connection."""
        self._selector.close()
        self._socket.close()
        self._gone = self._gone or "closed"

    def _converse(self, head: dict[str, Any], body: bytes | None) -> Any:
        self._numbers += 1
        number = self._numbers
        self._send(pack({**head, "id": number}, body))
        while number not in self._answers:
            if self._gone is not None:
                raise self._lost()
            self._read(SLICE_S)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise read_error(answer["error"])
        return answer["result"]

    def _send(self, data: bytes = b"") -> None:
        """Send a message, behind those that wait."""
        data, self._unsent = bytes(self._unsent + data), bytearray()
        if self._gone is not None:
            return
        try:
            self._socket.sendall(data)
        except OSError as error:
            self._gone = str(error)

    def _read(self, timeout: float) -> None:
        """Take in what has arrived, waiting at most so long for it."""
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
            self.totals = head["totals"]
        elif "waits" in head:
            self.waits = head["waits"]
        elif "note" in head:
            self.notes[head["note"]] = json.loads(body)

    def _lost(self) -> ModelError:
        return ModelError(
            f"the process that makes the model calls is gone ({self._gone}); run again",
            reason=ENGINE,
            whole_run=True,
        )


def _outcome(head: Mapping[str, Any], body: bytes) -> Outcome:
    if "error" in head:
        return read_error(head["error"])
    if "score" in head:
        return read_score(head["score"])
    return read_reply(head["reply"]) if "reply" in head else read_execution(json.loads(body))
