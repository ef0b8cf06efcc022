"""How TReB writes tables into prompts (spec: treb.md section 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_tablebench.config.compat import Compat

Mode = Literal["TCoT_md", "TCoT_html"]

_ROWS = 50
_COLUMNS = 20
"""A table with fewer of both is shown as it is given."""

_NO_TABLE = "No table found in the provided content."
_CUT = "..."


@dataclass(frozen=True)
class TableText:
    """A table as the model is shown it, and whether something of it is missing."""

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
    """Return a table as the given Markdown or HTML, with its first 50 rows where it is large.

    It has half of the context. `reference` counts characters of text as if they were tokens, and
    cuts in the midst of a cell; `fixed` counts tokens and leaves out whole rows.

    Arguments:
        mode: says which form is shown.
        markdown: the table as its file gives it.
        html: the same.
        shape: rows and columns of the table as it was read; None where it could not be, and then
            the given form is shown whole.
        header_rows: how many rows of the table are its head, 1 where that is not known.
        context: tokens of the model's context.
        compat: see above.
        count_tokens: tokens of a text, about four characters each by default.
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
    """Return how many rows have room, by halves; 0 where not even the head has."""
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
    """Lines with a bar are the table: its head, the line below the head, its rows."""
    lines = [line for line in markdown.split("\n") if "|" in line]
    return _Lines(lines[: header_rows + 1], lines[header_rows + 1 :])


def _html_lines(html: str) -> _Lines:
    """The first table: its head, and the rows of its body, or all rows where it has none."""
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
