"""Pieces of segments, as a shared store holds them: named by what is in them, and never changed.

    <segment>.<start>-<end>.<SHA-256, 32 digits>.jsonl

A piece holds the whole lines of a segment from one byte to another. An object store can neither
append nor lock, so what a segment has grown by becomes a further piece. Its name says how long it
is and what it holds: one that was cut off on its way is known for it, and sent again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

LARGEST = 64 << 20
"""Bytes of a piece, above which a further one is begun."""

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
        """Return the piece of a name; None where it is none, or larger than any that is sent."""
        match = _NAME.fullmatch(name)
        if match is None:
            return None
        piece = cls(match[1], int(match[2]), int(match[3]), match[4])
        return piece if 0 < piece.size <= _MOST else None

    @classmethod
    def of(cls, segment: str, start: int, data: bytes) -> Piece:
        """Return the piece of a segment that holds some bytes."""
        return cls(segment, start, start + len(data), _digest(data))

    @property
    def name(self) -> str:
        """Its name in a store."""
        return f"{self.segment}.{self.start:012}-{self.end:012}.{self.digest}.jsonl"

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.end - self.start

    def holds(self, data: bytes) -> bool:
        """Whether these are its bytes, all of them."""
        return len(data) == self.size and _digest(data) == self.digest


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def covered(pieces: Iterable[Piece], held: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return up to which byte the pieces of each segment hold it without a gap.

    `held` is up to where others hold what it held.
    """
    ends = dict(held or {})
    for piece in sorted(pieces):
        reached = ends.setdefault(piece.segment, 0)
        if piece.start <= reached:
            ends[piece.segment] = max(reached, piece.end)
    return ends


def pieces_of(path: Path, start: int) -> Iterator[tuple[Piece, bytes]]:
    """Yield what a segment holds from a byte on, in whole lines. Raises `OSError`."""
    with path.open("rb") as file:
        file.seek(start)
        while data := file.read(LARGEST):
            end = data.rfind(b"\n") + 1
            if not end:
                return  # nothing but a line that is still written, or none at all
            data = data[:end]
            yield Piece.of(path.stem, start, data), data
            start += end
            file.seek(start)


COMPACTED = "compacted"
"""The folder of the notes, beside that of the pieces."""

SCHEMA = 1


@dataclass(frozen=True)
class Note:
    """What one compaction did.

    Arguments:
        segments: up to which byte each segment was put together, without a gap.
        pieces: the names of all pieces that now hold it.
    """

    segments: Mapping[str, int]
    pieces: tuple[str, ...]

    @classmethod
    def read(cls, data: bytes) -> Note | None:
        """Return the note that `text` wrote; None for anything else."""
        try:
            fields = json.loads(data)
            if fields["schema"] != SCHEMA:
                return None
            segments = {str(name): int(end) for name, end in fields["segments"].items()}
            return cls(segments, tuple(map(str, fields["pieces"])))
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None

    def text(self) -> bytes:
        """Return it as JSON."""
        fields = {"schema": SCHEMA, "segments": dict(self.segments), "pieces": self.pieces}
        return json.dumps(fields).encode("ascii")

    def is_in(self, other: Note) -> bool:
        """Whether another note says all that it says."""
        return all(other.segments.get(name, 0) >= end for name, end in self.segments.items())


def held(notes: Iterable[Note], present: Collection[str]) -> dict[str, int]:
    """Return up to which byte segments are held by pieces that are there under other names.

    A note whose own pieces are not all there says nothing: who has the segments sends them again.
    """
    ends: dict[str, int] = {}
    for note in notes:
        if set(note.pieces) <= set(present):
            for name, end in note.segments.items():
                ends[name] = max(ends.get(name, 0), end)
    return ends
