"""Pieces of segments in a shared store, named by their content and never changed.

    <segment>.<start>-<end>.<SHA-256, 32 digits>.jsonl

A piece contains the whole lines of a segment between two bytes. An object store can neither append
nor lock, so the new lines of a segment become a further piece. The name contains length and digest,
so that an incomplete upload is detected and repeated.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

LARGEST = 64 << 20
"""Largest number of bytes in a new piece."""

_MOST = 2 * LARGEST
_NAME = re.compile(
    r"([0-9A-Za-z_-][0-9A-Za-z._-]{0,120})\.([0-9]{12})-([0-9]{12})\.([0-9a-f]{32})\.jsonl"
)


@dataclass(frozen=True, order=True)
class Piece:
    """The bytes of a segment from `start` to `end`."""

    segment: str
    start: int
    end: int
    digest: str

    @classmethod
    def read(cls, name: str) -> Piece | None:
        """Return the piece with a name; None if the name is invalid or the piece too large."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        piece = cls(match[1], int(match[2]), int(match[3]), match[4])
        return piece if 0 < piece.size <= _MOST else None

    @classmethod
    def of(cls, segment: str, start: int, data: bytes) -> Piece:
        return cls(segment, start, start + len(data), _digest(data))

    @property
    def name(self) -> str:
        return f"{self.segment}.{self.start:012}-{self.end:012}.{self.digest}.jsonl"

    @property
    def size(self) -> int:
        return self.end - self.start

    def holds(self, data: bytes) -> bool:
        """Return whether these are exactly the piece's bytes."""
        return len(data) == self.size and _digest(data) == self.digest


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def covered(pieces: Iterable[Piece], held: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the byte up to which pieces cover each segment without a gap.

    `held` contains the bytes up to which other pieces cover the segments.
    """
    ends = dict(held or {})
    for piece in sorted(pieces):
        reached = ends.setdefault(piece.segment, 0)
        if piece.start <= reached:
            ends[piece.segment] = max(reached, piece.end)
    return ends


def pieces_of(path: Path, start: int) -> Iterator[tuple[Piece, bytes]]:
    """Yield the whole lines of a segment from a byte on, as pieces. Raises `OSError`."""
    with path.open("rb") as file:
        file.seek(start)
        while data := file.read(LARGEST):
            end = data.rfind(b"\n") + 1
            if not end:
                return  # only an unfinished line
            data = data[:end]
            yield Piece.of(path.stem, start, data), data
            start += end
            file.seek(start)


COMPACTED = "compacted"
"""The folder of the notes."""

SCHEMA = 1


@dataclass(frozen=True)
class Note:
    """The record of one compaction.

    Arguments:
        segments: the byte up to which each segment was merged, without a gap.
        pieces: the names of all pieces with the merged lines.
    """

    segments: Mapping[str, int]
    pieces: tuple[str, ...]

    @classmethod
    def read(cls, data: bytes) -> Note | None:
        """Decode `text`; return None for anything else."""
        try:
            fields = json.loads(data)
            if fields["schema"] != SCHEMA:
                return None
            segments = {str(name): int(end) for name, end in fields["segments"].items()}
            return cls(segments, tuple(map(str, fields["pieces"])))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None

    def text(self) -> bytes:
        fields = {"schema": SCHEMA, "segments": dict(self.segments), "pieces": self.pieces}
        return json.dumps(fields).encode("ascii")

    def is_in(self, other: Note) -> bool:
        """Return whether another note covers all segments of this one."""
        return all(other.segments.get(name, 0) >= end for name, end in self.segments.items())


def held(notes: Iterable[Note], present: Collection[str]) -> dict[str, int]:
    """Return the byte up to which merged pieces contain each segment.

    A note with a missing piece does not count: machines with its segments send them again.
    """
    ends: dict[str, int] = {}
    for note in notes:
        if set(note.pieces) <= set(present):
            for name, end in note.segments.items():
                ends[name] = max(ends.get(name, 0), end)
    return ends
