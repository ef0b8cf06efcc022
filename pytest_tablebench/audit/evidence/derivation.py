"""The answer that a rule computes on the table: a look-up, sum, mean, count or extreme value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from pytest_tablebench.audit.ballots import AuditedExample
from pytest_tablebench.audit.suspects import AnswerGroup, Evidence
from pytest_tablebench.metrics.normal_form import decimals_of, normal_form, number_in
from pytest_tablebench.models.lexical.rules import Derived, derive

_AGAINST = {"sum": 1.8, "mean": 1.8, "count": 1.5, "extreme": 1.8, "look-up": 1.2}
"""Weights of a difference: the logarithm of 1 / (share of right golds that the rule misses)."""

_FOR = -1.5
"""The weight if the gold is the derived answer: a wrong gold rarely is."""


def derivation(
    example: AuditedExample,
    groups: Sequence[AnswerGroup],  # noqa: ARG001 - all reasons have one signature
) -> Iterator[Evidence]:
    """Yield the derived answer: against a gold that differs, for a gold that is equal."""
    derived = derived_answer(example)
    if derived is None:
        return
    if _is_gold(derived, example):
        yield Evidence("derivation", f"{derived.text}, as the gold", example.gold_text, _FOR)
        return
    if (number_in(example.gold_text) is None) != (derived.number is None):
        return  # the gold is of another kind, so the rule has misread the question
    text = f"{derived.text}, the gold is {example.gold_text}"
    yield Evidence("derivation", text, derived.answer, _AGAINST[derived.rule])


def derived_answer(example: AuditedExample) -> Derived | None:
    """Return the answer of the only rule that speaks; None without any."""
    if len(example.tables) != 1 or len(example.gold) != 1 or example.further_text.count(" ") > 60:
        return None
    [table] = example.tables
    return None if table.is_structured else derive(example.example.question, table)


def _is_gold(derived: Derived, example: AuditedExample) -> bool:
    gold = number_in(example.gold_text)
    if gold is None or derived.number is None:
        return normal_form(derived.answer) == example.gold_form
    room = Fraction(1, 2 * 10 ** decimals_of(example.gold_text)) if derived.rule == "mean" else 0
    return abs(gold - derived.number) <= room
