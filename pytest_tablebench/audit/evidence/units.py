"""Unit, scale, sign or rounding explains how the gold differs from the answer of most voters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from pytest_tablebench.audit.ballots import FEWEST_VOTERS, AuditedExample
from pytest_tablebench.audit.suspects import AnswerGroup, Evidence
from pytest_tablebench.metrics.normal_form import decimals_of, number_in

_WEIGHTS = {"scale": 1.0, "sign": 1.0, "percent": 0.7, "rounding": 0.7}
"""Models make these errors too, so each is worth little without the agreement of voters."""

_CLOSE = Fraction(1, 200)
"""Largest relative difference that counts as rounding."""

_POWERS = range(1, 10)


def units(example: AuditedExample, groups: Sequence[AnswerGroup]) -> Iterator[Evidence]:
    """Yield the explanation of the most frequent other answer that has one."""
    gold = number_in(example.gold_text)
    if gold is None:
        return
    answers = [group for group in groups if not group.is_gold]
    most = max((len(group.voters) for group in answers), default=0)
    texts = [other.answer for other in example.others]
    texts += [group.answer for group in answers if len(group.voters) == most >= FEWEST_VOTERS]
    for text in texts:
        number = number_in(text)
        if number is None or number == gold:
            continue
        kind, words = explained(gold, number, example.gold_text, text)
        if kind:
            shown = f"the gold and {text} differ {words}"
            yield Evidence("unit", shown, text, _WEIGHTS[kind])
            return


def explained(gold: Fraction, number: Fraction, gold_text: str, text: str) -> tuple[str, str]:
    """Return the kind of a difference and its words; empty texts without an explanation."""
    if number == -gold:
        return "sign", "only in their sign"
    if not gold or not number:
        return "", ""
    ratio = abs(number / gold)
    for power in _POWERS:
        factor = Fraction(10) ** power
        if ratio in (factor, 1 / factor):
            is_percent = power == 2 and ("%" in gold_text) != ("%" in text)
            name = "percent" if is_percent else "scale"
            words = f"by a factor of {factor.numerator:,}"
            return name, f"{words}, as a percentage and a share do" if is_percent else words
    decimals = decimals_of(gold_text), decimals_of(text)
    step = Fraction(1, 10 ** min(decimals))
    if not any(decimals):
        return "", ""  # two whole numbers, such as years, are not rounded
    is_near = abs(number - gold) <= step and abs(number - gold) <= _CLOSE * abs(gold)
    return ("rounding", "only by rounding") if is_near else ("", "")
