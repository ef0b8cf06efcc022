"""Tables of an HTML page after its first one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_tablebench.datasets.folder._parts import FileLines, place_of
from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import counted, shortened

_MARK = re.compile(r"<!--|-->|<(/?)(table|script|style|template|noscript)(?![\w-])", re.IGNORECASE)
_MOST_READ = 3
"""The most tables of a page that are read for a remark."""
_MOST_CHARACTERS = 1_000_000
"""The longest page whose other tables are read for a remark, in characters."""


def page_remarks(text: str, table: Table, key: str) -> Iterator[str]:
    """Yield remarks on a page whose first table is sent, with the settings that send others."""
    where = place_of(key)
    others = _outer_tables(text)[1:]
    if others and len(text) > _MOST_CHARACTERS:
        count = counted(len(others), "table")
        yield (
            f"has {count} after the first, which is sent; table = {others[0] + 1} {where} sends "
            f"the next"
        )
        others = []
    for index in others[:_MOST_READ]:
        try:
            other = Table.from_html(text, index=index, structure=True)
        except TableError:  # it is hidden, or empty
            continue
        if len(other.header) > 1 and len(other.lines) > 1:
            yield (
                f"has another table, {_names(other)}; the first, {_names(table)}, is sent; "
                f"table = {index + 1} {where} sends the other one"
            )
            break
    yield from page_lines(table).remarks(key, is_page=True, has_captions=table.is_structured)


def page_hint(text: str, index: int, key: str) -> str:
    """Return the settings that help if a table is not read: without titles, or the next table."""
    try:
        captions = Table.from_html(text + "\n", index=index, structure=True).captions
    except TableError:
        captions = ()
    row, others = len(captions) + 1, [other for other in _outer_tables(text) if other > index]
    title = f"; if titles are above it, header_row = {row} {place_of(key)}" if captions else ""
    return f"{title}; table = {others[0] + 1} {place_of(key)} sends the next" if others else title


def page_lines(table: Table) -> FileLines:
    """Return the lines of a page's table, with the numbers that its settings use."""
    rows, columns = range(1, len(table.lines) + 1), range(1, len(table.header) + 1)
    return FileLines(table.lines, rows, columns)


def _outer_tables(text: str) -> list[int]:
    """Return the number in the page, from 0, of each table that is not inside another table."""
    indexes = []
    depth = count = 0
    end = ""  # of the comment or the hidden element around a mark
    for match in _MARK.finditer(text):
        mark = match[0].lower()
        if end:
            end = "" if mark == end else end
        elif mark == "<!--":
            end = "-->"
        elif mark == "<table":
            indexes += [count] if not depth else []
            depth, count = depth + 1, count + 1
        elif mark == "</table":
            depth = max(depth - 1, 0)
        elif match[1] == "":
            end = f"</{match[2].lower()}"
    return indexes


def _names(table: Table) -> str:
    names = [shortened(str(name), 30) for name in table.header if str(name).strip()]
    return f"of {', '.join(map(repr, names[:3]))}{', …' if len(names) > 3 else ''}"
