"""Read models' replies with questions, answers and complexity; no part of them is executed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pytest_tablebench.generate.annotate._prompts import QuestionFamily
from pytest_tablebench.generate.llm.replies import RefusedError, plain_text, read_marks
from pytest_tablebench.metrics.charts import chart_values
from pytest_tablebench.metrics.realhit_reply import read_reply
from pytest_tablebench.metrics.steps import Execution

DIMENSIONS = ("column_header", "row_header", "partition", "compound", "visual")
"""Dimensions of complexity, each with marks from 1 to 10; figures leave out the last one."""

_LONGEST = {"reply": 200_000, "question": 1_000, "line": 600, "prose": 3_000, "values": 20_000}
_MARK = re.compile(
    r"^[ \t>*#-]*\[(question|sub-?type) ?(\d{1,3})\][*]*[ \t]*:[*]*", re.IGNORECASE | re.MULTILINE
)
_WORD = re.compile(r"[^\W_]+(?:[-'’.,:/&][^\W_]+)*")
_SYLLABLE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
WORDS = range(20, 51)
"""Allowed numbers of words of a question."""

_FORMULA = ("=", "+", "-", "@")

Proposed = tuple[str, str] | RefusedError
"""A question with its sub-type, or why it is rejected."""


def read_questions(reply: str, task: QuestionFamily) -> Iterator[Proposed]:
    """Yield the questions of a reply in their order.

    Raises `RefusedError` for a reply without questions.
    """
    if len(reply) > _LONGEST["reply"]:
        raise RefusedError("reply is too long")
    parts: dict[tuple[str, int], str] = {}
    marks = list(_MARK.finditer(reply))
    twice = set[int]()
    for place, mark in enumerate(marks, start=1):
        end = marks[place].start() if place < len(marks) else len(reply)
        key = mark[1].casefold().replace("-", ""), int(mark[2])
        if key in parts:
            twice.add(key[1])
        parts[key] = reply[mark.end() : end]
    numbers = sorted(number for kind, number in parts if kind == "question")
    if not numbers:
        raise RefusedError("reply has no question")
    for number in numbers:
        try:
            if number in twice:
                raise RefusedError("a number occurs twice")
            subtype = parts.get(("subtype", number), "")
            yield _question(parts["question", number]), _subtype(subtype, task)
        except RefusedError as error:
            yield error


def _question(text: str) -> str:
    question = plain_text(text, _LONGEST["question"], "question")
    if question.startswith(_FORMULA):
        raise RefusedError("question begins like a formula")  # a spreadsheet would run it
    if word_count(question) not in WORDS:
        raise RefusedError(f"question does not have {WORDS[0]} to {WORDS[-1]} words")
    return question


def word_count(text: str) -> int:
    """Return the number of words; two characters of Chinese or Japanese count as one word."""
    syllables = len(_SYLLABLE.findall(text))
    return len(_WORD.findall(_SYLLABLE.sub(" ", text))) + -(-syllables // 2)


def _subtype(text: str, task: QuestionFamily) -> str:
    subtype = " ".join(text.strip().partition("\n")[0].strip("*.").split()).casefold()
    names = {name.casefold(): name for name in task.subtypes}
    if subtype not in names:
        raise RefusedError("unknown sub-type" if subtype else "no sub-type")
    return names[subtype]


def read_answer(reply: str, task: QuestionFamily) -> str:
    """Return the marked answer of a reply, on one line. Raises `RefusedError`."""
    answer = read_reply(reply).answer
    if answer is None:
        raise RefusedError("no marked answer")
    longest = "prose" if task.metric else "line"
    return plain_text(answer.strip().strip("`*"), _LONGEST[longest], "answer")


def drawn_answer(ran: Execution) -> str:
    """Return the values that a program drew, as a dataset's answer. Raises `RefusedError`."""
    values = chart_values(ran)
    if not values:
        raise RefusedError(f"program {ran.outcome if ran.outcome != 'ok' else 'draws nothing'}")
    try:
        answer = json.dumps(_rounded(values), allow_nan=False)
    except (ValueError, TypeError, OverflowError, RecursionError):
        raise RefusedError("program draws no numbers") from None
    if len(answer) > _LONGEST["values"]:
        raise RefusedError("program draws too much")
    return answer


def _rounded(values: list[Any]) -> list[Any]:
    return [
        _rounded(value) if isinstance(value, list) else round(float(value), 2) for value in values
    ]


def read_complexity(reply: str) -> tuple[int, ...]:
    """Return the marks in the order of `DIMENSIONS`. Raises `RefusedError` if any is missing."""
    marks = read_marks(reply, DIMENSIONS, 10)
    return tuple(marks[name] for name in DIMENSIONS)
