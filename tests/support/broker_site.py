"""A broker in a separate process; the test acts as its caller."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_tablebench.executors import Outcome, Work
from pytest_tablebench.executors._wire import (
    LineSplitter,
    header,
    pack,
    read_request,
    reply_fields,
)
from pytest_tablebench.executors.local import Address, LocalExecutor, broker
from pytest_tablebench.models import Message, Reply, Request

if sys.platform != "win32":
    import resource

TOKEN = "a-word-that-only-this-run-knows"


def request(text: str = "How old is Ada?", **more: Any) -> Request:
    return Request("openai/m", (Message("user", text),), {"temperature": 0}, **more)


class Asker(LocalExecutor):
    """An executor that sends each submitted request immediately."""

    def ask(self, key: str, request: Request, **work: Any) -> None:
        self.submit(Work(key, request, **work), next(iter(self._lanes)))
        self.look()

    def look(self) -> None:
        """Send waiting requests and read what has arrived; `come` still returns it."""
        self._read(0)


class Caller:
    """A caller of the broker, played by the test."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._lines = LineSplitter()
        self._arrived: list[bytes] = []
        self.send({"token": TOKEN, "role": "caller"})
        self.send({"ready": True})

    def send(self, head: Mapping[str, Any]) -> None:
        self._socket.sendall(pack(head))

    def take(self) -> tuple[dict[str, Any], bytes]:
        """Return the broker's next message; time out without one."""
        while not self._arrived:
            data = self._socket.recv(65536)
            assert data, "the broker has closed the connection"
            self._arrived += self._lines.feed(data)
        return header(self._arrived.pop(0))

    def answer(self, text: str) -> Request:
        """Take a call and answer it."""
        head, body = self.take()
        assert head["do"] == "call"
        self.send({"n": head["n"], "reply": reply_fields(Reply(text, cost_usd=0.5))})
        return read_request(body)

    def close(self) -> None:
        self._socket.close()


class Site:
    """A broker and its connections."""

    def __init__(self, folder: Path, *, descriptors: int | None = None, **config: Any) -> None:
        self.store = folder / "answers"
        config_fields = {
            "token": TOKEN,
            "lanes": [{"model": "openai/m", "api_base": None, "provider": "p"}],
            "connections": 4,
            "retries": 0,
            "timeout": 60,
            "max_reply": 1_000_000,
            "transport": "auto",
            "max_cost": None,
            "patience": 180.0,
            "callers": 0,
            "eager": True,
            "store": str(self.store),
            **config,
        }
        self.lanes = tuple(lane["model"] for lane in config_fields["lanes"])
        self.process = subprocess.Popen(
            [sys.executable, "-m", broker.__name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        if descriptors is not None:
            limits = descriptors, descriptors
            resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, limits)  # on Linux
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(pack(config_fields))
        self.process.stdin.flush()
        self.port = int(self.process.stdout.readline())
        self._open: list[LocalExecutor | Caller] = []

    def client(self, role: Any = "runner", token: str = TOKEN) -> Asker:
        client = Asker(Address(self.port, token), role, self.lanes)
        self._open.append(client)
        return client

    def caller(self) -> Caller:
        caller = Caller(self.port)
        self._open.append(caller)
        return caller

    def close(self) -> None:
        # The broker first, because it would replace our caller.
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        self.process.kill()
        self.process.wait()
        for connection in self._open:
            connection.close()


def come(client: LocalExecutor, number: int = 1, *, seconds: int = 30) -> dict[str, Outcome]:
    """Return the next outcomes of a client."""
    outcomes: dict[str, Outcome] = {}
    deadline = time.monotonic() + seconds  # one wait may return fewer outcomes
    while len(outcomes) < number and client.lost is None and time.monotonic() < deadline:
        outcomes.update(client.outcomes(wait=True))
    assert len(outcomes) == number
    return outcomes
