"""The broker's end of a connection."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pytest_tablebench.executors.local._queue import Job
from pytest_tablebench.executors.local._wire import LineSplitter, header, pack

ROLES = frozenset({"caller", "runner", "owner"})

LONGEST_INTRODUCTION = 4096
"""Bytes that are read of somebody who has not said who he is."""


class Switchboard(Protocol):
    """What a connection needs of the broker."""

    token: str

    def joined(self, link: Peer) -> None:
        """Take note of who a connection is."""

    def left(self, link: Peer) -> None:
        """Take note of a connection that ended."""

    def from_caller(self, link: Peer, head: Mapping[str, Any]) -> None:
        """Take what a caller has to say."""

    def from_client(self, link: Peer, head: dict[str, Any], body: bytes) -> None:
        """Take a message of a client."""


class Peer(asyncio.Protocol):
    """One connection; the first line says who it is.

    `settled` is told once that is known, or the connection has ended before.
    """

    def __init__(self, broker: Switchboard, settled: Callable[[Peer], None] | None = None) -> None:
        self.broker = broker
        self.role: str | None = None
        self.pid: int | None = None
        self.transport: asyncio.Transport | None = None
        self.jobs: dict[int, Job] = {}
        self._settled = settled
        self._first = b""
        self._lines = LineSplitter()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - TCP
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.role is None:
            self._first += data
            line, end, data = self._first.partition(b"\n")
            if len(line) > LONGEST_INTRODUCTION or (end and not self._introduce(line)):
                self.close()
            if self.role is None:
                return
            self._first = b""
        for line in self._lines.feed(data):
            head, body = header(line)
            if self.role == "caller":
                self.broker.from_caller(self, head)
            else:
                self.broker.from_client(self, head, body)

    def _introduce(self, line: bytes) -> bool:
        """Learn who this is; return whether it is one of ours."""
        try:
            head, _ = header(line)
            role, token = head["role"], str(head["token"]).encode()
            known = role in ROLES and hmac.compare_digest(token, self.broker.token.encode())
        except (ValueError, LookupError, TypeError, RecursionError):
            return False
        if known:
            self.role, self.pid = role, head.get("pid")
            self._settle()
            self.broker.joined(self)
        return known

    def _settle(self) -> None:
        if self._settled is not None:
            self._settled(self)

    def send(self, head: Mapping[str, Any], body: bytes | None = None) -> None:
        """Send a message; one to somebody who has gone is dropped."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(pack(head, body))

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._settle()
        if self.role is not None:
            self.broker.left(self)
