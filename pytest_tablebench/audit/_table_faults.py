"""Evidence of the table itself: totals that differ from the sum of their rows, broken tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pytest_tablebench.audit._ballots import AuditedExample
from pytest_tablebench.audit.suspects import Evidence
from pytest_tablebench.metrics.normal_form import decimals_of, number_in, shown_number, words_of
from pytest_tablebench.models.lexical.rules import cell_number
from pytest_tablebench.tables.table import Table

_TOTAL_WEIGHT = 0.5
_TOTAL_WORDS = frozenset({"total", "sum"})
_ASKED_WORDS = frozenset({"total", "sum", "combined", "altogether", "together", "overall", "all"})
_FEWEST_PARTS = 3

Line = Sequence[Any]


@dataclass(frozen=True)
class UnequalTotal:
    """A total of the table, and the sum of its parts."""

    heading: str
    total: Fraction
    parts_sum: Fraction

    @property
    def sentence(self) -> str:
        """Both values in words."""
        return (
            f"the table's total of {self.heading} is {shown_number(self.total)}, the sum of its "
            f"parts is {shown_number(self.parts_sum)}"
        )


def totals(example: AuditedExample) -> Iterator[Evidence]:
    """Yield such a total if the gold is one of its values, or if the question asks for it.

    Only a total that is close to the sum counts, because otherwise the rows may not be its parts.
    """
    gold = number_in(example.gold_text)
    words = set(words_of(example.example.question))
    asks = not _ASKED_WORDS.isdisjoint(words)
    for table in example.tables:
        for unequal in unequal_totals(table):
            is_gold = gold in (unequal.total, unequal.parts_sum)
            if is_gold or (asks and words.issuperset(words_of(unequal.heading))):
                yield Evidence("derivation", unequal.sentence, None, _TOTAL_WEIGHT)
                return


def unequal_totals(table: Table) -> Iterator[UnequalTotal]:
    """Yield the totals of columns and of rows that are close to their sums, but not equal."""
    lines = [line for line in table.lines if any(map(_text, line))]
    rows = [row for row in table.rows if any(map(_text, row))]
    if len(rows) <= _FEWEST_PARTS or any(len(line) != len(table.header) for line in lines):
        return
    yield from _totals_of_columns(rows, table.header)
    yield from _totals_of_rows(lines)


def _text(cell: Any) -> str:
    return "" if cell is None else " ".join(str(cell).split())


def _is_total(cell: Any) -> bool:
    words = words_of(_text(cell))
    return len(words) <= _FEWEST_PARTS and not _TOTAL_WORDS.isdisjoint(words)


def _totals_of_columns(lines: Sequence[Line], header: Line) -> Iterator[UnequalTotal]:
    """Yield the totals in the last line, of all lines with a label and a number."""
    *above, last = lines
    if not _is_total(last[0]) or any(_is_total(line[0]) for line in above):
        return  # with subtotals the lines are not the parts
    for column, heading in enumerate(header):
        labelled = [line[column] for line in above if _text(line[0])]
        parts = [cell for cell in labelled if number_in(_text(cell)) is not None]
        if len(parts) < len(labelled) - 1:  # only the header may be without a number
            continue
        unequal = _unequal(_text(heading) or f"column {column + 1}", last[column], parts)
        if unequal is not None:
            yield unequal


def _totals_of_rows(lines: Sequence[Line]) -> Iterator[UnequalTotal]:
    """Yield the totals in columns that a header line calls so, of the columns before them."""
    heads = (number for number, line in enumerate(lines) if any(map(_is_total, line[2:])))
    head = next(heads, None)
    if head is None:
        return
    columns = [column for column, cell in enumerate(lines[head]) if column and _is_total(cell)]
    starts = [0, *columns[:-1]]
    for line in lines[head + 1 :]:
        for start, column in zip(starts, columns, strict=True):
            parts = line[start + 1 : column]
            unequal = _unequal(_text(line[0]), line[column], parts)
            if unequal is not None:
                yield unequal


def _unequal(heading: str, total: Any, parts: Sequence[Any]) -> UnequalTotal | None:
    """Return a total and the sum of its parts if they are close but not equal."""
    number, numbers = number_in(_text(total)), [number_in(_text(part)) for part in parts]
    values = [value for value in numbers if value is not None]
    if number is None or len(values) < max(len(parts), _FEWEST_PARTS) or not heading:
        return None
    if len({"%" in _text(cell) for cell in (*parts, total)}) > 1:
        return None  # shares between amounts are no parts of their sum
    parts_sum = sum(values, Fraction())
    # Parts that are rounded one by one move their sum by at most half a unit each.
    places = max(decimals_of(_text(cell)) for cell in (*parts, total))
    room = Fraction(len(parts) + 1, 2 * 10**places)
    if not 0 < abs(number - parts_sum) <= max(room, abs(number) / 100):
        return None
    return UnequalTotal(heading, number, parts_sum)


_FAULT_WEIGHT = 0.8
_FEWEST_ROWS = 4
_MOST = 0.7
"""The share of a column's cells that makes it numeric, or a column of text."""


def broken_tables(example: AuditedExample) -> Iterator[Evidence]:
    """Yield the first fault of the example's flat tables."""
    for table in example.tables:
        fault = None if table.is_structured else fault_of(table)
        if fault is not None:
            yield Evidence("table", fault, None, _FAULT_WEIGHT)
            return


def fault_of(table: Table) -> str | None:
    """Return a sentence about the first fault of a table, None without any."""
    header = [_text(cell) for cell in table.header]
    if len(table.rows) < _FEWEST_ROWS or len(header) < 2:
        return None
    return _second_header(header, table.rows) or _shifted(header, table.rows) or _nameless(header)


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
