"""Rows of CSV and TSV text, with the separator that fits its lines best."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice

from pytest_tablebench.datasets.folder.workbook import MOST_ROWS
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import counted

MOST_COLUMNS = 16_384
MOST_CELLS = 1_000_000
"""The most cells of a CSV or Parquet table."""

_MOST_CHARACTERS = 1_000_000
"""The longest line that is read, in characters."""

_SAMPLE = 300
"""The number of lines that the separator is chosen from."""

_DECLARED = re.compile(r'"?sep=(?:([^\r\n])|"(.)")"?(?:\r\n|\r|\n|$)', re.IGNORECASE)
"""The first line with which Excel names the separator: `sep=;`."""

_NUMBER = re.compile(r"[-+−(]?[^\w;\t]?\d[\d.,:/'’ \u00a0\u202f-]*[^\w;\t]{0,2}")
"""A number, a date or a time that fills a cell; it contains no separator but the comma."""


def declared_line(text: str) -> str:
    """Return the first line if it names the separator, with its line end; "" otherwise."""
    match = _DECLARED.match(text)
    return match[0] if match else ""


def delimiter_of(text: str) -> str:
    """Return the separator of CSV text: tab, semicolon or comma.

    A first line such as `sep=;` names it. Otherwise it gives most lines the header's number of
    cells, and leaves the digits of numbers in one cell. If two separators fit equally well, the
    comma is part of the texts. A text with none of them is one column.
    """
    match = _DECLARED.match(text)
    if match:
        return match[1] or match[2]
    fits = {delimiter: _fit(text, delimiter) for delimiter in "\t;,"}
    return max(fits, key=fits.__getitem__) if any(map(any, fits.values())) else ","


def _fit(text: str, delimiter: str) -> tuple[float, float]:
    """Return the share of lines with the header's number of cells, first times that of digits.

    The digits are those of whole numbers. Both figures are 0 if the header is a single cell.
    """
    sample = io.StringIO(text[:_MOST_CHARACTERS], newline="")
    rows: list[list[str]] = []
    try:
        rows += (row for row in islice(csv.reader(sample, delimiter=delimiter), _SAMPLE) if row)
    except csv.Error:  # a cell that is too long
        return 0, 0
    if len(text) > _MOST_CHARACTERS and 1 < len(rows) < _SAMPLE:
        rows.pop()  # it may be cut
    if not rows or len(rows[0]) == 1:
        return 0, 0
    lines = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
    cells = [cell.strip() for row in rows[1:] for cell in row]
    digits = sum(map(_digits, cells))
    whole = sum(_digits(cell) for cell in cells if _NUMBER.fullmatch(cell))
    return lines * (whole / digits if digits else 1), lines


def _digits(text: str) -> int:
    return sum(character.isdecimal() for character in text)


def _lines(text: str) -> Iterator[str]:
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        if len(line) > _MOST_CHARACTERS:  # before the reader makes millions of cells from it
            raise DataError(f"line {number}: longer than {_MOST_CHARACTERS:,} characters")
        yield line


def numbered_rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of its last line, cells) of each row; skip blank lines and `sep=;`.

    Raises `DataError` for an unclosed quote, and for a line that is too long.
    """
    lines = _lines(text)
    before = 1 if declared_line(text) else 0
    reader = csv.reader(islice(lines, before, None), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                yield before + reader.line_num, row
    except csv.Error as error:
        raise DataError(f"line {before + reader.line_num}: {error}") from None


def delimited_table(text: str, delimiter: str, name: str) -> Table:
    """Read delimited text with a header line. Raises `DataError` with the number of the line."""
    rows: list[list[str]] = []
    cells = 0
    for line, row in numbered_rows(text, delimiter):
        cells += len(row)
        for count, limit, noun in (
            (len(row), MOST_COLUMNS, "columns"),
            (cells, MOST_CELLS, "cells"),
        ):
            if count > limit:
                raise DataError(
                    f"line {line}: {count:,} {noun} so far; at most {limit:,} are read: keep only "
                    f"what the questions are about"
                )
        if rows and len(row) != len(rows[0]):
            raise DataError(
                f"line {line}: {counted(len(row), 'cell')}, the header has {len(rows[0])}; put "
                f"quotes around a cell that contains the separator, or fill the row"
            )
        rows.append(row)
        if len(rows) > MOST_ROWS + 1:
            raise DataError(
                f"more than {MOST_ROWS:,} rows; no model reads that many: keep only the rows that "
                f"the questions are about"
            )
    if not rows:
        raise DataError("is empty; the first line must be the header")
    return Table(tuple(rows[0]), tuple(map(tuple, rows[1:])), name=name)
