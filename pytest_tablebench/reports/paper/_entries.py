"""Reading the dictionaries of an analysis: entries are `{"value": ..., "reason": ...}`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_tablebench.reports.paper._text import PaperTable, row_note

Tree = Mapping[str, Any]

ALL = "all datasets"
"""Name of the row or column over all datasets."""


def value_of(entry: Any) -> float | None:
    """Return an entry's number, None where there is none."""
    value = entry.get("value") if isinstance(entry, Mapping) else None
    return None if value is None else float(value)


def reason_of(entry: Any) -> str | None:
    """Return why an entry has no number."""
    return entry.get("reason") if isinstance(entry, Mapping) else None


def whole_reason(tree: Any) -> str | None:
    """Return the reason where the analysis as a whole could not be made."""
    if isinstance(tree, Mapping) and "reason" in tree and tree.get("value") is None:
        return str(tree["reason"])
    return None


def all_keys(trees: Iterable[Tree]) -> list[str]:
    """Return the keys of all the mappings, each once, in order of appearance."""
    return list(dict.fromkeys(key for tree in trees for key in tree))


def all_reasons(rows: Iterable[Tree]) -> tuple[str, ...]:
    """Return the reasons of all entries of the rows, each once."""
    found = (reason_of(entry) for entries in rows for entry in entries.values())
    return tuple(dict.fromkeys(reason for reason in found if reason))


def matrix(
    name: str,
    title: str,
    first: str,
    rows: Mapping[str, Tree],
    columns: Sequence[str],
    **options: Any,
) -> PaperTable:
    """Return a table of entries by row and column."""
    cells = tuple(
        (row, *(value_of(entries.get(c)) for c in columns)) for row, entries in rows.items()
    )
    notes = tuple(
        row_note({c: reason_of(entries.get(c)) for c in columns}) for entries in rows.values()
    )
    reasons = all_reasons(rows.values())
    return PaperTable(name, title, (first, *columns), cells, notes, reasons=reasons, **options)
