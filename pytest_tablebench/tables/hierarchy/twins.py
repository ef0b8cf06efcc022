"""Twins of a table with structure: two parts are exchanged, and every value keeps its names.

RealHiTBench asks the same question about a table and about its twin (spec: realhitbench.md section
1, structure rows). The rule that chooses the parts is ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random

from pytest_tablebench.tables.content import Path
from pytest_tablebench.tables.hierarchy.parts import read_again
from pytest_tablebench.tables.hierarchy.paths import Paths, expanded, one_line
from pytest_tablebench.tables.hierarchy.rearranged import (
    ColumnUnits,
    row_units,
    with_columns,
    with_rows,
)
from pytest_tablebench.tables.table import Table


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
    places = [place for place, order in enumerate(orders) if order]
    if not places:
        return None
    chosen = draw.choice(places)
    rows = []
    for place, (head, units) in enumerate(sections):
        moved = orders[place] if place == chosen else None
        rows += [*head, *(moved or (row for unit in units for row in unit))]
    return with_rows(table, rows)


def _exchanged(
    units: Sequence[Sequence[int]], draw: Random, filled: Collection[int]
) -> list[int] | None:
    """Return the positions after exchanging two units; None without a group or a second unit.

    If there are two groups or more, two of them are exchanged, otherwise the only group and a
    single position. Units without a filled position, which only separate others, stay.
    """
    movable = [place for place, unit in enumerate(units) if any(i in filled for i in unit)]
    groups = [place for place in movable if len(units[place]) > 1]
    if not groups or len(movable) < 2:
        return None
    moved = draw.choice(groups)
    others = groups if len(groups) > 1 else movable
    other = draw.choice([place for place in others if place != moved])
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
