"""Rows of CSV and TSV text, with the separator that fits its lines best."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice

from pytest_tablebench.datasets.folder._parts import FileLines, place_of
from pytest_tablebench.datasets.folder.workbook import MOST_ROWS
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_part import MOST_TITLES, Area
from pytest_tablebench.util.names import counted

MOST_COLUMNS = 16_384
MOST_CELLS = 20_000_000
"""The most cells of a CSV or Parquet table."""

_MOST_CHARACTERS = 1_000_000
"""The longest line that is read, in characters."""

_SAMPLE = 300
"""The number of lines that the separator is chosen from."""

_DECLARED = re.compile(r'("?)sep=([^\r\n"])\1 *(?:\r\n|\r|\n|$)', re.IGNORECASE)
"""The first line with which Excel names the separator: `sep=;`."""

_NUMBER = re.compile(
    r"[^\d;\t,]{0,4}"
    r"(?:\d{1,3}(?:[.,'’ \u00a0\u202f]\d{3})+(?:[.,]\d+)?|\d+(?:[.,]\d+)?"
    r"|\d{1,4}(?:[-/.:]\d{1,4}){1,2}(?:[T ]\d{1,2}:\d\d(?::\d\d)?)?)"
    r"[^\d;\t,]{0,6}"
)
"""A number, date or time that fills a cell, with a short unit."""


def declared_line(text: str) -> str:
    """Return the first line if it names the separator, with its line end; "" otherwise."""
    match = _DECLARED.match(text)
    return match[0] if match else ""


def delimiter_of(text: str, first: int = 1) -> str:
    """Return the separator of CSV text from its `first` row on: tab, semicolon or comma.

    A first line such as `sep=;` names it. Otherwise it gives most lines the header's number of
    cells, and leaves the digits of numbers in one cell. If two separators fit equally well, the
    comma is part of the texts. A text with none of them is one column.
    """
    match = _DECLARED.match(text)
    if match:
        return match[2]
    fits = {delimiter: _fit(text, delimiter, first) for delimiter in "\t;,"}
    return max(fits, key=fits.__getitem__) if any(map(any, fits.values())) else ","


def _fit(text: str, delimiter: str, first: int) -> tuple[float, float]:
    """Return the share of lines with the header's number of cells, first times that of digits.

    The digits are those of whole numbers. Both figures are 0 if the header is a single cell.
    """
    sample = io.StringIO(text[:_MOST_CHARACTERS], newline="")
    rows: list[list[str]] = []
    try:
        reader = csv.reader(sample, delimiter=delimiter)
        rows += (row for row in islice(reader, first - 1, first - 1 + _SAMPLE) if row)
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
    return ((line, row) for line, row in _all_rows(text, delimiter) if row)


def _all_rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield rows as `numbered_rows`, and a row without cells for each blank line."""
    lines = _lines(text)
    before = 1 if declared_line(text) else 0
    reader = csv.reader(islice(lines, before, None), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            yield before + reader.line_num, row
    except csv.Error as error:
        raise DataError(f"line {before + reader.line_num}: {error}") from None


class DelimitedText:
    """The rows of delimited text, numbered as a spreadsheet program shows them.

    Arguments:
        text: the text; its first row is the header.
        delimiter: its separator.

    Raises `DataError` with the number of a line, for text without rows or beyond the limits.

    Attributes:
        lines: the rows; blank lines between two rows are one empty row.
    """

    def __init__(self, text: str, delimiter: str) -> None:
        rows: list[list[str]] = []
        numbers: list[int] = []
        self._text_lines: list[int] = []
        cells = width = filled = 0
        for number, (line, row) in enumerate(_all_rows(text, delimiter), start=1):
            if not row and not (rows and rows[-1]):
                continue
            cells, width, filled = cells + len(row), max(width, len(row)), filled + bool(row)
            _check_size(line, len(row), cells)
            if filled > MOST_ROWS + 1:
                raise DataError(
                    f"more than {MOST_ROWS:,} rows are not read: keep only the rows "
                    f"that the questions are about"
                )
            rows.append(row)
            numbers.append(number)
            self._text_lines.append(line)
        if not rows:
            raise DataError("is empty; the first line must be the header")
        self.lines = FileLines(rows, numbers, range(1, width + 1))

    def table(self, name: str, *, area: Area | None = None, key: str = "") -> Table:
        """Return an area, or all rows, as a table; `key` names the file in settings.

        Raises `DataError` with the number of a line of another length.
        """
        numbered = list(zip(self._text_lines, self.lines.rows, self.lines.lines, strict=True))
        if area is not None:
            numbered = numbered[area.top : area.bottom + 1]
            columns = slice(area.left, area.right + 1)
            numbered = [(line, number, row[columns]) for line, number, row in numbered]
        (_, first, header), *others = [each for each in numbered if each[2]]
        for line, number, row in others:
            if len(row) != len(header):
                is_title = key and len(header) < len(row) and number <= first + MOST_TITLES
                hint = f"; if titles are above it, header_row = {number} {place_of(key)}"
                raise DataError(
                    f"line {line}: {counted(len(row), 'cell')}, the header has {len(header)}; put "
                    f"quotes around a cell that contains the separator, or fill the row"
                    f"{hint if is_title else ''}"
                )
        return Table(header, [row for _, _, row in others], name=name)


def _check_size(line: int, columns: int, cells: int) -> None:
    for count, limit, noun in ((columns, MOST_COLUMNS, "columns"), (cells, MOST_CELLS, "cells")):
        if count > limit:
            raise DataError(
                f"line {line}: {count:,} {noun} so far; at most {limit:,} are read: keep only what "
                f"the questions are about"
            )
