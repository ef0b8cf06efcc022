"""ToRR's seven table formats, equal to the reference's text (spec: torr.md sections 5 and 5.1).

Cells are not escaped, except in CSV and JSON. The benchmark measures how models read exactly these
texts, so they must not change, even where another layout would be easier to read.

For `df` the reference passes cells through a DataFrame, whose column types depend on the pandas
version. The rules here are those of pandas 2, which the published runs used, so the text does not
depend on the installed version. A property test compares them with pandas.
"""

from __future__ import annotations

import json
import math
from itertools import takewhile
from types import UnionType
from typing import Any

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.content import Cell
from pytest_tablebench.tables.table import Table


def require_content(table: Table, name: str) -> None:
    """Raise a `TableError` for a table without columns or rows."""
    if not table.header:
        raise TableError(f"{table.label}: has no columns; serializer {name!r} needs at least one")
    if not table.rows:
        raise TableError(f"{table.label}: has no rows; serializer {name!r} needs at least one")


def require_names(
    table: Table, name: str, kinds: type | UnionType = str, needs: str = "text"
) -> None:
    """Raise a `TableError` for a table without columns or rows, or with a name of a wrong type."""
    require_content(table, name)
    for number, cell in enumerate(table.header, start=1):
        if not isinstance(cell, kinds):
            raise TableError(
                f"{table.label}: header, column {number}: {cell!r} is {type(cell).__name__}, "
                f"serializer {name!r} needs {needs}"
            )


def require_keys(table: Table, name: str) -> None:
    """Raise a `TableError` unless each cell has a column name that can be a JSON key."""
    require_names(table, name, str | int | float | None, "text or a number")
    width = len(table.header)
    for number, row in enumerate(table.rows, start=1):
        if len(row) > width:
            raise TableError(
                f"{table.label}: row {number}, column {width + 1}: cell {row[width]!r} has no "
                f"column name; serializer {name!r} needs one for every cell"
            )


def dump_json(value: Any, table: Table, name: str) -> str:
    """Return a value as JSON. Raises `TableError`, naming the cell that JSON cannot represent."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError) as error:
        for number, row in enumerate(table.rows, start=1):
            for column, cell in enumerate(row, start=1):
                try:
                    json.dumps(cell)
                except (TypeError, ValueError):
                    raise TableError(
                        f"{table.label}: row {number}, column {column}: serializer {name!r} "
                        f"cannot write a {type(cell).__name__}"
                    ) from error
        raise TableError(f"{table.label}: serializer {name!r}: {error}") from error


def to_html(table: Table) -> str:
    """Return HTML with thead and tbody, one line per row, and cells unescaped."""
    require_content(table, "html")
    names = "".join(f"<th>{cell}</th>" for cell in table.header)
    rows = "".join(
        f"\n    <tr>{''.join([f'<td>{cell}</td>' for cell in row])}</tr>" for row in table.rows
    )
    return (
        f"<table>\n  <thead>\n    <tr>{names}</tr>\n  </thead>\n"
        f"  <tbody>{rows}\n  </tbody>\n</table>"
    )


def _csv_field(cell: Cell) -> str:
    text = "" if cell is None else str(cell)
    if "," in text or '"' in text or "\n" in text:
        return '"' + text.replace('"', '""') + '"'
    return text


def to_csv(table: Table) -> str:
    """Return comma-separated lines with minimal quoting, stripped at both ends.

    The standard library's writer is not used, because it quotes a lone carriage return since Python
    3.13, and prompts must not depend on the interpreter.
    """
    lines = []
    for row in (table.header, *table.rows):
        line = ",".join([_csv_field(cell) for cell in row])
        lines.append('""' if len(row) == 1 and not line else line)
    return "\n".join(lines).strip()


def to_json(table: Table) -> str:
    """Return an object of row numbers, each with an object of column names and cells.

    Of columns with equal names the last one is kept.
    """
    require_keys(table, "json")
    # A short row lacks its last keys, as in the reference.
    rows = {
        str(number): dict(zip(table.header, row, strict=False))
        for number, row in enumerate(table.rows)
    }
    return dump_json(rows, table, "json")


def to_markdown(table: Table) -> str:
    """Return a pipe table without blanks around the cells, and with cells unescaped."""
    require_names(table, "markdown")
    lines = [f"|{'|'.join(table.header)}|", f"|{'|'.join(['---'] * len(table.header))}|"]
    lines += [f"|{'|'.join([str(cell) for cell in row])}|" for row in table.rows]
    return "\n".join(lines).strip()


def to_indexed_row_major(table: Table) -> str:
    """Return one line: `col : …`, then `row i : …` for each row, with cells joined by ` | `."""
    require_names(table, "indexed_row_major")
    parts = [f"col : {' | '.join(table.header)}"]
    parts += [
        f"row {number} : {' | '.join([str(cell) for cell in row])}"
        for number, row in enumerate(table.rows, start=1)
    ]
    return " ".join(parts).strip()


def to_concat(table: Table) -> str:
    """Return all column names and then all cells, joined by single blanks."""
    require_content(table, "concat")
    cells = [str(cell) for cell in table.header]
    cells += [str(cell) for row in table.rows for cell in row]
    return " ".join(cells).strip()


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
