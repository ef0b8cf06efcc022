"""Read a server's reply within limits, and check it before litellm parses it.

This module works on plain bytes; `_sessions` connects it to the socket.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any

from pytest_tablebench.models._completions import (
    CompletionFacts,
    MangledBody,
    read_completion,
    sound_usage,
)

ENCODINGS = "gzip, deflate"
"""The compressions that `Body` undoes; requests accept no other."""

PIECE = 1 << 18
"""Bytes that one step of decompression produces at most."""

LONGEST_BODY = 8_000_000
"""Bytes of the longest decompressed reply. JSON needs at most six bytes for each byte of text."""

LONGEST_NUMBER = 4000
"""Digits of the longest whole number, a little below Python's limit."""

ERROR = 2000
"""Bytes kept of an error's body, because searching long ones is slow."""


class RedirectRefused(Exception):
    """A server redirects to another host, port or scheme.

    Arguments:
        origin: scheme, host and port of the server that received the request.
        target: scheme, host and port that it redirects to.
    """

    def __init__(self, origin: str, target: str) -> None:
        super().__init__(f"{origin} redirects to {target}")
        self.origin = origin
        self.target = target


class Body:
    """The body of one reply, decompressed as it arrives, up to a limit.

    Arguments:
        most: bytes of the longest decompressed body.
        encoding: the Content-Encoding header.

    Raises:
        MangledBody: the compression is unknown. Later methods raise it for damaged compression
            and for a body longer than `most`.
    """

    def __init__(self, most: int = LONGEST_BODY, encoding: str = "") -> None:
        encoding = encoding.strip().lower()
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0
        self._may_lack_header = encoding == "deflate"
        self._inflate: Any = None
        if encoding in {"gzip", "x-gzip"}:
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
        elif encoding == "deflate":
            self._inflate = zlib.decompressobj()
        elif encoding not in {"", "identity"}:
            raise MangledBody("it is compressed with an unknown method")

    @property
    def full(self) -> bool:
        """Whether the body exceeds its limit, so that reading stops."""
        return self._size > self._most

    @property
    def start(self) -> bytes:
        """The bytes read so far, up to the limit."""
        return b"".join(self._parts)[: self._most]

    def feed(self, data: bytes) -> Iterator[None]:
        """Add received bytes in steps of limited size; stop when the body is full."""
        for piece in self._unpacked(data):
            self._size += len(piece)
            self._parts.append(piece)
            yield
            if self.full:
                return

    def forget(self) -> None:
        """Release the content, because an error may keep this object for long."""
        self._parts = []

    def finish(self) -> bytes:
        """Return the whole body after its last byte has arrived."""
        if self.full:
            raise MangledBody(f"it is longer than {self._most:,} bytes")
        if self._inflate is not None and not self._inflate.eof:
            raise MangledBody("it is compressed and ends early")
        return b"".join(self._parts)

    def _unpacked(self, data: bytes) -> Iterator[bytes]:
        if self._inflate is None:
            yield data
            return
        while not self._inflate.eof:
            piece = self._step(data)
            data = self._inflate.unconsumed_tail
            if piece:
                yield piece
            if not data and len(piece) < PIECE:
                return

    def _step(self, data: bytes) -> bytes:
        try:
            piece: bytes = self._inflate.decompress(data, PIECE)
        except zlib.error:
            if not self._may_lack_header:
                raise MangledBody("it is compressed and damaged") from None
            # Some servers leave out the two bytes of RFC 1950's header.
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            self._may_lack_header = False
            return self._step(data)
        self._may_lack_header = False
        return piece


def checked(body: bytes) -> tuple[Any, bytes, CompletionFacts]:
    """Return a reply's parsed body, the same as bytes, and its facts that litellm does not know.

    The body is unchanged, or has a valid usage and the plain form of a completion.

    Raises:
        MangledBody: the body is not UTF-8 or not JSON, or a JSON parser cannot read it.
        FailedReply: the provider reports an error in it.
    """
    try:
        value, read = _parsed(body)
        has_changed = sound_usage(value)
        facts, is_other = read_completion(value)
        if read and not has_changed and not is_other:
            return value, body, facts
        return value, json.dumps(value).encode("ascii"), facts
    except UnicodeDecodeError:
        raise MangledBody("it is not UTF-8") from None
    except RecursionError:
        raise MangledBody("it is nested too deeply") from None
    except TypeError:
        raise MangledBody("it contains a number of thousands of digits") from None
    except ValueError:
        raise MangledBody("it is not JSON") from None


def shortened(body: bytes) -> bytes:
    """Return an error's body; a long one is cut but keeps the beginning of its message."""
    if len(body) <= ERROR:
        return body
    try:
        short = json.dumps(_small(json.loads(body), 4)).encode("ascii")
    except (ValueError, RecursionError):
        short = body
    return short[:ERROR]


def _small(value: object, levels: int) -> object:
    """Return a cut copy of a JSON value with the same outer structure."""
    if isinstance(value, str):
        return value[: ERROR // 2]
    if isinstance(value, dict):
        items = list(value.items())[:10] if levels else []
        return {name[:40]: _small(inside, levels - 1) for name, inside in items}
    if isinstance(value, list):
        return [_small(inside, levels - 1) for inside in value[:2]] if levels else []
    return value


def _parsed(body: bytes) -> tuple[Any, bool]:
    """Return the parsed JSON, and whether each of its numbers could be read.

    Python cannot convert whole numbers above its limit of digits. In a usage they are tolerated,
    because the answer is still valid. Elsewhere they are an error, because they cannot be
    written as JSON again.
    """
    try:
        return json.loads(body), True
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
            raise
    return json.loads(body, parse_int=_whole), False


def _whole(digits: str) -> object:
    return int(digits) if len(digits) <= LONGEST_NUMBER else object()
