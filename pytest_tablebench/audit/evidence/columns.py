"""Read the columns of a table for rules: their numbers, and whether a text names them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from pytest_tablebench.audit.normal_form import number_in, words_of

_NOTE = re.compile(r"\[[^\]]*\]|[*†‡]")


def cell_number(cell: Any) -> Fraction | None:
    """Return the number of a cell, without footnote marks."""
    return number_in(_NOTE.sub("", str(cell)))


_OPTIONAL = frozenset(
    {"no", "number", "of", "the", "in", "a", "an", "and", "to", "for", "at", "by"}
)


def heading_words(heading: Any) -> tuple[str, ...]:
    """Return the words of a heading that a question has to name: without its unit in brackets."""
    text = re.sub(r"\([^)]*\)|\[[^\]]*\]", " ", str(heading).replace("\\n", " "))
    words = words_of(text)
    return tuple(word for word in words if word not in _OPTIONAL) or words


_VOWELS = frozenset("aeiou")


def is_short_for(short: str, word: str) -> bool:
    """Return whether a word of a heading abbreviates a word: `flts` for flights, `avg`."""
    if short == word:
        return True
    if len(short) < 3 or len(short) >= len(word) or short[0] != word[0] or not short.isalpha():
        return False
    letters = iter(word)
    return _VOWELS.isdisjoint(short[1:]) and all(letter in letters for letter in short)


def named_words(heading: Sequence[str], words: Sequence[str]) -> frozenset[str] | None:
    """Return the words of a text that name a heading; None if the text does not name it whole."""
    names = set()
    for part in heading:
        match = next((word for word in words if is_short_for(part, word)), None)
        if match is None:
            return None
        names.add(match)
    return frozenset(names) or None
