"""The file of all candidates for reviewers, and a folder's questions as a CSV table."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.generate.values import parse_number
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.files import write_whole

if TYPE_CHECKING:
    from pytest_tablebench.generate.annotate._asked import UnansweredQuestion
    from pytest_tablebench.generate.annotate._ranking import Candidate

REVIEW = "review.csv"

CRITERIA = ("relevance", "completeness", "feasibility", "clarity")
"""The criteria for a question and its answer (spec, section 8)."""

REVIEWERS = (1, 2)
"""Both reviewers mark each question."""


def column(criterion: str, reviewer: int) -> str:
    """Return the name of the empty column for a reviewer's mark."""
    return f"{criterion}_{reviewer}"


_MARKS = tuple(column(criterion, reviewer) for reviewer in REVIEWERS for criterion in CRITERIA)

_HEADER = (
    *("id", "table", "task", "subtype", "question"),
    *("taken", "answer", "given", "marks", "product", "models"),
    *_MARKS,
)
_FORMULA = ("=", "+", "-", "@", "\t")


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
        question: UnansweredQuestion,
        candidates: Sequence[Candidate],
        *,
        taken: bool,
    ) -> None:
        """Write the candidates of a question. Raises `OSError`."""
        if self._path is None:
            return
        about = (
            question.id,
            table,
            question.task.name,
            question.tags.get("subtype", ""),
            question.text,
        )
        rows: list[Sequence[Any]] = [] if self.size else [_HEADER]
        for place, candidate in enumerate(candidates):
            marks = (
                "" if number is None else f"{number:g}"
                for number in (candidate.score, candidate.final)
            )
            figures = len(candidate.models), *marks, ", ".join(candidate.models)
            rows.append(
                (*about, "yes" if taken and not place else "no", candidate.answer, *figures)
            )
        if not candidates:
            rows.append((*about, "no", "", 0, "", "", ""))
        text = io.StringIO()
        blanks = ("",) * len(_MARKS)
        csv.writer(text).writerows(
            row if row is _HEADER else [*map(_cell, row), *blanks] for row in rows
        )
        # Spreadsheets recognize UTF-8 by its byte order mark.
        data = text.getvalue().encode("utf-8-sig" if not self.size else "utf-8", "replace")
        with self._path.open("r+b" if self.size else "wb") as file:
            file.truncate(self.size)
            file.seek(self.size)
            file.write(data)
        self.size += len(data)


def _cell(value: object) -> str:
    """Return a cell that no spreadsheet interprets as a formula."""
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) and parse_number(text) is None else text


def plain(cell: str) -> str:
    """Return a cell's text without the quote that prevents a formula."""
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def questions_as_table(folder: Path, defaults: Mapping[str, str]) -> None:
    """Replace a folder's `questions.jsonl` with `questions.csv`, which people can edit.

    `defaults` are added to `tablebench.toml`, as TOML values. Raises `OSError`.
    """
    lines = folder / "questions.jsonl"
    rows = [parsed_json(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_written(row.get(name, "")) for name in names] for row in rows)
    write_whole(folder / "questions.csv", text.getvalue())
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
