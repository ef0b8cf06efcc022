"""Lines of text files and HTML pages, and the part of them that is sent as a table."""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path

from pytest_tablebench.datasets.folder.workbook import MOST_ROWS
from pytest_tablebench.errors import DataError, TableError
from pytest_tablebench.tables.hierarchy.paths import one_line
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_part import (
    MOST_TITLES,
    Area,
    Lines,
    TablePart,
    area_of,
    column_letters,
    header_line,
    labelled_area,
    tables_in,
)
from pytest_tablebench.tables.text_files import decode
from pytest_tablebench.util.names import counted, shortened

MOST_BYTES = 1 << 30
"""The largest file that is read, in bytes."""


def read_text(path: Path, encoding: str = "") -> tuple[str, str | None]:
    """Return a file's text, and the name of its encoding, None for UTF-8; see `decode`.

    Raises `DataError` for a file that cannot be read or is not text.
    """
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(f"larger than {MOST_BYTES >> 20} MB")
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}") from None
    try:
        is_html = path.suffix.lower() in {".html", ".htm"}
        return decode(data, is_html=is_html, encoding=encoding)
    except TableError as error:
        raise DataError(str(error)) from None


@dataclass(frozen=True)
class FileLines:
    """The lines of a table file.

    Arguments:
        lines: the cells of each line.
        rows: the number of each line in the file, from 1, in rising order.
        columns: the number of each column in the file, from 1, in rising order.
    """

    lines: Lines
    rows: Sequence[int]
    columns: Sequence[int]

    def area(self, part: TablePart) -> Area | None:
        """Return the lines and columns that a setting chooses; None for all of them.

        Raises `DataError` if the file has no such part.
        """
        if part == TablePart():
            return None
        area = Area(0, 0, len(self.rows) - 1, len(self.columns) - 1)
        if part.range:
            area = self._of_range(part.range)
        elif part.table:
            areas = tables_in(self.lines)
            if part.table > len(areas):
                raise DataError(f"table = {part.table}: has {counted(len(areas), 'table')}")
            area = areas[part.table - 1]
        if part.header_row:
            top = max(area.top, bisect_left(self.rows, part.header_row))
            if top > area.bottom:
                raise DataError(f"header_row = {part.header_row}: no row from there on to send")
            area = area._replace(top=top)
        return area

    def _of_range(self, text: str) -> Area:
        area = area_of(text)
        if area is None or area.bottom >= self.rows[-1] or area.right >= self.columns[-1]:
            raise DataError(
                f"range = {shortened(text, 40)!r} is beyond the last cell, "
                f"{column_letters(self.columns[-1] - 1)}{self.rows[-1]}"
            )
        inside = Area(
            bisect_left(self.rows, area.top + 1),
            bisect_left(self.columns, area.left + 1),
            bisect_right(self.rows, area.bottom + 1) - 1,
            bisect_right(self.columns, area.right + 1) - 1,
        )
        if inside.top > inside.bottom or inside.left > inside.right:
            raise DataError(f"range = {shortened(text, 40)!r} has only hidden cells")
        return inside

    def range_of(self, area: Area) -> str:
        """Return an area as a spreadsheet program writes it: `B4:F20`."""
        first = f"{column_letters(self.columns[area.left] - 1)}{self.rows[area.top]}"
        return f"{first}:{column_letters(self.columns[area.right] - 1)}{self.rows[area.bottom]}"

    def remarks(
        self, key: str, *, is_page: bool = False, has_captions: bool = False
    ) -> Iterator[str]:
        """Yield a remark for several tables, titles and labels, with the setting that leaves them.

        `key` names the file in the settings. A page counts its `<table>` elements, so its blocks
        have ranges only. A table with captions has its titles there.
        """
        where = place_of(key)
        areas = tables_in(self.lines)
        if len(areas) > 1:
            ranges = [self.range_of(area) for area in areas]
            more = f" and {len(ranges) - 4} more" if len(ranges) > 4 else ""
            setting = "" if is_page else "table = 2 or "
            yield (
                f"{len(areas)} tables ({', '.join(ranges[:4])}{more}) are sent as one; {setting}"
                f'range = "{ranges[1]}" {where} sends the second alone'
            )
        labels = labelled_area(self.lines)
        title = 0 if has_captions else header_line(self.lines)
        if labels is not None:
            noun = "row" if labels.left == 0 else "row and column"
            yield (
                f"the first {noun} look like the labels of a spreadsheet program and are sent; "
                f'range = "{self.range_of(labels)}" {where} leaves them out'
            )
        elif title and len(areas) < 2:
            text = next((text for text in map(one_line, self.lines[0]) if text), "")
            yield (
                f"{shortened(text, 40)!r} in row {self.rows[0]} looks like a title and is sent as "
                f"the header; header_row = {self.rows[title]} {where} takes the names below it"
            )


