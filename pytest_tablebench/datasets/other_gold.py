"""The gold answer of a question in another version of a dataset's files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OtherGold:
    """The gold of an example in another version.

    Arguments:
        place: the file, for readers.
        example_id: as in the version that the dataset reads.
        question: as the other version words it.
    """

    place: str
    example_id: str
    question: str
    answers: tuple[str, ...]
