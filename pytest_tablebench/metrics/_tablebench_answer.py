"""TableBench's scores of answers, and the comparison of their items (spec: tablebench.md)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._postprocess import plain_text
from pytest_tablebench.metrics._rouge import rouge_l_of_texts
from pytest_tablebench.metrics.realhit_numbers import asks_percentage

ERRORS = {"em": 0, "em_with_error_2": 2, "em_with_error_5": 5, "em_with_error_10": 10}
"""Allowed error of a number in percent, by the name of the part; 0 compares rounded numbers."""

_WITH_ERROR = ("CorrelationAnalysis", "TrendForecasting", "StatisticalAnalysis")

# A longer item is compared as text.
_LONGEST = 400
_NUMBER = re.compile(r"(?P<value>-?\d+(?:\.(?P<decimals>\d+))?)(?P<percent>%?)")
_EXACT = Context(prec=2 * _LONGEST)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


@dataclass(frozen=True)
class _AnswerNumber:
    value: Decimal
    decimals: int
    is_percent: bool


def tablebench_answer(
    prediction: Processed,
    references: Sequence[Processed],
    *,
    compat: Compat = "fixed",
    qtype: str = "",
    qsubtype: str = "",
    question: str = "",
    **_: Any,
) -> Score:
    """Return exact match, the same with an error of 2, 5 and 10 percent allowed, and ROUGE-L.

    The score is the part that counts for the kind of question (`counting_part`). An answer is a
    list of items separated by commas, compared one by one in their order. `parse@1` is 0 if the
    reply had no readable answer.

    `reference`: case, marks and articles are removed first. An answer is therefore always one item,
    and signs, points and percent signs do not count. More items than expected would cost nothing.

    `fixed`: only items that are no numbers lose marks and articles, but never all their characters.
    A comma before exactly three digits is part of a number. The hits are divided by the number of
    items of the longer side. A percent sign may be missing if the question asks for a percentage.
    """
    any_sign = compat == "fixed" and asks_percentage(question)
    parts_by_reference = [
        item_parts(str(text), str(prediction), compat=compat, any_sign=any_sign)
        for text in references
    ]
    names = (*ERRORS, "rouge_l")
    parts = {
        name: max(
            (parts_of_reference[name] for parts_of_reference in parts_by_reference), default=0.0
        )
        for name in names
    }
    parts["parse@1"] = float(prediction != "")
    part = counting_part(qtype, qsubtype)
    return Score(parts[part], parts, part)


def counting_part(qtype: str, qsubtype: str) -> str:
    """Return the part that counts for a kind of question."""
    if qsubtype in _WITH_ERROR:
        return "em_with_error_10"
    return "rouge_l" if qtype == "DataAnalysis" and qsubtype != "ImpactAnalysis" else "em"


def item_parts(
    answer: str, prediction: str, *, compat: Compat, any_sign: bool = False
) -> dict[str, float]:
    """Return every part of an answer's score, 0 to 1.

    With `any_sign` a percent sign may be missing on either side.
    """
    plain_answer, plain_prediction = plain_text(answer), plain_text(prediction)
    if compat == "reference":
        expected, items = answer_items(plain_answer), answer_items(plain_prediction)
        weight = len(expected)
    else:
        expected, items = _fixed_items(answer), _fixed_items(prediction)
        weight = max(len(expected), len(items))
        if any_sign:
            items = _with_signs(expected, items)
    parts = {
        name: matches(expected, items, error, compat=compat) / weight
        for name, error in ERRORS.items()
    }
    return {**parts, "rouge_l": rouge_l_of_texts(plain_answer, plain_prediction, compat)}


def answer_items(text: str) -> list[str]:
    """Split an answer at its commas."""
    return [item.strip() for item in text.split(",")]


def _fixed_items(text: str) -> list[str]:
    items = answer_items(_THOUSANDS.sub("", text))
    return [item if _number(item) else plain_text(item) or item.lower() for item in items]


def _with_signs(expected: Sequence[str], items: Sequence[str]) -> list[str]:
    """Return the items of a reply with the percent signs of the expected items.

    An item that equals the expected one already, as `0.25` equals `25%`, stays unchanged.
    """
    signed = list(items)
    for place, (text, item) in enumerate(zip(expected, items, strict=False)):
        number, other = _number(text), _number(item)
        if number is None or other is None or number.is_percent == other.is_percent:
            continue
        if not _alike(number, other, number.decimals):
            signed[place] = f"{item}%" if number.is_percent else item.removesuffix("%")
    return signed


def matches(expected: Sequence[str], items: Sequence[str], error: int, *, compat: Compat) -> int:
    """Return how many expected items are given at their place.

    Without an error, numbers are rounded half up: to four decimals, as shares, if either is a
    percentage, and otherwise to the fewest decimals among the expected numbers. With an error they
    are not rounded, and only 0 is near 0.
    """
    numbers = [_number(item) for item in expected]
    places = min((number.decimals for number in numbers if number), default=0)
    hits = 0
    for text, number, item in zip(expected, numbers, items, strict=False):
        other = _number(item)
        if number is None:
            hits += text == item
        elif other is not None:
            hits += (
                _near(number.value, other.value, error, compat)
                if error
                else _alike(number, other, places)
            )
    return hits


def _alike(first: _AnswerNumber, second: _AnswerNumber, places: int) -> bool:
    if first.is_percent or second.is_percent:
        places = 4
    step = Decimal(1).scaleb(-places)
    values = (number.value.quantize(step, ROUND_HALF_UP, _EXACT) for number in (first, second))
    return next(values) == next(values)


def _near(expected: Decimal, number: Decimal, error: int, compat: Compat) -> bool:
    if not expected:
        return not number
    if compat == "reference":
        rough_expected, rough_number = float(expected), float(number)
        return (
            abs(rough_expected - rough_number) / abs(rough_expected) <= error / 100
            if rough_expected
            else not rough_number
        )
    distance = _EXACT.abs(_EXACT.subtract(expected, number))
    return _EXACT.multiply(distance, Decimal(100)) <= _EXACT.multiply(error, expected.copy_abs())


def _number(text: str) -> _AnswerNumber | None:
    match = _NUMBER.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return None
    value, is_percent = Decimal(match["value"]), bool(match["percent"])
    if is_percent:
        value = value.scaleb(-2, _EXACT)
    return _AnswerNumber(value, len(match["decimals"] or ""), is_percent)
