"""The `df` format: source code of a pandas DataFrame (spec: torr.md sections 5 and 5.1).

The reference passes cells through a DataFrame, whose column types depend on the pandas version.
This module implements the rules of pandas 2, which the published runs used, so the text does not
depend on the installed version. A property test compares the rules with pandas.
"""

from __future__ import annotations

import math
from itertools import takewhile

from pytest_tablebench.serializers._text import dump_json, require_keys
from pytest_tablebench.tables.content import Cell
from pytest_tablebench.tables.table import Table


def _as_column(cells: list[Cell]) -> list[Cell]:
    """Return the cells after type inference as in a pandas column.

    Only columns of numbers change: with a float or a missing value, integers become floats and None
    becomes NaN. A column with any other value (text, booleans, lists) stays unchanged.
    """
    kinds = {type(cell) for cell in cells}
    if not kinds <= {int, float, type(None)} or not kinds & {int, float} or kinds == {int}:
        return cells
    if _stays_integer(cells):
        return cells
    try:
        return [math.nan if cell is None else float(cell) for cell in cells]
    except OverflowError:
        return cells  # over 1e308; pandas 2 fails here


def _stays_integer(cells: list[Cell]) -> bool:
    """Return whether no 64-bit type fits the integers, so that pandas keeps Python objects.

    As in pandas 2, only integers before the first None count; in pandas 3 all count.
    """
    seen = [cell for cell in takewhile(lambda cell: cell is not None, cells) if type(cell) is int]
    if not seen:
        return False
    low, high = min(seen), max(seen)
    return low < -(2**63) or high >= 2**64 or (low < 0 and high >= 2**63)


def to_df(table: Table) -> str:
    """Return a `pd.DataFrame({...}, index=[...])` call.

    Repeated names get a suffix, and short rows are filled with None.
    """
    require_keys(table, "df")
    seen: dict[Cell, int] = {}
    columns: dict[Cell, list[Cell]] = {}
    for position, name in enumerate(table.header):
        earlier = seen.get(name, 0)
        seen[name] = earlier + 1
        cells = [row[position] if position < len(row) else None for row in table.rows]
        # A name with a suffix may equal a real column's name; then the later column wins.
        columns[f"{name}_{earlier}" if earlier else name] = _as_column(cells)
    body = dump_json(columns, table, "df")[1:-1]
    index = ", ".join(str(number) for number in range(len(table.rows)))
    return f"pd.DataFrame({{\n{body}}},\nindex=[{index}])"
