"""Segments: files of lines, each written by one process and read by many."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from pytest_tablebench.util.line_file import LineFile

MAX_LINE = 16 << 20
"""Longest line in bytes; a longer one is damaged."""

BLOCK = 1 << 20
FIRST_READ = 4096
TOO_LONG = b"(line above the limit)\n"


@dataclass(slots=True)
class Segment:
    """A segment; `position` is the start of the first line that is not indexed."""

    path: Path
    position: int = 0


class Writer(LineFile):
    """The writer of a new segment, whose file name sorts by its creation time."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.pid = os.getpid()
        while True:
            time = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
            name = f"{time}-{self.pid}-{secrets.token_hex(4)}.jsonl"
            with contextlib.suppress(FileExistsError):
                super().__init__(folder / name)
                break


def blocks(file: BinaryIO, position: int) -> Iterator[tuple[int, bytes, int]]:
    """Yield (start, whole lines, end) from a position on, without an unfinished last line.

    A line above `MAX_LINE` is yielded as a short line that is not a valid entry.
    """
    file.seek(position)
    offset, rest, too_long = position, b"", False
    while data := file.read(BLOCK):
        offset += len(data)
        cut = data.rfind(b"\n") + 1
        if not cut:
            too_long = too_long or len(rest) + len(data) > MAX_LINE
            rest = b"" if too_long else rest + data
            continue
        if too_long:
            first = data.find(b"\n") + 1
            end = offset - len(data) + first
            yield position, TOO_LONG, end
            position, data, cut, too_long = end, data[first:], cut - first, False
        if cut:
            end = offset - len(data) + cut
            yield position, rest + data[:cut], end
            position = end
        rest = data[cut:]


def read_line(file: int, offset: int) -> bytes:
    """Return the line at an offset without its end, b"" if it is longer than `MAX_LINE`."""
    size = FIRST_READ
    while True:
        data = _read_at(file, size, offset)
        end = data.find(b"\n")
        if end >= 0:
            return data[:end]
        if len(data) < size or size >= MAX_LINE:
            return b""
        size *= 8


if sys.platform == "win32":

    def _read_at(file: int, size: int, offset: int) -> bytes:
        os.lseek(file, offset, os.SEEK_SET)
        return os.read(file, size)

else:

    def _read_at(file: int, size: int, offset: int) -> bytes:
        return os.pread(file, size, offset)
