"""Read models' replies with questions and marks strictly; no part of them is executed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.errors import ModelError
from pytest_tablebench.generate.pair import RejectedError, answer_text, parse_number, plain_question
from pytest_tablebench.generate.question_maker import Tally
from pytest_tablebench.util.entries import parsed_json

MARKS = ("accuracy", "relevance", "coverage")
"""The marks of a discriminator (spec: treb.md section 6.2)."""

FULL = 5
"""The full mark; the lowest is 1."""

POINTS = ("answerable", "unique", "correct")
"""The points that a critic attacks (spec: treb.md section 6.3)."""

_LONGEST = {"reply": 200_000, "question": 600, "item": 200, "prose": 1_500}
_SHORT = {"text", "list", "number", "yes_no"}
"""Kinds of short answers, which are compared exactly."""

_ITEMS = range(2, 16)
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|<!|<\?|&(?:#\w+|[a-zA-Z]+);")
_PATH = re.compile(r"\.\.[/\\]")
_BLOCK = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Draft:
    """A question, the items of its answer and its sub-type, as a model proposes them."""

    question: str
    answers: tuple[str, ...] = ()
    tolerance: str = ""
    subtype: str = ""


def new_drafts(
    reply: str | ModelError,
    read: Callable[[str], Iterable[Draft | RejectedError]],
    count: int,
    seen: set[str],
    tally: Tally,
) -> Iterator[Draft]:
    """Yield at most `count` questions of a reply that are not in `seen`, and add them to it.

    `read` returns the questions of a reply, or the reasons for rejecting them, which are counted.
    """
    try:
        if isinstance(reply, ModelError):
            raise reply
        drafts = list(read(reply))
    except (RejectedError, ModelError) as error:
        tally.reject(error)
        return
    if len(drafts) > count:
        tally.rejected["more than asked for"] += len(drafts) - count
    for draft in drafts[:count]:
        if isinstance(draft, RejectedError):
            tally.reject(draft)
        elif (key := plain_question(draft.question)) in seen:
            tally.rejected["duplicate"] += 1
        else:
            seen.add(key)
            yield draft


def read_drafts(reply: str) -> list[Any]:
    """Return the pairs of a generator's reply, each for `read_draft`.

    Raises `RejectedError` if the reply is not one object with a list of pairs.
    """
    pairs = read_object(reply, ["pairs"], "reply is not a list of pairs")["pairs"]
    if not isinstance(pairs, list):
        raise RejectedError("reply is not a list of pairs")
    return pairs


def read_draft(pair: object, metric: str, yes: tuple[str, ...] = ()) -> Draft:
    """Read one pair with an answer of the requested kind. Raises `RejectedError`.

    `yes` are the words for yes and no.
    """
    if not isinstance(pair, dict) or set(pair) != {"question", "answer"}:
        raise RejectedError("no question with an answer")
    question = plain_text(pair["question"], _LONGEST["question"], "question")
    answers = _answers(pair["answer"], metric, "item" if metric in _SHORT else "prose", yes)
    _require_certain(answers, metric)
    return Draft(question, answers, tolerance_of(answers, metric))


def _require_certain(answers: tuple[str, ...], metric: str) -> None:
    """Raise `RejectedError` for answers that cannot be compared reliably."""
    if metric in _SHORT and any(answer_text(answer) is None for answer in answers):
        raise RejectedError("answer cannot be compared")


def _answers(answer: object, metric: str, longest: str, yes: tuple[str, ...]) -> tuple[str, ...]:
    items = answer if isinstance(answer, list) else [answer]
    if metric == "list":
        if not isinstance(answer, list) or len(answer) not in _ITEMS:
            raise RejectedError("answer is not a list")
    elif isinstance(answer, list):
        raise RejectedError("answer has several items")
    answers = tuple(plain_text(_scalar(item), _LONGEST[longest], "answer") for item in items)
    if len(set(map(str.casefold, answers))) < len(answers):
        raise RejectedError("answer says an item twice")
    if metric == "yes_no":
        answers = (answers[0].casefold(),)
        if answers[0] not in yes:
            raise RejectedError("answer is not yes or no")
    return answers


def read_marks(reply: str, names: Collection[str] = MARKS, most: int = FULL) -> Mapping[str, int]:
    """Return marks from 1 to `most`, by default a discriminator's.

    Raises `RejectedError` if any is missing or invalid.
    """
    marks = read_object(reply, names, "marks cannot be read")
    if not all(type(mark) is int and 1 <= mark <= most for mark in marks.values()):
        raise RejectedError("marks cannot be read")
    return marks


@dataclass(frozen=True)
class Attack:
    """A critic's attack: the violated points, of `POINTS`, and the fault in words."""

    points: tuple[str, ...]
    fault: str


