"""The items of a review page as compressed blocks: index, details, and tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from pytest_tablebench.reports.html._details import deflated
from pytest_tablebench.reports.html._tables import cell_text

_DETAILS, _TABLES = 32, 8
_ROW_LIMITS = (1000, 200, 60, 20)
"""The number of first rows of a table, tried in turn until the tables fit the budget."""
_BUDGET = 30_000_000
_COLUMN_LIMIT, _CELL_LIMIT, _OTHER_LIMIT = 200, 1_000, 20
_AROUND = 5
"""Rows before and after a marked cell that a cut table keeps."""

TEXT_LIMIT = 20_000
"""The most characters of a question, reply or answer."""


def page_id(kind: str, keys: Iterable[tuple[str, ...]]) -> str:
    """Return the name under which a browser stores what was entered; the order does not count."""
    text = json.dumps([kind, sorted(keys)])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def pack_items(
    index: Mapping[str, Any],
    details: Sequence[Mapping[str, Any]],
    tables: Sequence[Sequence[Mapping[str, Any]]],
    marked: Sequence[Sequence[tuple[int, int, int]]],
    *,
    budget: int = _BUDGET,
) -> dict[str, str]:
    """Return the blocks of a page by the ids of their elements.

    Arguments:
        index: what list and filters need.
        details: by item, what is shown of it.
        tables: by item, its tables.
        marked: by item, the marked cells as (table, row, column).
        budget: characters of all blocks of tables; longer tables are cut to fit.
    """
    for limit in _ROW_LIMITS:
        blocks, places = _table_blocks(tables, marked, limit)
        if sum(map(len, blocks.values())) <= budget:
            break
    else:
        blocks, places = {}, [[] for _ in tables]
    full = [
        {**detail, "tables": at, "table_count": len(item)}
        for detail, at, item in zip(details, places, tables, strict=True)
    ]
    blocks |= _chunks("d", full, _DETAILS)
    sizes = {"details": _DETAILS, "tables": _TABLES}
    blocks["index"] = deflated({**index, "count": len(details), "sizes": sizes})
    return blocks


def _chunks(letter: str, values: Sequence[Any], size: int) -> dict[str, str]:
    return {
        f"{letter}{start // size}": deflated(values[start : start + size])
        for start in range(0, len(values), size)
    }


def _table_blocks(
    tables: Sequence[Sequence[Mapping[str, Any]]],
    marked: Sequence[Sequence[tuple[int, int, int]]],
    limit: int,
) -> tuple[dict[str, str], list[list[int]]]:
    """Return blocks of different tables, and by item the places of its tables in them."""
    places: dict[str, int] = {}
    values: list[Any] = []
    by_item = []
    for item, cells in zip(tables, marked, strict=True):
        at = []
        for number, table in enumerate(item):
            shown = _shown(table, {row for place, row, _ in cells if place == number}, limit)
            key = json.dumps(shown)
            if key not in places:
                places[key] = len(values)
                values.append(shown)
            at.append(places[key])
        by_item.append(at)
    return _chunks("t", values, _TABLES), by_item


def _shown(table: Mapping[str, Any], marked: set[int], limit: int) -> dict[str, Any]:
    """Return the first rows of a table and the rows around marked cells.

    `numbers` has the number of each row, from 0, if rows between them are left out.
    """
    rows, header = table["rows"], table["header"]
    title = table.get("title")
    around = {row + step for row in marked for step in range(-_AROUND, _AROUND + 1)}
    numbers = sorted({*range(min(limit, len(rows))), *(n for n in around if 0 <= n < len(rows))})
    structure = table.get("structure")
    return {
        "title": None if title is None else str(title)[:_CELL_LIMIT],
        "header": _line(header),
        "above": [*_lines(structure, "captions"), *_lines(structure, "header_rows")],
        "below": list(_lines(structure, "notes")),
        "rows": [_line(rows[number]) for number in numbers],
        "numbers": None if numbers == list(range(len(numbers))) else numbers,
        "row_count": len(rows),
        "column_count": max([len(header), *map(len, rows)], default=0),
    }


def _lines(structure: Any, name: str) -> Iterator[list[str | None]]:
    """Yield the lines above or below the rows that the structure of a table has."""
    lines = structure.get(name) or () if isinstance(structure, Mapping) else ()
    yield from (_line(line) for line in lines[:_OTHER_LIMIT] if isinstance(line, list))


def _line(cells: Sequence[Any]) -> list[str | None]:
    return [cell_text(cell, _CELL_LIMIT) for cell in cells[:_COLUMN_LIMIT]]