def place_of(key: str) -> str:
    """Return where the settings of a file are, for messages."""
    return f'under [tables."{shortened(key, 80)}"] in tablebench.toml'


def part_of(parts: Mapping[str, TablePart], *names: str) -> tuple[str, TablePart]:
    """Return the setting of a table with its key: by one of its names, else by a pattern."""
    for name in names:
        if name in parts:
            return name, parts[name]
    for pattern, part in parts.items():
        if any(fnmatchcase(name, pattern) for name in names):
            return pattern, part
    return "", TablePart()


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


_MARK = re.compile(r"<!--|-->|<(/?)(table|script|style|template|noscript)(?![\w-])", re.IGNORECASE)
_MOST_READ = 3
"""The most tables of a page that are read for a remark."""
_LONGEST_PAGE = 1_000_000
"""The longest page whose other tables are read for a remark, in characters."""


def page_remarks(text: str, table: Table, key: str) -> Iterator[str]:
    """Yield remarks on a page whose first table is sent, with the settings that send others."""
    where = place_of(key)
    others = _outer_tables(text)[1:]
    if others and len(text) > _LONGEST_PAGE:
        count = counted(len(others), "table")
        yield (
            f"has {count} after the first, which is sent; table = {others[0] + 1} {where} sends "
            f"the next"
        )
        others = []
    for index in others[:_MOST_READ]:
        try:
            other = Table.from_html(text, index=index, structure=True)
        except TableError:  # it is hidden, or empty
            continue
        if len(other.header) > 1 and len(other.lines) > 1:
            yield (
                f"has another table, {_names(other)}; the first, {_names(table)}, is sent; "
                f"table = {index + 1} {where} sends the other one"
            )
            break
    yield from page_lines(table).remarks(key, is_page=True, has_captions=table.is_structured)


def page_hint(text: str, index: int, key: str) -> str:
    """Return the settings that help if a table is not read: without titles, or the next table."""
    try:
        captions = Table.from_html(text + "\n", index=index, structure=True).captions
    except TableError:
        captions = ()
    row, others = len(captions) + 1, [other for other in _outer_tables(text) if other > index]
    title = f"; if titles are above it, header_row = {row} {place_of(key)}" if captions else ""
    return f"{title}; table = {others[0] + 1} {place_of(key)} sends the next" if others else title


def page_lines(table: Table) -> FileLines:
    """Return the lines of a page's table, with the numbers that its settings use."""
    rows, columns = range(1, len(table.lines) + 1), range(1, len(table.header) + 1)
    return FileLines(table.lines, rows, columns)


def _outer_tables(text: str) -> list[int]:
    """Return the number in the page, from 0, of each table that is not inside another table."""
    indexes = []
    depth = count = 0
    end = ""  # of the comment or the hidden element around a mark
    for match in _MARK.finditer(text):
        mark = match[0].lower()
        if end:
            end = "" if mark == end else end
        elif mark == "<!--":
            end = "-->"
        elif mark == "<table":
            indexes += [count] if not depth else []
            depth, count = depth + 1, count + 1
        elif mark == "</table":
            depth = max(depth - 1, 0)
        elif match[1] == "":
            end = f"</{match[2].lower()}"
    return indexes


def _names(table: Table) -> str:
    names = [shortened(str(name), 30) for name in table.header if str(name).strip()]
    return f"of {', '.join(map(repr, names[:3]))}{', …' if len(names) > 3 else ''}"
