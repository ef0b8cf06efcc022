"""Requests to models that invent tables, and that make and check questions about them.

Each has an expected reply, so that a plan can price the requests that follow from it.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_tablebench.errors import TableError
from pytest_tablebench.generate.folder import TableSource
from pytest_tablebench.generate.llm.replies import (
    FULL,
    MARKS,
    POINTS,
    Attack,
    Draft,
    plain_text,
    read_object,
)
from pytest_tablebench.generate.pair import RejectedError, is_summary, plain_question
from pytest_tablebench.generate.question_maker import LANGUAGES, data_file, spoken
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.serializers import serialize
from pytest_tablebench.serializers.content import Message
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.seeds import seeded_random

SOLVERS = ("markdown", "csv", "html")
"""The table format of each independent solver; each also has its own instructions."""


def _data(name: str) -> dict[str, Any]:
    return data_file(f"llm/{name}.toml")


DIGITS = re.compile(r"\d+(?:[.,:/-]\d+)*")
"""Numbers in a text, which a translation keeps."""

SUBTASKS: Mapping[str, Mapping[str, str]] = _data("subtasks")
"""Skill and kind of answer, by subtask."""


def yes_no(language: str) -> tuple[str, ...]:
    """Return the words for yes and no."""
    return tuple(_data(language)["yes"])


def topics(language: str) -> tuple[str, ...]:
    """Return the topics of invented tables."""
    return tuple(_data(language)["topics"])


def ask_for_table(
    topic: str, number: int, rows: int, columns: int, *, language: str, model: str
) -> Ask:
    """Return the request for a table of a size about a topic; its prompt contains the number."""
    words = _data(language)
    instructions = words["inventor"].format(rows=rows, columns=columns)
    content = words["invented"].format(number=number, topic=topic)
    header = [f"heading {index}" for index in range(columns)]
    expected = {"title": topic, "header": header, "rows": [["some words"] * columns] * rows}
    return ask_model(instructions, content, model, expected)


def ask_for_translation(
    texts: Sequence[str], translations: Mapping[str, str], language: str, model: str
) -> Ask:
    """Return the request for texts in the other language; `translations` are used already."""
    instructions = _data(language)["translator"].format()
    content = json.dumps(
        {"known": dict(translations), "texts": list(texts)}, ensure_ascii=False, indent=0
    )
    expected = {"texts": [_likely_translation(text, language) for text in texts]}
    return ask_model(instructions, content, model, expected)


def _likely_translation(text: str, language: str) -> str:
    """Return distinct letters of the other language for each text, and the text's numbers."""
    first = ord("a") if language == "zh" else ord("\u4e00")
    letters = (chr(first + digit % 16) for digit in hashlib.sha256(text.encode()).digest()[:10])
    return " ".join(["".join(letters), *DIGITS.findall(text)])


def shown(table: Table, subtask: str, language: str) -> str:
    """Return a table with the kind of question. Raises `TableError` if it cannot be serialized."""
    words = _data(language)
    text = _table(table, language, "markdown")
    return str(words["shown"].format(kind=words["kinds"][subtask], table=text))


def _table(table: Table, language: str, form: str) -> str:
    words = _data(language)
    title = words["title"].format(title=table.title) if table.title else ""
    return str(words["table"].format(title=title, table=serialize(table, form)))


def shown_whole(table: Table, show: Callable[[Table], str], longest: int) -> str:
    """Return a table as models receive it, of at most `longest` characters.

    Raises `RejectedError` for a table that is left out.
    """
    if not table.rows or not table.header:
        raise RejectedError("too small")
    try:
        table.require_rectangular("a question")
        shows = show(table)
    except TableError:
        raise RejectedError("cannot be shown") from None
    if len(shows) > longest:
        raise RejectedError("too long")
    return shows


@dataclass(frozen=True)
class About:
    """A table and a kind of questions about it.

    Arguments:
        table, digest: the table.
        subtask, language: the kind of questions.
        shows: table and kind as models receive them.
        seen: the questions of the table, in the form for comparisons.
    """

    table: Table
    digest: str
    subtask: str
    language: str
    shows: str
    seen: set[str]

    @property
    def metric(self) -> str:
        """The kind of answer."""
        return SUBTASKS[self.subtask]["metric"]

    @property
    def words(self) -> dict[str, Any]:
        """The texts of prompts in the language."""
        return _data(self.language)


def ask_for_pairs(context: About, count: int, model: str) -> Ask:
    """Return the request for `count` pairs."""
    shape = context.words["shapes"][context.metric]
    instructions = str(context.words["generator"].format(count=count, shape=shape))
    # Valid pairs, with about 150 characters of question and 30 of answer each.
    answers: dict[str, Any] = {
        "number": 1234567.5,
        "list": [f"answer {index}" for index in range(4)],
        "yes_no": yes_no(context.language)[0],
    }
    question = f"{context.subtask} {'and some words ' * 8}"
    answer = answers.get(context.metric, "an answer " * 3)
    pairs = [{"question": f"{question} {number}", "answer": answer} for number in range(count)]
    return ask_model(instructions, context.shows, model, {"pairs": pairs})


