"""Notes of a shared store: which segments were put together, and in which pieces they now are."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

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
