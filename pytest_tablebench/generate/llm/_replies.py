"""Reading what models write of questions and marks: strictly, and nothing of it is ever run."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.generate._values import answer_text, parse_number
from pytest_tablebench.metrics._thinking import after_thinking

__all__ = ["FULL", "MARKS", "Draft", "RefusedError", "read_draft", "read_drafts", "read_marks"]

MARKS = ("accuracy", "relevance", "coverage")
"""What a discriminator marks (spec: treb.md section 6.2)."""

FULL = 5
"""The full mark; the least is 1."""

_LONGEST = {"reply": 200_000, "question": 600, "item": 200, "prose": 1_500}
_SHORT = {"text", "list", "number", "yes_no"}
"""Kinds of answers that are compared, not likened."""

_ITEMS = range(2, 16)
_BLOCK = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE)


class RefusedError(TableBenchError):
    """A reply, or a question in one, cannot be taken; `reason` is one of the counted words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Draft:
    """A question and the items of its answer, as a model proposes them."""

    question: str
    answers: tuple[str, ...]
    tolerance: str = ""


def read_drafts(reply: str) -> list[Any]:
    """Return the pairs of a generator's reply, each still to be read.

    Raises `RefusedError` where the reply is not one object with a list of pairs.
    """
    found = _json(reply)
    if not isinstance(found, dict) or set(found) != {"pairs"}:
        raise RefusedError("reply is no list of pairs")
    pairs = found["pairs"]
    if not isinstance(pairs, list):
        raise RefusedError("reply is no list of pairs")
    return pairs


def read_draft(pair: object, metric: str, yes: tuple[str, ...] = ()) -> Draft:
    """Read one pair.

    Arguments:
        pair: what stands in the list.
        metric: the kind of answer that was asked for; one of no short kind is prose.
        yes: the words for yes and no.

    Raises `RefusedError`.
    """
    if not isinstance(pair, dict) or set(pair) != {"question", "answer"}:
        raise RefusedError("no question with an answer")
    question = _text(pair["question"], "question", "question")
    given = pair["answer"]
    items = given if isinstance(given, list) else [given]
    if metric == "list":
        if not isinstance(given, list) or len(given) not in _ITEMS:
            raise RefusedError("answer is no list")
    elif isinstance(given, list):
        raise RefusedError("answer has several items")
    longest = "item" if metric in _SHORT else "prose"
    answers = tuple(_text(_scalar(item), longest, "answer") for item in items)
    if len(set(map(str.casefold, answers))) < len(answers):
        raise RefusedError("answer says an item twice")
    if metric in _SHORT and any(answer_text(answer) is None for answer in answers):
        raise RefusedError("answer cannot be compared")
    if metric == "yes_no":
        answers = (answers[0].casefold(),)
        if answers[0] not in yes:
            raise RefusedError("answer is not yes or no")
    return Draft(question, answers, _tolerance(answers[0]) if metric == "number" else "")


def read_marks(reply: str) -> Mapping[str, int]:
    """Return a discriminator's marks. Raises `RefusedError` where they are not all there."""
    found = _json(reply)
    if not isinstance(found, dict) or set(found) != set(MARKS):
        raise RefusedError("marks cannot be read")
    for mark in found.values():
        if type(mark) is not int or not 1 <= mark <= FULL:
            raise RefusedError("marks cannot be read")
    return found


def _json(reply: str) -> Any:
    """Return the one JSON value of a reply: the whole, or its one fenced block."""
    said = after_thinking(reply).strip()
    if len(said) > _LONGEST["reply"]:
        raise RefusedError("reply is too long")
    blocks = _BLOCK.findall(said)
    if len(blocks) > 1:
        raise RefusedError("reply has several blocks")
    try:
        return json.loads(
            blocks[0] if blocks else said, object_pairs_hook=_object, parse_constant=_no_number
        )
    except (ValueError, RecursionError):
        raise RefusedError("reply is no JSON") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(text)


def _scalar(item: object) -> str:
    if isinstance(item, bool) or not isinstance(item, str | int | float):
        raise RefusedError("answer is no text or number")
    return str(item)


def _text(given: object, longest: str, what: str) -> str:
    """Return a text on one line. Raises `RefusedError` for what is none, or cannot be shown."""
    if not isinstance(given, str) or not given.strip():
        raise RefusedError(f"{what} is no text or number")
    if len(given) > _LONGEST[longest]:
        raise RefusedError(f"{what} is too long")
    text = " ".join(given.split())
    if any(unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Cn", "Co"} for letter in text):
        raise RefusedError(f"{what} has characters that cannot be shown")
    return text


def _tolerance(answer: str) -> str:
    """Return how far a rounded number may be off: one in its last digit, as in other questions."""
    number = parse_number(answer)
    if number is None:
        raise RefusedError("answer is not a number")
    return f"0.{'0' * (number.decimals - 1)}1" if number.decimals else ""
