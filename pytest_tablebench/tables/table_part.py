"""The part of a file that is its table: one of several tables, without titles and labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.content import AnyTable, Cell
from pytest_tablebench.tables.hierarchy import _parts as parts
from pytest_tablebench.tables.hierarchy._shape import is_numeric, is_year

_RANGE = re.compile(r"([A-Z]{1,3})([1-9]\d{0,6}):([A-Z]{1,3})([1-9]\d{0,6})", re.IGNORECASE)
_DEEPEST = 8
"""The most levels of blocks inside each other; real sheets have two."""
MOST_TITLES = 6
"""The most lines above a header that are taken for titles."""

Lines = Sequence[Sequence[Cell]]
"""The lines of a file, which may have different lengths."""


@dataclass(frozen=True)
class TablePart:
    """A setting that chooses the table in a file; 0 and "" choose nothing.

    Arguments:
        table: the number of the table among several in one page or sheet, from 1.
        header_row: the row of the header, from 1 for the first row of the file.
        range: the corners of the table, as `B4:F20`.
    """

    table: int = 0
    header_row: int = 0
    range: str = ""


class Area(NamedTuple):
    """A rectangle of cells: its lines and columns, from 0, with the last ones included."""

    top: int
    left: int
    bottom: int
    right: int


def column_letters(column: int) -> str:
    """Return the letters of a column in a spreadsheet program: A for 0, AA for 26."""
    first, last = divmod(column, 26)
    return (column_letters(first - 1) if first else "") + chr(ord("A") + last)


def area_of(text: str) -> Area | None:
    """Return the area of a range such as `B4:F20`; None for another text."""
    match = _RANGE.fullmatch(text.strip())
    if match is None:
        return None
    columns = [0, 0]
    for index, letters in enumerate((match[1], match[3])):
        for letter in letters.upper():
            columns[index] = columns[index] * 26 + ord(letter) - ord("A") + 1
    area = Area(int(match[2]) - 1, columns[0] - 1, int(match[4]) - 1, columns[1] - 1)
    return area if area.top < area.bottom and area.left <= area.right else None


def tables_in(lines: Lines) -> list[Area]:
    """Return the tables that empty lines or columns separate, in reading order.

    A table has at least two lines and two columns, and begins with names: words or years. Lines of
    one cell above the names are not part of it.
    """
    width = max(map(len, lines), default=0)
    if not width:
        return []
    whole = Area(0, 0, len(lines) - 1, width - 1)
    areas = (_under_titles(lines, area) for area in _blocks(lines, whole, 0))
    return [area for area in areas if area is not None]


def _blocks(lines: Lines, area: Area, depth: int) -> Iterator[Area]:
    """Yield the areas between the empty lines and columns of an area."""
    filled_lines: list[int] = []
    used: set[int] = set()
    for line in range(area.top, area.bottom + 1):
        cells = lines[line][area.left : area.right + 1]
        is_full = all(cells) and len(cells) == area.right + 1 - area.left  # fast for large tables
        filled = range(area.left, area.right + 1) if is_full else _filled(cells, area.left)
        filled_lines += [line] if filled else []
        if len(used) <= area.right - area.left:
            used.update(filled)
    rows, columns = _runs(filled_lines), _runs(sorted(used))
    if depth == _DEEPEST or (len(rows) < 2 and len(columns) < 2):
        if rows and columns:
            yield Area(rows[0][0], columns[0][0], rows[-1][1], columns[-1][1])
        return
    if len(rows) > 1:
        for top, bottom in rows:
            yield from _blocks(lines, area._replace(top=top, bottom=bottom), depth + 1)
        return
    top, bottom = rows[0]
    pieces = [Area(top, left, bottom, right) for left, right in columns]
    if _is_single(lines, pieces):
        yield pieces[0]._replace(right=pieces[-1].right)
        return
    for piece in pieces:
        yield from _blocks(lines, piece, depth + 1)


def _is_single(lines: Lines, pieces: Sequence[Area]) -> bool:
    """Return whether empty columns are inside one table: only its first piece names the rows."""
    is_named, *others = (_has_row_names(lines, piece) for piece in pieces)
    end = pieces[0].bottom
    return is_named and not any(others) and all(any(_cells(lines, piece, end)) for piece in pieces)


def _has_row_names(lines: Lines, area: Area) -> bool:
    """Return whether one of the first two columns has mostly words or years."""
    for column in range(area.left, min(area.left + 1, area.right) + 1):
        texts = [
            text
            for line in lines[area.top : area.bottom + 1]
            for text in map(_text, line[column : column + 1])
            if text
        ]
        names = sum(not is_numeric(text) or is_year(text) for text in texts)
        if names * 2 > len(texts):
            return True
    return False


def _filled(cells: Sequence[Cell], left: int) -> Sequence[int]:
    return [left + index for index, cell in enumerate(cells) if _text(cell)]


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return (first, last) of each run of consecutive numbers."""
    if not numbers:
        return []
    breaks = [(last, first) for last, first in pairwise(numbers) if first > last + 1]
    firsts = [numbers[0], *(first for _, first in breaks)]
    lasts = [*(last for last, _ in breaks), numbers[-1]]
    return list(zip(firsts, lasts, strict=True))


