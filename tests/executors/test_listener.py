"""The broker's port: connections without the run's token are closed."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable
from typing import Any

import pytest

from pytest_tablebench.executors._wire import pack
from pytest_tablebench.executors.local._connection import GREETING_S, Connection, Listener
from pytest_tablebench.models import Reply
from tests.support.broker_site import TOKEN, Site, come, request


def stranger(site: Site, *pieces: bytes) -> socket.socket:
    """Open a connection that does not send the token, and send pieces."""
    connection = socket.create_connection(("127.0.0.1", site.port), timeout=30)
    for piece in pieces:
        connection.sendall(piece)
    return connection


def shut(connection: socket.socket) -> bool:
    """Return whether the broker closes a connection within half a minute."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_greeting_that_is_too_long_is_closed(site: Site) -> None:
    connection = stranger(site)
    sent = 0
    with contextlib.suppress(OSError):  # it closes
        while sent < 100_000_000:
            sent += connection.send(b"x" * 65536)
    assert sent < 100_000_000
    connection.close()
    client, caller = site.client(), site.caller()
    client.ask("k", request())
    caller.answer("36")
    assert come(client) == {"k": Reply("36", cost_usd=0.5)}


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense\n",
        b"[1]\n",
        b"\xff\n",
        b"[" * 3000 + b"\n",
        b'{"token":"\\ud800","role":"runner"}\n',
        pack({"token": TOKEN}),
        pack({"token": TOKEN, "role": "nobody"}),
        pack({"token": TOKEN, "role": ["caller"]}),
        b'{"token":' + b"9" * 3900 + b"}\n",
    ],
)
def test_a_wrong_greeting_closes_only_its_connection(site: Site, line: bytes) -> None:
    connection = stranger(site, line)
    assert shut(connection)
    connection.close()
    assert site.client().lost is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
def test_idle_connections_do_not_block_clients(make_site: Callable[..., Site]) -> None:
    site = make_site(descriptors=128)
    idle = [stranger(site) for _ in range(300)]
    caller = site.caller()
    client = site.client()
    client.ask("k", request())
    caller.answer("36")
    assert come(client) == {"k": Reply("36", cost_usd=0.5)}
    for connection in idle:
        connection.close()


class Loop:
    """An event loop that only keeps the scheduled calls."""

    def __init__(self) -> None:
        self.later: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return 0.0

    def call_later(self, seconds: float, call: Callable[..., None], *arguments: Any) -> None:
        self.later.append((seconds, lambda: call(*arguments)))


class Transport(asyncio.Transport):
    closed = False

    def close(self) -> None:
        self.closed = True


class Board:
    """A broker that ignores all messages."""

    token = TOKEN

    def joined(self, connection: Connection) -> None: ...
    def left(self, connection: Connection) -> None: ...
    def from_caller(self, connection: Connection, head: Any) -> None: ...
    def from_client(self, connection: Connection, head: Any, body: bytes) -> None: ...


def test_a_connection_without_a_greeting_is_closed_in_time() -> None:
    loop: Any = Loop()
    listener = Listener(Board(), loop)
    silent, greeted = listener._new_connection(), listener._new_connection()
    ends = [Transport(), Transport()]
    for connection, transport in zip((silent, greeted), ends, strict=True):
        connection.connection_made(transport)
    greeted.data_received(pack({"token": TOKEN, "role": "runner"}))
    for seconds, call in loop.later:
        assert seconds == GREETING_S
        call()
    assert [transport.closed for transport in ends] == [True, False]
    listener.close()


class Held(Board):
    """A broker that keeps its connections."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []

    def joined(self, connection: Connection) -> None:
        self.connections.append(connection)


def test_small_messages_are_sent_at_once() -> None:
    """Without this option they wait for the other side's delayed acknowledgement."""

    async def option() -> int:
        broker = Held()
        listener = Listener(broker, asyncio.get_running_loop())
        letting_in = asyncio.create_task(listener.let_in())
        _, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        writer.write(pack({"token": TOKEN, "role": "runner"}))
        while not broker.connections:
            await asyncio.sleep(0)
        transport = broker.connections[0].transport
        assert transport is not None
        accepted = transport.get_extra_info("socket")
        letting_in.cancel()
        writer.close()
        listener.close()
        return int(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    assert asyncio.run(asyncio.wait_for(option(), 30)) != 0
