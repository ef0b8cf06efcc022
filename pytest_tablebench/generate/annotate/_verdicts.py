"""Read the marks of two reviewers from `review.csv` (spec: realhitbench.md section 8)."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pytest_tablebench.errors import DataError
from pytest_tablebench.generate.annotate._review import CRITERIA, REVIEW, REVIEWERS, column, plain
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import shortened

State = Literal["accepted", "rejected", "disputed", "half reviewed", "not reviewed"]
STATES: tuple[State, ...] = ("accepted", "rejected", "disputed", "half reviewed", "not reviewed")

_YES = frozenset({"yes", "y", "1", "true", "x", "ok"})
_NO = frozenset({"no", "n", "0", "false"})

Marks = Mapping[str, bool | None]
"""A reviewer's mark by criterion; None if not marked yet."""


@dataclass(frozen=True)
class Reviewed:
    """A question with both reviewers' marks for the taken answer."""

    id: str
    marks: tuple[Marks, Marks]

    @property
    def state(self) -> State:
        """The state that follows from all marks; the question is accepted if all are yes."""
        marks = [mark for reviewer_marks in self.marks for mark in reviewer_marks.values()]
        if all(mark is None for mark in marks):
            return "not reviewed"
        if any(mark is None for mark in marks):
            return "half reviewed"
        first, second = (all(reviewer_marks.values()) for reviewer_marks in self.marks)
        if first is not second:
            return "disputed"
        return "accepted" if first else "rejected"


@dataclass(frozen=True)
class Review:
    """All reviewed questions of a folder."""

    questions: Sequence[Reviewed]

    def counts(self) -> Counter[State]:
        """Return the number of questions in each state."""
        return Counter(question.state for question in self.questions)

    def ids(self, state: State) -> list[str]:
        """Return the ids of the questions in a state, in the order of the file."""
        return [question.id for question in self.questions if question.state == state]

    def pairs(self, criterion: str) -> list[tuple[bool, bool]]:
        """Return the marks of both reviewers for a criterion, for questions that both marked."""
        marks = ((first[criterion], other[criterion]) for first, other in self._marks())
        return [(first, other) for first, other in marks if first is not None and other is not None]

    def _marks(self) -> Iterator[tuple[Marks, Marks]]:
        return (question.marks for question in self.questions)


def read_review(folder: Path) -> Review:
    """Read a folder's `review.csv`. Raises `DataError` that names the line and the column."""
    path = folder / REVIEW
    rows = read_rows(path)
    if not rows or not {"id", "taken"} <= rows[0].keys():
        raise DataError(f"{path} has no rows with the columns id and taken")
    questions = [
        Reviewed(
            plain(row["id"] or ""),
            (_marks(path, line, row, REVIEWERS[0]), _marks(path, line, row, REVIEWERS[1])),
        )
        for line, row in enumerate(rows, start=2)
        if (row["taken"] or "").strip().casefold() in _YES
    ]
    if not questions:
        raise DataError(f"{path}: no answer was taken, so there is nothing to review")
    return Review(questions)


def _marks(path: Path, line: int, row: Mapping[str, str | None], reviewer: int) -> Marks:
    marks: dict[str, bool | None] = {}
    for criterion in CRITERIA:
        name = column(criterion, reviewer)
        # Files of earlier versions have columns for one reviewer.
        value = row.get(name, row.get(criterion) if reviewer == REVIEWERS[0] else None)
        text = (value or "").strip().casefold()
        if text and text not in _YES | _NO:
            raise DataError(
                f"{path}, row {line}, {name}: write yes or no, not {shortened(text, 40)!r}"
            )
        marks[criterion] = text in _YES if text else None
    return marks


def read_rows(path: Path) -> list[dict[str, str | None]]:
    """Return the rows of a CSV file as spreadsheets save it. Raises `DataError`."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        head = text.partition("\n")[0]
        comma = max(",;\t", key=head.count)
        return list(csv.DictReader(io.StringIO(text, newline=""), delimiter=comma))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} is not a CSV file in UTF-8: {error}") from None


def write_accepted(folder: Path, new: Path, review: Review) -> int:
    """Write a dataset folder of the accepted questions; return their number.

    A twin question is accepted together with its original. Raises `DataError`.
    """
    rows = read_rows(folder / "questions.csv")
    accepted = set(review.ids("accepted"))
    kept = [row for row in rows if _of_review(row) in accepted]
    if not kept:
        raise DataError(f"{folder / REVIEW}: no question is accepted by both reviewers")
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(kept)
    try:
        new.mkdir(parents=True)
        for name in dict.fromkeys(row.get("table") or "" for row in kept):
            source = real_path(folder / name)
            if not source.is_relative_to(real_path(folder)) or not source.is_file():
                raise DataError(f"{folder / 'questions.csv'}: the table {name} does not exist")
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(source.read_bytes())
        settings = folder / "tablebench.toml"
        if settings.is_file():
            (new / settings.name).write_bytes(settings.read_bytes())
        (new / "questions.csv").write_text(text.getvalue(), encoding="utf-8")
    except OSError as error:
        raise DataError(f"{new} cannot be written: {error.strerror or error}") from None
    return len(kept)


def _of_review(row: Mapping[str, str | None]) -> str:
    tags = dict(
        tag.strip().partition("=")[::2] for tag in (row.get("tags") or "").split("|") if "=" in tag
    )
    return tags.get("twin_of", row.get("id") or "")
