"""A table as the generator sees it: named columns over entries, in no particular order."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from pytest_tablebench.generate._plan import AmbiguousError
from pytest_tablebench.generate._values import (
    Number,
    answer_text,
    cell_key,
    is_empty,
    parse_number,
)
from pytest_tablebench.tables.table import Cell, Table

_SUMMARY_WORDS = frozenset(
    {"total", "totals", "subtotal", "sum", "mean", "average", "avg", "all", "overall", "combined"}
)
_SUMMARY_SIGNS = ("合计", "总计", "小计", "平均", "均值")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class View:
    """Columns by name over the rows that are not empty.

    Arguments:
        columns: the cells under each name a question can use.
        size: number of entries.
        hidden: the cells under names that cannot stand in a question.
        texts: every name and text cell.
    """

    columns: dict[str, tuple[Cell, ...]]
    size: int
    hidden: tuple[tuple[Cell, ...], ...] = ()
    texts: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: Table) -> View:
        """Read a table; raises `TableError` for ragged rows, `AmbiguousError` for equal names."""
        table.require_rectangular("question generation")
        if any(isinstance(cell, list | tuple | dict) for row in table.rows for cell in row):
            raise AmbiguousError(f"{table.label}: a cell holds a list")
        rows = [row for row in table.rows if not all(is_empty(cell) for cell in row)]
        if any(count > 1 for count in Counter(map(cell_key, table.header)).values()):
            raise AmbiguousError(f"{table.label}: two columns have the same name")
        columns: dict[str, tuple[Cell, ...]] = {}
        hidden = []
        for position, name in enumerate(table.header):
            cells = tuple(row[position] for row in rows)
            if isinstance(name, str) and answer_text(name) is not None:
                columns[name] = cells
            else:
                hidden.append(cells)
        everything = [*table.header, *(cell for row in rows for cell in row)]
        texts = tuple(cell for cell in everything if isinstance(cell, str))
        return cls(columns, len(rows), tuple(hidden), texts)

    def cells(self, column: str) -> tuple[Cell, ...]:
        """Return a column's cells, none of them empty."""
        cells = self.columns[column]
        if any(is_empty(cell) for cell in cells):
            raise AmbiguousError(f"column {column!r} has empty cells")
        return cells

    def labels(self, column: str) -> tuple[str, ...]:
        """Return the cells that name the entries: each there, writable and unlike the others."""
        cells = self.cells(column)
        texts = [answer_text(cell) for cell in cells]
        if len(set(map(cell_key, cells))) != len(cells):
            raise AmbiguousError(f"column {column!r} does not name one entry each")
        if None in texts:
            raise AmbiguousError(f"column {column!r} has cells that cannot stand in an answer")
        return tuple(text for text in texts if text is not None)

    def index(self, label: str, name: str) -> int:
        """Return the position of the entry called `name`."""
        labels = self.labels(label)
        if labels.count(name) != 1:
            raise AmbiguousError(f"{name!r} is not the name of one entry in column {label!r}")
        return labels.index(name)

    def numbers(self, column: str) -> tuple[Number, ...]:
        """Return a numeric column's numbers: every cell parses and all have one unit."""
        numbers = [parse_number(cell) for cell in self.cells(column)]
        found = tuple(number for number in numbers if number is not None)
        if not found or len(found) != len(numbers):
            raise AmbiguousError(f"column {column!r} is not numeric")
        if len({number.form for number in found}) > 1:
            raise AmbiguousError(f"column {column!r} mixes units")
        return found

    def ranks(self, column: str) -> tuple[Decimal | date, ...]:
        """Return what entries are ordered by: numbers or ISO dates."""
        if self.is_dated(column):
            return tuple(date.fromisoformat(cell) for cell in self.cells(column))
        return tuple(number.value for number in self.numbers(column))

    def is_dated(self, column: str) -> bool:
        """Tell whether every cell is an ISO date."""
        for cell in self.columns[column]:
            if not isinstance(cell, str) or not _DATE.fullmatch(cell):
                return False
            try:
                date.fromisoformat(cell)
            except ValueError:
                return False
        return self.size > 0

    def is_numeric(self, column: str) -> bool:
        """Tell whether `numbers` can be had."""
        try:
            self.numbers(column)
        except AmbiguousError:
            return False
        return True


def has_summary(view: View) -> bool:
    """Tell whether a row or column sums up others, by its label (spec: treb.md section 6).

    Any text counts as a label, since nothing says which column holds them; rejecting a
    table too many costs a few questions, a total counted as an entry makes them wrong.
    """
    return any(is_summary(text) for text in view.texts)


def is_summary(text: str) -> bool:
    """Tell whether a short text says that something is summed up."""
    words = re.findall(r"[^\W\d_]+", text.casefold())
    if any(sign in text for sign in _SUMMARY_SIGNS):
        return True
    return len(words) <= 4 and any(word in _SUMMARY_WORDS for word in words)
