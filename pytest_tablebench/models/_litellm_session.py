"""What stands between the socket and litellm: a client session that bounds what it reads.

litellm takes a session of aiohttp for a call (`shared_session`), and aiohttp takes a class of
responses for a session (`response_class`). The response here reads its body itself, no more of it
than `_body` allows, and hands it on unpacked.
"""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import aiohttp
from multidict import CIMultiDict, CIMultiDictProxy

from pytest_tablebench.models._body import ENCODINGS, Body, MangledBody, checked, shortened

if TYPE_CHECKING:
    from types import SimpleNamespace

    from aiohttp.connector import Connection

__all__ = ["READING", "Reading", "client", "close", "session"]


@dataclass
class Reading:
    """What one call may read, and whether there was more of it.

    Arguments:
        most: bytes of one text; see `Body`.
        closed: whether the end of the body was not waited for.
    """

    most: int
    closed: bool = False


READING: ContextVar[Reading] = ContextVar("READING")
"""Of the call under way; set for its task."""

MOST_OF_ERROR = 1 << 16
"""Bytes of a text in an error's body that are kept; four times as many are read."""

CHUNK = 1 << 16

# Bodies that are no single JSON value.
_STREAMS = ("text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream")


class BoundedResponse(aiohttp.ClientResponse):
    """A response that has read its body, within limits, when it has started."""

    _plain: CIMultiDictProxy[str] | None = None

    @property
    def headers(self) -> CIMultiDictProxy[str]:
        """The headers, without those that no longer fit the body."""
        return self._headers if self._plain is None else self._plain

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read headers and body."""
        await super().start(connection)
        body = await (self._read_error() if self.status >= 300 else self._read_reply())
        plain = CIMultiDict(self._headers)
        for name in ("Content-Encoding", "Content-Length", "Transfer-Encoding"):
            plain.popall(name, None)
        self._plain = CIMultiDictProxy(plain)
        self.content = _stream(body)
        return self

    async def _read_reply(self) -> bytes:
        reading = READING.get()
        body = Body(reading.most, self._encoding)
        try:
            reading.closed = await self._read_into(body)
            whole = body.finish()
        finally:
            body.forget()
        return whole if self.content_type in _STREAMS else checked(whole)

    async def _read_error(self) -> bytes:
        """Read an error's body; the status says enough where it cannot be read."""
        start = b""
        try:
            body = Body(MOST_OF_ERROR, self._encoding, read=4 * MOST_OF_ERROR)
            await self._read_into(body)
            start = body.start
            start = body.finish()
        except MangledBody:
            pass
        return shortened(start)

    @property
    def _encoding(self) -> str:
        return self._headers.get("Content-Encoding", "")

    async def _read_into(self, body: Body) -> bool:
        """Read until the end or until the body is full; return whether it is full."""
        async for chunk in self.content.iter_chunked(CHUNK):
            for _ in body.feed(chunk):
                await asyncio.sleep(0)  # other calls go on meanwhile
            if body.full:
                self.close()  # the rest is not wanted
                return True
        return False


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


_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = WeakKeyDictionary()
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()


def session() -> aiohttp.ClientSession:
    """Return the session of the running event loop, made once."""
    loop = asyncio.get_running_loop()
    found = _sessions.get(loop)
    if found is None or found.closed:
        trace = aiohttp.TraceConfig()
        trace.on_request_start.append(_ask_for_known_encodings)
        found = _sessions[loop] = aiohttp.ClientSession(
            # How many calls go on at once, and what a cookie may do, is for others to say.
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            response_class=BoundedResponse,
            trace_configs=[trace],
        )
    return found


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
    if (opened := _sessions.pop(loop, None)) is not None:
        await opened.close()
