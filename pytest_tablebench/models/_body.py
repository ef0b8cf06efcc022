"""What a server's reply may hold: bounded while it is read, checked before anybody parses it.

Everything here is plain data; `_litellm_session` puts it between the socket and litellm.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any

from pytest_tablebench.models._usage import sound_usage

ENCODINGS = "gzip, deflate"
"""The compressions that `Body` undoes; it is asked for no other."""

PIECE = 1 << 18
"""Bytes to which a compressed body grows between two looks at its size."""

LONGEST_BODY = 8_000_000
"""Bytes of the longest reply, unpacked: a text of a megabyte has six of JSON at the very most."""

LONGEST_NUMBER = 4000
"""Digits of a whole number, a little below what Python still reads."""

ERROR = 2000
"""Bytes that the body of an error may have: those who search it take long over much of it."""


class MangledBody(Exception):
    """A body that is no reply, whatever it was meant to be; the text says why."""


class RedirectRefused(Exception):
    """A server redirects to another host, port or scheme.

    Arguments:
        origin: scheme, host and port that the request was sent to.
        target: those of the redirect.
    """

    def __init__(self, origin: str, target: str) -> None:
        super().__init__(f"{origin} redirects to {target}")
        self.origin = origin
        self.target = target


class Body:
    """The body of one reply, unpacked as it comes, up to a number of bytes.

    Arguments:
        most: bytes that are read at most, unpacked.
        encoding: the Content-Encoding header.

    Raises:
        MangledBody: here and later: it is compressed in another way, or not as it says, or is
            longer than `most`.
    """

    def __init__(self, most: int = LONGEST_BODY, encoding: str = "") -> None:
        self._most = most
        self._unpack = _Unpacker(encoding.strip().lower())
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def full(self) -> bool:
        """Whether it is too long, and nothing more is to be read."""
        return self._size > self._most

    @property
    def start(self) -> bytes:
        """What was read, without what is too much."""
        return b"".join(self._parts)[: self._most]

    def feed(self, data: bytes) -> Iterator[None]:
        """Take in what has arrived, a bounded piece at each step; stop where it is full."""
        for piece in self._unpack.feed(data):
            self._size += len(piece)
            self._parts.append(piece)
            yield
            if self.full:
                return

    def forget(self) -> None:
        """Release the content: an error that holds this object is kept for long."""
        self._parts = []

    def finish(self) -> bytes:
        """Return the whole body, after its end."""
        if self.full:
            raise MangledBody(f"it is longer than {self._most:,} bytes")
        self._unpack.finish()
        return b"".join(self._parts)


class _Unpacker:
    """Undoes a compression without ever making much of little at once."""

    def __init__(self, encoding: str) -> None:
        self._deflate = encoding == "deflate"
        self._inflate: Any = None
        if encoding in {"gzip", "x-gzip"}:
            self._inflate = zlib.decompressobj(zlib.MAX_WBITS | 16)
        elif self._deflate:
            self._inflate = zlib.decompressobj()
        elif encoding not in {"", "identity"}:
            raise MangledBody("it is compressed in a way nobody asked for")

    def feed(self, data: bytes) -> Iterator[bytes]:
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
            if not self._deflate:
                raise MangledBody("it is compressed and damaged") from None
            # Some servers leave out the two bytes that RFC 1950 puts in front.
            self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
            self._deflate = False
            return self._step(data)
        self._deflate = False
        return piece

    def finish(self) -> None:
        if self._inflate is not None and not self._inflate.eof:
            raise MangledBody("it is compressed and ends early")


def checked(body: bytes) -> bytes:
    """Return a reply's body as litellm may read it: the same, or with a sound usage.

    Raises:
        MangledBody: it is no JSON, no UTF-8, or too much for a parser of JSON.
    """
    try:
        value, read = _parsed(body)
        if not sound_usage(value) and read:
            return body
        return json.dumps(value).encode("ascii")
    except UnicodeDecodeError:
        raise MangledBody("it is no UTF-8") from None
    except RecursionError:
        raise MangledBody("it is nested too deeply") from None
    except TypeError:
        raise MangledBody("it holds a number of thousands of digits") from None
    except ValueError:
        raise MangledBody("it is no JSON") from None


def shortened(body: bytes) -> bytes:
    """Return an error's body, less of it where it is long: the first words of what it says."""
    if len(body) <= ERROR:
        return body
    try:
        short = json.dumps(_small(json.loads(body), 4)).encode("ascii")
    except (ValueError, RecursionError):
        short = body
    return short[:ERROR]


def _small(value: object, levels: int) -> object:
    """Return a part of a value of JSON that has the same shape as far as anybody looks."""
    if isinstance(value, str):
        return value[: ERROR // 2]
    if isinstance(value, dict):
        items = list(value.items())[:10] if levels else []
        return {name[:40]: _small(inside, levels - 1) for name, inside in items}
    if isinstance(value, list):
        return [_small(inside, levels - 1) for inside in value[:2]] if levels else []
    return value


def _parsed(body: bytes) -> tuple[Any, bool]:
    """Parse JSON, and tell whether all of it could be read.

    What could not is a whole number longer than Python converts. It may stand in a usage, which
    costs the answer nothing, but nowhere else: nothing can write it as JSON again.
    """
    try:
        return json.loads(body), True
    except ValueError as error:
        if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
            raise
    return json.loads(body, parse_int=_whole), False


def _whole(digits: str) -> object:
    return int(digits) if len(digits) <= LONGEST_NUMBER else object()
