"""The rows of a `<table>`, with the text of each cell as a browser shows it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, NamedTuple

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables._html_styles import Look, Looks
from pytest_tablebench.tables._shown_marks import apart, lowered, raised, struck
from pytest_tablebench.tables.text_files import has_line_end, read_text

if TYPE_CHECKING:
    import bs4

MAX_CHARACTERS = 20_000_000
MAX_ROWS = 100_000
MAX_HTML_CELLS = 100_000
"""The most cells of one text. Beautiful Soup reads about 25,000 a second."""
MAX_TAGS = 250_000
MAX_TABLES_DEEP = 50
MAX_STEPS = 10_000_000
"""The most steps up the tree. Beautiful Soup takes about 2,000,000 a second."""

_TAG = re.compile(r"<(/?)([a-z][a-z0-9]*)[^<>]*>?", re.IGNORECASE)
_NEVER_CLOSED = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")
)


def check_markup(text: str, where: str) -> None:
    """Raise `TableError` for HTML that takes too long to read; `where` is its label in messages."""
    if len(text) > MAX_CHARACTERS:
        raise TableError(f"{where}: {len(text):,} characters; at most {MAX_CHARACTERS:,} are read")
    counts: Counter[str] = Counter()
    open_tags: Counter[str] = Counter()
    stack: list[str] = []
    position = tables = steps = 0
    is_first = True
    for match in _TAG.finditer(text):
        # To link a text after another node, Beautiful Soup goes up to the root. With missing end
        # tags, the depth of the tree grows with each row.
        if match.start() > position and not is_first:
            steps += len(stack)
        position, is_first = match.end(), not match[1]
        name = match[2].lower()
        counts["tag"] += 1
        if match[1]:
            while open_tags[name]:
                last = stack.pop()
                open_tags[last] -= 1
                if last == name:
                    break
        elif name in _NEVER_CLOSED:
            is_first = False
        else:
            counts[name] += 1
            stack.append(name)
            open_tags[name] += 1
            tables = max(tables, open_tags["table"])
    for count, limit, noun in (
        (counts["tr"], MAX_ROWS, "rows"),
        (counts["td"] + counts["th"], MAX_HTML_CELLS, "cells"),
        (counts["tag"], MAX_TAGS, "tags"),
        (tables, MAX_TABLES_DEEP, "tables inside each other"),
    ):
        if count > limit:
            raise TableError(f"{where}: {count:,} {noun}; at most {limit:,} are read")
    if steps > MAX_STEPS:
        raise TableError(
            f"{where}: missing end tags make a tree of {steps:,} steps; at most {MAX_STEPS:,} are "
            f"read: add the end tags"
        )


# Marks in the collected text of a cell. Noncharacters, which are dropped from the source.
_BREAK, _BLOCK, _ROW, _TAB, _BLANK = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4"
_RAISED, _LOWERED, _STRUCK, _END = "\ufdd5\ufdd6\ufdd7\ufdd8"
_MARKS = re.compile("[\ufdd0-\ufdd8]")
_BLANKS = re.compile(r"[ \t\r\n\f]+")
_INLINE = f"{_RAISED}{_LOWERED}{_STRUCK}"
_LINE_ENDS = f"{_BREAK}{_BLOCK}{_ROW}{_TAB}"
_MARKED = re.compile(f"([{_INLINE}])([^{_INLINE}{_END}]*)(?:{_END}|$)")
_BETWEEN = re.compile(f" ?[{_LINE_ENDS}](?:[{_LINE_ENDS} ]*)")
_BETWEEN_WRITTEN = re.compile(f"[{_LINE_ENDS}]+")
_SOURCE_ENDS = re.compile(r"(?<![ \t\r\n])[ \t]*[\r\n][ \t\r\n]*")
_ITEMS = {"p": "p", "li": "li", "dt": "dd", "dd": "dd", "option": "option"}
_EDGE_MARKS = {"br": _BREAK, "tr": _ROW, "td": _TAB, "th": _TAB}


@dataclass(eq=False)
class ShownCell:
    """A cell that a browser shows.

    Arguments:
        node: its element.
        is_link: whether it contains a link.
        is_bold: whether its text begins in bold type, by a `<b>` or `<strong>`.
    """

    node: bs4.Tag
    is_link: bool = False
    is_bold: bool = False
    parts: list[str] = field(default_factory=list, repr=False)
    has_text: bool = False

    def text(self, *, is_marked: bool = True) -> str:
        """Return the text, with blocks and rows on lines of their own.

        Without `is_marked`, blanks stay and raised and struck text has no marks. Line ends of the
        source become one blank with the blanks around them.
        """
        text = "".join(self.parts)
        if not is_marked:
            text = _SOURCE_ENDS.sub(_blank, re.sub(f"[{_INLINE}{_END}]", "", text))
            return _BETWEEN_WRITTEN.sub(_line_end, text).strip("\n").replace(_BLANK, " ")
        text = _BLANKS.sub(" ", text)
        while _MARKED.search(text):
            text = _MARKED.sub(_plain, text)
        text = _BETWEEN.sub(_line_end, text.replace(_END, ""))
        return re.sub(" +", " ", text).strip(" \n\t").replace(_BLANK, " ")


def _blank(match: re.Match[str]) -> str:
    text, start = match.string, match.start()
    is_edge = start == 0 or match.end() == len(text) or text[start - 1] in _LINE_ENDS
    return "" if is_edge else " "


def _plain(match: re.Match[str]) -> str:
    """Return marked text as plain text; its outer blanks and line ends are outside the mark."""
    mark: Callable[[str], str] = struck
    if match[1] != _STRUCK:
        before = match.string[max(match.start() - 1, 0) : match.start()]
        mark = partial(raised if match[1] == _RAISED else lowered, before=before)
    return apart(mark, match[2], f" {_LINE_ENDS}")


def _line_end(match: re.Match[str]) -> str:
    run = match[0]
    if _ROW in run:
        return "\n"
    if _TAB in run:
        return "\t" * run.count(_TAB)
    return "\n" if _BLOCK in run else "\n" * run.count(_BREAK)


@dataclass(frozen=True)
class ShownRow:
    """A row that a browser shows.

    Arguments:
        cells: its cells.
        group: the name of its row group (`thead`, `tbody`, `tfoot`), "" without one.
        number: the number of its row group in the table, from 0.
    """

    cells: list[ShownCell]
    group: str
    number: int


class HtmlTable(NamedTuple):
    """One table of an HTML text: its rows, document, file name and label in messages."""

    rows: list[ShownRow]
    soup: bs4.BeautifulSoup
    name: str | None
    where: str


def read_rows(source: str | PathLike[str], *, index: int) -> HtmlTable:
    """Read the `index`-th shown table of an HTML text or file.

    Raises `TableError` for an unreadable file, and a text beyond the limits of this module.
    """
    import bs4

    text, name, where = read_text(
        source,
        "HTML",
        lambda text: has_line_end(text) or "<table" in text.lower(),
        "has a line end or a <table>",
    )
    check_markup(text, where)
    # The parser warns of an XML declaration before XHTML, which does not concern the table.
    text = re.sub(r"^\s*<\?xml[^>]*>", "", text)
    # Outside of these tags Beautiful Soup reduces a text of blanks to one blank.
    try:
        soup = bs4.BeautifulSoup(text, "html.parser", preserve_whitespace_tags={"table"})
    except (bs4.ParserRejectedMarkup, AssertionError, RecursionError):
        raise TableError(
            f"{where} has a declaration that no parser reads, such as `<![`; remove it"
        ) from None
    looks = Looks(soup, where)
    tables, hidden = _shown_tables(soup, looks)
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(tables):
        indexes = f"0 to {len(tables) - 1}" if tables else "none"
        more = f", and {hidden} that browsers do not show" if hidden else ""
        raise TableError(f"{where} has no <table> with index {index!r}; there are: {indexes}{more}")
    table, look = tables[index]
    where = f"{where}, table {index}"
    return HtmlTable(_Reader(looks, table, look, where).read(), soup, name, where)


def _shown_tables(soup: bs4.BeautifulSoup, looks: Looks) -> tuple[list[tuple[bs4.Tag, Look]], int]:
    """Return each table that is shown, with its look, and the number of the other tables."""
    # Each element's look comes from its parent. Searching upwards would take quadratic time.
    inherited = {id(soup): Look()}
    tables, hidden = [], 0
    for node in soup.find_all(True):
        outer = inherited[id(node.parent)]
        look = inherited[id(node)] = looks.of(node, outer)
        if node.name == "table":
            # Marks of text around a table say nothing about the table.
            is_shown = not look.is_hidden and not look.is_invisible
            tables += [(node, Look())] if is_shown else []
            hidden += not is_shown
    return tables, hidden


def _marks(node: bs4.Tag, outer: Look, look: Look) -> tuple[str, str]:
    """Return the marks before and after the text of an element in a cell."""
    if node.name in _EDGE_MARKS:
        return _EDGE_MARKS[node.name], ""
    starts = [
        mark
        for mark, is_marked, was_marked in (
            (_RAISED, look.is_raised, outer.is_raised),
            (_LOWERED, look.is_lowered, outer.is_lowered),
            (_STRUCK, look.is_struck, outer.is_struck),
        )
        if is_marked and not was_marked
    ]
    block = _BLOCK if look.is_block else ""
    return block + "".join(starts), _END * len(starts) + block


class _Context(NamedTuple):
    """The context of the nodes inside an element."""

    look: Look
    group_look: Look
    """The look of the row group, which its rows inherit."""
    group: bs4.Tag | None = None
    cell: ShownCell | None = None
    is_inner: bool = False
    """Whether the nodes are in an inner table, whose text is part of its cell."""
    item: tuple[str, Look] | None = None
    """The kind of the open paragraph or list item, which may have no end tag, and the look of the
    element around it."""
    closing: str = ""
    """The mark at the end of the element."""


class _Reader:
    """Reads the rows of one table, in document order.

    Optional end tags (`</td>`, `</tr>`, …) may be missing. Then each row is inside the row before,
    so a row inherits its look from its group, and a cell from its row, instead of the parent.
    """

    def __init__(self, looks: Looks, table: bs4.Tag, look: Look, where: str) -> None:
        self._looks, self._table, self._look, self._where = looks, table, look, where
        self._rows: list[ShownRow] = []
        self._row_look: Look | None = None
        self._cell: ShownCell | None = None
        self._group: bs4.Tag | None = None
        self._number = 0

    def read(self) -> list[ShownRow]:
        """Return the rows that are shown."""
        from bs4.element import CData, NavigableString, RubyTextString, Tag

        shown_types = {NavigableString, CData, RubyTextString}
        stack = [(_Context(self._look, self._look), iter(self._table.contents))]
        while stack:
            context, children = stack[-1]
            child = next(children, None)
            if child is None:
                self._add(context.closing, context)
                stack.pop()
            elif isinstance(child, Tag):
                stack.append((self._inside(child, context), iter(child.contents)))
            elif type(child) in shown_types and not context.look.is_invisible:
                self._add_text(_MARKS.sub("", str(child)), context)
        return self._rows

    def _inside(self, node: bs4.Tag, context: _Context) -> _Context:
        """Start an element, and return the context of its children."""
        if context.is_inner or node.name not in {"thead", "tbody", "tfoot", "tr", "td", "th"}:
            return self._inside_cell(node, context)
        self._cell = None
        if node.name == "tr":
            look = self._row_look = self._looks.of(node, context.group_look)
            self._start_row(context.group)
            return context._replace(look=look, cell=None)
        if node.name in {"td", "th"}:
            if self._row_look is None:
                raise TableError(f"{self._where}: a <{node.name}> is outside of any <tr>")
            look = self._looks.of(node, self._row_look)
            if not look.is_hidden:
                self._cell = ShownCell(node)
                self._rows[-1].cells.append(self._cell)
            context = context._replace(look=look, cell=self._cell)
            self._add(_STRUCK if look.is_struck else "", context)
            return context
        look = self._looks.of(node, self._look)
        return _Context(look, look, node)

    def _start_row(self, group: bs4.Tag | None) -> None:
        if self._rows and group is not self._group:
            self._number += 1
        self._group = group
        self._rows.append(ShownRow([], "" if group is None else group.name, self._number))

    def _inside_cell(self, node: bs4.Tag, context: _Context) -> _Context:
        item, outer = context.item, context.look
        look = self._looks.of(node, outer)
        kind = _ITEMS.get(node.name, "")
        if item is not None and (kind == item[0] or (item[0] == "p" and look.is_block)):
            outer = item[1]  # the start of this element ends the open one
            look = self._looks.of(node, outer)
        if kind or look.is_block:
            item = (kind, outer) if kind else None
        is_inner = context.is_inner or node.name == "table"
        opening, closing = _marks(node, context.look, look)
        context = context._replace(look=look, is_inner=is_inner, closing=closing, item=item)
        if context.cell is None or look.is_hidden:
            return context._replace(closing="")
        self._add(opening, context)
        context.cell.is_link |= node.name == "a" and node.has_attr("href")
        context.cell.is_bold |= node.name in {"b", "strong"} and not context.cell.has_text
        return context

    def _add(self, text: str, context: _Context) -> None:
        if text and context.cell is not None and context.cell is self._cell:
            context.cell.parts.append(text)

    def _add_text(self, text: str, context: _Context) -> None:
        if context.look.is_hidden:
            return
        if context.look.keeps_line_ends:
            text = re.sub(r"\r\n?|\n", _BREAK, text)
        if context.look.keeps_blanks:
            text = re.sub("[ \t]", _BLANK, text)
        self._add(text, context)
        if context.cell is not None and text.strip():
            context.cell.has_text = True
