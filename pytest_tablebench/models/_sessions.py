"""Client sessions that read replies within limits and stay on one server.

aiohttp keeps a connection for the next request. Bytes that a server sends between two exchanges
would be read as the reply to the next request, so such a connection is closed. HTTP/1.1 does not
number its exchanges: a second copy of a reply that arrives after the next request was sent looks
like the reply to that request (https://www.rfc-editor.org/rfc/rfc9112#section-9.2).

Direct calls and those of litellm, which takes a session (`shared_session`), read replies alike.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from pytest_tablebench.models._body import (
    ENCODINGS,
    Body,
    RedirectRefused,
    checked,
    shortened,
)
from pytest_tablebench.models._completions import CompletionFacts, MangledBody

if TYPE_CHECKING:
    from types import SimpleNamespace

    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.client_middlewares import ClientHandlerType
    from aiohttp.connector import Connection

REDIRECTS = frozenset({301, 302, 303, 307, 308})

MOST_OF_ERROR = 1 << 20
"""Bytes read of an error's body."""

CHUNK = 1 << 16

READ_BUFFER = 4 << 20
"""Bytes that are taken from a socket before the server has to wait.

aiohttp's default of 64 KiB stops servers again and again while they send long replies.
"""

# Types of bodies that consist of several JSON values.
_STREAMS = ("text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream")


@dataclass
class CallState:
    """What the responses to one call say.

    Arguments:
        redirected_by: the server that sent a redirect; the call goes to no other server.
        facts: of the last response.
    """

    redirected_by: URL | None = None
    facts: CompletionFacts = field(default_factory=CompletionFacts)


CALL_STATE: ContextVar[CallState] = ContextVar("CALL_STATE")
"""The state of the current call, set for its task."""


def refused_redirect(url: URL, status: int, headers: Mapping[str, str]) -> RedirectRefused | None:
    """Return the error for a redirect that leaves the server of `url`; None for other responses."""
    location = headers.get("Location") or headers.get("URI")
    if status not in REDIRECTS or location is None:
        return None
    try:
        target = url.join(URL(location))
        if target.origin() == url.origin():
            return None
        return RedirectRefused(str(url.origin()), str(target.origin()))
    except ValueError:  # an invalid address, or one without a host
        return RedirectRefused(str(url.origin()), location)


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
        self._transport = transport
        for name in ("eof_received", "pause_writing", "resume_writing", "connection_lost"):
            setattr(self, name, getattr(protocol, name))

    def data_received(self, _: bytes) -> None:
        self._transport.abort()


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


async def _on_one_server(
    request: aiohttp.ClientRequest, ask: ClientHandlerType
) -> aiohttp.ClientResponse:
    """Refuse a request to another server than the one that redirected the call.

    aiohttp may parse the redirect's address differently than `refused_redirect` does.
    """
    origin = CALL_STATE.get().redirected_by
    if origin is not None and request.url.origin() != origin:
        raise RedirectRefused(str(origin), str(request.url.origin()))
    return await in_one_exchange(request, ask)


class BoundedResponse(aiohttp.ClientResponse):
    """A response that reads its whole body, within limits, when it starts."""

    value: Any = None
    """The parsed body of a reply, in the plain form of a completion."""
    error: bytes = b""
    """The beginning of an error's body."""
    facts: CompletionFacts = CompletionFacts()

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        await super().start(connection)
        refused = refused_redirect(self.url, self.status, self._headers)
        if refused is not None:
            raise refused
        if self.status in REDIRECTS:
            CALL_STATE.get().redirected_by = self.url.origin()
        if self.status >= 300:
            self.error = await self._read_error()
        else:
            self.take(await self._read_reply())
        return self

    def take(self, body: bytes) -> None:
        self.value, _, self.facts = checked(body)

    async def _read_reply(self) -> bytes:
        body = Body(encoding=self._headers.get("Content-Encoding", ""))
        try:
            await self._read_into(body)
            return body.finish()
        finally:
            body.forget()

    async def _read_error(self) -> bytes:
        """Read an error's body; if that fails, the status is enough."""
        try:
            body = Body(MOST_OF_ERROR, self._headers.get("Content-Encoding", ""))
            await self._read_into(body)
        except MangledBody:
            return b""
        return shortened(body.start)

    async def _read_into(self, body: Body) -> None:
        async for chunk in self.content.iter_chunked(CHUNK):
            for _ in body.feed(chunk):
                await asyncio.sleep(0)  # let other calls continue
            if body.full:
                self.close()
                return


