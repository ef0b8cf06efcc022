"""A client session for litellm that limits how much it reads of a response.

litellm takes an aiohttp session for a call (`shared_session`), and an aiohttp session takes a class
of responses (`response_class`). The response class here reads its body itself, within the limits of
`_body`, and passes it on decompressed. The session can also replay the outcome of a call that was
made without litellm: then no request is sent, and litellm interprets the recorded outcome.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
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
from pytest_tablebench.models._completions import CompletionFacts
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
        recorded: the outcome of the call, if it was already made; it is replayed without a request.
        direct: whether this package alone reads the response.
        redirected_by: the server that sent a redirect; the call goes to no other server.
        facts: what the response says, once it was read.
    """

    recorded: BoundedResponse | Exception | None = None
    direct: bool = False
    redirected_by: URL | None = None
    facts: CompletionFacts = field(default_factory=CompletionFacts)


READING: ContextVar[ResponseReading] = ContextVar("READING")
"""The reading of the current call, set for its task."""

MOST_OF_ERROR = 1 << 20
"""Bytes read of an error's body."""

CHUNK = 1 << 16

# Types of bodies that consist of several JSON values.
_STREAMS = ("text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream")


class BoundedResponse(aiohttp.ClientResponse):
    """A response that reads its whole body, within limits, when it starts."""

    whole: bytes = b""
    """The decompressed body, as far as it was read."""
    facts: CompletionFacts = CompletionFacts()
    _plain: CIMultiDictProxy[str] | None = None

    @property
    def headers(self) -> CIMultiDictProxy[str]:
        """The headers, without those about the compressed body."""
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
        """Let the body be read from its beginning."""
        self.content = _stream(self.whole)

    async def _read_reply(self) -> bytes:
        body = Body(encoding=self._encoding)
        try:
            await self._read_into(body)
            whole = body.finish()
        finally:
            body.forget()
        if self.content_type in _STREAMS:
            return whole
        whole, self.facts = checked(whole)
        READING.get().facts = self.facts
        return whole

    async def _read_error(self) -> bytes:
        """Read an error's body; if that fails, the status is enough."""
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
                await asyncio.sleep(0)  # let other calls continue
            if body.full:
                self.close()
                return


def _stream(body: bytes) -> aiohttp.StreamReader:
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
    """Return the recorded outcome; without one, send the request."""
    recorded = READING.get().recorded
    if recorded is None:
        return await ask(request)
    if isinstance(recorded, Exception):
        raise recorded
    recorded.rewind()
    READING.get().facts = recorded.facts
    return recorded


async def _on_one_server(
    request: aiohttp.ClientRequest, ask: ClientHandlerType
) -> aiohttp.ClientResponse:
    """Refuse a request to another server than the one that redirected the call.

    aiohttp may parse the redirect's address differently than `refused_redirect` does.
    """
    origin = READING.get().redirected_by
    if origin is not None and request.url.origin() != origin:
        raise RedirectRefused(str(origin), str(request.url.origin()))
    return await in_one_exchange(request, ask)


READ_BUFFER = 4 << 20
"""Bytes that are taken from a socket before the server has to wait.

aiohttp's default of 64 KiB stops servers again and again while they send long replies.
"""

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
            response_class=BoundedResponse,
            **options(),
        )
    return session


def session() -> aiohttp.ClientSession:
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
            "middlewares": (_played, _on_one_server),
        }

    return _session("", options)


def direct_session(provider: str, connections: int) -> aiohttp.ClientSession:
    """Return the session for calls to one provider that are made without litellm."""

    def options() -> dict[str, Any]:
        return {
            "connector": aiohttp.TCPConnector(limit=connections),
            "read_bufsize": READ_BUFFER,
            "auto_decompress": False,
            "middlewares": (_on_one_server,),
            # `WireModel` limits the time of the whole call.
            "timeout": aiohttp.ClientTimeout(total=None, sock_connect=None),
        }

    return _session(provider, options)


def client() -> Any:
    """Return litellm's HTTP client over `session`, for providers that take no session."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    loop = asyncio.get_running_loop()
    if loop not in _clients:
        _clients[loop] = AsyncHTTPHandler(shared_session=session())
    return _clients[loop]


async def close() -> None:
    """Close the sessions and the client of the running event loop."""
    loop = asyncio.get_running_loop()
    if (made := _clients.pop(loop, None)) is not None:
        await made.close()
    for opened in _sessions.pop(loop, {}).values():
        await opened.close()
