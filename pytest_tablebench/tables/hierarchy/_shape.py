"""Properties of a grid's cells and lines that show its structure."""

from __future__ import annotations

import re

from pytest_tablebench.tables.content import Cell, Span
from pytest_tablebench.tables.hierarchy.grid import Grid, owners

_NUMBER = re.compile(r"[-+−(<>~]?\s?[£$€]?\s?[-+]?\d[\d.,:/\s-]*[%)*]*")
_YEAR = re.compile(r"(18|19|20|21)\d\d([/-]\d\d(\d\d)?)?")
_PERIOD = re.compile(
    r"q[1-4]|[1-4](?:st|nd|rd|th) quarter|(?:first|second|third|fourth) quarter"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]{0,6}\.?",
    re.IGNORECASE,
)
_NO_VALUE = frozenset({"-", "–", "—", ".", "..", ". .", "...", ":", "n/a", "NA"})


def is_numeric(cell: object) -> bool:
    """Return whether a cell is a number, the text of one, or a mark for a missing number."""
    if isinstance(cell, str):
        text = cell.strip()
        return text in _NO_VALUE or (len(text) < 40 and _NUMBER.fullmatch(text) is not None)
    return isinstance(cell, int | float)


def is_year(cell: object) -> bool:
    """Return whether a cell is a year, or two as in 2005/06; headers often are."""
    return _YEAR.fullmatch(str(cell).strip()) is not None


def is_period(cell: object) -> bool:
    """Return whether a cell is a part of a year: a quarter or a month in English."""
    return _PERIOD.fullmatch(str(cell).strip()) is not None


_PARAMETER = re.compile(r"[^:=]{1,80}(?::\s+|\s?=\s?)\S.{0,200}", re.DOTALL)


class Shape:
    """A grid, and the columns where the texts of each line begin."""

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        self.lines = [
            [column for column, cell in enumerate(line) if cell != ""] for line in grid.cells
        ]
        self.width = len(grid.cells[0])
        self.left = min(columns[0] for columns in self.lines if columns)
        self._owners = owners(grid.spans)
        self._merged: dict[int, list[Span]] = {}
        for span in grid.spans:
            self._merged.setdefault(span.row, []).append(span)

    def cell(self, line: int, column: int) -> Cell:
        """Return the cell at a position, or the text of the merged cell that covers it."""
        span = self._owners.get((line, column))
        return self.grid.cells[span.row][span.column] if span else self.grid.cells[line][column]

    def owner(self, line: int, column: int) -> Span | None:
        """Return the merged cell that covers a position, or None."""
        return self._owners.get((line, column))

    def is_filled(self, line: int, column: int) -> bool:
        """Return whether a position has a text, or a merged cell with a text covers it."""
        return bool(self.cell(line, column) != "")

    def is_covered(self, line: int, column: int) -> bool:
        """Return whether a merged cell from a line above covers a position."""
        span = self._owners.get((line, column))
        return span is not None and span.row < line

    def merged_in(self, line: int) -> list[Span]:
        """Return the merged cells with a text that begin in a line."""
        return [
            span
            for span in self._merged.get(line, ())
            if self.grid.cells[span.row][span.column] != ""
        ]

    def extent(self, line: int) -> int:
        """Return the number of columns from the left edge to the end of the last text."""
        if not self.lines[line]:
            return 0
        last = self.lines[line][-1]
        span = self._owners.get((line, last))
        return last + (span.columns if span else 1) - self.left

    def fills(self, line: int) -> bool:
        """Return whether the first text of a line covers the whole width."""
        span = self._owners.get((line, self.lines[line][0]))
        return span is not None and bool(span.columns == self.width - self.left)

    def is_label(self, line: int) -> bool:
        """Return whether a line has only one text, at the left edge, that covers no other line."""
        if len(self.lines[line]) != 1 or self.lines[line][0] != self.left:
            return False
        span = self._owners.get((line, self.left))
        return span is None or (span.rows == 1 and span.row == line)

    def is_banner(self, line: int) -> bool:
        """Return whether a line has only one text, merged over columns up to the right edge."""
        if len(self.lines[line]) != 1:
            return False
        span = self._owners.get((line, self.lines[line][0]))
        return (
            span is not None
            and span.rows == 1
            and span.columns > 1
            and span.column > self.left
            and span.column + span.columns == self.width
            and not is_numeric(self.cell(line, span.column))
        )

    def is_words(self, line: int) -> bool:
        """Return whether a line has several texts, and no numbers except years."""
        cells = [self.cell(line, column) for column in self.lines[line]]
        return len(cells) > 1 and all(not is_numeric(cell) or is_year(cell) for cell in cells)

    def is_bold(self, line: int) -> bool:
        """Return whether all texts of a line are in bold type."""
        return self._are_all(line, self.grid.bold)

    def is_underlined(self, line: int) -> bool:
        """Return whether all texts of a line have a border below."""
        return self._are_all(line, self.grid.underlined)

    def _are_all(self, line: int, positions: frozenset[tuple[int, int]]) -> bool:
        places = self.lines[line]
        return bool(places) and all((line, column) in positions for column in places)

    def is_navigation(self, line: int) -> bool:
        """Return whether all texts of a line are links, and no values follow directly below."""
        below = self.lines[line + 1 : line + 2]
        has_no_values = below == [[]] or (len(below) == 1 and self.is_words(line + 1))
        return has_no_values and self._are_all(line, self.grid.links)

    def is_parameters(self, line: int) -> bool:
        """Return whether a line is names with values: `Year: | 2020 | Unit: | kg`, or `Year: 2020`.

        A name ends in a colon or an equals sign, and the next text of the line is its value.
        """
        cells = [str(self.cell(line, column)).strip() for column in self.lines[line]]
        if len(cells) < 2:
            return False
        pairs = list(zip(cells[::2], cells[1::2], strict=False))
        ends = (":", "=", "：")
        paired = len(cells) % 2 == 0 and all(
            name.endswith(ends) and not value.endswith(ends) for name, value in pairs
        )
        return paired or all(_PARAMETER.fullmatch(cell) for cell in cells)

    def is_named_row(self, line: int) -> bool:
        """Return whether the file marks a line's label as a header of only this row."""
        return (line, self.left) in self.grid.heads and not self.fills(line)

    def is_head_line(self, line: int) -> bool:
        """Return whether the file marks all cells of a line, more than one, as headers.

        If the table has a `<thead>`, only its lines can be header lines.
        """
        if "thead" in self.grid.groups and self.grid.groups[line] != "thead":
            return False
        corner = self.owner(line, 0)
        fills = corner is not None and corner.columns == self.width
        return self.leading_heads(line) == self.width and not fills

    def leading_heads(self, line: int) -> int:
        """Return how many leading positions of a line the file marks as headers."""
        count = 0
        while count < self.width:
            span = self._owners.get((line, count))
            cell = (span.row, span.column) if span else (line, count)
            if cell not in self.grid.heads:
                break
            count += 1
        return count
