"""Questions without answers, by task: requests, replies, and the maker of such questions.

Spec: realhitbench.md section 8. No part of a reply is executed. The texts of requests are in
`prompts.toml`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_tablebench.generate.llm.prompts import ask_model, shown_whole
from pytest_tablebench.generate.llm.replies import Draft, new_drafts, plain_text, read_marks
from pytest_tablebench.generate.pair import Pair, RejectedError
from pytest_tablebench.generate.question_maker import (
    CheckedQuestions,
    Conversation,
    Tally,
    data_file,
    digest_of,
    reply_text,
    shares_of,
)
from pytest_tablebench.generate.twins import twins_of
from pytest_tablebench.metrics.charts import chart_values
from pytest_tablebench.metrics.replies import read_reply
from pytest_tablebench.metrics.steps import Ask, Execution
from pytest_tablebench.serializers import serialize
from pytest_tablebench.tables.hierarchy.complexity import complexity
from pytest_tablebench.tables.hierarchy.rearranged import is_kept
from pytest_tablebench.tables.table import Table

_LONGEST_TABLE = 60_000
"""Characters of the longest table that models receive."""


@dataclass(frozen=True)
class QuestionFamily:
    """A family of questions.

    Arguments:
        name, does: its name and description.
        subtypes: descriptions by name.
        form: the form of answers.
        metric, threshold: how a dataset judges answers; "" if the form determines it.
        survives: perturbations that keep answers correct.
        examples: of questions, one a line.
        suffix: appended to each question.
    """

    name: str
    does: str
    subtypes: Mapping[str, str]
    form: str
    metric: str
    survives: tuple[str, ...]
    threshold: str = ""
    examples: str = ""
    suffix: str = ""


STRUCTURE = "sc"
"""The task whose questions are asked about a table and its twin."""

WORDS = data_file("annotate/prompts.toml")
"""The texts of requests."""
TASKS: Mapping[str, QuestionFamily] = {
    name: QuestionFamily(**(about | {"survives": tuple(about["survives"])}))
    for name, about in data_file("annotate/tasks.toml").items()
}


def text_of(table: Table) -> str:
    """Return a table as models receive it. Raises `RejectedError` for one that is left out."""
    return shown_whole(table, _latex, _LONGEST_TABLE)


def _latex(table: Table) -> str:
    title = f' "{table.title}"' if table.title else ""
    return str(WORDS["table"]).format(title=title, table=serialize(table, "latex"))


def ask_for_questions(
    shows: str, task: QuestionFamily, count: int, language: str, model: str
) -> Ask:
    """Return the request for `count` questions of a task."""
    instructions = WORDS["questions"].format(
        name=task.name,
        does=task.does,
        subtypes="\n".join(f"- {name}: {meaning}" for name, meaning in task.subtypes.items()),
        count=count,
        language=WORDS["languages"][language],
        form=task.form,
        examples=WORDS["examples"].format(examples=task.examples) if task.examples else "",
    )
    return ask_model(instructions, shows, model)


def ask_for_complexity(shows: str, model: str) -> Ask:
    """Return the request for marks of a table's complexity."""
    return ask_model(WORDS["complexity"].format(), shows, model)


DIMENSIONS = ("column_header", "row_header", "partition", "compound", "visual")
"""Dimensions of complexity, each with marks from 1 to 10; figures leave out the last one."""

_LONGEST = {"reply": 200_000, "question": 1_000, "line": 600, "prose": 3_000, "values": 20_000}
_MARK = re.compile(
    r"^[ \t>*#-]*\[(question|sub-?type) ?(\d{1,3})\][*]*[ \t]*:[*]*", re.IGNORECASE | re.MULTILINE
)
_WORD = re.compile(r"[^\W_]+(?:[-'’.,:/&][^\W_]+)*")
_SYLLABLE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_LENGTHS = range(20, 51)
"""Allowed numbers of words of a question."""

_FORMULA = ("=", "+", "-", "@")


def read_questions(reply: str, task: QuestionFamily) -> Iterator[Draft | RejectedError]:
    """Yield the questions of a reply in their order.

    Raises `RejectedError` for a reply without questions.
    """
    if len(reply) > _LONGEST["reply"]:
        raise RejectedError("reply is too long")
    parts: dict[tuple[str, int], str] = {}
    marks = list(_MARK.finditer(reply))
    twice = set[int]()
    for index, mark in enumerate(marks, start=1):
        end = marks[index].start() if index < len(marks) else len(reply)
        key = mark[1].casefold().replace("-", ""), int(mark[2])
        if key in parts:
            twice.add(key[1])
        parts[key] = reply[mark.end() : end]
    numbers = sorted(number for kind, number in parts if kind == "question")
    if not numbers:
        raise RejectedError("reply has no question")
    for number in numbers:
        try:
            if number in twice:
                raise RejectedError("a number occurs twice")
            subtype = parts.get(("subtype", number), "")
            text = _question(parts["question", number])
            yield Draft(text, subtype=_subtype(subtype, task))
        except RejectedError as error:
            yield error


