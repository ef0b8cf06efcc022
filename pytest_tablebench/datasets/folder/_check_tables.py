"""Check of a table for mistakes in its header and its cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_tablebench.metrics.typed_answer import answer_kind
from pytest_tablebench.tables.hierarchy.paths import plain
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import counted, shortened

_ERRORS = frozenset(
    ("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!")
)
"""The values that spreadsheet programs show for failed formulas."""

_MOST_CHARACTERS = 32_767
"""The most characters in a cell of an Excel workbook; a longer cell is probably a mistake."""

_CONTEXT = 128_000
"""The context window of most models, in tokens."""
_TAGS, _PER_TOKEN = 9, 4
"""The approximate number of characters of the tags around an HTML cell, and of a token."""
_SLASHES = re.compile(r"\s*(\d{1,2})[/-](\d{1,2})[/-]\d{4}\b.{0,20}")


def _of_cells(table: Table) -> Iterator[tuple[int | None, str, str]]:
    """Yield (row, field, message) for cells that are probably misread or ambiguous."""
    if len(table.header) == 1 and "|" in str(table.header[0]):
        yield 1, "separator", "looks separated by |; write the file with commas"
    for number, row in enumerate(table.rows, start=2):
        for index, cell in enumerate(row):
            if isinstance(cell, str) and len(cell) > _MOST_CHARACTERS:
                name = str(table.header[index]) if index < len(table.header) else ""
                yield (
                    number,
                    shortened(name, 40) or f"column {index + 1}",
                    f"has a cell of {len(cell):,} characters; was a quote left open?",
                )
    for index, name in enumerate(table.header):
        column = [row[index] for row in table.rows if index < len(row)]
        example = ambiguous_date(column)
        if example is not None:
            yield (
                None,
                shortened(str(name), 40) or f"column {index + 1}",
                f"dates such as {example!r} can be read in two ways; write them as 2024-05-03",
            )


def ambiguous_date(column: Sequence[Any]) -> str | None:
    """Return the first date of a column whose day and month could be swapped.

    Return None if there is none, or if another date of the column shows which part is the day.
    """
    example = None
    for cell in column:
        match = _SLASHES.fullmatch(cell) if isinstance(cell, str) and len(cell) < 40 else None
        if match is None:
            continue
        first, second = int(match[1]), int(match[2])
        if first > 12 or second > 12:
            return None
        if first != second and example is None:
            example = cell.strip()
    return example


def is_number(value: Any) -> bool:
    """Return whether a cell is a number, or the text of one."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return True
    if value in _ERRORS:  # a number whose formula failed
        return True
    return isinstance(value, str) and any(
        answer_kind([value], decimal=decimal) == "number" for decimal in ".,"
    )


def column_of(table: Table, index: int) -> list[Any]:
    """Return the cells of a column that are not blank."""
    cells = [row[index] for row in table.rows if index < len(row)]
    return [cell for cell in cells if plain(cell)]


def of_table(table: Table) -> Iterator[tuple[int | None, str, str]]:
    """Yield (row, field, message) for each mistake in a table; the header is row 1."""
    yield from _of_shape(table)
    yield from _of_cells(table)


def _of_shape(table: Table) -> Iterator[tuple[int | None, str, str]]:
    if not table.rows:
        yield None, "table", "has a header and no row; was the header left out?"
        return
    if not table.is_structured:
        yield from _of_header(table)
    sizes = [len(str(cell)) + _TAGS for row in table.rows for cell in row]
    tokens = sum(sizes) // _PER_TOKEN
    if tokens > _CONTEXT:
        yield (
            None,
            "table",
            f"is about {counted(tokens, 'token')} long as HTML, and most models read at most "
            f"{_CONTEXT:,}; keep only the rows and columns that the questions are about, or ask "
            "with --bench-strategy=tools",
        )


def _of_header(table: Table) -> Iterator[tuple[int | None, str, str]]:
    """Yield (row, field, message) for each mistake in a table's only header line."""
    if _has_two_headers(table):
        yield 2, "row", "looks like a second header; keep one, with names like `Sales 2024`"
    names = Counter(plain(name) for name in table.header)
    for index, name in enumerate(table.header, start=1):
        if not plain(name):
            yield 1, f"column {index}", "has no name; a question cannot ask for it: give it one"
        elif names.pop(plain(name), 0) > 1:
            label = shortened(str(name), 40)
            yield 1, label, "is the name of several columns; give each its own"


def _has_two_headers(table: Table) -> bool:
    """Return whether the first row has no numbers, and a name above a column of numbers."""
    first = table.rows[0]
    if len(table.rows) < 2 or any(is_number(cell) for cell in first):
        return False
    for index, cell in enumerate(first):
        below = [other for other in (row[index] for row in table.rows[1:]) if plain(other)]
        if re.search(r"[a-z]", plain(cell)) and below and all(map(is_number, below)):
            return True
    return False
