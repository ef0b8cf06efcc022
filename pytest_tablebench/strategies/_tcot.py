"""Textual chain of thought: thought and answer in one JSON object (spec: treb.md section 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from pytest_tablebench.datasets import AnswerPlace
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.metrics.thinking import oddities
from pytest_tablebench.models import Message
from pytest_tablebench.serializers import Content
from pytest_tablebench.strategies._replies import json_answer
from pytest_tablebench.strategies._treb_texts import Mode, table_text
from pytest_tablebench.strategies.base import (
    Conversation,
    Said,
    Task,
    at_least,
    system_message,
    the_reply,
)
from pytest_tablebench.tables.table import Table

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
        """Ask once."""
        cut = False

        def show(table: Table) -> Content:
            nonlocal cut
            content = task.shown(table)
            mode = _MODES.get(task.serializer)
            if mode is None or not isinstance(content, str):
                return content
            shown = table_text(
                mode,
                markdown=content,
                html=content,
                shape=table.shape,
                header_rows=len(table.header_rows) + 1,
                context=task.params.get("context", UNBOUNDED),
                compat=task.compat,
            )
            cut = cut or shown.cut
            return shown.text

        user = Message("user", task.rewritten(show))
        system = system_message(task.form, SYSTEM.format(ask=task.form.ask))
        reply = the_reply((yield Ask((*system, user))))
        flags = ("table_cut",) * cut + oddities(reply.text)
        return Said(json_answer(reply.text, task.compat), flags)
