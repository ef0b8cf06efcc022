"""Find the last table of a prompt in any layout."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pytest_tablebench.models.lexical._readers import (
    CLOSED,
    MAX_CELLS,
    MAX_COLUMNS,
    READERS,
    Parsed,
)


@dataclass(frozen=True)
class FoundTable:
    """A table of text cells, its place in the prompt, and its layout.

    `layout` is a serializer's name. With `"concat"` there is no header and one row of words.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    layout: str
    start: int
    end: int


_LABELS = (
    "question|query|statement|claim|answer|final answer|program|response|output"
    "|pre-table text|post-table text|table caption|caption|description|text description"
    "|selected column|column name|page title|section title|title|table|options|choices"
)
_NEXT_LABEL = re.compile(rf"\n[ \t]*+({_LABELS})[ ]?:", re.IGNORECASE)
_TABLE_NAMES = ("Table:", "table:", "TABLE:")
_MARKS = ("<table", "pd.DataFrame(", "\\begin{tabular}", "col : ", '{"0": {', "\n|")


def next_label(text: str, start: int) -> int:
    """Return the line end before the next line with a label, or the end of the text."""
    match = _NEXT_LABEL.search(text, start)
    return match.start() if match else len(text)


def find_label(text: str, name: str, end: int) -> int:
    """Return where the text after the last `name` before `end` begins, or -1.

    Only blanks may precede the name in its line.
    """
    while True:
        place = text.rfind(name, 0, end)
        if place < 0:
            return -1
        before = place
        while before and text[before - 1] in " \t":
            before -= 1
        if before == 0 or text[before - 1] == "\n":
            return place + len(name)
        end = before


def _trim(parsed: Parsed) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    """Strip the cells and limit the size, also for hostile text."""
    rows: list[tuple[str, ...]] = []
    cells = 0
    for row in parsed.rows:
        rows.append(tuple([cell.strip() for cell in row[:MAX_COLUMNS]]))
        cells += len(rows[-1]) + 1
        if cells > MAX_CELLS:
            break
    return tuple([name.strip() for name in parsed.header[:MAX_COLUMNS]]), tuple(rows)


def _read(text: str, start: int) -> FoundTable:
    """Read the table that begins at `start`, in the first layout that matches."""
    while start < len(text) and text[start].isspace():
        start += 1
    stop = next_label(text, start)
    for layout, reader in READERS.items():
        # A cell may contain a label if the layout marks its own end.
        parsed = reader(text[start:] if layout in CLOSED else text[start:stop])
        if parsed is not None:
            return FoundTable(*_trim(parsed), layout, start, start + parsed.end)
    return FoundTable((), (tuple(text[start:stop].split()[:MAX_CELLS]),), "concat", start, stop)


def find_table(text: str) -> FoundTable:
    """Return the last table of a prompt; a text without a table is one row of words.

    The last `Table:` label decides; without one, the last mark of a known layout.
    """
    start = max(find_label(text, name, len(text)) for name in _TABLE_NAMES)
    if start >= 0:
        table = _read(text, start)
        if any(table.rows):
            return table
    marks = sorted(((text.rfind(mark), mark) for mark in _MARKS), reverse=True)
    if text.startswith("|"):
        marks.append((0, "\n|"))
    for position, mark in marks:
        if position < 0:
            break
        begin = _block_start(text, position) if mark == "\n|" else position
        table = _read(text, begin)
        if table.layout not in ("csv", "concat"):
            return table
    return FoundTable((), (tuple(text.split()[-MAX_CELLS:]),), "concat", 0, len(text))


def _block_start(text: str, position: int) -> int:
    """Return where the lines that begin with a pipe around `position` begin."""
    while True:
        line_start = text.rfind("\n", 0, position) + 1
        if not text.startswith("|", line_start):
            return position + 1 if text.startswith("\n", position) else position
        if line_start == 0:
            return 0
        position = line_start - 1
