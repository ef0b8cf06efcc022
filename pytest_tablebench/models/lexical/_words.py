"""Normalize words and numbers of cells and questions for comparison."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from pytest_tablebench.util.names import NUMBER_WORDS


def vocabulary(line: str) -> frozenset[str]:
    """Return the words of a line as a set."""
    return frozenset(line.split())


STOP_WORDS = vocabulary(
    "a an the of in on at to for from by with and or as is are was were be been being am do does"
    " did done have has had having this that these those it its there their they he she his her"
    " him them what which who whom whose when where how why many much s t not no than then if"
    " into out up all any each every some only also just more most less least very can could"
    " will would should may might please table according data row rows column following listed"
    " one entry entries value values name answer true false"
)

_NUMBER_WORDS = {word: str(number) for number, word in enumerate(NUMBER_WORDS[:11])}
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")


def _plain(word: str) -> str:
    if word[0].isdigit():
        if "," in word:
            word = word.replace(",", "")
        return word[:-2] if word.endswith(".0") else word
    if len(word) > 3 and word.endswith("s") and word[-2] not in "siu":
        return word[:-3] + "y" if word.endswith("ies") and len(word) > 4 else word[:-1]
    return word


def words(text: str) -> list[str]:
    """Split into lower-case words and numbers, without plural s and thousands separators."""
    return [_plain(word) for word in _WORD.findall(text.lower())]


def number_word(word: str) -> str:
    """Return the digits of a small number word; any other word is unchanged."""
    return _NUMBER_WORDS.get(word, word)


_NUMBER = re.compile(
    r"(?P<open>\()?\s?(?P<sign>[-+−–])?\s?(?:[$€£¥₹]|us\$|usd|eur|gbp)?\s?(?P<sign2>[-−])?"
    r"(?P<digits>\d{1,3}(?:,\d{2,3})+(?:\.\d+)?|\d{1,30}(?:\.\d{1,30})?|\.\d{1,30})"
    r"(?P<rest>[^\d]{0,24}(?:[\[(][^\d]{0,3}\d?.{0,24})?)",
    re.IGNORECASE | re.DOTALL,
)
_SCALES = {"million": 1e6, "billion": 1e9, "bn": 1e9, "thousand": 1e3, "trillion": 1e12}


def parse_number(text: str) -> float | None:
    """Return the number in a cell, which may have separators, sign, currency, percent and unit.

    Brackets around a number make it negative. None for text that merely contains a number.
    """
    if not text or len(text) > 60:
        return None
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    value = float(match["digits"].replace(",", ""))
    rest = match["rest"].strip().lower()
    first = rest.split(maxsplit=1)[0] if rest else ""
    value *= _SCALES.get(first, 1)
    negative = (match["sign"] or match["sign2"] or "+") in "-−–"
    if match["open"]:
        if not rest.startswith(")"):
            return None
        negative = True
    return -value if negative else value


def format_number(value: float) -> str:
    """Format a computed number: whole numbers without a point, others with up to two decimals."""
    if not math.isfinite(value):
        return "0"
    if abs(value - round(value)) < 1e-9 and abs(value) < 1e15:
        return str(round(value))
    return f"{value:.2f}".rstrip("0").rstrip(".")


_MONTH = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_YEAR = re.compile(r"\b(1[0-9]{3}|20[0-9]{2})\b")
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})\b")


def order_key(text: str) -> float | None:
    """Return a number to order cells by: a number, a date as year and fraction, or None."""
    value = parse_number(text)
    if not text or len(text) > 40 or (value is not None and not _MONTH.search(text.lower())):
        return value
    iso = _ISO.match(text)
    if iso:
        return int(iso[1]) + (int(iso[2]) - 1) / 12 + int(iso[3]) / 400
    year = _YEAR.search(text)
    fraction = 0.0
    month = False
    for word in _WORD.findall(text.lower()):
        if _MONTH.fullmatch(word):
            fraction += _MONTHS.index(word[:3]) / 12
            month = True
        elif word.isdecimal() and len(word) <= 2:
            fraction += int(word) / 400
    if year:
        return int(year[0]) + fraction
    return fraction if month else None


def join(items: Iterable[str], *, limit: int = 20) -> str:
    """Join the distinct items in order, separated by a comma and a blank."""
    unique = dict.fromkeys(item for item in items if item)
    return ", ".join(list(unique)[:limit])
