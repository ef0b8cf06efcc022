"""The broker's port: lets in who knows the run's word, and keeps the others from filling it up.

Every process of the machine can connect. A connection is a stranger until it has introduced
itself; few of them are held at once, none for long, and no more is read of them than an
introduction takes.
"""

from __future__ import annotations

import asyncio
import socket

from pytest_tablebench.executors.local._link import Peer, Switchboard

MOST_STRANGERS = 64
"""Strangers at once; who comes then waits in the system's queue."""

SILENT_S = 0.25
"""Seconds after which a stranger makes room for another, where there is none."""

INTRODUCTION_S = 30.0
"""Seconds anybody has to introduce himself. Ours do it at once, if the machine lets them."""


class Door:
    """Listens on a port of the loopback address, which the system chooses."""

    def __init__(self, broker: Switchboard, loop: asyncio.AbstractEventLoop) -> None:
        self._broker = broker
        self._loop = loop
        self._strangers: dict[Peer, float] = {}
        """When each came, the first one first."""
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._socket.setblocking(False)
        self.port: int = self._socket.getsockname()[1]

    async def let_in(self) -> None:
        """Take connections until cancelled."""
        while True:
            while len(self._strangers) >= MOST_STRANGERS:
                await self._make_room()
            try:
                connection, _ = await self._loop.sock_accept(self._socket)
                await self._loop.connect_accepted_socket(self._link, connection)
            except OSError:  # no descriptor is left for it, or it is gone already
                await self._make_room()

    def _link(self) -> Peer:
        link = Peer(self._broker, self._settled)
        self._strangers[link] = self._loop.time()
        self._loop.call_later(INTRODUCTION_S, self._send_off, link)
        return link

    def _settled(self, link: Peer) -> None:
        """Take note that a connection has introduced itself, or has ended."""
        self._strangers.pop(link, None)

    def _send_off(self, link: Peer) -> None:
        if link in self._strangers:
            del self._strangers[link]
            link.close()

    async def _make_room(self) -> None:
        """End the connection that has been silent for longest, once that is long enough."""
        now = self._loop.time()
        first, came = next(iter(self._strangers.items()), (None, now))
        if first is not None and now - came >= SILENT_S:
            self._send_off(first)
        await asyncio.sleep(0.01)  # also so that ended ones are closed

    def close(self) -> None:
        """Listen no more."""
        self._socket.close()
