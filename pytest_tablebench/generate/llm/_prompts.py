"""What models are told: a table, a kind of question, and what to write."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from pytest_tablebench.generate.llm._replies import Draft
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.serializers import serialize
from pytest_tablebench.serializers.content import Message
from pytest_tablebench.tables.table import Table

__all__ = ["DISCRIMINATORS", "SUBTASKS", "ask_for_marks", "ask_for_pairs", "shown", "yes_no"]

DISCRIMINATORS = 2
"""How many mark each question; each is told so in words of its own."""


@cache
def _data(name: str) -> dict[str, Any]:
    return tomllib.loads((files(__package__) / f"{name}.toml").read_text(encoding="utf-8"))


SUBTASKS: Mapping[str, Mapping[str, str]] = _data("subtasks")
"""By subtask: its skill, and the kind of its answers."""


def yes_no(language: str) -> tuple[str, ...]:
    """Return the words for yes and no."""
    return tuple(_data(language)["yes"])


def shown(table: Table, subtask: str, language: str) -> str:
    """Return a table with the kind of question. Raises `TableError`: it has no such form."""
    words = _data(language)
    title = words["title"].format(title=table.title) if table.title else ""
    return str(
        words["shown"].format(
            kind=words["kinds"][subtask], title=title, table=serialize(table, "markdown")
        )
    )


def ask_for_pairs(shows: str, subtask: str, language: str, count: int, model: str) -> Ask:
    """Return the question for so many pairs; `shows` is the table with the kind of question."""
    words = _data(language)
    shape = words["shapes"][SUBTASKS[subtask]["metric"]]
    return _ask(words["generator"].format(count=count, shape=shape), shows, model)


def ask_for_marks(shows: str, draft: Draft, language: str, number: int, model: str) -> Ask:
    """Return the question for marks to a discriminator, by its number from 0."""
    words = _data(language)
    text = words["draft"].format(
        shown=shows, question=draft.question, answer=" | ".join(draft.answers)
    )
    return _ask(words["discriminator"][number].format(), text, model)


def _ask(told: str, text: str, model: str) -> Ask:
    return Ask((Message("system", told.strip()), Message("user", text)), model)
