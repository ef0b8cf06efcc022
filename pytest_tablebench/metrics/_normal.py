"""Numbers and Unicode texts in one form, which every `fixed` metric compares."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

_LONGEST_RUN = 30


def normalized(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """Return a text's Unicode form, with at most 30 combining marks in a row.

    No word has more (30 is the limit of Unicode's stream-safe text), and the time to sort a run of
    marks grows with the square of its length.
    """
    if text.isascii():
        return text
    kept: list[str] = []
    run = 0
    for character in text:
        run = run + 1 if unicodedata.combining(character) else 0
        if run <= _LONGEST_RUN:
            kept.append(character)
    return unicodedata.normalize(form, "".join(kept))


_VALUE = (
    r"(?=\.?[0-9])"
    r"(?P<digits>[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)?(?P<fraction>\.[0-9]+)?"
)
_NUMBER = re.compile(rf"(?P<sign>[-+\u2212]?){_VALUE}")
# A hyphen or dash is a sign only where a number can begin: not in `2004-05`, `5%-10%` or `F-16`.
# In a name such as `F-16` no number begins. Letters after a number are its unit or part of a name.
_IN_TEXT = re.compile(
    r"(?:(?<![^\s(\[{\"'“‘=:$€£¥₹])(?P<sign>[-\u2212\u2010\u2011\u2013]))?"
    rf"(?:[$€£¥₹]\s?)?(?<![^\W_])(?<![^\W\d_][-\u2010\u2011]){_VALUE}"
    r"(?P<percent>\s*\\?%)?(?P<letters>[^\W_]*)"
)
_MINUS = frozenset("-\u2212\u2010\u2011\u2013")


def canonical_number(text: str) -> str | None:
    """Return `1,234.50` as `1234.5`, `5.0` as `5`, `+3` as `3`; None if the text is no number.

    A number has ASCII digits, thousands commas at every third digit and a decimal point; a
    typographic minus counts as a minus. With an exponent, a unit or a percent sign it is a text.
    """
    match = _NUMBER.fullmatch(text)
    return None if match is None else _canonical(match)


def _canonical(match: re.Match[str]) -> str:
    # Works on the digits, so that a number of any length keeps its value.
    whole = (match["digits"] or "").replace(",", "").lstrip("0") or "0"
    fraction = (match["fraction"] or "").rstrip("0").rstrip(".")
    is_negative = match["sign"] in _MINUS and (whole, fraction) != ("0", "")
    return f"{'-' if is_negative else ''}{whole}{fraction}"


@dataclass(frozen=True)
class WrittenNumber:
    """A number in a text.

    Arguments:
        value: as `canonical_number` returns it.
        decimals: the number of decimals in the text.
        is_percent: whether a percent sign follows.
        letters: the letters after it, its unit or a part of its name.
    """

    value: str
    decimals: int
    is_percent: bool
    letters: str

    @property
    def word(self) -> str:
        """The value as one word, which stays the same when marks are deleted."""
        value = self.value.replace("-", "minus").replace(".", "point")
        return f" {value}{'percent ' if self.is_percent else ''}{self.letters} "


def numbers_as_words(text: str, write: Callable[[WrittenNumber], str] = attrgetter("word")) -> str:
    """Write each number of a text as one word of its value, `-$0.50` as `minus0point5`.

    Deleting marks or splitting at them afterwards cannot change the number.
    """
    return _IN_TEXT.sub(lambda match: write(_written(match)), text)


def written_numbers(text: str) -> list[WrittenNumber]:
    """Return the numbers of a text in their order."""
    return [_written(match) for match in _IN_TEXT.finditer(text)]


def _written(match: re.Match[str]) -> WrittenNumber:
    decimals = len(match["fraction"] or ".") - 1
    return WrittenNumber(_canonical(match), decimals, bool(match["percent"]), match["letters"])
