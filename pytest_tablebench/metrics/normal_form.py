"""Bring answers and cells into a form that is equal for equal answers, whatever their spelling."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pytest_tablebench.metrics.typed_numbers import read_quantity

_LONGEST = 400
"""Characters of an answer that are compared; the rest of a longer one does not count."""

_DIGIT = re.compile(r"[0-9]")
_WORD = re.compile(r"[^\W_]+(?:[.'’][^\W_]+)*")
_EDGES = " \t\"'`“”‘’.,;:!*"

JOINED = ", "
"""Separates the items of an answer for readers."""


def answer_text(answer: Any) -> str:
    """Return an answer as one text for readers; the items of a list are joined."""
    if isinstance(answer, list | tuple):
        return JOINED.join(map(answer_text, answer))
    return "" if answer is None else str(answer).strip()


def normal_form(answer: Any) -> str:
    """Return a text that is equal for equal answers; "" for an empty one.

    Numbers are equal by value, with or without currency, percent sign and unit. Texts are equal
    without case, marks at their ends and repeated blanks. The order of items does not count.
    """
    if isinstance(answer, list | tuple):
        items = [item for item in map(normal_form, answer) if item]
        return items[0] if len(items) == 1 else " | ".join(sorted(items))
    return _normal_text(answer_text(answer)[:_LONGEST])


def joined_form(answers: Iterable[str]) -> str:
    """Return the form of several answers that belong together, such as the items of a list."""
    return normal_form(list(answers))


@lru_cache(maxsize=100_000)
def _normal_text(text: str) -> str:
    number = number_in(text)
    if number is not None:
        return f"#{number}"
    if JOINED in text:
        return normal_form(text.split(JOINED))
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip(_EDGES)


@lru_cache(maxsize=100_000)
def number_in(text: str) -> Fraction | None:
    """Return the number that a whole text is, in its scale (`1.5 million`); else None."""
    plain = text.strip().strip("*").rstrip(".")
    if not _DIGIT.search(plain):
        return None
    quantity = read_quantity(plain)
    return None if quantity is None else quantity.value * quantity.scale


def decimals_of(text: str) -> int:
    """Return the number of digits after the decimal point of a text that is a number."""
    match = re.search(r"\.([0-9]+)", text)
    return 0 if match is None else len(match[1])


@lru_cache(maxsize=100_000)
def words_of(text: str) -> tuple[str, ...]:
    """Return the words and numbers of a text in lower case, in order; plural words lose their s."""
    plain = unicodedata.normalize("NFKC", text.replace("\\n", " ")).casefold()
    return tuple(_singular(match[0]) for match in _WORD.finditer(plain))


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word[-1] == "s" and word[-2] not in "su" else word


def shown_number(number: Fraction) -> str:
    """Return a number for readers, with at most six decimals."""
    if number.denominator == 1:
        return f"{number.numerator:,}"
    return f"{float(number):,.6f}".rstrip("0").rstrip(".")
