"""Twins of a table with structure: whole parts have changed places, and no value its names.

RealHiTBench asks one question of a table and of one with such parts exchanged (spec:
realhitbench.md section 1, structure rows); which parts are exchanged is a rule of ours.
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
    """Exchange groups of columns, each under one heading, below the same headings."""
    grouping = ColumnUnits(table)
    columns, line = [*grouping.columns], grouping.top
    units = grouping.units(columns, line) if columns else []
    while len(units) == 1 and line + 1 < grouping.first:
        line += 1  # one heading over all columns: the groups are those below it
        units = grouping.units(columns, line)
    paths = Paths(table)
    named = {column for column in columns if paths.columns[column]}
    order = _exchanged(units, draw, named)
    return None if order is None else with_columns(table, [*range(grouping.columns.start), *order])


def _sections(table: Table, draw: Random) -> Table | None:
    """Exchange sections, each with the row that names it and all sections inside of it."""
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
    """Exchange groups of rows of one section, each under one merged or less indented name."""
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
    """Return the positions in the order of two exchanged units; None where no unit is a group.

    Two groups are exchanged where there are two, else the only one and a position of its own.
    Units without a filled position, which only part others, stay.
    """
    movable = [place for place, unit in enumerate(units) if any(at in filled for at in unit)]
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
"""What can change places."""


def twin(table: Table, exchange: str, draw: Random) -> Table | None:
    """Return the table with two of its parts exchanged, None where it has no two that differ.

    `exchange` is a name of `EXCHANGES`. All values keep their `Table.path`.
    """
    made = EXCHANGES[exchange](table, draw)
    return None if made is None or made.lines == table.lines else made


def values(table: Table) -> Counter[tuple[str, Path]]:
    """Return each value with its path, the names of rows too; what is merged at every position."""
    first = len(table.captions) + len(table.header_rows) + 1
    lines = expanded(table)
    return Counter(
        (text, table.path(row, column))
        for row in range(len(table.rows))
        for column in range(len(table.header))
        if (text := one_line(lines[first + row][column]))
    )


def is_kept(table: Table, lines: Table) -> bool:
    """Return whether the lines, read without being told their structure, say what a table says."""
    again = read_again(lines)
    return len(again.header) == len(table.header) and values(again) == values(table)
