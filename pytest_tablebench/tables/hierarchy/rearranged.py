"""Rearranges a table with structure so that every value keeps its header path.

Only units move: rows that a merged cell or an indent ties together, and columns under one name.
Captions and notes stay in place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random

from pytest_tablebench.tables.content import Cell, Path, Span
from pytest_tablebench.tables.hierarchy._parts import read_again
from pytest_tablebench.tables.hierarchy.grid import owners
from pytest_tablebench.tables.hierarchy.paths import Paths, expanded, one_line, table_of_paths
from pytest_tablebench.tables.table import Table


def shuffled_rows(table: Table, draw: Random) -> Table:
    """Return the table with its units of rows shuffled within each section."""
    order: list[int] = []
    for head, units in row_units(table):
        draw.shuffle(units)
        order += [*head, *(row for unit in units for row in unit)]
    return with_rows(table, order)


def row_units(table: Table) -> list[tuple[list[int], list[list[int]]]]:
    """Return for each section the rows that stay in front, and the units that can move.

    The first entry has the rows before the first section; it may be empty.
    """
    levels = table.row_levels or (0,) * len(table.rows)
    tied = _tied_rows(table)
    groups: list[tuple[list[int], list[list[int]]]] = [([], [])]
    root = 0
    for row, level in enumerate(levels):
        head, units = groups[-1]
        if row in table.sections:
            groups.append(([row], []))
        elif units and (row in tied or level > root):
            units[-1].append(row)
        elif level and not units:
            head.append(row)  # indented without a parent in its section: it stays in front
        else:
            units.append([row])
            root = level
    return groups


def _tied_rows(table: Table) -> set[int]:
    """Return the rows that a merged cell or a group's name ties to the row above."""
    first = len(table.captions) + len(table.header_rows) + 1
    merged = {
        line - first
        for span in table.spans
        for line in range(max(span.row + 1, first + 1), span.row + span.rows)
    }
    return merged | Paths(table).carried if table.row_headers > 1 else merged


def with_empty_rows(table: Table, draw: Random, times: int) -> Table:
    """Return the table with rows of empty text inserted between units of rows."""
    order: list[int | None] = list(range(len(table.rows)))
    levels = table.row_levels or (0,) * len(table.rows)
    tied = _tied_rows(table)
    for _ in range(times):
        places = [
            index
            for index, row in enumerate([*order, None])
            if row is None or not (levels[row] or row in tied)
        ]
        order.insert(places[draw.randint(0, len(places) - 1)], None)
    return with_rows(table, order)


def with_rows(table: Table, order: Sequence[int | None]) -> Table:
    """Return the table with its rows in another order, and an empty row for each None."""
    first = len(table.captions) + len(table.header_rows) + 1
    last = first + len(table.rows)
    index = {row: number for number, row in enumerate(order) if row is not None}
    more = len(order) - len(table.rows)
    spans = [
        span._replace(row=first + index[span.row - first])
        if first <= span.row < last
        else span._replace(row=span.row + (more if span.row >= last else 0))
        for span in table.spans
    ]
    empty = ("",) * len(table.header)
    levels = table.row_levels and [0 if row is None else table.row_levels[row] for row in order]
    return replace(
        table,
        rows=tuple(empty if row is None else table.rows[row] for row in order),
        row_levels=tuple(levels),
        sections=tuple(sorted(index[row] for row in table.sections)),
        spans=tuple(spans),
    )


def shuffled_columns(table: Table, draw: Random) -> Table:
    """Return the table with shuffled groups of columns, and shuffled columns in each group.

    A group has all columns under one name.
    """
    parts = ColumnUnits(table)

    def arranged(columns: list[int], line: int) -> list[int]:
        units = parts.units(columns, line)
        draw.shuffle(units)
        deeper = [
            arranged(u, line + 1) if len(u) > 1 and line + 1 < parts.first else u for u in units
        ]
        return [column for unit in deeper for column in unit]

    columns = [*parts.columns]
    order = [*range(parts.columns.start), *(arranged(columns, parts.top) if columns else [])]
    return with_columns(table, order)


