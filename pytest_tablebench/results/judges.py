"""How far two judges agree about the same answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_tablebench.results.record import Record, ScoreRow

JUDGED = ("gpt_eval", "llm_score")
"""The parts of scores that are a judge's marks, from 0 to 1."""

_TENS = 10


@dataclass(frozen=True)
class Agreement:
    """Agreement of two judges.

    Arguments:
        answers: that both have marked.
        kappa: Cohen's, weighted by the square of the distance, of marks rounded to tens of a
            hundred. None where one judge, or both, gave all answers the same marks.
        rank: Spearman's correlation of the marks themselves; None in the same case.
    """

    answers: int
    kappa: float | None
    rank: float | None


def agreement_of(
    records: Iterable[Record | ScoreRow], other_records: Iterable[Record | ScoreRow]
) -> dict[str, Agreement]:
    """Return the agreement about the answers that both runs have and mark, by dataset.

    An answer that is another text in the other run is another answer, and left out.
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


def _case(record: Record | ScoreRow) -> tuple[str | int, ...]:
    """Return what was asked, and how: the same in the runs of all models."""
    about = record.dataset, record.example_id, record.serializer, record.perturbation
    return (*about, record.strategy, record.modality, record.repeat)


def weighted_kappa(marks: Sequence[float], other_marks: Sequence[float]) -> float | None:
    """Return Cohen's kappa with quadratic weights of marks from 0 to 1, rounded to tenths.

    That is 1 less the mean squared distance of the pairs, over that of all pairs of one's marks
    and the other's.
    """
    first, second = ([int(_TENS * mark + 0.5) for mark in side] for side in (marks, other_marks))
    if len(set(first)) < 2 or len(set(second)) < 2:
        return None
    seen = sum((a - b) ** 2 for a, b in zip(first, second, strict=True)) / len(first)
    ours, theirs = Counter(first), Counter(second)
    by_chance = sum((a - b) ** 2 * ours[a] * theirs[b] for a in ours for b in theirs)
    return 1 - seen / (by_chance / len(first) ** 2)


def rank_correlation(marks: Sequence[float], other_marks: Sequence[float]) -> float | None:
    """Return Spearman's correlation, None where one side is constant."""
    if len(set(marks)) < 2 or len(set(other_marks)) < 2:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(marks, other_marks).statistic)
