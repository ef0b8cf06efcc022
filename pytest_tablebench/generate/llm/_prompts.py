"""What models are told: a table, a kind of question, and what to write."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.generate._shared import data_file
from pytest_tablebench.generate.llm.replies import Attack, Draft
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.serializers import serialize
from pytest_tablebench.serializers.content import Message
from pytest_tablebench.tables.table import Table

DISCRIMINATORS = 2
"""How many mark each question; each is told so in words of its own."""

SOLVERS = ("markdown", "csv", "html")
"""Independent solvers: each is told to go its own way, and shown the table in its own format."""


def _data(name: str) -> dict[str, Any]:
    return data_file(f"llm/{name}.toml")


SUBTASKS: Mapping[str, Mapping[str, str]] = _data("subtasks")
"""By subtask: its skill, and the kind of its answers."""


def yes_no(language: str) -> tuple[str, ...]:
    """Return the words for yes and no."""
    return tuple(_data(language)["yes"])


def topics(language: str) -> tuple[str, ...]:
    """Return what tables may be invented about."""
    return tuple(_data(language)["topics"])


def ask_for_table(
    topic: str, number: int, rows: int, columns: int, *, language: str, model: str
) -> Ask:
    """Return the question for a new table of a size about a topic; its number is told as well."""
    words = _data(language)
    instructions = words["inventor"].format(rows=rows, columns=columns)
    return ask_model(instructions, words["invented"].format(number=number, topic=topic), model)


def ask_for_translation(
    texts: Sequence[str], translations: Mapping[str, str], language: str, model: str
) -> Ask:
    """Return the question for texts in the other language; `translations` are in use already."""
    instructions = _data(language)["translator"].format()
    content = json.dumps(
        {"known": dict(translations), "texts": list(texts)}, ensure_ascii=False, indent=0
    )
    return ask_model(instructions, content, model)


def shown(table: Table, subtask: str, language: str) -> str:
    """Return a table with the kind of question. Raises `TableError`: it has no such form."""
    words = _data(language)
    text = _table(table, language, "markdown")
    return str(words["shown"].format(kind=words["kinds"][subtask], table=text))


def _table(table: Table, language: str, form: str) -> str:
    words = _data(language)
    title = words["title"].format(title=table.title) if table.title else ""
    return str(words["table"].format(title=title, table=serialize(table, form)))


def ask_for_pairs(shows: str, subtask: str, language: str, count: int, model: str) -> Ask:
    """Return the question for so many pairs; `shows` is the table with the kind of question."""
    return ask_model(_generator(subtask, language, count), shows, model)


def _generator(subtask: str, language: str, count: int) -> str:
    words = _data(language)
    shape = words["shapes"][SUBTASKS[subtask]["metric"]]
    return str(words["generator"].format(count=count, shape=shape))


def ask_for_revision(
    shows: str,
    subtask: str,
    language: str,
    history: Sequence[tuple[Draft, Attack]],
    model: str,
) -> Ask:
    """Return the question for a better pair, after all pairs and attacks so far."""
    words = _data(language)
    messages = [
        Message("system", _generator(subtask, language, 1).strip()),
        Message("user", shows),
    ]
    for draft, attack in history:
        items = list(draft.answers) if len(draft.answers) > 1 else draft.answers[0]
        pair = {"pairs": [{"question": draft.question, "answer": items}]}
        points = words["and"].join(words["points"][name] for name in attack.points)
        revise = words["revise"].format(points=points, fault=attack.fault)
        messages += [
            Message("assistant", json.dumps(pair, ensure_ascii=False)),
            Message("user", revise.strip()),
        ]
    return Ask(tuple(messages), model)


def ask_for_attack(shows: str, draft: Draft, language: str, model: str) -> Ask:
    """Return the question to a critic for what is wrong with a pair."""
    words = _data(language)
    return ask_model(words["critic"].format(), _drafted(shows, draft, language), model)


def ask_solver(
    table: Table, question: str, *, metric: str, language: str, number: int, model: str
) -> Ask:
    """Return a question as one of `SOLVERS` is asked it, shown the table in its format.

    Arguments:
        table: that is shown.
        question: that is asked.
        metric: the kind of answer.
        language: of what is told.
        number: of the solver, from 0.
        model: that it is.

    Raises `TableError` where the table has no such form.
    """
    words = _data(language)
    instructions = words["solver"].format(way=words["ways"][number], shape=words["shapes"][metric])
    shows = _table(table, language, SOLVERS[number])
    return ask_model(instructions, words["asked"].format(table=shows, question=question), model)


def ask_for_marks(shows: str, draft: Draft, language: str, number: int, model: str) -> Ask:
    """Return the question for marks to a discriminator, by its number from 0."""
    words = _data(language)
    return ask_model(
        words["discriminator"][number].format(), _drafted(shows, draft, language), model
    )


def _drafted(shows: str, draft: Draft, language: str) -> str:
    answer = " | ".join(draft.answers)
    words = _data(language)
    return str(words["draft"].format(shown=shows, question=draft.question, answer=answer))


def ask_model(instructions: str, text: str, model: str) -> Ask:
    """Return what a model is told, and then asked."""
    return Ask((Message("system", instructions.strip()), Message("user", text)), model)
