"""Candidate answers, their file for reviewers, and what two reviewers write into it.

Spec: realhitbench.md section 8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import DataError, writing
from pytest_tablebench.generate.annotate.questions import TASKS, QuestionFamily
from pytest_tablebench.generate.pair import OpenQuestion, parse_number
from pytest_tablebench.tables.user_rows import csv_rows
from pytest_tablebench.util.csv_text import as_csv
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.files import real_path, write_whole
from pytest_tablebench.util.names import shortened

REVIEW = "review.csv"

CRITERIA = ("relevance", "completeness", "feasibility", "clarity")
"""The criteria for a question and its answer (spec, section 8)."""


def _column(criterion: str, reviewer: int) -> str:
    return f"{criterion}_{reviewer}"


_MARKS = tuple(_column(criterion, reviewer) for reviewer in (1, 2) for criterion in CRITERIA)

_HEADER = (
    *("id", "table", "task", "subtype", "question"),
    *("taken", "answer", "given", "marks", "product", "models"),
    *_MARKS,
)
_FORMULA = ("=", "+", "-", "@", "\t")


def family_of(question: OpenQuestion) -> QuestionFamily:
    """Return the family of a question; by default fact checking."""
    return TASKS.get(question.tags.get("task", ""), TASKS["fc"])


@dataclass(frozen=True)
class Candidate:
    """An answer that models gave.

    Arguments:
        answer: as the first of them wrote it.
        models: that gave it, in the order of their requests; repeated for each time.
        score: a judge's marks from 0 to 100; None without readable marks.
    """

    answer: str
    models: tuple[str, ...]
    score: float | None = None

    @property
    def final(self) -> float | None:
        """The marks times the number of models."""
        return None if self.score is None else self.score * len(self.models)


def counted_alike(
    answers: Iterable[tuple[str, str]], same: Callable[[str, str], bool]
) -> list[Candidate]:
    """Return the different answers of (model, answer) in the order of their first occurrence.

    `same` returns whether an answer equals an earlier one.
    """
    candidates: list[Candidate] = []
    for model, answer in answers:
        for index, candidate in enumerate(candidates):
            if same(answer, candidate.answer):
                candidates[index] = replace(candidate, models=(*candidate.models, model))
                break
        else:
            candidates.append(Candidate(answer, (model,)))
    return candidates


def ranked(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, the best first.

    Equal products are ordered by marks, and equal marks by first occurrence; the paper has no rule.
    Candidates without marks come last.
    """

    def marks(candidate: Candidate) -> tuple[float, float]:
        score = -1.0 if candidate.score is None else candidate.score
        return max(score * len(candidate.models), -1.0), score

    return sorted(candidates, key=marks, reverse=True)


