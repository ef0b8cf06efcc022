"""How often the rules for replies over own tables err, by replies that people judged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pytest_tablebench.datasets.answers import answer_context
from pytest_tablebench.datasets.files import BadRowError
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics import score
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.user_rows import csv_rows, json_rows
from pytest_tablebench.util.names import shortened

Verdict = Literal["right", "wrong", "unclear"]

ITEMS = " | "
"""Between the items of an answer and the cells of a column in a CSV file."""

VERDICTS: Mapping[str, bool] = {
    **dict.fromkeys(("right", "true", "yes", "1", "not wrong"), True),
    **dict.fromkeys(("wrong", "false", "no", "0", "not right"), False),
}
"""What people may write as their verdict."""

_SETTINGS = ("metric", "tolerance", "unit")
_COLUMNS = ("answer", "reply", "verdict", *_SETTINGS, "question", "column", "cells", "settings")


@dataclass(frozen=True)
class JudgedReply:
    """A reply with our verdict and the verdict of a person.

    Arguments:
        kind: of the answer, such as `number` or `list`.
        verdict: by the rules.
        is_right: by the person.
    """

    kind: str
    verdict: Verdict
    is_right: bool


@dataclass(frozen=True)
class ErrorRates:
    """Counts of one kind of answer.

    Arguments:
        right, wrong: replies that people call right and wrong.
        false_positives: of the wrong ones, those that the rules call right.
        false_negatives: of the right ones, those that the rules call wrong.
        unclear: replies of which no rule decides.
    """

    right: int
    wrong: int
    false_positives: int
    false_negatives: int
    unclear: int

    @classmethod
    def of(cls, replies: Iterable[JudgedReply]) -> ErrorRates:
        """Count replies."""
        counts = [(reply.is_right, reply.verdict) for reply in replies]
        return cls(
            right=sum(is_right for is_right, _ in counts),
            wrong=sum(not is_right for is_right, _ in counts),
            false_positives=counts.count((False, "right")),
            false_negatives=counts.count((True, "wrong")),
            unclear=sum(verdict == "unclear" for _, verdict in counts),
        )


def verdict_of(row: Mapping[str, Any]) -> tuple[str, Verdict]:
    """Return the kind of the answer of a row, and the verdict of the rules on its reply.

    `row` has `answers`, `reply`, and may have `table` (a list of rows, the header first) and
    `settings` (`question`, `unit`, `tolerance`, `metric`, ...). Raises `BadRowError`.
    """
    table = row.get("table")
    tables = [Table(table[0], table[1:])] if table else []
    settings = dict(row.get("settings") or {})
    stated = {name: settings.pop(name, None) for name in _SETTINGS}
    context: dict[str, Any] = answer_context(tables, row["answers"], **stated)
    context |= {**settings, **{f"table {n}": item for n, item in enumerate(tables, 1)}}
    scored = score("typed_answer", row["reply"], row["answers"], **context)
    if scored.unclear:
        return context["kind"], "unclear"
    return context["kind"], "right" if scored.value == 1 else "wrong"


def judged_replies(path: Path) -> Iterator[JudgedReply]:
    """Yield the judged replies of a file: CSV, a JSON list, or JSON Lines.

    Raises `SettingsError` with file and row.
    """
    rows = json_rows(path, "a judged reply")
    if path.suffix == ".csv":
        rows = ((location, _of_cells(cells)) for location, cells in csv_rows(path, _COLUMNS, 3))
    for location, row in rows:
        try:
            verdict = str(row["verdict"]).strip().casefold()
            if verdict not in VERDICTS:
                shown = shortened(verdict, 40)
                raise SettingsError(f"{location}: verdict must be right or wrong, not {shown!r}")
            kind, ours = verdict_of(row)
        except BadRowError as error:
            raise SettingsError(f"{location}: {error.field} {error}") from None
        except (LookupError, TypeError, ValueError, AttributeError):
            raise SettingsError(
                f"{location}: a row needs answers, reply and verdict; table is a list of rows"
            ) from None
        yield JudgedReply(kind, ours, VERDICTS[verdict])


def _of_cells(cells: Mapping[str, str]) -> dict[str, Any]:
    """Return a row of a CSV file: `answer`, `reply`, `verdict`, `column`, `cells`, settings.

    The column `settings` may have further ones: `unit=kg;aliases=UK,Britain`.
    """
    column = cells.get("column")
    table = [[column], *([cell] for cell in cells["cells"].split(ITEMS))] if column else None
    answers = cells["answer"].split(ITEMS)
    parts = [part.partition("=") for part in (cells.get("settings") or "").split(";") if part]
    settings: dict[str, Any] = {name.strip(): value for name, _, value in parts}
    settings |= {name: value for name in (*_SETTINGS, "question") if (value := cells.get(name))}
    if "aliases" in settings:
        settings["aliases"] = {answers[0]: settings["aliases"].split(",")}
    return {
        "answers": answers,
        "reply": cells["reply"].replace("⏎", "\n"),
        "verdict": cells["verdict"],
        "table": table,
        "settings": settings,
    }
