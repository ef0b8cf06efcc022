"""Reads a `<table>` as a flat table, or as a grid with merged cells."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from os import PathLike
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import MergedCellsError, TableError
from pytest_tablebench.tables._html_rows import ShownCell, ShownRow, read_rows
from pytest_tablebench.tables.content import AnyTable, Span
from pytest_tablebench.tables.hierarchy.grid import (
    MAX_CELLS,
    MAX_COLUMNS,
    MAX_LINES,
    Grid,
    check_size,
    fit,
)
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    import bs4

_INDENT = re.compile(r"padding-left\s*:\s*(\d{1,4})(?:\.\d+)?px", re.IGNORECASE)
_BOLD = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)", re.IGNORECASE)
_BORDER = re.compile(
    r"border-bottom\s*:\s*(?!none|0)[^;]*(?:solid|double|dashed|dotted)", re.IGNORECASE
)
_RULE = re.compile(r"\.([\w-]{1,40})\s*\{([^{}]*)\}")
_PIXELS = 9
"""Pixels of one level of indentation in the HTML that spreadsheets export."""


def read_html_grid(source: str | PathLike[str], *, index: int, is_marked: bool = True) -> Grid:
    """Read the `index`-th shown table of an HTML text or file as a grid.

    A rowspan is cut at the end of its row group, and a colspan at a merged cell from above. Short
    rows are filled with empty cells (spec: realhitbench.md section 1). Without `is_marked`, cells
    have the text of published benchmarks' files: see `ShownCell.text`. Raises `TableError` as
    `Table.from_html` does, and for tables beyond the limits.
    """
    rows, soup, name, where = read_rows(source, index=index)
    return replace(_grid(rows, soup, where, is_marked=is_marked), name=name)


def read_html(kind: type[AnyTable], source: str | PathLike[str], *, index: int) -> AnyTable:
    """Read one flat table of an HTML text or file; see `Table.from_html`."""
    all_rows, soup, name, where = read_rows(source, index=index)
    rows = [row for row in all_rows if row.cells]
    if not rows:
        raise TableError(f"{where} has no rows; its first row must be the header")
    if any(_spans(cell, where) != (1, 1) for row in rows for cell in row.cells):
        for span in _grid(all_rows, soup, where).spans:
            raise MergedCellsError(
                f"{where}, row {span.row + 1}, column {span.column + 1} is merged over "
                f"{counted(span.rows, 'row')} and {counted(span.columns, 'column')}; this call "
                f"reads flat tables; structure=True reads merged cells"
            )
    heads = [row for row in rows if row.group == "thead"]
    header, *texts = (
        tuple(cell.text() for cell in row.cells)
        for row in (*(heads[-1:]), *(row for row in rows if row.group != "thead"))
    )
    for number, row in enumerate(texts, start=1):
        if len(row) != len(header):
            raise TableError(
                f"{where}, row {number}: {counted(len(row), 'cell')}, the header has {len(header)}"
            )
    return kind(header, tuple(texts), name=name)


@lru_cache(maxsize=1024)  # cells share styles
def _style(inline: str, rules: tuple[str, ...]) -> tuple[int, bool, bool]:
    """Return the indent of a cell, whether it is in bold type, and whether it has a border below.

    `rules` are the declarations of its classes.
    """
    texts = (inline, *rules)
    pixels = [int(match[1]) if (match := _INDENT.search(text)) else 0 for text in texts]
    first, *others = (round(number / _PIXELS) for number in pixels)
    is_bold, is_underlined = (any(map(shape.search, texts)) for shape in (_BOLD, _BORDER))
    return first or max(others, default=0), is_bold, is_underlined


def _spans(cell: ShownCell, where: str) -> tuple[int, int]:
    """Return the columns and rows of a cell; 0 rows reach to the end of its row group."""
    columns = _span(cell.node, "colspan", MAX_COLUMNS, where) or 1
    return columns, _span(cell.node, "rowspan", MAX_LINES, where)


def _span(node: bs4.Tag, attribute: str, limit: int, where: str) -> int:
    """Return the number at the start of an attribute, as browsers do; 1 without a number."""
    match = re.match(r"\s*0*(\d+)", str(node.get(attribute, "1")))
    if match is None:
        return 1
    if len(match[1]) > 9 or int(match[1]) > limit:
        raise TableError(f"{where}: {attribute}={match[1][:20]}; at most {limit:,} are read")
    return int(match[1])


def _grid(
    rows: list[ShownRow], soup: bs4.BeautifulSoup, where: str, *, is_marked: bool = True
) -> Grid:
    """Put each cell at the first free position of its row, as in the HTML standard."""
    styles = {
        rule[1]: rule[2]
        for style in soup.find_all("style")
        for rule in _RULE.finditer(style.get_text())
    }
    taken: dict[int, set[int]] = {}
    values = {}
    spans: list[Span] = []
    indents = {}
    places: dict[str, set[tuple[int, int]]] = {
        name: set() for name in ("heads", "bold", "links", "underlined")
    }
    total = 0
    ends = {row.number: line for line, row in enumerate(rows, start=1)}
    for number, row in enumerate(rows):
        column = 0
        used = taken.pop(number, set())
        location = f"{where}, row {number + 1}"
        for cell in row.cells:
            while column in used:
                column += 1
            columns, height = _spans(cell, location)
            left = ends[row.number] - number
            height = min(height or left, left)
            columns = next((step for step in range(1, columns) if column + step in used), columns)
            total += height * columns
            check_size(len(rows), column + columns, where)
            if total > MAX_CELLS:
                raise TableError(f"{location}: more than {MAX_CELLS:,} cells; no more are read")
            values[number, column] = cell.text(is_marked=is_marked)
            classes = map(str, cell.node.get_attribute_list("class"))
            rules = tuple(styles[name] for name in classes if name in styles)
            indent, is_bold, is_underlined = _style(str(cell.node.get("style", "")), rules)
            for name, is_so in (
                ("heads", cell.node.name == "th"),
                ("bold", cell.is_bold or is_bold),
                ("links", cell.is_link),
                ("underlined", is_underlined),
            ):
                if is_so:
                    places[name].add((number, column))
            if indent:
                indents[number, column] = indent
            if height * columns > 1:
                spans.append(Span(number, column, height, columns))
            for line in range(number + 1, number + height):
                taken.setdefault(line, set()).update(range(column, column + columns))
            column += columns
    grid = fit(values, spans, where)
    styled: dict[str, Any] = {name: frozenset(cells) for name, cells in places.items()}
    groups = tuple(row.group for row in rows[: len(grid.cells)])
    return replace(grid, indents=indents, groups=groups, **styled)
