"""The broker's port: strangers are neither listened to nor in the way."""

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
    """A connection of somebody who does not know the word."""
    found = socket.create_connection(("127.0.0.1", site.port), timeout=30)
    for piece in pieces:
        found.sendall(piece)
    return found


def shut(one: socket.socket) -> bool:
    """Whether the broker has closed a connection; it is given half a minute."""
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_greeting_that_is_too_long_is_closed(site: Site) -> None:
    one = stranger(site)
    sent = 0
    with contextlib.suppress(OSError):  # it closes
        while sent < 100_000_000:
            sent += one.send(b"x" * 65536)
    assert sent < 100_000_000
    one.close()
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
    one = stranger(site, line)
    assert shut(one)
    one.close()
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
    for one in idle:
        one.close()


class Loop:
    """Keeps what is to happen later."""

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
    """A broker that lets everybody come and go."""

    token = TOKEN

    def joined(self, connection: Connection) -> None: ...
    def left(self, connection: Connection) -> None: ...
    def from_caller(self, connection: Connection, head: Any) -> None: ...
    def from_client(self, connection: Connection, head: Any, body: bytes) -> None: ...


def test_a_connection_without_a_greeting_is_closed_in_time() -> None:
    loop: Any = Loop()
    listener = Listener(Board(), loop)
    silent, known = listener._new_connection(), listener._new_connection()
    ends = [Transport(), Transport()]
    for connection, transport in zip((silent, known), ends, strict=True):
        connection.connection_made(transport)
    known.data_received(pack({"token": TOKEN, "role": "runner"}))
    for seconds, call in loop.later:
        assert seconds == GREETING_S
        call()
    assert [transport.closed for transport in ends] == [True, False]
    listener.close()
