"""The broker's port: lets in who knows the run's word, and keeps the others from filling it up.

Every process of the machine can connect. A connection is a stranger until it has introduced
itself; few of them are held at once, none for long, and no more is read of them than an
introduction takes.
"""

from __future__ import annotations

import asyncio
import socket

from pytest_tablebench.executors.local._connection import Connection, ConnectionHandler

MOST_UNIDENTIFIED = 64
"""Strangers at once; who comes then waits in the system's queue."""

SILENT_S = 0.25
"""Seconds after which a stranger makes room for another, where there is none."""

GREETING_S = 30.0
"""Seconds anybody has to introduce himself. Ours do it at once, if the machine lets them."""


class Listener:
    """Listens on a port of the loopback address, which the system chooses."""

    def __init__(self, broker: ConnectionHandler, loop: asyncio.AbstractEventLoop) -> None:
        self._broker = broker
        self._loop = loop
        self._unidentified: dict[Connection, float] = {}
        """When each came, the first one first."""
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    async def let_in(self) -> None:
        """Take connections until cancelled."""
        while True:
            while len(self._unidentified) >= MOST_UNIDENTIFIED:
                await self._make_room()
            try:
                connection, _ = await self._loop.sock_accept(self._socket)
                await self._loop.connect_accepted_socket(self._new_connection, connection)
            except OSError:  # no descriptor is left for it, or it is gone already
                await self._make_room()

    def _new_connection(self) -> Connection:
        connection = Connection(self._broker, self._identified)
        self._unidentified[connection] = self._loop.time()
        self._loop.call_later(GREETING_S, self._send_off, connection)
        return connection

    def _identified(self, connection: Connection) -> None:
        """Take note that a connection has introduced itself, or has ended."""
        self._unidentified.pop(connection, None)

    def _send_off(self, connection: Connection) -> None:
        if connection in self._unidentified:
            del self._unidentified[connection]
            connection.close()

    async def _make_room(self) -> None:
        """End the connection that has been silent for longest, once that is long enough."""
        now = self._loop.time()
        first, came = next(iter(self._unidentified.items()), (None, now))
        if first is not None and now - came >= SILENT_S:
            self._send_off(first)
        await asyncio.sleep(0.01)  # also so that ended ones are closed

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()