class ColumnUnits:
    """The columns of a table that can move, and the units they form.

    Attributes:
        columns: the columns that can move; the ones before them stay.
        top: the first header line.
        first: the first line after the header.
    """

    def __init__(self, table: Table) -> None:
        self.top = len(table.captions)
        self.first = self.top + len(table.header_rows) + 1
        last = self.first + len(table.rows)
        self._inner = [span for span in table.spans if self.top <= span.row < last]
        width = len(table.header)
        start = table.row_headers
        for span in self._inner:
            end = span.column + span.columns
            if span.column < table.row_headers < end < width:
                start = max(start, end)  # merged with row headers, so it stays
        self._gaps = _unmerged_groups(table, self._inner, range(self.top, self.first - 1))
        while start in self._gaps:
            start += 1  # under a name of the row headers, or before the first name
        self.columns = range(start, width)

    def units(self, columns: Sequence[int], line: int) -> list[list[int]]:
        """Return neighbouring columns as units that this header line, or a lower one, requires."""
        low, high = columns[0], columns[-1] + 1
        glued = set(self._gaps)
        for span in self._inner:
            end = span.column + span.columns
            if span.row + span.rows > line and not (span.column <= low and end >= high):
                glued.update(range(span.column + 1, end))
        units: list[list[int]] = []
        for column in columns:
            if units and column in glued:
                units[-1].append(column)
            else:
                units.append([column])
        return units


def _unmerged_groups(table: Table, inner: Iterable[Span], lines: range) -> set[int]:
    """Return the columns that belong to a name to their left without being merged with it."""
    if any(span.columns > 1 and span.row in {*lines, lines.stop} for span in inner):
        return set()
    return {
        column
        for line in lines
        for column, cell in enumerate(table.lines[line])
        if not one_line(cell)
    }


def with_columns(table: Table, order: Sequence[int]) -> Table:
    """Return the table with its columns in another order; captions and notes stay."""
    top, depth = len(table.captions), len(table.header_rows)
    lines = range(top, top + depth + 1 + len(table.rows))
    index = {column: number for number, column in enumerate(order)}
    whole = expanded(table)
    spans = [
        span._replace(column=min(index[span.column + step] for step in range(span.columns)))
        if span.row in lines
        else span
        for span in table.spans
    ]
    cells = [[whole[line][column] for column in order] for line in lines]
    for (line, column), span in owners(spans).items():
        if line in lines and (line, column) != span[:2]:
            cells[line - lines.start][column] = ""
    written = tuple(map(tuple, cells))
    return replace(
        table,
        header_rows=written[:depth],
        header=written[depth],
        rows=written[depth + 1 :],
        spans=tuple(spans),
    )


def turned(table: Table) -> Table:
    """Return the transposed table: row headers become column headers and vice versa.

    Sections and indents become header lines; blank rows and sections become no column. A merged
    value is repeated in each of its cells. The corner contains the names of the row headers.
    """
    paths, whole = Paths(table), expanded(table)
    first = len(table.captions) + len(table.header_rows) + 1
    rows = [
        row
        for row in range(len(table.rows))
        if row not in set(table.sections) and any(map(one_line, whole[first + row]))
    ]
    columns = [
        column
        for column in range(table.row_headers, len(table.header))
        if paths.columns[column] or any(one_line(whole[first + row][column]) for row in rows)
    ]
    made = table_of_paths(
        [[whole[first + row][column] for row in rows] for column in columns],
        Table,
        columns=[paths.rows[row] for row in rows] if table.header else [],
        rows=[paths.columns[column] for column in columns],
        corner=" / ".join(
            dict.fromkeys(
                name for column in range(table.row_headers) for name in paths.columns[column]
            )
        ),
    )
    width, top = len(made.header), len(table.captions)
    return replace(
        made,
        title=table.title,
        name=table.name,
        spans=tuple(span._replace(row=top + span.row) for span in made.spans),
        captions=tuple(_alone(line, width) for line in table.captions),
        notes=tuple(_alone(line, width) for line in table.notes),
    )