class LitellmResponse(BoundedResponse):
    """A bounded response whose body litellm reads again, decompressed."""

    _whole: bytes = b""
    _plain: CIMultiDictProxy[str] | None = None

    @property
    def headers(self) -> CIMultiDictProxy[str]:
        """The headers, without those about the compressed body."""
        return self._headers if self._plain is None else self._plain

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read headers and body, and let the body be read from its beginning."""
        await super().start(connection)
        plain = CIMultiDict(self._headers)
        for name in ("Content-Encoding", "Content-Length", "Transfer-Encoding"):
            plain.popall(name, None)
        self._plain = CIMultiDictProxy(plain)
        body, loop = self._whole or self.error, asyncio.get_running_loop()
        protocol = aiohttp.base_protocol.BaseProtocol(loop)
        self.content = aiohttp.StreamReader(protocol, len(body) + 1, loop=loop)
        self.content.feed_data(body)
        self.content.feed_eof()
        return self

    def take(self, body: bytes) -> None:
        """Keep the body, or its plain form, for litellm."""
        self._whole = body
        if self.content_type not in _STREAMS:
            _, self._whole, CALL_STATE.get().facts = checked(body)


async def _ask_for_known_encodings(
    _session: aiohttp.ClientSession,
    _context: SimpleNamespace,
    params: aiohttp.TraceRequestStartParams,
) -> None:
    params.headers["Accept-Encoding"] = ENCODINGS


_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, aiohttp.ClientSession]]
_sessions = WeakKeyDictionary()
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()


def _session(name: str, options: Callable[[], dict[str, Any]]) -> aiohttp.ClientSession:
    """Return the session of the running event loop with this name; make it on first use."""
    sessions = _sessions.setdefault(asyncio.get_running_loop(), {})
    session = sessions.get(name)
    if session is None or session.closed:
        session = sessions[name] = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            request_class=SoleRequest,
            middlewares=(_on_one_server,),
            **options(),
        )
    return session


def litellm_session() -> aiohttp.ClientSession:
    """Return the session for the calls that litellm makes in the running event loop."""

    def options() -> dict[str, Any]:
        trace = aiohttp.TraceConfig()
        trace.on_request_start.append(_ask_for_known_encodings)
        from litellm.llms.custom_httpx.http_handler import get_ssl_configuration

        # The engine limits the number of calls.
        connector = aiohttp.TCPConnector(limit=0, ssl=get_ssl_configuration())
        return {
            "connector": connector,
            "trace_configs": [trace],
            "response_class": LitellmResponse,
        }

    return _session("", options)


def direct_session(provider: str, connections: int) -> aiohttp.ClientSession:
    """Return the session for calls to one provider that are made without litellm."""

    def options() -> dict[str, Any]:
        return {
            "connector": aiohttp.TCPConnector(limit=connections),
            "response_class": BoundedResponse,
            "read_bufsize": READ_BUFFER,
            "auto_decompress": False,
            # `WireModel` limits the time of the whole call.
            "timeout": aiohttp.ClientTimeout(total=None, sock_connect=None),
        }

    return _session(provider, options)


def litellm_client() -> Any:
    """Return litellm's HTTP client over its session, for providers that take no session."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    loop = asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = AsyncHTTPHandler(shared_session=litellm_session())
    return _clients[loop]


def use_session_client(litellm: Any) -> None:
    """Set a client for litellm's calls through OpenAI's package: Azure and text completions.

    That package's own client follows a redirect to any server. It sends it the prompts and the
    headers `api-key` and `x-api-key`; only `Authorization` is left out. A client that the user has
    set stays.
    """
    import httpx

    class SessionClient(httpx.AsyncClient):
        """Uses the session of the running event loop for the requests of this package's calls."""

        async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
            if CALL_STATE.get(None) is None:
                return await super().send(request, **options)
            response: httpx.Response = await litellm_client().client.send(request, **options)
            return response

    if litellm.aclient_session is None:  # one for all event loops of the process
        litellm.aclient_session = SessionClient(follow_redirects=True)


async def close() -> None:
    """Close the sessions and the client of the running event loop."""
    loop = asyncio.get_running_loop()
    if (made := _clients.pop(loop, None)) is not None:
        await made.close()
    for opened in _sessions.pop(loop, {}).values():
        await opened.close()
