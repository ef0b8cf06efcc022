"""Reading the dictionaries of an analysis: entries are `{"value": ..., "reason": ...}`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pytest_tablebench.papers.text import PaperTable, Value, row_note

Tree = Mapping[str, Any]

WHOLE = "whole benchmark"
"""Name of the growth of W over all datasets."""

ALL = "all datasets"
"""Name of the row or column over all datasets."""


def value_of(entry: Any) -> float | None:
    """Return an entry's number, or None."""
    value = entry.get("value") if isinstance(entry, Mapping) else None
    return None if value is None else float(value)


def reason_of(entry: Any) -> str | None:
    """Return why an entry has no number."""
    return entry.get("reason") if isinstance(entry, Mapping) else None


def whole_reason(tree: Any) -> str | None:
    """Return why the whole analysis could not be computed, or None."""
    if isinstance(tree, Mapping) and "reason" in tree and tree.get("value") is None:
        return str(tree["reason"])
    return None


SINGLE = "one configuration"
"""The flag of figures over one configuration, in which robustness is not defined."""


def with_undefined(analysis: Tree) -> Tree:
    """Return an analysis in which robustness over one configuration, which is always 1, is None."""
    tree = analysis["robustness"]

    def checked(entries: Mapping[str, Tree]) -> dict[str, Tree]:
        return {
            name: {**entry, "value": None, "complete_examples_only": None, "reason": SINGLE}
            if SINGLE in entry.get("flags", ()) and entry.get("value") is not None
            else entry
            for name, entry in entries.items()
        }

    parts = {model: checked(entries) for model, entries in tree["by_model_dataset"].items()}
    robustness = {**tree, "by_model_dataset": parts, "by_model": checked(tree["by_model"])}
    return {**analysis, "robustness": robustness}


def all_keys(trees: Iterable[Tree]) -> list[str]:
    """Return the keys of all the mappings, each once, in order of appearance."""
    return list(dict.fromkeys(key for tree in trees for key in tree))


def by_pair(tree: Mapping[str, Tree]) -> dict[tuple[str, str], Any]:
    """Return the entries of a tree of two levels by both their names."""
    return {
        (first, second): entry for first, inner in tree.items() for second, entry in inner.items()
    }


def all_reasons(rows: Iterable[Tree]) -> tuple[str, ...]:
    """Return the reasons of all entries of the rows, each once."""
    reasons = (reason_of(entry) for entries in rows for entry in entries.values())
    return tuple(dict.fromkeys(text for text in reasons if text))


def matrix(
    name: str,
    title: str,
    first: Sequence[str],
    rows: Mapping[Any, Tree],
    columns: Sequence[str] | None = None,
    **options: Any,
) -> PaperTable:
    """Return a table of entries by row and column; without `columns` it has all of them.

    A row begins with its key, in as many cells as `first` has names. `options` are further fields
    of the table.
    """
    if columns is None:
        columns = all_keys(rows.values())
    cells = tuple(
        (*_key(row), *(value_of(entries.get(c)) for c in columns)) for row, entries in rows.items()
    )
    notes = tuple(
        row_note({c: reason_of(entries.get(c)) for c in columns}) for entries in rows.values()
    )
    reasons = all_reasons(rows.values())
    return PaperTable(name, title, (*first, *columns), cells, notes, reasons=reasons, **options)


def listing(
    name: str,
    title: str,
    columns: Sequence[str],
    entries: Mapping[Any, Tree],
    also: Sequence[str] = (),
    **options: Any,
) -> PaperTable:
    """Return a table with one entry a row: its key, its number, and its fields in `also`.

    Keys and options are as in `matrix`; `columns` are the names of all columns.
    """
    rows = tuple(
        (*_key(key), value_of(entry), *(entry.get(field) for field in also))
        for key, entry in entries.items()
    )
    notes = tuple(reason_of(entry) or "" for entry in entries.values())
    return PaperTable(name, title, tuple(columns), rows, notes, **options)


def _key(key: Any) -> tuple[Value, ...]:
    return key if isinstance(key, tuple) else (key,)


def ranked(analysis: Tree) -> str:
    """Return what the analysis ranks: models, or the strategies of one model."""
    return str(analysis.get("ranked", "models"))
