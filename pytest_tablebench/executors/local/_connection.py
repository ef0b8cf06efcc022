"""The broker's port and its connections.

Every process of the machine can connect. Until a connection has sent the run's token, the broker
reads only its first line. Few such connections are open at once, and none for long.
"""

from __future__ import annotations

import asyncio
import hmac
import socket
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pytest_tablebench.executors._protocol import Job
from pytest_tablebench.executors._wire import LineSplitter, header, pack

ROLES = frozenset({"caller", "runner", "keeper"})

LONGEST_GREETING = 4096
"""Largest number of bytes in a connection's first line."""

MOST_UNIDENTIFIED = 64
"""Connections without a token at once; further ones wait in the system's queue."""

SILENT_S = 0.25
"""Seconds after which such a connection is closed if another one needs its place."""

GREETING_S = 30.0
"""Seconds after which such a connection is closed. Our processes send the token at once."""


class ConnectionHandler(Protocol):
    """The broker, or the actor on a Dask worker."""

    token: str

    def joined(self, connection: Connection) -> None: ...
    def left(self, connection: Connection) -> None: ...
    def from_caller(self, connection: Connection, head: Mapping[str, Any]) -> None: ...
    def from_client(self, connection: Connection, head: dict[str, Any], body: bytes) -> None: ...


class Connection(asyncio.Protocol):
    """One connection. Its first line contains the token and the role of the other process.

    `identified` is called when the role is known or the connection has ended.
    """

    def __init__(self, broker: ConnectionHandler, identified: Callable[[Connection], None]) -> None:
        self.broker = broker
        self.role: str | None = None
        self.pid: int | None = None
        self.transport: asyncio.Transport | None = None
        self.jobs: dict[int, Job] = {}
        self._identified = identified
        self._first = b""
        self._lines = LineSplitter()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - TCP
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.role is None:
            self._first += data
            line, end, data = self._first.partition(b"\n")
            if len(line) > LONGEST_GREETING or (end and not self._identify(line)):
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

    def _identify(self, line: bytes) -> bool:
        try:
            head, _ = header(line)
            role, token = head["role"], str(head["token"]).encode()
            is_ours = role in ROLES and hmac.compare_digest(token, self.broker.token.encode())
        except (ValueError, LookupError, TypeError, RecursionError):
            return False
        if is_ours:
            self.role, self.pid = role, head.get("pid")
            self._identified(self)
            self.broker.joined(self)
        return is_ours

    def send(self, head: Mapping[str, Any], body: bytes | None = None) -> None:
        """Send a message; drop it if the other process is gone."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(pack(head, body))

    def close(self) -> None:
        if self.transport is not None:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._identified(self)
        if self.role is not None:
            self.broker.left(self)


class Listener:
    """Listens on a port of the loopback address, which the system chooses."""

    def __init__(self, broker: ConnectionHandler, loop: asyncio.AbstractEventLoop) -> None:
        self._broker = broker
        self._loop = loop
        self._unidentified: dict[Connection, float] = {}
        """The time of each connection, the oldest first."""
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    async def let_in(self) -> None:
        """Accept connections until cancelled."""
        while True:
            while len(self._unidentified) >= MOST_UNIDENTIFIED:
                await self._make_room()
            try:
                connection, _ = await self._loop.sock_accept(self._socket)
                # asyncio does this only for connections that it accepts itself. Without it, a
                # message can wait for the other side's delayed acknowledgement, 40 ms.
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await self._loop.connect_accepted_socket(self._new_connection, connection)
            except OSError:  # no file descriptor is left, or the connection is gone already
                await self._make_room()

    def _new_connection(self) -> Connection:
        connection = Connection(self._broker, self._identified)
        self._unidentified[connection] = self._loop.time()
        self._loop.call_later(GREETING_S, self._send_off, connection)
        return connection

    def _identified(self, connection: Connection) -> None:
        self._unidentified.pop(connection, None)

    def _send_off(self, connection: Connection) -> None:
        if connection in self._unidentified:
            del self._unidentified[connection]
            connection.close()

    async def _make_room(self) -> None:
        """Close the oldest connection without a token, if it was silent for long enough."""
        now = self._loop.time()
        oldest, since = next(iter(self._unidentified.items()), (None, now))
        if oldest is not None and now - since >= SILENT_S:
            self._send_off(oldest)
        await asyncio.sleep(0.01)  # also lets the loop close ended connections

    def close(self) -> None:
        self._socket.close()