def _cells(lines: Lines, area: Area, line: int) -> list[str]:
    return [_text(cell) for cell in lines[line][area.left : area.right + 1]]


def _text(cell: Cell) -> str:
    return "" if cell is None else str(cell).strip()


def _under_titles(lines: Lines, area: Area) -> Area | None:
    """Return an area without the lines of one cell above it; None if no table is there."""
    counts = [sum(map(bool, _cells(lines, area, line))) for line in _near(area)]
    top = next((line for line, count in enumerate(counts) if count > 1), 0)
    below = counts[top + 1 : top + 2]
    has_names = below > [1] and _are_names(_cells(lines, area, area.top + top))
    return area._replace(top=area.top + top) if has_names else None


def _near(area: Area) -> range:
    return range(area.top, min(area.top + MOST_TITLES + 1, area.bottom) + 1)


def _are_names(cells: Sequence[str]) -> bool:
    """Return whether cells look like a header: several words or years, at least one word."""
    names = [cell for cell in cells if cell]
    are_words = all(not is_numeric(name) or is_year(name) for name in names)
    return len(names) > 1 and are_words and not all(map(is_numeric, names))


def header_line(lines: Lines) -> int:
    """Return the line of the header, from 0; more than 0 if titles or notes are above it.

    A title is alone in its line, or one of two cells above at least four, in the first two columns.
    """
    texts = [[_text(cell) for cell in line] for line in lines[: MOST_TITLES + 1]]
    counts = [sum(map(bool, line)) for line in texts]
    for line, cells in enumerate(texts):
        most = 2 if max(counts) >= 4 else 1
        if counts[line] > most or any(cells[2:]):
            is_header = _are_names(cells) and counts[line] >= max(counts[line:]) - 1
            return line if is_header else 0
    return 0


def labelled_area(lines: Lines) -> Area | None:
    """Return the area inside the labels of a spreadsheet program; None without them.

    These are the letters of its columns in the first line, and often the numbers of its rows.
    """
    first = [_text(cell) for cell in lines[0]] if len(lines) > 2 else []
    left = int(first[:1] == [""])
    letters = first[left:]
    if len(letters) < 2 or letters != [column_letters(index) for index in range(len(letters))]:
        return None
    numbers = [_text(line[0]) if line else "" for line in lines[1:]] if left else []
    is_numbered = all(text.isdecimal() for text in numbers) and all(
        int(above[-9:]) < int(below[-9:]) for above, below in pairwise(numbers)
    )
    names = [_text(cell) for cell in lines[1][left:]]
    if not (is_numbered if left else _are_names(names)):
        return None
    return Area(1, left, len(lines) - 1, len(first) - 1)


def cut(table: AnyTable, area: Area) -> AnyTable:
    """Return the table in an area of a table's lines, with structure if cells are merged.

    Raises `TableError` if the area is beyond the table.
    """
    lines, width = table.lines, len(table.header)
    if area.bottom >= len(lines) or area.right >= width:
        raise TableError(
            f"the range goes to row {area.bottom + 1} and column "
            f"{column_letters(area.right)}; there are {len(lines)} rows and {width} columns"
        )
    rows, columns = range(area.top, area.bottom + 1), range(area.left, area.right + 1)
    if any(span.row in rows and span.column in columns for span in table.spans):
        return parts.cut(table, rows, columns)
    header, *others = (lines[row][area.left : area.right + 1] for row in rows)
    names = tuple("" if cell is None else str(cell) for cell in header)
    return type(table)(names, others, table.title, name=table.name)
