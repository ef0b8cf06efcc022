"""Measure the agreement of two judges about the same answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_tablebench.config.axes import NAMED, names_on
from pytest_tablebench.results.record import Record, ScoreRow

JUDGED = ("gpt_eval", "llm_score")
"""The parts of scores that are marks by a judge, from 0 to 1."""

_TENS = 10


@dataclass(frozen=True)
class Agreement:
    """The agreement of two judges.

    Args:
        answers: the number of answers that both marked.
        kappa: Cohen's kappa with quadratic weights, of marks rounded to tenths; None if a judge
            gave all answers the same mark.
        rank: Spearman's correlation of the unrounded marks; None in the same case.
    """

    answers: int
    kappa: float | None
    rank: float | None


def agreement_of(
    records: Iterable[Record | ScoreRow], other_records: Iterable[Record | ScoreRow]
) -> dict[str, Agreement]:
    """Return the agreement about the answers that both runs mark, by dataset.

    A case with different answers in the two runs is left out.
    """
    marks: dict[str, tuple[list[float], list[float]]] = {}
    by_case = {_case(record): record for record in records}
    for record in other_records:
        before = by_case.get(_case(record))
        if before is None or before.answer_mark is None or before.answer_mark != record.answer_mark:
            continue
        for part in JUDGED:
            if part in before.parts and part in record.parts:
                first, second = marks.setdefault(record.dataset, ([], []))
                first.append(before.parts[part])
                second.append(record.parts[part])
    return {
        name: Agreement(len(first), weighted_kappa(first, second), rank_correlation(first, second))
        for name, (first, second) in sorted(marks.items())
    }


@dataclass(frozen=True)
class Flip:
    """An answer whose mark another judge changed, with both marks and whether its verdict did."""

    case_id: str
    before: float
    after: float
    is_verdict: bool


@dataclass(frozen=True)
class Flips:
    """The answers that another judge marks differently.

    Args:
        to_right: verdicts that changed from wrong to right; `to_wrong` the other way.
        higher: marks that rose, `lower` those that fell.
        largest: at most ten answers, changed verdicts and then the largest differences first.
    """

    to_right: int
    to_wrong: int
    higher: int
    lower: int
    largest: tuple[Flip, ...]


FLIP_COUNTS = ("to_right", "to_wrong", "higher", "lower")

_MOST_FLIPS = 10


def flips_of(records: Iterable[Record], other_records: Iterable[Record]) -> Flips:
    """Return the changes of marks and verdicts from one judge to another, of the same answers."""
    flips: list[Flip] = []
    verdicts: Counter[tuple[bool | None, bool | None]] = Counter()
    by_case = {_case(record): record for record in records}
    for record in other_records:
        before = by_case.get(_case(record))
        part = next((name for name in JUDGED if name in record.parts), None)
        if before is None or part is None or part not in before.parts:
            continue
        marks = before.parts[part], record.parts[part]
        verdicts[before.passed, record.passed] += 1
        if abs(marks[0] - marks[1]) > _SAME:
            is_verdict = {before.passed, record.passed} == {True, False}
            flips.append(Flip(record.case_id, *marks, is_verdict))
    flips.sort(key=lambda flip: (not flip.is_verdict, -abs(flip.after - flip.before), flip.case_id))
    return Flips(
        verdicts[False, True],
        verdicts[True, False],
        sum(flip.after > flip.before for flip in flips),
        sum(flip.after < flip.before for flip in flips),
        tuple(flips[:_MOST_FLIPS]),
    )


_SAME = 1e-9


def _case(record: Record | ScoreRow) -> tuple[str | int, ...]:
    return (record.dataset, record.example_id, *names_on(record, NAMED), record.repeat)


def weighted_kappa(marks: Sequence[float], other_marks: Sequence[float]) -> float | None:
    """Return Cohen's kappa with quadratic weights, of marks from 0 to 1 rounded to tenths.

    It is 1 minus the mean squared distance of the paired marks, divided by the mean squared
    distance of all pairs of a first and a second mark. None if one side is constant.
    """
    first, second = ([int(_TENS * mark + 0.5) for mark in side] for side in (marks, other_marks))
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    observed = sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / len(first)
    ours, theirs = Counter(first), Counter(second)
    by_chance = sum((a - b) ** 2 * ours[a] * theirs[b] for a in ours for b in theirs)
    return 1 - observed / (by_chance / len(first) ** 2)


def rank_correlation(marks: Sequence[float], other_marks: Sequence[float]) -> float | None:
    """Return Spearman's correlation; None if one side is constant."""
    if len(set(marks)) < 2 or len(set(other_marks)) < 2:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(marks, other_marks).statistic)
