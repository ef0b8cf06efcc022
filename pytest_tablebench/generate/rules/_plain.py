"""Answers computed from the table's cells, with exact numbers.

Empty, trivial and ambiguous questions are rejected, with a reason that is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_tablebench.generate.pair import PlainAnswer, PlanStep, RejectedError
from pytest_tablebench.generate.rules._plain_analyses import ANALYSES
from pytest_tablebench.generate.rules._plain_basics import BASICS, JUDGEMENTS, NARROWING, Rows
from pytest_tablebench.generate.rules._sheet import ParsedSheet

__all__ = ["ANSWERS", "NARROWING", "narrow", "plain_answer"]

ANSWERS: dict[str, Callable[..., PlainAnswer]] = {**BASICS, **ANALYSES}


def narrow(step: PlanStep, sheet: ParsedSheet, rows: Rows) -> Rows:
    """Return the entries that a step keeps: some, but not all. Raises `RejectedError`."""
    kept = NARROWING[step.name](sheet, rows, *step.arguments)
    if not kept:
        raise RejectedError("empty")
    if len(kept) == len(rows):
        raise RejectedError("trivial")
    return kept


def plain_answer(steps: Sequence[PlanStep], sheet: ParsedSheet) -> PlainAnswer:
    """Compute the answer of the steps. Raises `RejectedError` without a unique, useful answer."""
    rows: Rows = tuple(range(sheet.size))
    steps = list(steps)
    while steps[0].name in NARROWING:
        rows = narrow(steps.pop(0), sheet, rows)
    answer = ANSWERS[steps[0].name](sheet, rows, *steps[0].arguments)
    for step in steps[1:]:
        answer = JUDGEMENTS[step.name](answer, *step.arguments)
    return answer
