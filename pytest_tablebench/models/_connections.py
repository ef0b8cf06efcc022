"""Connections that carry one exchange at a time, and redirects that stay on their server.

aiohttp keeps a connection for the next request. Bytes that a server sends between two exchanges
would be read as the reply to the next request, so such a connection is closed. HTTP/1.1 does not
number its exchanges: a second copy of a reply that arrives after the next request was sent looks
like the reply to that request (https://www.rfc-editor.org/rfc/rfc9112#section-9.2).
"""

from __future__ import annotations

import asyncio
import select
from typing import TYPE_CHECKING, Any

import aiohttp
from yarl import URL

from pytest_tablebench.models._body import MangledBody, RedirectRefused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.client_middlewares import ClientHandlerType
    from aiohttp.connector import Connection

REDIRECTS = frozenset({301, 302, 303, 307, 308})


def refused_redirect(url: URL, status: int, headers: Mapping[str, str]) -> RedirectRefused | None:
    """Return the error for a redirect that leaves the server of `url`; None for other responses."""
    place = headers.get("Location") or headers.get("URI")
    if status not in REDIRECTS or place is None:
        return None
    try:
        target = url.join(URL(place))
        if target.origin() == url.origin():
            return None
        return RedirectRefused(str(url.origin()), str(target.origin()))
    except ValueError:  # an invalid address, or one without a host
        return RedirectRefused(str(url.origin()), place)


class SoleRequest(aiohttp.ClientRequest):
    """A request that never accepts a reply that arrived before the request was sent."""

    is_late = False
    """Whether the connection contained bytes from before this request."""

    async def send(self, conn: Connection) -> aiohttp.ClientResponse:
        """Send the request over a connection without unread bytes."""
        protocol, transport = conn.protocol, conn.transport
        if protocol is None or transport is None:
            raise aiohttp.ServerDisconnectedError
        self._is_reused = isinstance(transport.get_protocol(), _Idle)
        if self._is_reused:
            transport.set_protocol(protocol)
        self._refuse_unread(conn)
        if self.is_late:
            raise aiohttp.ServerDisconnectedError
        conn.add_callback(lambda: transport.set_protocol(_Idle(protocol, transport)))
        return await super().send(conn)

    async def write_bytes(
        self, writer: AbstractStreamWriter, conn: Connection, content_length: int | None = None
    ) -> None:
        """Write headers and body; before Python 3.12 this happens in a later step of the loop."""
        self._refuse_unread(conn)
        if not self.is_late:
            await super().write_bytes(writer, conn, content_length)

    def _refuse_unread(self, conn: Connection) -> None:
        protocol, transport = conn.protocol, conn.transport
        if protocol is None or transport is None:
            return
        unread = len(protocol) > 0 or protocol.should_close
        # On a new TLS connection the server's session tickets may be unread.
        if not unread and (self._is_reused or transport.get_extra_info("sslcontext") is None):
            unread = _is_readable(transport)
        if unread:
            self.is_late = True
            transport.abort()

    _is_reused = False


class _Idle(asyncio.Protocol):
    """The protocol of a connection between two exchanges; it closes at the first received byte."""

    def __init__(self, protocol: Any, transport: asyncio.Transport) -> None:
        self._protocol = protocol
        self._transport = transport

    def data_received(self, _: bytes) -> None:
        self._transport.abort()

    def eof_received(self) -> None:
        self._protocol.eof_received()

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()

    def connection_lost(self, error: BaseException | None) -> None:
        self._protocol.connection_lost(error)


def _is_readable(transport: asyncio.BaseTransport) -> bool:
    """Return whether the operating system has unread bytes, or the end, of a connection."""
    number = transport.get_extra_info("socket").fileno()
    if not hasattr(select, "poll"):
        return bool(select.select([number], [], [], 0)[0])
    poll = select.poll()
    poll.register(number, select.POLLIN)
    return bool(poll.poll(0))


async def in_one_exchange(
    request: aiohttp.ClientRequest, ask: ClientHandlerType
) -> aiohttp.ClientResponse:
    """Send a request; use another connection if a kept one had unread bytes.

    Raises `MangledBody` if a server replies on a new connection before it receives the request.
    """
    while isinstance(request, SoleRequest):
        try:
            response = await ask(request)
        except Exception:
            if not request.is_late:
                raise
        else:
            if not request.is_late:
                return response
            response.close()
        if not request._is_reused:
            raise MangledBody("it was sent before the request")
        request.is_late = False
    return await ask(request)
