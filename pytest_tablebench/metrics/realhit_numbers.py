"""Numbers in RealHiTBench's answers (`fixed`), compared within the rounding of the reference."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from decimal import Context, Decimal

from pytest_tablebench.metrics._normal import WrittenNumber, written_numbers

ASKED_DECIMALS = 2
"""The prompts ask for two decimals, so an answer may round a longer reference to two."""

_LONGEST = 400
"""Numbers with more characters are compared by their digits."""
_EXACT = Context(prec=2 * _LONGEST)

_PERCENTAGE = re.compile(r"percent|per cent|\bpct\b|[%％]", re.IGNORECASE)
_SPELT_PERCENT = re.compile(r"(?<=[0-9])\s?(?:percent|per cent)\b", re.IGNORECASE)
_COMMA = re.compile(
    r"(?<![\w.,])(?P<whole>[0-9]{1,3}(?:\.[0-9]{3})++|[0-9]++),(?P<fraction>[0-9]++)(?![\w,]|\.[0-9])"
)
_THOUSANDS = 3
_SIGNS = r"[-+\u2212]?[$€£¥]?\s?"
# Three digits after a comma may be thousands, so they do not show a decimal comma.
_COMMA_CELL = re.compile(
    rf"{_SIGNS}(?:[0-9]{{1,3}}(?:\.[0-9]{{3}})++|[0-9]++),(?![0-9]{{3}}(?![0-9]))[0-9]++\s?[%€]?"
)
_POINT_CELL = re.compile(rf"{_SIGNS}[0-9,]*+\.[0-9]++\s?%?")

Write = Callable[[WrittenNumber], str]


def asks_percentage(question: str) -> bool:
    """Return whether a question asks for a percentage, so that its sign may be missing."""
    return _PERCENTAGE.search(question) is not None


def has_decimal_commas(cells: Iterable[object]) -> bool:
    """Return whether more cells of a table have a decimal comma than a decimal point."""
    texts = [str(cell).strip() for cell in cells]
    commas = sum(_COMMA_CELL.fullmatch(text) is not None for text in texts)
    return commas > sum(_POINT_CELL.fullmatch(text) is not None for text in texts)


def plain_signs(text: str, *, decimal_comma: bool) -> str:
    """Return a text with `%` for the word, and points for decimal commas if the table has them."""
    text = _SPELT_PERCENT.sub("%", text)
    return _COMMA.sub(_with_point, text) if decimal_comma else text


def _with_point(match: re.Match[str]) -> str:
    whole, fraction = match["whole"], match["fraction"]
    if len(fraction) == _THOUSANDS and "." not in whole and whole != "0":
        return match[0]  # a thousands comma
    return f"{whole.replace('.', '')}.{fraction}"


def near_words(reference: str, *, any_sign: bool) -> Write:
    """Return a function that writes a reply's number as the reference's number that it equals.

    Numbers are equal within half of the last decimal that the reference shows. Whole numbers
    without a percent sign must be exact, because they count or name. With `any_sign` a percent sign
    may be missing on either side.
    """
    sorted_numbers = _sorted_numbers(reference, any_sign=any_sign)

    def write(number: WrittenNumber) -> str:
        if len(number.value) > _LONGEST:
            return number.word
        value = Decimal(number.value)
        key = _key(number, any_sign=any_sign)
        numbers = sorted_numbers.get(key, [])
        index = bisect_left(numbers, value, key=lambda pair: pair[0])
        # The nearest on both sides; an equal number comes first.
        nearest = numbers[index : index + 1] + numbers[max(0, index - 1) : index]
        for expected, other in nearest:
            if _is_near(number, value, other, expected):
                return other.word
        return number.word

    return write


def _sorted_numbers(
    reference: str, *, any_sign: bool
) -> Mapping[tuple[bool, str], list[tuple[Decimal, WrittenNumber]]]:
    groups: dict[tuple[bool, str], list[tuple[Decimal, WrittenNumber]]] = {}
    for number in written_numbers(reference):
        if len(number.value) <= _LONGEST:
            pair = Decimal(number.value), number
            groups.setdefault(_key(number, any_sign=any_sign), []).append(pair)
    for numbers in groups.values():
        numbers.sort(key=lambda pair: pair[0])
    return groups


def _key(number: WrittenNumber, *, any_sign: bool) -> tuple[bool, str]:
    return number.is_percent and not any_sign, number.letters


def _is_near(
    number: WrittenNumber, value: Decimal, other: WrittenNumber, expected: Decimal
) -> bool:
    if value == expected:
        return True
    if not other.decimals and not other.is_percent:
        return False
    distance = _EXACT.abs(_EXACT.subtract(value, expected))
    if distance <= Decimal(5).scaleb(-other.decimals - 1):
        return True
    is_rounded = number.decimals == ASKED_DECIMALS < other.decimals
    return is_rounded and bool(value) and distance <= Decimal(5).scaleb(-ASKED_DECIMALS - 1)
