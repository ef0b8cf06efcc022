"""Writing of files: a whole file or an appended line is there completely or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

_ESCAPED = "backslashreplace"


def real_path(path: Path) -> Path:
    """Return the absolute path behind links. A link to itself stays; opening it is an `OSError`.

    `Path.resolve` raises `RuntimeError` for it before Python 3.13.
    """
    return Path(os.path.realpath(path))


def write_whole(
    path: Path, content: str | bytes | Iterable[str | bytes], *, durable: bool = False
) -> None:
    """Write a temporary file and move it to its place, replacing an older file.

    Text is written as UTF-8, and lone surrogates as escapes. If several processes write the same
    file, the last one wins. Raises `OSError`, and any error of the content's iterator; the old file
    is then unchanged, and no temporary file is left.

    Arguments:
        path: the file; its folder must exist.
        content: the whole content, or its pieces in order.
        durable: whether to wait until the content would survive a loss of power.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with temporary.open("wb") as file:
            for piece in (content,) if isinstance(content, str | bytes) else content:
                data = piece if isinstance(piece, bytes) else piece.encode("utf-8", _ESCAPED)
                file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


_BINARY = getattr(os, "O_BINARY", 0)


class LineFile:
    """A new file, open for its only writer.

    Raises `FileExistsError` if the file exists, because its creator owns it. Every other failure is
    an `OSError` too.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        flags = os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_RDWR | _BINARY
        self._file = os.open(path, flags, 0o666)
        self._end = 0
        self._torn = False

    def append(self, line: bytes) -> int:
        """Append one line, completely or not at all, and return its offset.

        After the return the system has the line, so it survives the death of this process. Raises
        `OSError`; the file stays readable, and a later line may succeed. If a partly written line
        cannot be cut off, a line end follows it.
        """
        start = os.fstat(self._file).st_size if self._torn else self._end
        data = b"\n" + line if self._torn else line
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(self._file, left) :]
        except BaseException:
            # An interrupt may come after the last byte: a complete line stays.
            self._recover(start, start + len(data))
            raise
        self._torn = False
        self._end = start + len(data)
        return self._end - len(line)

    def read(self, start: int, length: int) -> bytes:
        """Return the bytes at a place. Raises `OSError`, also if they are gone."""
        os.lseek(self._file, start, os.SEEK_SET)
        parts: list[bytes] = []
        while length > 0:
            parts.append(os.read(self._file, length))
            if not parts[-1]:
                raise OSError(f"{self.path}: shorter than what was written to it")
            length -= len(parts[-1])
        return b"".join(parts)

    def _recover(self, start: int, whole: int) -> None:
        """Cut off a partly written line, or remember that it is torn."""
        torn, self._torn = self._torn, True
        with contextlib.suppress(OSError):
            if os.fstat(self._file).st_size == whole:
                self._torn, self._end = False, whole
                return
            os.ftruncate(self._file, start)
            self._torn, self._end = torn, start

    @property
    def still_there(self) -> bool:
        """Return whether the file has been neither removed nor replaced."""
        try:
            return os.path.samestat(os.stat(self.path), os.fstat(self._file))  # noqa: PTH116 - both are needed
        except OSError:
            return False

    def close(self) -> None:
        """Close the file. Raises `OSError` if the system reports a failed write only now."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
