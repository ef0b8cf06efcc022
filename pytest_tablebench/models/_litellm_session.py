"""What stands between the socket and litellm: a client session that bounds what it reads.

litellm takes a session of aiohttp for a call (`shared_session`), and aiohttp takes a class of
responses for a session (`response_class`). The response here reads its body itself, no more of it
than `_body` allows, and hands it on unpacked. What came of a call that was made without litellm can
be played to it: then nobody is asked, and litellm says what it makes of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy

from pytest_tablebench.models._body import (
    ENCODINGS,
    Body,
    MangledBody,
    RedirectRefused,
    checked,
    shortened,
)
from pytest_tablebench.models._connections import (
    REDIRECTS,
    SoleRequest,
    in_one_exchange,
    refused_redirect,
)

if TYPE_CHECKING:
    from types import SimpleNamespace

    from aiohttp.client_middlewares import ClientHandlerType
    from aiohttp.connector import Connection
    from yarl import URL


@dataclass
class ResponseReading:
    """How the response to one call is read.

    Arguments:
        recorded: what came of the call already; it is played, and nobody is asked.
        direct: whether nobody but us reads the response.
        redirected_by: the server that sent a redirect; the call goes to no other server.
    """

    recorded: BoundedResponse | Exception | None = None
    direct: bool = False
    redirected_by: URL | None = None


READING: ContextVar[ResponseReading] = ContextVar("READING")
"""Of the call under way; set for its task."""

MOST_OF_ERROR = 1 << 20
"""Bytes of an error's body that are read."""

CHUNK = 1 << 16

# Bodies that are no single JSON value.
_STREAMS = ("text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream")


class BoundedResponse(aiohttp.ClientResponse):
    """A response that has read its body, within limits, when it has started."""

    whole: bytes = b""
    """The body, unpacked, as far as it was read."""
    _plain: CIMultiDictProxy[str] | None = None

    @property
    def headers(self) -> CIMultiDictProxy[str]:
        """The headers, without those that no longer fit the body."""
        return self._headers if self._plain is None else self._plain

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read headers and body."""
        await super().start(connection)
        refused = refused_redirect(self.url, self.status, self._headers)
        if refused is not None:
            raise refused
        if self.status in REDIRECTS:
            READING.get().redirected_by = self.url.origin()
        self.whole = await (self._read_error() if self.status >= 300 else self._read_reply())
        plain = CIMultiDict(self._headers)
        for name in ("Content-Encoding", "Content-Length", "Transfer-Encoding"):
            plain.popall(name, None)
        self._plain = CIMultiDictProxy(plain)
        if not READING.get().direct:
            self.rewind()
        return self

    def rewind(self) -> None:
        """Have the body be read from its beginning."""
        self.content = _stream(self.whole)

    async def _read_reply(self) -> bytes:
        body = Body(encoding=self._encoding)
        try:
            await self._read_into(body)
            whole = body.finish()
        finally:
            body.forget()
        return whole if self.content_type in _STREAMS else checked(whole)

    async def _read_error(self) -> bytes:
        """Read an error's body; the status says enough where it cannot be read."""
        start = b""
        try:
            body = Body(MOST_OF_ERROR, self._encoding)
            await self._read_into(body)
            start = body.start
        except MangledBody:
            pass
        return shortened(start)

    @property
    def _encoding(self) -> str:
        return self._headers.get("Content-Encoding", "")

    async def _read_into(self, body: Body) -> None:
        async for chunk in self.content.iter_chunked(CHUNK):
            for _ in body.feed(chunk):
                await asyncio.sleep(0)  # other calls go on meanwhile
            if body.full:
                self.close()  # the rest is not wanted
                return


def _stream(body: bytes) -> aiohttp.StreamReader:
    """A body that has arrived, as the stream that aiohttp gives."""
    loop = asyncio.get_running_loop()
    stream = aiohttp.StreamReader(
        aiohttp.base_protocol.BaseProtocol(loop), len(body) + 1, loop=loop
    )
    stream.feed_data(body)
    stream.feed_eof()
    return stream


async def _ask_for_known_encodings(
    _session: aiohttp.ClientSession,
    _context: SimpleNamespace,
    params: aiohttp.TraceRequestStartParams,
) -> None:
    params.headers["Accept-Encoding"] = ENCODINGS


async def _played(request: aiohttp.ClientRequest, ask: ClientHandlerType) -> aiohttp.ClientResponse:
    """Ask the server, unless what came of it is known already."""
    recorded = READING.get().recorded
    if recorded is None:
        return await ask(request)
    if isinstance(recorded, Exception):
        raise recorded
    recorded.rewind()
    return recorded


async def _on_one_server(
    request: aiohttp.ClientRequest, ask: ClientHandlerType
) -> aiohttp.ClientResponse:
    """Refuse a request to another server than the one that redirected the call.

    The client that follows a redirect may read its address in another way than
    `refused_redirect`.
    """
    origin = READING.get().redirected_by
    if origin is not None and request.url.origin() != origin:
        raise RedirectRefused(str(origin), str(request.url.origin()))
    return await in_one_exchange(request, ask)


READ_BUFFER = 4 << 20
"""Bytes that are taken from a socket before its sender has to wait. With aiohttp's own 64 KiB
servers that send long replies are stopped again and again."""

_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, aiohttp.ClientSession]]
_sessions = WeakKeyDictionary()
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()


def _session(name: str, options: Callable[[], dict[str, Any]]) -> aiohttp.ClientSession:
    """Return a session of the running event loop by its name, made once."""
    sessions = _sessions.setdefault(asyncio.get_running_loop(), {})
    session = sessions.get(name)
    if session is None or session.closed:
        session = sessions[name] = aiohttp.ClientSession(
            cookie_jar=aiohttp.DummyCookieJar(),
            request_class=SoleRequest,
            response_class=BoundedResponse,
            **options(),
        )
    return session


def session() -> aiohttp.ClientSession:
    """Return the session over which litellm makes the calls of the running event loop."""

    def options() -> dict[str, Any]:
        trace = aiohttp.TraceConfig()
        trace.on_request_start.append(_ask_for_known_encodings)
        from litellm.llms.custom_httpx.http_handler import get_ssl_configuration

        # How many calls go on at once, and what a cookie may do, is for others to say.
        connector = aiohttp.TCPConnector(limit=0, ssl=get_ssl_configuration())
        return {
            "connector": connector,
            "trace_configs": [trace],
            "middlewares": (_played, _on_one_server),
        }

    return _session("", options)


def direct_session(provider: str, connections: int) -> aiohttp.ClientSession:
    """Return the session for calls to one provider that litellm does not make."""

    def options() -> dict[str, Any]:
        return {
            "connector": aiohttp.TCPConnector(limit=connections),
            "read_bufsize": READ_BUFFER,
            "auto_decompress": False,
            "middlewares": (_on_one_server,),
            # The call's own time limit ends it, by the wall clock.
            "timeout": aiohttp.ClientTimeout(total=None, sock_connect=None),
        }

    return _session(provider, options)


def client() -> Any:
    """Return litellm's own kind of client over `session`, for providers that take no session."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    loop = asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = AsyncHTTPHandler(shared_session=session())
    return _clients[loop]


async def close() -> None:
    """Close what the running event loop has open here."""
    loop = asyncio.get_running_loop()
    if (made := _clients.pop(loop, None)) is not None:
        await made.close()
    for opened in _sessions.pop(loop, {}).values():
        await opened.close()