def _alone(line: Sequence[Cell], width: int) -> tuple[Cell, ...]:
    return (" ".join(filter(None, map(one_line, line))), *[""] * (width - 1))


def _header_groups(table: Table, draw: Random) -> Table | None:
    """Exchange groups of columns, each under one heading, within the same outer headings."""
    grouping = ColumnUnits(table)
    columns, line = [*grouping.columns], grouping.top
    units = grouping.units(columns, line) if columns else []
    while len(units) == 1 and line + 1 < grouping.first:
        line += 1  # one heading covers all columns: its groups are one line below
        units = grouping.units(columns, line)
    paths = Paths(table)
    named = {column for column in columns if paths.columns[column]}
    order = _exchanged(units, draw, named)
    return None if order is None else with_columns(table, [*range(grouping.columns.start), *order])


def _sections(table: Table, draw: Random) -> Table | None:
    """Exchange sections, each with the row that names it and all sections inside it."""
    if not table.sections:
        return None
    levels = table.row_levels or (0,) * len(table.rows)
    top = min(levels[row] for row in table.sections)
    starts = [row for row in table.sections if levels[row] == top]
    ends = [*starts[1:], len(table.rows)]
    units = [[*range(start, end)] for start, end in zip(starts, ends, strict=True)]
    order = _exchanged(units, draw, starts)
    return None if order is None else with_rows(table, [*range(starts[0]), *order])


def _row_groups(table: Table, draw: Random) -> Table | None:
    """Exchange groups of rows within a section, each under a merged or less indented name."""
    sections = row_units(table)
    filled = {row for row, cells in enumerate(table.rows) if any(map(one_line, cells))}
    orders = [_exchanged(units, draw, filled) for _, units in sections]
    places = [index for index, order in enumerate(orders) if order]
    if not places:
        return None
    chosen = draw.choice(places)
    rows = []
    for index, (head, units) in enumerate(sections):
        moved = orders[index] if index == chosen else None
        rows += [*head, *(moved or (row for unit in units for row in unit))]
    return with_rows(table, rows)


def _exchanged(
    units: Sequence[Sequence[int]], draw: Random, filled: Collection[int]
) -> list[int] | None:
    """Return the positions after exchanging two units; None without a group or a second unit.

    If there are two groups or more, two of them are exchanged, otherwise the only group and a
    single position. Units without a filled position, which only separate others, stay.
    """
    movable = [index for index, unit in enumerate(units) if any(i in filled for i in unit)]
    groups = [index for index in movable if len(units[index]) > 1]
    if not groups or len(movable) < 2:
        return None
    moved = draw.choice(groups)
    others = groups if len(groups) > 1 else movable
    other = draw.choice([index for index in others if index != moved])
    order = [*units]
    order[moved], order[other] = order[other], order[moved]
    return [position for unit in order for position in unit]


EXCHANGES: Mapping[str, Callable[[Table, Random], Table | None]] = {
    "header_groups": _header_groups,
    "sections": _sections,
    "row_groups": _row_groups,
}
"""The kinds of parts that can be exchanged."""


def twin(table: Table, exchange: str, draw: Random) -> Table | None:
    """Return the table with two of its parts exchanged; None if no two parts differ.

    `exchange` is a name of `EXCHANGES`. All values keep their `Table.path`.
    """
    made = EXCHANGES[exchange](table, draw)
    return None if made is None or made.lines == table.lines else made


def values(table: Table) -> Counter[tuple[str, Path]]:
    """Return each value with its path, including names of rows; merged values once per position."""
    first = len(table.captions) + len(table.header_rows) + 1
    lines = expanded(table)
    return Counter(
        (text, table.path(row, column))
        for row in range(len(table.rows))
        for column in range(len(table.header))
        if (text := one_line(lines[first + row][column]))
    )


def is_kept(table: Table, lines: Table) -> bool:
    """Return whether reading only the lines of a table gives the same values and paths."""
    again = read_again(lines)
    return len(again.header) == len(table.header) and values(again) == values(table)
