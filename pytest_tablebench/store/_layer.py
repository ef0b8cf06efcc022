"""A layer of the store: one folder of segments, read block by block, and its index."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from binascii import unhexlify
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from pytest_tablebench.store._line import (
    ANSWER,
    CHECK,
    CHECK_AT,
    KEY_AT,
    BadLine,
    read_answer,
    read_other,
    replaces,
    written_at,
)
from pytest_tablebench.util.files import LineFile

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


SEGMENTS = "segments"
"""The folder of the segments in a store's folder."""

# A place is one integer: the segment's number, and the offset in the lowest bits. For up to 65,535
# segments that is one small Python object per answer.
OFFSET_BITS = 44
OFFSET = (1 << OFFSET_BITS) - 1
OPEN_FILES = 32
NAMED = 3
"""Largest number of problems that are listed for each file."""


class Layer:
    """The answers of one folder.

    The index has 32 bytes and one integer per answer. Of several entries with one key, the first
    one in the segment with the earliest name is served.

    Arguments:
        folder: the folder of the segments; it is read, never written.
        warn: receives each problem once, as a text with file and byte.
    """

    def __init__(self, folder: Path, warn: Callable[[str], None]) -> None:
        self.folder = folder
        self.index: dict[bytes, int] = {}
        self.added: list[int] | None = None
        """The places of entries indexed since it was last emptied; None: not recorded."""
        self._warn = warn
        self._more: dict[bytes, list[int]] = {}
        self._segments: list[Segment] = []
        self._numbers: dict[str, int] = {}
        self._files: dict[int, int] = {}
        self._resolutions: dict[str, tuple[tuple[str, str, int], dict[str, Any]]] = {}
        self._bad: Counter[int] = Counter()
        self._reported: set[str] = set()

    @property
    def empty(self) -> bool:
        return not self._segments

    def refresh(self, *, opening: bool = False) -> None:
        """Index new segments and new lines of known ones. Raises `OSError`."""
        try:
            with os.scandir(self.folder) as entries:
                names = sorted(
                    entry.name
                    for entry in entries
                    if entry.name.endswith(".jsonl") and entry.is_file()
                )
        except FileNotFoundError:
            names = []  # the folder is removed or not created yet
        for name in self._numbers.keys() - set(names):
            self._vanished(self._numbers[name])
        for name in names:
            number = self._numbers.get(name)
            if number is None:
                number = self.add_segment(self.folder / name)
            segment = self._segments[number]
            try:
                if segment.path.stat().st_size > segment.position:
                    self._take_in(number, segment, opening=opening)
            except OSError as error:
                self._problem(number, None, f"cannot be read ({error.strerror or error})")

    def add_segment(self, path: Path) -> int:
        number = self._numbers[path.name] = len(self._segments)
        self._segments.append(Segment(path))
        return number

    def wrote(self, number: int, offset: int, line: bytes, key: bytes | None = None) -> None:
        """Index a line that this process has written; `key` is the key of an answer."""
        segment = self._segments[number]
        if segment.position != offset:
            # The bytes of a failed write come before it.
            with contextlib.suppress(OSError):
                self._take_in(number, segment, opening=False)
            return
        segment.position = offset + len(line)
        if key is None:
            self._other(number, offset, line.rstrip(b"\n"))
        else:
            self._index(key, number << OFFSET_BITS | offset)

    def find(self, key: bytes, oldest: str = "") -> tuple[int, dict[str, Any]] | None:
        """Return the sound line of a key that counts, with its place.

        That is the newest of those that replaced an older answer, else the first. Lines written
        before `oldest` are left out. Damaged ones are reported and forgotten.
        """
        places = (self.index[key], *self._more.get(key, ())) if key in self.index else ()
        valid: list[tuple[int, dict[str, Any]]] = []
        for position in sorted(places, key=self._order):
            data = self.read(position, key.hex())
            if data is None:
                self._forget(key, position)
            elif written_at(data) >= oldest:
                valid.append((position, data))
        newer = [entry for entry in valid if replaces(entry[1])]
        return max(newer, key=lambda entry: written_at(entry[1]), default=next(iter(valid), None))

    def read(self, position: int, key: str | None = None) -> dict[str, Any] | None:
        """Return the content of the line at a place; None, with a warning, if it is damaged."""
        number, offset = position >> OFFSET_BITS, position & OFFSET
        try:
            data = read_answer(read_line(self._file(number), offset))
            if key is not None and data["key"] != key:
                raise BadLine("it is damaged: it has become another key")
        except BadLine as error:
            self._problem(number, offset, f"{error}; it is not served, its request is repeated")
            return None
        except FileNotFoundError:
            self._vanished(number)
            return None
        except OSError as error:
            self._problem(number, offset, f"it cannot be read ({error.strerror or error})")
            return None
        return data

    def reject(self, key: bytes, position: int, why: str) -> None:
        """Report and forget the entry that `find` returned, because its content is invalid."""
        self._problem(position >> OFFSET_BITS, position & OFFSET, f"{why}; it is not served")
        self._forget(key, position)

    def places(self) -> list[int]:
        """Return the places of all entries, in the order in which they are served."""
        more = (position for places in self._more.values() for position in places)
        ranks = {number: rank for rank, (_, number) in enumerate(sorted(self._numbers.items()))}
        return sorted(
            (*self.index.values(), *more),
            key=lambda position: (ranks[position >> OFFSET_BITS], position & OFFSET),
        )

    def resolution(self, key: str) -> dict[str, Any] | None:
        entry = self._resolutions.get(key)
        return entry[1] if entry is not None else None

    def resolutions(self) -> Collection[tuple[tuple[str, str, int], dict[str, Any]]]:
        """Return the newest resolution of every key, each with a rank by age."""
        return self._resolutions.values()

    def close(self) -> None:
        while self._files:
            os.close(self._files.popitem()[1])

    def _take_in(self, number: int, segment: Segment, *, opening: bool) -> None:
        with segment.path.open("rb", buffering=0) as file:
            # Read an unfinished line twice, because its writer may be in the middle of it.
            for _ in range(2 if opening else 1):
                for start, lines, end in blocks(file, segment.position):
                    self._take_block(number, start, lines)
                    segment.position = end
            if opening and file.seek(0, os.SEEK_END) > segment.position:
                self._problem(
                    number,
                    segment.position,
                    "the last line is torn (its writer was stopped); its request is repeated",
                )

    def _take_block(self, number: int, start: int, lines: bytes) -> None:
        """Index whole lines. This loop takes most of the time of opening a large store."""
        base = number << OFFSET_BITS | start
        at = 0
        while (end := lines.find(b"\n", at)) >= 0:
            if (
                lines.startswith(ANSWER, at)
                and lines.startswith(CHECK, at + CHECK_AT)
                and (key := _raw_key(lines[at + KEY_AT : at + CHECK_AT])) is not None
            ):
                if key in self.index or self.added is not None:
                    self._index(key, base + at)
                else:
                    self.index[key] = base + at
            elif end > at:
                self._other(number, start + at, lines[at:end])
            at = end + 1

    def _index(self, key: bytes, position: int) -> None:
        if key in self.index:
            self._more.setdefault(key, []).append(position)
        else:
            self.index[key] = position
        if self.added is not None:
            self.added.append(position)

    def _forget(self, key: bytes, position: int) -> None:
        left = [other for other in (self.index[key], *self._more.pop(key, ())) if other != position]
        if not left:
            del self.index[key]
            return
        self.index[key] = left[0]
        if left[1:]:
            self._more[key] = left[1:]

    def _other(self, number: int, offset: int, line: bytes) -> None:
        try:
            data = read_other(line)
        except BadLine as error:
            self._problem(number, offset, f"{error}; the line is skipped")
            return
        rank = (data["written"], self._segments[number].path.name, offset)
        older = self._resolutions.get(data["key"])
        if older is None or rank > older[0]:
            self._resolutions[data["key"]] = (rank, data["resolution"])

    def _order(self, position: int) -> tuple[str, int]:
        return self._segments[position >> OFFSET_BITS].path.name, position & OFFSET

    def _file(self, number: int) -> int:
        file = self._files.get(number)
        if file is None:
            if len(self._files) >= OPEN_FILES:
                os.close(self._files.pop(next(iter(self._files))))
            flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
            file = self._files[number] = os.open(self._segments[number].path, flags)
        return file

    def _vanished(self, number: int) -> None:
        text = "was removed while it was in use; its answers may be requested again"
        self._problem(number, None, text)

    def _problem(self, number: int, offset: int | None, fault: str) -> None:
        path = self._segments[number].path
        text = f"answer store: {path}{'' if offset is None else f', byte {offset:,}'}: {fault}"
        if text in self._reported:
            return
        self._reported.add(text)
        self._bad[number] += 1
        if self._bad[number] <= NAMED:
            self._warn(text)
        elif self._bad[number] == NAMED + 1:
            self._warn(f"answer store: {path}: further problems in this file are not listed")


def _raw_key(digits: bytes) -> bytes | None:
    try:
        return unhexlify(digits)
    except ValueError:
        return None
