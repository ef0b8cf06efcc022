"""The part of a file that is sent as its table: the settings, and remarks on what they could be."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.hierarchy.paths import one_line
from pytest_tablebench.tables.table_part import (
    Area,
    Lines,
    TablePart,
    area_of,
    column_letters,
    header_line,
    labelled_area,
    tables_in,
)
from pytest_tablebench.util.names import counted, shortened


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
