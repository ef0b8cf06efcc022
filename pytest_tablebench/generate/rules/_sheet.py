"""A table for questions: its columns by use, read once."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property

from pytest_tablebench.generate.pair import (
    ParsedNumber,
    RejectedError,
    answer_text,
    cell_key,
    is_empty,
    is_summary,
    parse_number,
)
from pytest_tablebench.generate.question_maker import data_file
from pytest_tablebench.metrics.typed_columns import column_format
from pytest_tablebench.tables.table import Table

_FEWEST_ROWS, _FEWEST_COLUMNS = 3, 2
_LONGEST = 100_000
"""Characters of the longest table; about the most that models read with their prompt."""
_MOST_GROUPS = 12
_YEARS = range(1500, 2101)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


@dataclass(frozen=True)
class Numbers:
    """A numeric column: values, their unit, and the decimals of the longest cell."""

    values: tuple[Decimal, ...]
    unit: str
    decimals: int


@dataclass(frozen=True)
class ParsedSheet:
    """A rectangular table of text cells, none of them empty.

    Arguments:
        table: from the dataset's reader.
        digest: of its content.
        cells: the columns that a question can name, by heading, in their order.
        numbers: the numeric ones among them.
        label: the column that names the entries; "" without one.
    """

    table: Table
    digest: str
    cells: dict[str, tuple[str, ...]]
    numbers: dict[str, Numbers]
    label: str

    @classmethod
    def of(cls, table: Table) -> ParsedSheet:
        """Read a table. Raises `RejectedError` (filters of spec: treb.md section 6.1)."""
        names = [answer_text(name) for name in table.header]
        if any(len(row) != len(table.header) for row in table.rows):
            raise RejectedError("rows of unequal length")
        if len(table.rows) < _FEWEST_ROWS or len(table.header) < _FEWEST_COLUMNS:
            raise RejectedError("too small")
        texts = [str(cell) for row in (table.header, *table.rows) for cell in row]
        if sum(map(len, texts)) + 9 * len(texts) > _LONGEST:
            raise RejectedError("too long")
        if any(is_empty(cell) for row in (table.header, *table.rows) for cell in row):
            raise RejectedError("missing values")
        if len({cell_key(name) for name in table.header}) < len(table.header):
            raise RejectedError("two columns with one name")
        if any(map(is_summary, texts)):
            raise RejectedError("summary row or column")
        columns = zip(*table.rows, strict=True)
        cells = {name: cs for name, cs in zip(names, columns, strict=True) if name is not None}
        numbers = {
            name: numeric
            for name in cells
            if not _has_other_signs(name, cells) and (numeric := _numbers(cells[name])) is not None
        }
        if not numbers:
            raise RejectedError("no numeric column")
        content = "\0".join(texts).encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(b"%d\0" % len(table.header) + content).hexdigest()[:16]
        label = next((name for name in cells if _names(cells[name]) and name not in numbers), "")
        return cls(table, digest, cells, numbers, label)

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.table.rows)

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """Numeric columns with measurements: no years, no identifiers."""
        return tuple(
            name
            for name, numbers in self.numbers.items()
            if not _says(name, "identifiers") and not _are_years(numbers)
        )

    @cached_property
    def summed(self) -> tuple[str, ...]:
        """Measures whose sum is meaningful."""
        units = data_file("rules/words.toml")["units_not_summed"]
        return tuple(
            name
            for name in self.measures
            if not _says(name, "not_summed")
            if (unit := self.numbers[name].unit) not in units and "/" not in unit
        )

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Text columns with repeated values; each is a way to group the entries."""
        return tuple(
            name
            for name, cells in self.cells.items()
            if name not in self.numbers and name != self.label
            if 1 < len(set(cells)) <= min(_MOST_GROUPS, len(cells) - 1)
            if len(set(map(cell_key, cells))) == len(set(cells))
            if all(answer_text(cell) is not None for cell in set(cells))
        )

    @cached_property
    def counts(self) -> Counter[tuple[str, ...]]:
        """The number of occurrences of each value in the table, including headings."""
        return Counter(cell_key(cell) for line in self.table.lines for cell in line)

    @cached_property
    def rows_by_name(self) -> dict[str, int]:
        """The row of each entry's name."""
        return {name: row for row, name in enumerate(self.cells[self.label])} if self.label else {}


def _has_other_signs(name: str, columns: Mapping[str, tuple[str, ...]]) -> bool:
    """Return whether a column has numbers with a decimal comma, or with a sign of unknown meaning.

    Its numbers are not computed with, because questions and answers have decimal points.
    """
    written = column_format([columns[name]], [columns[other] for other in columns if other != name])
    is_usual = written.decimal == "." and not written.is_open
    return not is_usual and any(sign in cell for cell in columns[name] for sign in ".,")


def _numbers(cells: tuple[str, ...]) -> Numbers | None:
    """Return a column as numbers; None unless each cell is a number with the same unit."""
    numbers: list[ParsedNumber] = []
    for cell in cells:
        number = parse_number(cell)
        if number is None or (numbers and number.form != numbers[0].form):
            return None
        numbers.append(number)
    unit = " ".join(part for part in map(str.strip, numbers[0].form) if part)
    return Numbers(tuple(n.value for n in numbers), unit, max(n.decimals for n in numbers))


def _names(cells: tuple[str, ...]) -> bool:
    """Return whether the cells are distinct names: unambiguous, and no dates or numbers."""
    if any(answer_text(cell) is None or parse_number(cell) is not None for cell in cells):
        return False
    if all(_is_date(cell) for cell in cells):
        return False
    return len(set(map(cell_key, cells))) == len(cells)


def _is_date(cell: str) -> bool:
    if not _DATE.fullmatch(cell):
        return False
    try:
        date.fromisoformat(cell)
    except ValueError:
        return False
    return True


def _says(name: str, kind: str) -> bool:
    """Return whether a heading contains a word of a list, in either language."""
    words = data_file("rules/words.toml")
    heading_words = set(re.findall(r"[^\W\d_]+", name.casefold()))
    return bool(heading_words & set(words[kind])) or any(
        word in name for word in words[f"{kind}_zh"]
    )


def _are_years(numbers: Numbers) -> bool:
    plain = not numbers.unit and not numbers.decimals
    return plain and all(int(value) in _YEARS for value in numbers.values)
