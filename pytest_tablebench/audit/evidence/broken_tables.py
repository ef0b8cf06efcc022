"""The table itself is broken: shifted rows, a second header among the rows, nameless columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pytest_tablebench.audit.ballots import AuditedExample
from pytest_tablebench.audit.suspects import AnswerGroup, Evidence
from pytest_tablebench.models.lexical.rules import cell_number
from pytest_tablebench.tables.table import Table

_WEIGHT = 0.8
_FEWEST_ROWS = 4
_MOST = 0.7
"""The share of a column's cells that makes it numeric, or a column of text."""


def broken_tables(
    example: AuditedExample,
    groups: Sequence[AnswerGroup],  # noqa: ARG001 - all reasons have one signature
) -> Iterator[Evidence]:
    """Yield the first fault of the example's flat tables."""
    for table in example.tables:
        fault = None if table.is_structured else fault_of(table)
        if fault is not None:
            yield Evidence("table", fault, None, _WEIGHT)
            return


def fault_of(table: Table) -> str | None:
    """Return a sentence about the first fault of a table, None without any."""
    header = [_text(cell) for cell in table.header]
    if len(table.rows) < _FEWEST_ROWS or len(header) < 2:
        return None
    return _second_header(header, table.rows) or _shifted(header, table.rows) or _nameless(header)


def _text(cell: Any) -> str:
    return "" if cell is None else " ".join(str(cell).split())


def _second_header(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str | None:
    """Return a fault if the first row continues the header: it repeats two of its names."""
    first = [_text(cell) for cell in rows[0]]
    pairs = zip(header, first, strict=False)
    if sum(bool(name) and name == cell for name, cell in pairs) >= 2:
        return "row 1 of the table repeats names of its header, so it is a second header"
    has_words = any(first) and all(cell_number(cell) is None for cell in first if cell)
    if _nameless(header) and has_words:
        below = [cell_number(cell) is not None for row in rows[1:] for cell in row if _text(cell)]
        if sum(below) > len(below) / 2:
            return "columns share a name and row 1 has only words, so it is a second header"
    return None


def _shifted(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str | None:
    """Return a fault if the cells of a row suit the kinds of the next or previous columns."""
    width = len(header)
    kinds = [_kind([row[column] for row in rows if column < len(row)]) for column in range(width)]
    if "number" not in kinds or "text" not in kinds:
        return None
    for number, row in enumerate(rows, 1):
        cells = [_text(cell) for cell in row]
        if len(cells) != width or sum(map(bool, cells)) < 3:
            continue
        misfits = _misfits(cells, kinds)
        # A shift leaves an empty cell at one end.
        right = _misfits(["", *cells[:-1]], kinds) if not cells[-1] else misfits
        left = _misfits([*cells[1:], ""], kinds) if not cells[0] else misfits
        if misfits >= 2 and min(right, left) == 0:
            return f"the cells of row {number} are shifted by one column"
    return None


def _kind(cells: Sequence[Any]) -> str:
    filled = [cell for cell in map(_text, cells) if cell]
    if len(filled) < _FEWEST_ROWS:
        return ""
    share = sum(cell_number(cell) is not None for cell in filled) / len(filled)
    return "number" if share >= _MOST else "text" if share <= 1 - _MOST else ""


def _misfits(cells: Sequence[str], kinds: Sequence[str]) -> int:
    pairs = [(cell, kind) for cell, kind in zip(cells, kinds, strict=True) if cell and kind]
    return sum((cell_number(cell) is not None) != (kind == "number") for cell, kind in pairs)


def _nameless(header: Sequence[str]) -> str | None:
    """Return a fault if columns have no name and others share one, as merged headers leave it."""
    names = [name for name in header if name]
    if "" in header[1:] and len(set(names)) < len(names):
        return "the table has a column without a name and columns that share a name"
    return None