class ReviewFile:
    """All candidates of all questions, one row each, the best of a question first.

    Attributes:
        size: valid bytes of the file; later bytes are overwritten.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.size = 0

    def add(
        self,
        table: str,
        question: OpenQuestion,
        candidates: Sequence[Candidate],
        *,
        taken: bool,
    ) -> None:
        """Write the candidates of a question. Raises `OSError`."""
        if self._path is None:
            return
        kind = family_of(question).name, question.tags.get("subtype", "")
        rows: list[Sequence[Any]] = []
        for candidate in candidates or [Candidate("", ())]:
            is_taken = "no" if rows or not taken else "yes"
            models, marks = candidate.models, (candidate.score, candidate.final)
            figures = len(models), *("" if n is None else f"{n:g}" for n in marks)
            row = question.id, table, *kind, question.text, is_taken, candidate.answer
            rows.append((*map(_cell, (*row, *figures, ", ".join(models))), *[""] * len(_MARKS)))
        text = as_csv(rows if self.size else [_HEADER, *rows], line_end="\r\n")
        # Spreadsheets recognize UTF-8 by its byte order mark.
        data = text.encode("utf-8" if self.size else "utf-8-sig", "replace")
        with self._path.open("r+b" if self.size else "wb") as file:
            file.truncate(self.size)
            file.seek(self.size)
            file.write(data)
        self.size += len(data)


def _cell(value: object) -> str:
    """Return a cell that no spreadsheet interprets as a formula."""
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) and parse_number(text) is None else text


def _plain(cell: str) -> str:
    """Return a cell's text without the quote that prevents a formula."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def questions_as_table(folder: Path, defaults: Mapping[str, str]) -> None:
    """Replace a folder's `questions.jsonl` with `questions.csv`, which people can edit.

    `defaults` are added to `tablebench.toml`, as TOML values. Raises `OSError`.
    """
    lines = folder / "questions.jsonl"
    rows = [parsed_json(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = ([_written(row.get(name, "")) for name in names] for row in rows)
    write_whole(folder / "questions.csv", as_csv([names, *cells]))
    lines.unlink()
    settings = folder / "tablebench.toml"
    content = settings.read_text(encoding="utf-8")
    section = "" if "[defaults]\n" in content else "\n[defaults]\n"
    added = "".join(f"{name} = {value}\n" for name, value in defaults.items())
    write_whole(settings, f"{content.rstrip()}\n{section}{added}")


def _written(value: Any) -> str:
    if isinstance(value, list):
        return " | ".join(map(str, value))
    if isinstance(value, dict):
        return " | ".join(f"{name}={tag}" for name, tag in value.items())
    return str(value)


STATES = ("accepted", "rejected", "disputed", "half reviewed", "not reviewed")

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
    def state(self) -> str:
        """The state, one of `STATES`; a question is accepted if all marks are yes."""
        marks = [mark for reviewer_marks in self.marks for mark in reviewer_marks.values()]
        if None in marks:
            return "half reviewed" if any(mark is not None for mark in marks) else "not reviewed"
        first, second = (all(reviewer_marks.values()) for reviewer_marks in self.marks)
        if first is not second:
            return "disputed"
        return "accepted" if first else "rejected"

    def pair(self, criterion: str) -> tuple[bool | None, bool | None]:
        """Return the marks of both reviewers for a criterion."""
        return self.marks[0][criterion], self.marks[1][criterion]


def read_review(folder: Path) -> list[Reviewed]:
    """Read a folder's `review.csv`. Raises an error that names the row and the column."""
    path = folder / REVIEW
    questions = [
        Reviewed(_plain(row["id"]), (_marks_of(location, row, 1), _marks_of(location, row, 2)))
        for location, row in csv_rows(path, ("id", "taken", *_MARKS), 2)
        if row["taken"].strip().casefold() in _YES
    ]
    if not questions:
        raise DataError(f"{path}: no answer was taken, so there is nothing to review")
    return questions


def _marks_of(location: str, row: Mapping[str, str], reviewer: int) -> Marks:
    marks: dict[str, bool | None] = {}
    for criterion in CRITERIA:
        name = _column(criterion, reviewer)
        # Files of earlier versions have columns for one reviewer.
        value = row.get(name, row.get(criterion, "") if reviewer == 1 else "")
        text = value.strip().casefold()
        if text and text not in _YES | _NO:
            raise DataError(f"{location}, {name}: write yes or no, not {shortened(text, 40)!r}")
        marks[criterion] = text in _YES if text else None
    return marks


def write_accepted(folder: Path, new: Path, questions: Iterable[Reviewed]) -> int:
    """Write a dataset folder of the accepted questions; return their number.

    A twin question is accepted together with its original. Raises `DataError`, and `SettingsError`
    if the folder cannot be written.
    """
    path = folder / "questions.csv"
    rows = [row for _, row in csv_rows(path, ("id", "table", "tags"), 0)]
    accepted = {question.id for question in questions if question.state == "accepted"}
    kept = [row for row in rows if _of_review(row) in accepted]
    if not kept:
        raise DataError(f"{folder / REVIEW}: no question is accepted by both reviewers")
    text = as_csv([kept[0], *(row.values() for row in kept)])
    with writing(f"{new} cannot be written"):
        new.mkdir(parents=True)
        for name in dict.fromkeys(row.get("table", "") for row in kept):
            source = real_path(folder / name)
            if not source.is_relative_to(real_path(folder)) or not source.is_file():
                raise DataError(f"{path}: the table {name} does not exist")
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(source.read_bytes())
        settings = folder / "tablebench.toml"
        if settings.is_file():
            (new / settings.name).write_bytes(settings.read_bytes())
        (new / "questions.csv").write_text(text, encoding="utf-8")
    return len(kept)


def _of_review(row: Mapping[str, str]) -> str:
    tags = dict(
        tag.strip().partition("=")[::2] for tag in row.get("tags", "").split("|") if "=" in tag
    )
    return tags.get("twin_of", row.get("id", ""))
