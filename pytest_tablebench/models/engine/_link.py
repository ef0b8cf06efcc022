"""The broker's end of a connection."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Mapping
from typing import Any, Protocol

from pytest_tablebench.models.engine._queue import Job
from pytest_tablebench.models.engine._wire import Lines, header, pack

__all__ = ["Link"]


class Switchboard(Protocol):
    """What a connection needs of the broker."""

    token: str

    def joined(self, link: Link) -> None:
        """Take note of who a connection is."""

    def left(self, link: Link) -> None:
        """Take note of a connection that ended."""

    def from_caller(self, link: Link, head: Mapping[str, Any]) -> None:
        """Take what a caller has to say."""

    def from_client(self, link: Link, head: dict[str, Any], body: bytes) -> None:
        """Take a message of a client."""


class Link(asyncio.Protocol):
    """One connection; the first line says who it is."""

    def __init__(self, broker: Switchboard) -> None:
        self.broker = broker
        self.role: str | None = None
        self.pid: int | None = None
        self.transport: asyncio.Transport | None = None
        self.jobs: dict[int, Job] = {}
        self._lines = Lines()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - TCP
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            head, body = header(line)
            if self.role is None:
                self._introduce(head)
            elif self.role == "caller":
                self.broker.from_caller(self, head)
            else:
                self.broker.from_client(self, head, body)

    def _introduce(self, head: Mapping[str, Any]) -> None:
        token = str(head.get("token", ""))
        if not hmac.compare_digest(token.encode(), self.broker.token.encode()):
            self.close()
            return
        self.role = str(head["role"])
        self.pid = head.get("pid")
        self.broker.joined(self)

    def send(self, head: Mapping[str, Any], body: bytes | None = None) -> None:
        """Send a message; one to somebody who has gone is dropped."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(pack(head, body))

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        if self.role is not None:
            self.broker.left(self)
