"""Tells what the words around a value say: denials, doubts, bounds, directions, or nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Literal

from pytest_tablebench.metrics._typed_text import CJK, folded, words
from pytest_tablebench.metrics._typed_vocabulary import (
    ABOUT,
    ABOUT_AFTER,
    AFTER_CHANGE,
    BEFORE_CHANGE,
    BOUND,
    BOUND_AFTER,
    CHANGED,
    DOWN,
    FUNCTION_WORDS,
    MEASURE_VERBS,
    MULTIPLE,
    NEGATED,
    OTHERWISE,
    REFUSED,
    ROWS,
    SEE,
    SYNONYMS,
    UNSURE,
    UP,
)

_MARKS = re.compile(r"[.,;:!?，。；：]")


def is_question(sentence: str) -> bool:
    """Return whether a folded sentence is a question."""
    return sentence.rstrip("\"' ").endswith(("?", "？"))


def is_open(sentence: str) -> bool:
    """Return whether a folded sentence is a question, denies, doubts or offers a choice."""
    return is_question(sentence) or any(
        pattern.search(sentence) for pattern in (UNSURE, NEGATED, OTHERWISE, SEE, MULTIPLE)
    )


def denies(text: str) -> bool:
    """Return whether a folded text contains a word that denies or doubts."""
    return NEGATED.search(text) is not None or UNSURE.search(text) is not None


def counts_rows(after: str, question: Collection[str]) -> bool:
    """Return whether a number counts rows or columns without being asked for them."""
    return ROWS.match(after) is not None and not any(map(ROWS.fullmatch, question))


def negates(before: str) -> bool:
    """Return whether the clause before a value denies it: `it is not 12`."""
    return NEGATED.search(_MARKS.split(before[-25:])[-1]) is not None


def refuses(text: str) -> bool:
    """Return whether a folded text says that it gives no answer."""
    return REFUSED.search(text) is not None


def without_hedge(before: str) -> str:
    """Return the text before a value without the hedge at its end: `about`."""
    hedge = ABOUT.search(before[-40:])
    return before if hedge is None else before[: len(before) - len(hedge[0])] + " "


def is_hedged(sentence: str, start: int, end: int) -> bool:
    """Return whether a value is next to words such as `about` and `or so`."""
    before, after = sentence[max(0, start - 40) : start], sentence[end : end + 12]
    return bool(ABOUT.search(before) or ABOUT_AFTER.match(after))


def is_bounded(sentence: str, start: int, end: int, *, question: str = "") -> bool:
    """Return whether a value is a bound: `more than 12`, `12 or more`, `nearly 12`.

    A bound that is also in the folded question (`Since when ...`) does not count.
    """
    before, after = sentence[max(0, start - 40) : start], sentence[end : end + 12]
    bound = BOUND.search(before)
    return bool((bound and bound[0].strip() not in question) or BOUND_AFTER.match(after))


Direction = Literal[-1, 0, 1]


def direction(before: str, after: str) -> Direction:
    """Return whether the words next to a number say that it is a decrease (-1) or increase (1)."""
    match = BEFORE_CHANGE.search(before[-60:]) or AFTER_CHANGE.match(after[:24])
    if match is None:
        return 0
    return -1 if match["down"] else 1


def asks_for_change(text: str) -> bool:
    """Return whether a folded question asks for a change or a difference."""
    return CHANGED.search(text) is not None


def without_direction(before: str, after: str) -> tuple[str, str]:
    """Return the texts before and after a number without the words of its direction."""
    if match := BEFORE_CHANGE.search(before):
        return before[: match.start()], after
    if match := AFTER_CHANGE.match(after):
        return before, after[match.end() :]
    return before, after


def directions(text: str) -> set[Direction]:
    """Return the directions that a folded question or header names."""
    named: set[Direction] = set()
    if DOWN.search(text):
        named.add(-1)
    if UP.search(text):
        named.add(1)
    return named


def unexplained(rest: Sequence[str], question: Collection[str]) -> list[str]:
    """Return the words around an answer that neither the question nor grammar explains."""
    question_words = set(question)
    stems = {word[:4] for word in question_words if len(word) >= 4}
    groups = frozenset().union(*(SYNONYMS.get(word, frozenset()) for word in question_words))
    return [
        word
        for word in rest
        if word not in FUNCTION_WORDS
        and word not in question_words
        and not (len(word) >= 4 and word[:4] in stems)
        and groups.isdisjoint(SYNONYMS.get(word, ()))
    ]


def says_nothing_more(rest: Sequence[str], question: Collection[str]) -> bool:
    """Return whether the words around an answer are the question's words or function words."""
    return not unexplained(rest, question)


def is_measure_verb(word: str) -> bool:
    """Return whether a word links a subject to its number: `weighs`, `costs`."""
    return word in MEASURE_VERBS


_LINKS = "is|are|was|were|be|named|called|ist|sind|war|waren|heißt|est|sont|était|es|son|è|é|:|："
_BEFORE_END = re.compile(
    rf"(?:^|\s)(?:{_LINKS})\s*(?:(?:the|a|an|der|die|das|le|la|les|el|il|o)\s|l')?[\"'*«„(]*$"
    r"|[是为:：]\s?[\"'“*]*$"
)
_AFTER_END = re.compile(
    r"[\"'*»)]*(?:$|[.,;!?。，；(（]|\s(?:at|in|with|for|by|on|from|because|since|which|as|according"
    r"|with|mit|für|bei|avec|pour|à)\b|\s[(-])"
)


def links(before: str, after: str) -> bool:
    """Return whether a verb or colon leads to a mention: `the winner is NAME, with ...`."""
    return bool(_BEFORE_END.search(before) and _AFTER_END.match(after))


def is_word(sign: str) -> bool:
    """Return whether a character continues a word, so that a mention next to it is another word."""
    return sign.isalnum() and not re.match(f"[{CJK}]", sign)


def question_words(question: str, names: Sequence[str]) -> list[str]:
    """Return the words of a question and of the names of its columns."""
    return words(folded(" ".join([question, *names])[:4_000]))