def ask_for_revision(context: About, history: Sequence[tuple[Draft, Attack]], model: str) -> Ask:
    """Return the request for a better pair, after all pairs and attacks so far."""
    first, words = ask_for_pairs(context, 1, model), context.words
    messages = [*first.messages]
    for draft, attack in history:
        items = list(draft.answers) if len(draft.answers) > 1 else draft.answers[0]
        pair = {"pairs": [{"question": draft.question, "answer": items}]}
        points = words["and"].join(words["points"][name] for name in attack.points)
        revise = words["revise"].format(points=points, fault=attack.fault)
        messages += [
            Message("assistant", json.dumps(pair, ensure_ascii=False)),
            Message("user", revise.strip()),
        ]
    return replace(first, messages=tuple(messages))


def ask_for_attack(context: About, draft: Draft, model: str, *, is_last: bool = False) -> Ask:
    """Return the request to a critic for faults of a pair.

    A plan expects a fault, and none in the last turn: so it prices the most possible requests.
    """
    expected = {**dict.fromkeys(POINTS, True), "fault": ""}
    if not is_last:
        expected |= {POINTS[-1]: False, "fault": "some words " * 18}
    instructions = context.words["critic"].format()
    return ask_model(instructions, _drafted(context, draft), model, expected)


def ask_solver(
    table: Table,
    question: str,
    *,
    metric: str,
    language: str,
    number: int,
    model: str,
    answers: Sequence[str],
) -> Ask:
    """Return the request to one of `SOLVERS`, with the table in its format.

    `number` is the solver's, from 0, and `answers` the right answer, which a plan expects. Raises
    `TableError` if the table cannot be serialized in that format.
    """
    words = _data(language)
    instructions = words["solver"].format(way=words["ways"][number], shape=words["shapes"][metric])
    shows = _table(table, language, SOLVERS[number])
    content = words["asked"].format(table=shows, question=question)
    expected = {"answer": list(answers) if metric == "list" else answers[0]}
    return ask_model(instructions, content, model, expected)


def ask_for_marks(context: About, draft: Draft, number: int, model: str) -> Ask:
    """Return the request for marks to a discriminator, by its number from 0."""
    instructions = context.words["discriminator"][number].format()
    expected = dict.fromkeys(MARKS, FULL)
    return ask_model(instructions, _drafted(context, draft), model, expected)


def _drafted(context: About, draft: Draft) -> str:
    answer, form = " | ".join(draft.answers), context.words["draft"]
    return str(form.format(shown=context.shows, question=draft.question, answer=answer))


def ask_model(
    instructions: str, text: str, model: str, expected: Mapping[str, Any] | None = None
) -> Ask:
    """Return a request with instructions; `expected` is a likely reply, as JSON values."""
    messages = Message("system", instructions.strip()), Message("user", text)
    likely = "" if expected is None else json.dumps(expected, ensure_ascii=False)
    return Ask(messages, model, likely)


# Tables that a model invents (spec: treb.md section 6.2)

_REQUESTED_ROWS, _REQUESTED_COLUMNS = (6, 15), (4, 7)
_ROWS, _COLUMNS = range(3, 31), range(2, 13)
"""Accepted sizes: smaller tables give no questions, larger ones were not requested."""

_LONGEST = {"title": 120, "heading": 60, "cell": 120}


def invented(*, model: str, count: int, seed: int, language: str) -> Iterator[TableSource]:
    """Yield `count` tables that a model invents, each about another topic.

    Another seed gives other topics and sizes. The language `both` alternates, `auto` is English.
    """
    orders = {name: list(range(len(topics(name)))) for name in LANGUAGES}
    for name, order in orders.items():
        seeded_random(f"topics/{name}", seed=seed).shuffle(order)
    for number in range(count):
        table_language = spoken(language, number, ())
        rng = seeded_random(f"invented/{number}", seed=seed)
        rows, columns = rng.randint(*_REQUESTED_ROWS), rng.randint(*_REQUESTED_COLUMNS)
        topic = topics(table_language)[orders[table_language][number % len(orders[table_language])]]
        step = ask_for_table(topic, number + 1, rows, columns, language=table_language, model=model)
        # The name becomes a file name, so it does not come from the model.
        yield TableSource(f"invented-{number + 1}", read_table, step)


def read_table(reply: str) -> Table:
    """Return the table of a reply. Raises `RejectedError` for an invalid table or size."""
    try:
        return _invented_table(reply)
    except RejectedError as error:
        raise RejectedError(f"invented: {error.reason}") from None


def _invented_table(reply: str) -> Table:
    content = read_object(reply, ["title", "header", "rows"], "reply is not a table")
    header, rows = content["header"], content["rows"]
    if not isinstance(header, list) or not isinstance(rows, list):
        raise RejectedError("reply is not a table")
    if len(header) not in _COLUMNS or len(rows) not in _ROWS:
        raise RejectedError("table is too small or too large")
    if any(not isinstance(row, list) or len(row) != len(header) for row in rows):
        raise RejectedError("rows of unequal length")
    title = plain_text(content["title"], _LONGEST["title"], "title")
    names = tuple(plain_text(name, _LONGEST["heading"], "heading") for name in header)
    if len(set(map(plain_question, names))) < len(names):
        raise RejectedError("two columns with one name")
    cells = tuple(tuple(map(_cell, row)) for row in rows)
    if any(is_summary(str(cell)) for row in (names, *cells) for cell in row):
        raise RejectedError("summary row or column")
    return Table(names, cells, title)


def _cell(cell: object) -> str | int | float:
    if isinstance(cell, float) and not math.isfinite(cell):
        raise RejectedError("cell is neither text nor a number")
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        plain_text(str(cell), _LONGEST["cell"], "cell")
        return cell
    return plain_text(cell, _LONGEST["cell"], "cell")
