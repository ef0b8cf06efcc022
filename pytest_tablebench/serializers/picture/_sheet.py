"""A table as boxes on a sheet, each with its position, size and kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from pytest_tablebench.errors import TableError
from pytest_tablebench.serializers.picture._fonts import without_marks
from pytest_tablebench.tables.content import Cell, Span
from pytest_tablebench.tables.hierarchy.grid import owners
from pytest_tablebench.tables.hierarchy.paths import indents
from pytest_tablebench.tables.table import Table

Kind = Literal["caption", "head", "label", "section", "cell", "note"]

MOST_CELLS = 20_000
"""The most cells that are drawn: more are not readable, and drawing them takes minutes."""


@dataclass(frozen=True)
class Box:
    """One cell, merged or not.

    Arguments:
        line, column: its upper left position, from 0.
        lines, columns: the numbers of lines and columns that it covers.
        text: the drawn text.
        kind: its kind, which determines its style.
        indent: the indentation level of its text.
    """

    line: int
    column: int
    lines: int
    columns: int
    text: str
    kind: Kind
    indent: int = 0

    @property
    def bold(self) -> bool:
        """Whether its text is in bold type."""
        return self.kind in {"caption", "head", "section"}


@dataclass(frozen=True)
class DrawnSheet:
    """All boxes of a table.

    Arguments:
        boxes: the boxes, sorted by line and column.
        lines, columns: the size of the sheet.
        head: the number of leading lines that are captions and header lines.
        labels: the number of leading columns that name the rows.
    """

    boxes: tuple[Box, ...]
    lines: int
    columns: int
    head: int
    labels: int

    def part(self, lines: list[int], columns: list[int]) -> DrawnSheet:
        """Return a sheet with only some lines and columns.

        A merged cell is cut to them, and keeps its text.
        """
        line_of = {line: place for place, line in enumerate(lines)}
        column_of = {column: place for place, column in enumerate(columns)}
        boxes = []
        for box in self.boxes:
            down = [line_of[n] for n in range(box.line, box.line + box.lines) if n in line_of]
            over = range(box.column, box.column + box.columns)
            across = [column_of[n] for n in over if n in column_of]
            if down and across:
                boxes.append(
                    replace(
                        box, line=down[0], column=across[0], lines=len(down), columns=len(across)
                    )
                )
        return DrawnSheet(tuple(boxes), len(lines), len(columns), self.head, self.labels)


def sheet_of(table: Table) -> DrawnSheet:
    """Return the boxes of a table; short rows are filled with empty cells.

    Raises `TableError` for a table without columns, or too large to draw.
    """
    lines = table.lines
    columns = max(map(len, lines))
    if not columns:
        raise TableError(f"{table.label}: has no columns; serializer 'image' needs at least one")
    if len(lines) * columns > MOST_CELLS:
        raise TableError(
            f"{table.label}: {len(lines)} lines of {columns} cells; as a picture at most "
            f"{MOST_CELLS:,} cells are drawn"
        )
    merged, levels = owners(table.spans), indents(table)
    boxes = []
    for number, line in enumerate(lines):
        column = 0
        while column < columns:
            span = merged.get((number, column), Span(number, column, 1, 1))
            if span.row == number and span.column == column:
                text = _text(line[column]) if column < len(line) else ""
                kind, level = _kind(table, number, column), levels.get((number, column), 0)
                box = Box(number, column, span.rows, span.columns, text, kind, level)
                if span.columns == 1 and box.text and box.kind in {"caption", "section", "note"}:
                    box = replace(box, columns=_free(line, number, column, merged))
                boxes.append(box)
                column += box.columns
            else:
                column += 1
    head = len(table.captions) + len(table.header_rows) + 1
    return DrawnSheet(tuple(boxes), len(lines), columns, head, table.row_headers)


def _free(
    line: tuple[Cell, ...], number: int, column: int, merged: dict[tuple[int, int], Span]
) -> int:
    """Return how many columns a text may cover, as in a spreadsheet: up to the next text."""
    end = column + 1
    while end < len(line) and _text(line[end]) == "" and (number, end) not in merged:
        end += 1
    return end - column


def _text(cell: Cell) -> str:
    return "" if cell is None else without_marks(str(cell)).strip("\n")


def _kind(table: Table, number: int, column: int) -> Kind:
    row = number - len(table.captions) - len(table.header_rows) - 1
    if number < len(table.captions):
        return "caption"
    if row < 0:
        return "head"
    if row >= len(table.rows):
        return "note"
    if row in table.sections:
        return "section"
    return "label" if column < table.row_headers else "cell"