def _question(text: str) -> str:
    question = plain_text(text, _LONGEST["question"], "question")
    if question.startswith(_FORMULA):
        raise RejectedError("question begins like a formula")  # a spreadsheet would run it
    if word_count(question) not in _LENGTHS:
        raise RejectedError(f"question does not have {_LENGTHS[0]} to {_LENGTHS[-1]} words")
    return question


def word_count(text: str) -> int:
    """Return the number of words; two characters of Chinese or Japanese count as one word."""
    syllables = len(_SYLLABLE.findall(text))
    return len(_WORD.findall(_SYLLABLE.sub(" ", text))) + -(-syllables // 2)


def _subtype(text: str, task: QuestionFamily) -> str:
    subtype = " ".join(text.strip().partition("\n")[0].strip("*.").split()).casefold()
    names = {name.casefold(): name for name in task.subtypes}
    if subtype not in names:
        raise RejectedError("unknown sub-type" if subtype else "no sub-type")
    return names[subtype]


def read_answer(reply: str, task: QuestionFamily) -> str:
    """Return the marked answer of a reply, on one line. Raises `RejectedError`."""
    answer = read_reply(reply).answer
    if answer is None:
        raise RejectedError("no marked answer")
    longest = "prose" if task.metric else "line"
    return plain_text(answer.strip().strip("`*"), _LONGEST[longest], "answer")


def drawn_answer(ran: Execution) -> str:
    """Return the values that a program drew, as a dataset's answer. Raises `RejectedError`."""
    values = chart_values(ran)
    if not values:
        raise RejectedError(f"program {ran.outcome if ran.outcome != 'ok' else 'draws nothing'}")
    try:
        answer = json.dumps(_rounded(values), allow_nan=False)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise RejectedError("program draws no numbers") from None
    if len(answer) > _LONGEST["values"]:
        raise RejectedError("program draws too much")
    return answer


def _rounded(values: list[Any]) -> list[Any]:
    return [
        _rounded(value) if isinstance(value, list) else round(float(value), 2) for value in values
    ]


def read_complexity(reply: str) -> tuple[int, ...]:
    """Return the marks in the order of `DIMENSIONS`. Raises `RejectedError` if any is missing."""
    marks = read_marks(reply, DIMENSIONS, 10)
    return tuple(marks[name] for name in DIMENSIONS)


class QuestionGenerator(CheckedQuestions):
    """Lets a model write questions about one table after the other, for each task.

    Arguments:
        model: writes the questions.
        tasks: names of tasks in `TASKS`.
        per_table: most questions of one table, shared by the tasks.
        language: `en`, `zh`, `both`, or `auto` for the table's language.
    """

    reads_structure = True

    def __init__(
        self,
        *,
        model: str,
        tasks: Sequence[str] = tuple(TASKS),
        per_table: int = 20,
        language: str = "auto",
    ) -> None:
        super().__init__()
        self._model, self._tasks = model, tuple(tasks)
        self._per_table, self._language = per_table, language

    def propose(self, table: Table, tally: Tally) -> Conversation[tuple[str, list[Pair]]]:
        """Collect questions about a table."""
        shows = text_of(table)
        digest = digest_of(table.title, table.lines, table.spans)
        tasks = self._tasks
        if STRUCTURE in tasks and not (is_kept(table, table) and twins_of(table, digest)):
            tasks = tuple(name for name in tasks if name != STRUCTURE)
            tally.course["no parts to exchange, so no structure question"] += 1
        counts = shares_of(self._per_table, tasks)
        replies = yield [
            reply_text(ask_for_questions(shows, TASKS[name], count, self._language, self._model))
            for name, count in counts.items()
        ]
        seen, band, pairs = set[str](), complexity(table).band, list[Pair]()
        for (name, count), reply in zip(counts.items(), replies, strict=True):
            task = TASKS[name]
            for draft in new_drafts(reply, partial(read_questions, task=task), count, seen, tally):
                tags = {"task": name, "subtype": draft.subtype, "complexity": band}
                pair = Pair(
                    id=f"{digest[:10]}-{name}-{len(seen)}",
                    question=f"{draft.question} {task.suffix}".strip(),
                    answers=(),
                    metric=task.metric,
                    tags={**tags, "made": "annotation"},
                    perturbations=task.survives,
                    threshold=task.threshold,
                )
                pairs.append(pair)
        return digest, pairs
