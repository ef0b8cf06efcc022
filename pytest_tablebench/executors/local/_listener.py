"""The broker's port: accepts processes with the run's token and limits all other connections.

Every process of the machine can connect. Until a connection has sent the token, the broker reads
only its first line. Few such connections are open at once, and none for long.
"""

from __future__ import annotations

import asyncio
import socket

from pytest_tablebench.executors.local._connection import Connection, ConnectionHandler

MOST_UNIDENTIFIED = 64
"""Connections without a token at once; further ones wait in the system's queue."""

SILENT_S = 0.25
"""Seconds after which such a connection is closed if another one needs its place."""

GREETING_S = 30.0
"""Seconds after which such a connection is closed. Our processes send the token at once."""


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
