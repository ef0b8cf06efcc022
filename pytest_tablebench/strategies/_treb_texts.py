"""Tables in TReB's prompts (spec: treb.md section 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_tablebench.config.compat import Compat

Mode = Literal["TCoT_md", "TCoT_html"]

_ROWS = 50
_COLUMNS = 20
"""A table with fewer rows and fewer columns is shown whole, as it is given."""

_NO_TABLE = "No table found in the provided content."
_CUT = "..."


@dataclass(frozen=True)
class TableText:
    """A table as the model sees it, and whether a part of it is missing."""

    text: str
    cut: bool = False


def table_text(
    mode: Mode,
    *,
    markdown: str,
    html: str,
    shape: tuple[int, int] | None,
    header_rows: int | None,
    context: int,
    compat: Compat = "fixed",
    count_tokens: Callable[[str], int] = lambda text: -(-len(text) // 4),
) -> TableText:
    """Return a table as the given Markdown or HTML, cut to its first 50 rows if it is large.

    It may take half of the context. `reference` counts characters instead of tokens, and cuts
    inside cells. `fixed` counts tokens and leaves out whole rows.

    Arguments:
        mode: whether to show Markdown or HTML.
        markdown: the table as Markdown.
        html: the table as HTML.
        shape: the numbers of rows and columns; None if the table could not be read. The text is
            then shown whole.
        header_rows: the number of header rows; None counts as 1.
        context: the size of the model's context, in tokens.
        compat: see above.
        count_tokens: returns the number of tokens of a text; by default one per four characters.
    """
    written = html if mode == "TCoT_html" else markdown
    if shape is None:
        return TableText(written)
    head = 1 if header_rows is None else header_rows
    room, shown, missing = context // 2, written, False
    if shape[0] >= _ROWS or shape[1] >= _COLUMNS:
        lines = _lines(mode, written, head)
        shown, missing = lines.text(_ROWS), len(lines.body) > _ROWS
    if compat == "reference":
        if len(shown) <= room:
            return TableText(shown, missing)
        return TableText(shown[:room] + _CUT, cut=True)
    if count_tokens(shown) <= room:
        return TableText(shown, missing)
    lines = _lines(mode, written, head)
    return TableText(lines.text(_fitting(lines, room, count_tokens)), cut=True)


@dataclass(frozen=True)
class _Lines:
    """A table's rows, and the text before and after them."""

    head: Sequence[str]
    body: Sequence[str]
    foot: Sequence[str] = ()

    def text(self, rows: int) -> str:
        return "\n".join((*self.head, *self.body[:rows], *self.foot))


def _fitting(lines: _Lines, tokens: int, count_tokens: Callable[[str], int]) -> int:
    """Return the number of rows that fit, by halving; 0 if not even the header fits."""
    low, high = 0, min(len(lines.body), _ROWS)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(lines.text(middle)) <= tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _lines(mode: Mode, text: str, header_rows: int) -> _Lines:
    return _html_lines(text) if mode == "TCoT_html" else _markdown_lines(text, header_rows)


def _markdown_lines(markdown: str, header_rows: int) -> _Lines:
    """Return the lines with a bar: the header with the line below it, and the rows."""
    lines = [line for line in markdown.split("\n") if "|" in line]
    return _Lines(lines[: header_rows + 1], lines[header_rows + 1 :])


def _html_lines(html: str) -> _Lines:
    """Return the first table: its header, and the rows of its body, or all rows without a body."""
    from bs4 import BeautifulSoup

    table = BeautifulSoup(html, "html.parser").find("table")
    if table is None:
        return _Lines((_NO_TABLE,), ())
    head, body = table.find("thead"), table.find("tbody")
    row_tags = (body or table).find_all("tr")
    rows = [str(row) for row in row_tags if row.find_parent("thead") is None]
    before = ["<table>", *([] if head is None else [str(head)])]
    if body is None:
        return _Lines(before, rows, ("</table>",))
    return _Lines([*before, "<tbody>"], rows, ("</tbody>", "</table>"))
