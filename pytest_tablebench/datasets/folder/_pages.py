"""Tables of an HTML page after its first one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_tablebench.datasets.folder._parts import FileLines, place_of
from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import printable

_HIDDEN = re.compile(
    r"<!--.*?-->|<(script|style|template|noscript)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(r"<(/?)table\b", re.IGNORECASE)
_MOST_READ = 3
"""The most tables of a page that are read for a remark."""


def page_remarks(text: str, table: Table, key: str) -> Iterator[str]:
    """Yield remarks on a page whose first table is sent, with the settings that send others."""
    for index in _outer_tables(text)[1 : _MOST_READ + 1]:
        try:
            other = Table.from_html(text, index=index, structure=True)
        except TableError:  # it is hidden, or empty
            continue
        if len(other.header) > 1 and len(other.lines) > 1:
            yield (
                f"has another table, {_names(other)}; the first, {_names(table)}, is sent; "
                f"table = {index + 1} {place_of(key)} sends the other one"
            )
            break
    yield from page_lines(table).remarks(key, is_page=True, has_captions=table.is_structured)


def title_hint(text: str, index: int, key: str) -> str:
    """Return the setting that leaves out titles above a table that is not read; "" without any."""
    try:
        captions = Table.from_html(text + "\n", index=index, structure=True).captions
    except TableError:
        return ""
    row = len(captions) + 1
    return f"; if titles are above it, header_row = {row} {place_of(key)}" if captions else ""


def page_lines(table: Table) -> FileLines:
    """Return the lines of a page's table, with the numbers that its settings use."""
    rows, columns = range(1, len(table.lines) + 1), range(1, len(table.header) + 1)
    return FileLines(table.lines, rows, columns)


def _outer_tables(text: str) -> list[int]:
    """Return the number in the page, from 0, of each table that is not inside another table."""
    indexes = []
    depth = count = 0
    for match in _TAG.finditer(_HIDDEN.sub("", text)):
        if match[1]:
            depth = max(depth - 1, 0)
            continue
        if not depth:
            indexes.append(count)
        depth, count = depth + 1, count + 1
    return indexes


def _names(table: Table) -> str:
    names = [printable(str(name), 30) for name in table.header if str(name).strip()]
    return f"of {', '.join(map(repr, names[:3]))}{', …' if len(names) > 3 else ''}"
