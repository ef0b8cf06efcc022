"""What a server's reply may hold: bounded while it is read, checked before anybody parses it.

Everything here is plain data; `_litellm_session` puts it between the socket and litellm.
"""

from __future__ import annotations

import codecs
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

from pytest_tablebench.models._usage import sound_usage

ENCODINGS = "gzip, deflate"
"""The compressions that `Body` undoes; it is asked for no other."""

PIECE = 1 << 18
"""Bytes to which a compressed body grows between two looks at its size."""

KEPT = 8_000_000
READ = 32_000_000
"""Bytes that one body may keep and may be read, in all. What makes sense is far below: a text of
a megabyte has six of JSON at the very most."""

SPARE = 1024
"""Bytes kept beyond the limit, so that a text which is too long still shows it."""

LONGEST_NUMBER = 4000
"""Digits of a whole number, a little below what Python still reads."""

ERROR = 2000
"""Bytes that the body of an error may have: those who search it take long over much of it."""

_ESCAPED = r"\\(?:u[0-9a-fA-F]{4}|[^u])"
_IN_STRING = re.compile(rf'[^"\\]*+(?:{_ESCAPED}[^"\\]*+)*+')
_LONGEST_ESCAPE = 6
# All that is no string, or a short one: what need not be looked into.
_PLAIN = re.compile(rf'(?:[^"]++|"[^"\\]{{0,1000}}+(?:{_ESCAPED}[^"\\]{{0,1000}}+){{0,100}}+")*+')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_DEEPEST = 100
"""Levels of a body that is closed early; replies have about ten."""


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
    """The body of one reply, unpacked and shortened as it comes.

    A body that fits is kept as it is. In a longer one each string keeps a little more than
    `most` bytes of UTF-8, so that the reply around a text that is too long (the reason it ended,
    the usage) stays whole. What is too long in another way, or never ends, is closed where the
    limit was reached.

    Arguments:
        most: bytes of a text that are wanted.
        encoding: the Content-Encoding header.
        read: bytes that are read, unpacked.

    Raises:
        MangledBody: here and later: it is compressed in another way, or not as it says, or is
            no UTF-8 although it is long.
    """

    def __init__(self, most: int, encoding: str = "", *, read: int = READ) -> None:
        self._most = most
        self._read = read
        self._unpack = _Unpacker(encoding.strip().lower())
        self.start = b""
        """The beginning of a body that is too long, as it came."""
        self._parts: list[bytes] = []
        self._size = 0
        self._long: _Shortener | None = None
        self._decode = codecs.getincrementaldecoder("utf-8")().decode

    @property
    def full(self) -> bool:
        """Whether nothing more is to be read."""
        kept = self._long.size if self._long is not None else 0
        return self._size > self._read or kept > KEPT

    def feed(self, data: bytes) -> Iterator[None]:
        """Take in what has arrived, a bounded piece at each step; stop where it is full."""
        for piece in self._unpack.feed(data):
            self._add(piece)
            yield
            if self.full:
                return

    def forget(self) -> None:
        """Hold nothing any more: what failed is kept for long, with all that it was about."""
        self._parts, self._long, self.start = [], None, b""

    def finish(self) -> bytes:
        """Return the body, after its end or where it was full: then it is closed."""
        if not self.full:
            self._unpack.finish()
        if self._long is None:
            return b"".join(self._parts)
        text = "".join(self._long.kept)
        if self.full:
            if not self._long.in_string:
                raise MangledBody("it has no end")
            text = _closed(text)
        return text.encode("utf-8", "surrogatepass")

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        self._parts.append(piece)
        if self._long is None:
            if self._size <= self._most:
                return
            self._long = _Shortener(self._most)
            self.start = b"".join(self._parts)[: self._most]
        try:
            for part in self._parts:
                self._long.feed(self._decode(part))
        except UnicodeDecodeError:
            raise MangledBody("it is no UTF-8") from None
        self._parts.clear()


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


class _Shortener:
    """Passes JSON on as it comes, but for what is too much of a string."""

    def __init__(self, most: int) -> None:
        self.kept: list[str] = []
        self.size = 0
        self.in_string = False
        self._most = most
        self._room = 0
        self._rest = ""
        """The beginning of an escape."""

    def feed(self, text: str) -> None:
        text, self._rest = self._rest + text, ""
        at = 0
        while at < len(text):
            at = self._string(text, at) if self.in_string else self._plain(text, at)

    def _plain(self, text: str, at: int) -> int:
        """Take in what stands outside of long strings; return where one begins."""
        match = _PLAIN.match(text, at)
        end = match.end() if match else at
        if end < len(text):
            end, self.in_string, self._room = end + 1, True, self._most + SPARE
        self._keep(text[at:end])
        return end

    def _string(self, text: str, at: int) -> int:
        """Take in a string, or its part, and return where it ends."""
        match = _IN_STRING.match(text, at)
        if match:
            self._keep_some(match[0])
            at = match.end()
        if at == len(text):
            return at
        if text[at] == '"':
            self._keep('"')
            self.in_string = False
            return at + 1
        if len(text) - at >= _LONGEST_ESCAPE:
            raise MangledBody("it is no JSON")
        self._rest = text[at:]
        return len(text)

    def _keep(self, text: str) -> None:
        if text:
            self.kept.append(text)
            self.size += len(text)

    def _keep_some(self, text: str) -> None:
        """Keep of a part of a string what there is room for, without breaking an escape."""
        at = 0
        while at < len(text) and self._room > 0:
            match = _IN_STRING.match(text, at, at + max(self._room, 2 * _LONGEST_ESCAPE))
            part = match[0] if match else ""
            self._keep(part)
            self._room -= _length(part)
            at += len(part)


def _length(part: str) -> int:
    """The bytes of UTF-8 that a part of a string in JSON stands for."""
    if "\\" in part:
        try:
            part = json.loads(f'"{part}"', strict=False)
        except ValueError:
            raise MangledBody("it is no JSON") from None
    return len(part.encode("utf-8", "surrogatepass"))


def _closed(text: str) -> str:
    """Close a text of JSON that ends in a string: the string, and what it stands in."""
    text += '"'
    marks = re.sub(r"[^][{}]+", "", _STRING.sub("", text))
    for _ in range(_DEEPEST):
        inner = marks.replace("[]", "").replace("{}", "")
        if inner == marks:
            return text + marks[::-1].translate(str.maketrans("[{", "]}"))
        marks = inner
    raise MangledBody("it is nested too deeply")


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
