"""TableBench's scores of answers (specs: torr.md sections 7.2, 8.1, 9; tablebench.md)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.metrics._base import Processed, Score
from pytest_tablebench.metrics._normal import canonical_number, numbers_as_words
from pytest_tablebench.metrics._rouge import rouge, rouge_l_of_texts
from pytest_tablebench.metrics.realhit_numbers import asks_percentage
from pytest_tablebench.metrics.replies import plain_text, run_chain

_WORD = re.compile(r"[a-z0-9]")


def tablebench(
    prediction: Processed, references: Sequence[Processed], *, compat: Compat = "fixed", **_: Any
) -> Score:
    """Return ROUGE-L of an answer, or whether it has the expected numbers.

    `reference`: ROUGE on the texts as they are. The dataset's chain has removed sign, point and
    percent sign from numbers, so `3.5%` and `35` are equal.

    `fixed`: if a reference is a number or a list of numbers (separated by comma and space), the
    answer scores 1 if it consists of equal numbers in the same order, else 0. `1,234.0` equals
    `1234`; signs, decimals and percent signs matter. Any other reference is compared by ROUGE-L
    after `plain_text`, where each number is one word that equals only the same number. A reference
    without a word for ROUGE (`A`, `–`, other scripts) must equal the answer except for case. The
    best reference counts. `numeric` is 1 if numbers were compared; the other parts are those of
    ROUGE for every answer.
    """
    if compat == "reference":
        return rouge(prediction, references, compat=compat)
    answer = str(prediction)
    reference_texts = [str(reference) for reference in references]
    reply_text, *plain = (plain_text(numbers_as_words(text)) for text in (answer, *reference_texts))
    overlap = rouge(reply_text, plain, compat=compat)
    values, texts, numeric = [0.0], [], 0.0
    for text, words in zip(reference_texts, plain, strict=True):
        numbers = _numbers(text)
        if numbers is not None:
            numeric = 1.0
            values.append(float(_same_numbers(answer, numbers)))
        elif _WORD.search(words):
            texts.append(words)
        else:
            values.append(float(_folded(answer) == _folded(text) != ""))
    if texts:
        overlap_score = overlap if texts == plain else rouge(reply_text, texts, compat=compat)
        values.append(overlap_score.value)
    return Score(max(values), {"numeric": numeric, **overlap.parts})


def _folded(text: str) -> str:
    return str(run_chain(("lower_case", "fix_whitespace"), text))


def _numbers(text: str) -> list[str] | None:
    """Return the numbers a text consists of, in canonical form, or None for other texts."""
    items = [_numeric(item) for item in text.split(", ")]
    return [item for item in items if item is not None] if None not in items else None


def _numeric(text: str) -> str | None:
    text = text.strip()
    number = canonical_number(text.removesuffix("%").rstrip())
    if number is None:
        return None
    return f"{number}%" if text.endswith("%") else number


def _same_numbers(answer: str, numbers: list[str]) -> bool:
    # "1952,1953" contains two numbers, "1,952" one: its comma separates thousands.
    answer_numbers = _numbers(answer)
    return numbers == (
        _numbers(answer.replace(",", ", ")) if answer_numbers is None else answer_numbers
    )


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
    for index, (text, item) in enumerate(zip(expected, items, strict=False)):
        number, other = _number(text), _number(item)
        if number is None or other is None or number.is_percent == other.is_percent:
            continue
        if not _alike(number, other, number.decimals):
            signed[index] = f"{item}%" if number.is_percent else item.removesuffix("%")
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
