"""Totals in the table that differ from the sum of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pytest_tablebench.audit.ballots import AuditedExample
from pytest_tablebench.audit.suspects import AnswerGroup, Evidence
from pytest_tablebench.metrics.normal_form import decimals_of, number_in, shown_number, words_of
from pytest_tablebench.tables.table import Table

_WEIGHT = 0.5
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


def totals(
    example: AuditedExample,
    groups: Sequence[AnswerGroup],  # noqa: ARG001 - all reasons have one signature
) -> Iterator[Evidence]:
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
                yield Evidence("derivation", unequal.sentence, None, _WEIGHT)
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
