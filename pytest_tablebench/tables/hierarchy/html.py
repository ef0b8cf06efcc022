"""Reads a `<table>` with merged cells as a grid."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.hierarchy.grid import (
    MAX_CELLS,
    MAX_COLUMNS,
    MAX_LINES,
    Grid,
    check_size,
    fit,
)
from pytest_tablebench.tables.readers import find_html_table

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


class _Style(NamedTuple):
    indent: int = 0
    is_bold: bool = False
    is_underlined: bool = False

    @classmethod
    def read(cls, text: str) -> _Style:
        indent = _INDENT.search(text)
        level = round(int(indent[1]) / _PIXELS) if indent else 0
        return cls(level, _BOLD.search(text) is not None, _BORDER.search(text) is not None)


@dataclass
class _Cell:
    tag: str
    columns: int
    rows: int
    style: _Style
    is_link: bool = False
    parts: list[str] = field(default_factory=list)
    has_text: bool = False

    def add(self, text: str) -> None:
        self.parts.append(text)
        self.has_text |= bool(text.strip())

    @property
    def text(self) -> str:
        """The text with a browser's line breaks: at each `<br>`, which is a form feed here.

        Blanks stay; line ends of the source become one blank with the blanks around them.
        """
        first, *others = re.split(r"[\r\n]+", "".join(self.parts))
        text = first.rstrip(" \t") if others else first
        for number, other in enumerate(others, start=1):
            more = other.lstrip(" \t")
            more = more.rstrip(" \t") if number < len(others) else more
            text += f" {more}" if text and more and not text.endswith("\f") else more
        return text.replace("\f", "\n")


def read_html_grid(source: str | PathLike[str], *, index: int) -> Grid:
    """Read the `index`-th table of an HTML text or file as a grid.

    A rowspan is cut at the end of the table, and a colspan at a merged cell from above. Short rows
    are filled with empty cells (spec: realhitbench.md section 1). Raises `TableError` as
    `Table.from_html` does, and for tables beyond the limits.
    """
    table, soup, name, where = find_html_table(source, index=index)
    styles = {
        rule[1]: _Style.read(rule[2])
        for style in soup.find_all("style")
        for rule in _RULE.finditer(style.get_text())
    }
    return replace(_placed(*_lines(table, styles, where), where), name=name)


def _lines(
    table: bs4.Tag, styles: dict[str, _Style], where: str
) -> tuple[list[list[_Cell]], list[str]]:
    """Return the cells of each row, and the part of the table that contains the row."""
    from bs4.element import CData, NavigableString, Tag

    lines: list[list[_Cell]] = []
    groups: list[str] = []
    tag: Tag | None = None
    # Each element's context comes from its parent. With missing end tags each row is inside the
    # one before, so searching upwards would take too long. Only the text of an inner table is read.
    # A spreadsheet's comment is hidden until it is opened, so it is not part of its cell.
    inside: dict[int, tuple[str, Tag | None, str]] = {id(table): ("", None, "")}
    for node in table.descendants:
        group, cell, kind = inside[id(node.parent)]
        if not isinstance(node, Tag):
            is_shown = kind != "remark" and type(node) in {NavigableString, CData}
            if is_shown and tag is not None and cell is tag:
                lines[-1][-1].add(str(node))
            continue
        if not kind:
            is_remark = node.name == "div" and "comment" in node.get_attribute_list("class")
            kind = "remark" if is_remark else "table" if node.name == "table" else ""
        if not kind:
            if node.name in {"thead", "tbody", "tfoot"}:
                group = node.name
            cell = node if node.name in {"td", "th"} else cell
            if node.name == "tr":
                lines.append([])
                groups.append(group)
                tag = None
            elif node.name in {"td", "th"}:
                if not lines:
                    raise TableError(f"{where}: a <{node.name}> is outside of any <tr>")
                tag = node
                lines[-1].append(_cell(node, styles, f"{where}, row {len(lines)}"))
            elif tag is not None and cell is tag:
                _apply_element(lines[-1][-1], node)
        inside[id(node)] = group, cell, kind
    return lines, groups


def _apply_element(shown: _Cell, node: bs4.Tag) -> None:
    """Apply an element inside a cell to it: a line end, a link or bold type."""
    if node.name == "br":
        shown.add("\f")
    shown.is_link |= node.name == "a" and node.has_attr("href")
    if node.name in {"b", "strong"} and not shown.has_text:
        shown.style = shown.style._replace(is_bold=True)


def _cell(node: bs4.Tag, styles: dict[str, _Style], where: str) -> _Cell:
    of_classes = [styles.get(str(name), _Style()) for name in node.get_attribute_list("class")]
    inline = _Style.read(str(node.get("style", "")))
    style = _Style(
        inline.indent or max((each.indent for each in of_classes), default=0),
        any(each.is_bold for each in (inline, *of_classes)),
        any(each.is_underlined for each in (inline, *of_classes)),
    )
    columns = _span(node, "colspan", MAX_COLUMNS, where) or 1
    return _Cell(node.name, columns, _span(node, "rowspan", MAX_LINES, where), style)


def _span(node: bs4.Tag, attribute: str, limit: int, where: str) -> int:
    """Return the number at the start of an attribute, as browsers do; 1 without a number."""
    match = re.match(r"\s*0*(\d+)", str(node.get(attribute, "1")))
    if match is None:
        return 1
    if len(match[1]) > 9 or int(match[1]) > limit:
        raise TableError(f"{where}: {attribute}={match[1][:20]}; at most {limit:,} are read")
    return int(match[1])


def _placed(lines: list[list[_Cell]], groups: list[str], where: str) -> Grid:
    """Put each cell at the first free position of its row, as in the HTML standard."""
    taken: dict[int, set[int]] = {}
    values = {}
    spans: list[Span] = []
    indents = {}
    places: dict[str, set[tuple[int, int]]] = {
        name: set() for name in ("heads", "bold", "links", "underlined")
    }
    total = 0
    for number, cells in enumerate(lines):
        column = 0
        used = taken.pop(number, set())
        for cell in cells:
            while column in used:
                column += 1
            rows = min(cell.rows or len(lines), len(lines) - number)
            columns = next(
                (step for step in range(1, cell.columns) if column + step in used), cell.columns
            )
            total += rows * columns
            check_size(len(lines), column + columns, where)
            if total > MAX_CELLS:
                raise TableError(
                    f"{where}, row {number + 1}: more than {MAX_CELLS:,} cells; no more are read"
                )
            values[number, column] = cell.text
            for name, is_so in (
                ("heads", cell.tag == "th"),
                ("bold", cell.style.is_bold),
                ("links", cell.is_link),
                ("underlined", cell.style.is_underlined),
            ):
                if is_so:
                    places[name].add((number, column))
            if cell.style.indent:
                indents[number, column] = cell.style.indent
            if rows * columns > 1:
                spans.append(Span(number, column, rows, columns))
            for line in range(number + 1, number + rows):
                taken.setdefault(line, set()).update(range(column, column + columns))
            column += columns
    grid = fit(values, spans, where)
    return replace(
        grid,
        indents=indents,
        groups=tuple(groups[: len(grid.cells)]),
        heads=frozenset(places["heads"]),
        bold=frozenset(places["bold"]),
        links=frozenset(places["links"]),
        underlined=frozenset(places["underlined"]),
    )
