"""The part of a table around the cells that matter, as a Markdown table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from pytest_tablebench.util.markdown import code
from pytest_tablebench.util.names import counted

_AROUND, _FIRST = 2, 5
_MOST_ROWS, _MOST_COLUMNS = 30, 12
_CELL = 60


def table_excerpt(table: Mapping[str, Any], marked: Iterable[tuple[int, int]]) -> str:
    """Return the rows around marked cells, or the first rows, with the marked cells bold.

    Arguments:
        table: with `title`, `header` and `rows`.
        marked: cells as (row, column), from 0; row -1 is the header.
    """
    rows, header = table["rows"], table["header"]
    cells = set(marked)
    places = {row for row, _ in cells if 0 <= row < len(rows)}
    around = {n for row in places for n in range(row - _AROUND, row + _AROUND + 1)}
    shown = sorted(n for n in around or range(_FIRST) if 0 <= n < len(rows))[:_MOST_ROWS]
    width = max([len(header), *(len(rows[n]) for n in shown)], default=0)
    columns = _columns(width, {column for _, column in cells if 0 <= column < width})
    lines = [
        _line("row", [_cell(header, n, (-1, n) in cells) for n in columns]),
        _line("---:", ["---"] * len(columns)),
    ]
    for before, row in pairwise([-1, *shown]):
        if row > before + 1:
            lines.append(_line("…", [""] * len(columns)))
        lines.append(_line(str(row + 1), [_cell(rows[row], n, (row, n) in cells) for n in columns]))
    if shown[-1:] != [len(rows) - 1] and rows:
        lines.append(_line("…", [""] * len(columns)))
    return "\n".join([*_caption(table, len(rows), width, len(columns)), *lines])


def _columns(width: int, marked: set[int]) -> list[int]:
    """Return the columns to show: the marked ones first, then the leftmost."""
    order = sorted(range(width), key=lambda column: (column not in marked, column))
    return sorted(order[:_MOST_COLUMNS])


def _caption(table: Mapping[str, Any], rows: int, width: int, shown: int) -> Iterator[str]:
    title = table.get("title")
    size = f"{counted(rows, 'row')}, {counted(width, 'column')}"
    part = f", {shown} of them shown" if shown < width else ""
    yield f"Table{f' {code(str(title))}' if title else ''} ({size}{part}):\n"


def _cell(line: list[Any], column: int, is_marked: bool) -> str:
    value = line[column] if column < len(line) else None
    if value is None or value == "":
        return "**(empty)**" if is_marked else ""
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return f"**{code(text, _CELL)}**" if is_marked else code(text, _CELL)


def _line(label: str, cells: Iterable[str]) -> str:
    return f"| {' | '.join([label, *cells])} |"
