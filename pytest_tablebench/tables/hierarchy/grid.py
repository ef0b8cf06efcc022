"""The content of a sheet: cells, merges and indents, before its header is determined.

Files may be hostile. All readers of this package have the limits below, and a file beyond them
raises one `TableError` that names file and place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.content import Cell, Span

MAX_LINES = 100_000
MAX_COLUMNS = 16_384
MAX_CELLS = 1_000_000
"""Cells of the largest grid; the largest real table of the benchmark has about 50,000."""


@dataclass(frozen=True)
class Grid:
    """One table of a file.

    Arguments:
        cells: shape (lines, columns), "" for empty positions and those under a merged cell.
        spans: merged cells, sorted, without overlaps.
        indents: the indentation of cells, by position; only of indented ones.
        heads: positions of cells that the file marks as headers (`<th>`).
        groups: the part of the table of each line (`thead`, `tbody`, `tfoot`), shape (lines,), or
            empty.
        bold: positions of cells in bold type.
        links: positions of cells that are links.
        underlined: positions of cells with a border below.
        name: the file's name.
        where: the table's label in messages.
    """

    cells: tuple[tuple[Cell, ...], ...]
    spans: tuple[Span, ...] = ()
    indents: Mapping[tuple[int, int], int] = field(default_factory=dict)
    heads: frozenset[tuple[int, int]] = frozenset()
    groups: tuple[str, ...] = ()
    bold: frozenset[tuple[int, int]] = frozenset()
    links: frozenset[tuple[int, int]] = frozenset()
    underlined: frozenset[tuple[int, int]] = frozenset()
    name: str | None = None
    where: str = "table"


def check_size(lines: int, columns: int, where: str) -> None:
    """Raise a `TableError` for a table beyond the limits."""
    for count, limit, unit in (
        (lines, MAX_LINES, "lines"),
        (columns, MAX_COLUMNS, "columns"),
        (lines * columns, MAX_CELLS, "cells"),
    ):
        if count > limit:
            raise TableError(f"{where}: {count:,} {unit}; at most {limit:,} are read")


def owners(spans: Iterable[Span]) -> dict[tuple[int, int], Span]:
    """Return the merged cell of each position under one."""
    return {
        (line, column): span
        for span in spans
        for line in range(span.row, span.row + span.rows)
        for column in range(span.column, span.column + span.columns)
    }


def fit(values: Mapping[tuple[int, int], Cell], spans: Iterable[Span], where: str) -> Grid:
    """Return the grid from the first cell of the sheet to the last value or merged cell.

    If merged cells make the grid exceed the limits (a title merged over a row of 16,384 columns),
    they are cut at the last line and column with a value. Text of blanks only, as in the empty
    cells of spreadsheet exports, is an empty cell. Raises `TableError` for an empty table or one
    beyond the limits.
    """
    ordered = tuple(sorted(spans))
    filled = {cell: value for cell, value in values.items() if not _is_blank(value)}
    if not filled:
        raise TableError(f"{where} is empty")
    used_lines = 1 + max(line for line, _ in filled)
    used_columns = 1 + max(column for _, column in filled)
    lines = max([used_lines, *(span.row + span.rows for span in ordered)])
    columns = max([used_columns, *(span.column + span.columns for span in ordered)])
    if lines > MAX_LINES or columns > MAX_COLUMNS or lines * columns > MAX_CELLS:
        lines, columns = used_lines, used_columns
        ordered = _clipped(ordered, lines, columns)
    check_size(lines, columns, where)
    covered = owners(ordered)
    for cell in filled.keys() & covered.keys():
        if cell != covered[cell][:2]:
            del filled[cell]  # spreadsheets keep such values, but do not show them
    cells: list[list[Cell]] = [[""] * columns for _ in range(lines)]
    for (line, column), value in filled.items():
        cells[line][column] = value
    return Grid(tuple(map(tuple, cells)), ordered, where=where)


def _clipped(spans: Iterable[Span], lines: int, columns: int) -> tuple[Span, ...]:
    """Return the parts of merged cells inside a grid, if they cover more than one cell there."""
    inside = (
        span._replace(
            rows=min(span.rows, lines - span.row), columns=min(span.columns, columns - span.column)
        )
        for span in spans
        if span.row < lines and span.column < columns
    )
    return tuple(span for span in inside if span.rows * span.columns > 1)


def _is_blank(value: Cell) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())