def read_attack(reply: str) -> Attack:
    """Return a critic's attack. Raises `RejectedError` for an incomplete reply."""
    content = read_object(reply, [*POINTS, "fault"], "attack cannot be read")
    points = tuple(name for name in POINTS if content[name] is False)
    if any(type(content[name]) is not bool for name in POINTS):
        raise RejectedError("attack cannot be read")
    return Attack(points, plain_text(content["fault"], 600, "fault") if points else "")


def read_solution(
    reply: str, metric: str, yes: tuple[str, ...] = (), *, is_vote: bool = False
) -> tuple[str, ...]:
    """Return the items of a solver's answer; empty if the solver finds no answer.

    `is_vote` says that it may become the answer, so that it has to be comparable. Raises
    `RejectedError` for an invalid answer.
    """
    answer = read_object(reply, ["answer"], "reply is not an answer")["answer"]
    if answer is None:
        return ()
    answers = _answers(answer, metric, "item" if is_vote else "prose", yes)
    if is_vote:
        _require_certain(answers, metric)
        tolerance_of(answers, metric)
    return answers


def read_object(reply: str, names: Collection[str], why: str) -> dict[str, Any]:
    """Return the one JSON object of a reply, which has exactly these names.

    It is the whole reply, or its one fenced block. Raises `RejectedError`, for another value with
    `why`.
    """
    content = _json(reply)
    if not isinstance(content, dict) or set(content) != set(names):
        raise RejectedError(why)
    return content


def _json(reply: str) -> Any:
    text = reply.strip()
    if len(text) > _LONGEST["reply"]:
        raise RejectedError("reply is too long")
    blocks = _BLOCK.findall(text)
    if len(blocks) > 1:
        raise RejectedError("reply has several blocks")
    try:
        return parsed_json(
            blocks[0] if blocks else text, object_pairs_hook=_object, parse_constant=_no_number
        )
    except ValueError:
        raise RejectedError("reply is not JSON") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key occurs twice")
    return content


def _no_number(text: str) -> Any:
    raise ValueError(text)


def _scalar(item: object) -> str:
    if isinstance(item, bool) or not isinstance(item, str | int | float):
        raise RejectedError("answer is neither text nor a number")
    return str(item)


def plain_text(value: object, longest: int, kind: str) -> str:
    """Return a text on one line.

    Arguments:
        value: from a model.
        longest: allowed characters.
        kind: of text; only people read a `question` or `fault`, spreadsheets also read others.

    Raises `RejectedError` for other values, and for a text that a page, a spreadsheet or a terminal
    would not show unchanged.
    """
    if not isinstance(value, str) or not value.strip():
        raise RejectedError(f"{kind} is neither text nor a number")
    if len(value) > longest:
        raise RejectedError(f"{kind} is too long")
    text = " ".join(value.split())
    if any(unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Cn", "Co"} for letter in text):
        raise RejectedError(f"{kind} has characters that cannot be shown")
    if _MARKUP.search(text):
        raise RejectedError(f"{kind} has HTML in it")
    if _PATH.search(text):
        raise RejectedError(f"{kind} names a path")
    if kind not in {"question", "fault"} and _is_formula(text):
        raise RejectedError(f"{kind} is a formula")
    return text


def _is_formula(text: str) -> bool:
    """Return whether a spreadsheet would compute a text instead of showing it."""
    if text[0] in "+-" and text[1:].strip():
        return parse_number(text[1:].lstrip()) is None
    return text[0] in "=@"


def tolerance_of(answers: tuple[str, ...], metric: str) -> str:
    """Return how far a rounded number may be off: one in its last digit, as in other questions.

    Of other kinds of answers it is "". Raises `RejectedError` for what is not a number.
    """
    if metric != "number":
        return ""
    number = parse_number(answers[0])
    if number is None:
        raise RejectedError("answer is not a number")
    return f"0.{'0' * (number.decimals - 1)}1" if number.decimals else ""
