"""Textual chain of thought: thought and answer in one JSON object (spec: treb.md section 3)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import AnswerPlace
from pytest_tablebench.metrics.replies import oddities
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Message, Reply
from pytest_tablebench.serializers import Content
from pytest_tablebench.strategies._replies import json_answer
from pytest_tablebench.strategies.base import (
    Conversation,
    Said,
    Task,
    at_least,
    system_message,
)
from pytest_tablebench.tables.table import Table

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
    written: str,
    *,
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
        mode: whether the table is Markdown or HTML.
        written: the table.
        shape: the numbers of rows and columns; None if the table could not be read. The text is
            then shown whole.
        header_rows: the number of header rows; None counts as 1.
        context: the size of the model's context, in tokens.
        compat: see above.
        count_tokens: returns the number of tokens of a text; by default one per four characters.
    """
    if shape is None:
        return TableText(written)
    head = 1 if header_rows is None else header_rows
    room, excerpt, missing = context // 2, written, False
    if shape[0] >= _ROWS or shape[1] >= _COLUMNS:
        lines = _row_lines(mode, written, head)
        excerpt, missing = lines.text(_ROWS), len(lines.body) > _ROWS
    if compat == "reference":
        if len(excerpt) <= room:
            return TableText(excerpt, missing)
        return TableText(excerpt[:room] + _CUT, cut=True)
    if count_tokens(excerpt) <= room:
        return TableText(excerpt, missing)
    lines = _row_lines(mode, written, head)
    rows = range(1, min(len(lines.body), _ROWS) + 1)
    fitting = bisect_right(rows, room, key=lambda count: count_tokens(lines.text(count)))
    return TableText(lines.text(fitting), cut=True)


@dataclass(frozen=True)
class _Lines:
    """A table's rows, and the text before and after them."""

    head: Sequence[str]
    body: Sequence[str]
    foot: Sequence[str] = ()

    def text(self, rows: int) -> str:
        return "\n".join((*self.head, *self.body[:rows], *self.foot))


def _row_lines(mode: Mode, text: str, header_rows: int) -> _Lines:
    if mode == "TCoT_html":
        return _html_lines(text)
    # The lines with a bar: the header with the line below it, and the rows.
    lines = [line for line in text.split("\n") if "|" in line]
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


_MODES: Mapping[str, Mode] = {"markdown": "TCoT_md", "html": "TCoT_html"}
UNBOUNDED = 1 << 40
"""Tokens of an unlimited context."""

SYSTEM = """\
You are an expert in reading and analysing tables. Think about the task step by step.
Your reply must hold exactly one block of code, fenced as ```json, and in it one object with \
exactly two keys:
```json
{{"thought": "how you get to the answer, step by step", "answer": "the answer"}}
```
The text of "answer" is what your reply is judged by. Put into it {ask}. Whatever the task says of \
the form of the output, or of leaving out explanations, is about this text alone."""


class TCoT:
    """One request for an object with `thought` and `answer`; the answer is scored.

    In Markdown and HTML, a table with at least 50 rows or 20 columns is cut to its first 50 rows
    and to half of `context` tokens. In other formats it is shown whole.
    """

    name = "tcot"
    rounds = 1
    answer_place: AnswerPlace = "object"
    parameters: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"context": at_least(1)}

    def converse(self, task: Task) -> Conversation:
        cut = False

        def show(table: Table) -> Content:
            nonlocal cut
            content = task.shown(table)
            mode = _MODES.get(task.serializer)
            if mode is None or not isinstance(content, str):
                return content
            excerpt = table_text(
                mode,
                content,
                shape=table.shape,
                header_rows=len(table.header_rows) + 1,
                context=task.params.get("context", UNBOUNDED),
                compat=task.compat,
            )
            cut = cut or excerpt.cut
            return excerpt.text

        user = Message("user", task.rewritten(show))
        system = system_message(task.form, SYSTEM.format(ask=task.form.ask))
        reply: Reply = yield Ask((*system, user))
        flags = ("table_cut",) * cut + oddities(reply.text)
        return Said(json_answer(reply.text, task.compat), flags)
