"""A gzipped file as tarfile reads it: forwards, in bounded pieces."""

from __future__ import annotations

import zlib
from pathlib import Path

from pytest_tablebench.errors import DataError

CHUNK = 64 * 1024

_GZIP = 31
"""zlib's number for a gzip member with the largest window."""


class Unpacked:
    """The unpacked content of a gzip file, which goes forwards only.

    tarfile reads a header as long as the archive says it is, into memory, so whoever uses this
    sets `budget` before each: the bytes that may be read until it is set again. What is passed
    over costs none.

    Arguments:
        path: the file.
        most: bytes of content that are unpacked at all.

    Raises `DataError` for more than allowed, `EOFError` and `zlib.error` for damage.
    """

    def __init__(self, path: Path, most: int) -> None:
        self.budget = 0
        self._path = path
        self._most = most
        self._file = path.open("rb")
        self._inflate = zlib.decompressobj(_GZIP)
        self._packed = b""
        self._position = 0

    def __enter__(self) -> Unpacked:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def tell(self) -> int:
        """Return how many bytes of the content lie behind."""
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, fewer only at the end."""
        if not 0 <= size <= self.budget:
            raise DataError(f"{self._path}: a header in it is longer than any dataset's")
        self.budget -= size
        return self._next(size)

    def seek(self, position: int) -> int:
        """Pass over what comes before a position."""
        if position < self._position:
            raise DataError(f"{self._path}: an entry in it is shorter than nothing")
        while self._position < position and self._next(min(CHUNK, position - self._position)):
            pass
        return self._position

    def finish(self) -> None:
        """Read to the end, where the checksum of the whole stands; nothing may follow it."""
        while self._next(CHUNK):
            pass
        if self._inflate.unused_data or self._file.read(1):
            raise DataError(f"{self._path}: goes on behind its end")

    def _next(self, size: int) -> bytes:
        pieces = []
        while size > 0 and not self._inflate.eof:
            if not self._packed:
                self._packed = self._file.read(CHUNK)
                if not self._packed:
                    raise EOFError("it is cut off")
            piece = self._inflate.decompress(self._packed, size)
            self._packed = self._inflate.unconsumed_tail
            pieces.append(piece)
            size -= len(piece)
            self._position += len(piece)
            if self._position > self._most:
                raise DataError(f"{self._path}: unpacks to more than any dataset holds")
        return b"".join(pieces)
