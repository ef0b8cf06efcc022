"""Agreement of two judges, with figures worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.reports.judges import agreement_blocks
from pytest_tablebench.results.judges import (
    agreement_of,
    flips_of,
    rank_correlation,
    weighted_kappa,
)
from pytest_tablebench.results.record import Record


def test_kappa_weighs_by_the_square_of_the_distance() -> None:
    # Tens 0, 5, 10 against 0, 10, 10. Squares of distances: 0, 25, 0, so 25 / 3 seen; of all nine
    # pairs 0, 100, 100, 25, 25, 25, 100, 0, 0, so 375 / 9 by chance: 1 - (25 / 3) / (375 / 9).
    assert weighted_kappa([0, 0.5, 1], [0, 1, 1]) == pytest.approx(0.8)


@pytest.mark.parametrize(("marks", "expected"), [([0.2, 0.9], 1.0), ([0.9, 0.2], -1.0)])
def test_agreement_is_between_minus_one_and_one(marks: list[float], expected: float) -> None:
    assert weighted_kappa([0.2, 0.9], marks) == pytest.approx(expected)
    assert rank_correlation([0.2, 0.9], marks) == pytest.approx(expected)


def test_marks_are_rounded_half_up_to_tenths() -> None:
    assert weighted_kappa([0.25, 0.9], [0.3, 0.9]) == 1


def test_agreement_with_a_constant_judge_is_undefined() -> None:
    assert weighted_kappa([0.5, 0.5], [0.1, 0.9]) is None
    assert rank_correlation([0.1, 0.9], [0.5, 0.5]) is None


def record(number: int, mark: float | None, raw: str = "said") -> Record:
    parts = {} if mark is None else {"gpt_eval": mark}
    return Record(
        f"d/{number}/html/none", "m", "own", "d", str(number), "html", "none", strategy="direct",
        modality="text", outcome="wrong", score=0.0, parts=parts, raw=raw,
    )  # fmt: skip


def test_only_answers_that_both_judges_marked_count() -> None:
    records = [record(1, 0.2), record(2, 0.9), record(3, None), record(4, 0.5)]
    other = [
        record(1, 0.2),
        record(2, 0.9),
        record(3, 0.4),
        record(4, 0.5, "another"),
        record(5, 1),
    ]
    [(name, agreement)] = agreement_of(records, other).items()
    assert (name, agreement.answers, agreement.kappa) == ("d", 2, 1)


def test_an_example_under_two_strategies_has_two_answers() -> None:
    records = [record(1, 0.2), replace(record(1, 0.9), strategy="tcot")]
    [agreement] = agreement_of(records, records).values()
    assert (agreement.answers, agreement.kappa) == (2, 1)


def test_flips_count_changed_marks_and_verdicts() -> None:
    before = [replace(record(n, n / 10), passed=n >= 5) for n in range(10)]
    after = [replace(record(n, 0.6), passed=True) for n in range(10)]
    flips = flips_of(before, [replace(after[9], passed=False), *after[:9]])
    # 0 to 5 rise, 6 stays, 7 to 9 fall; verdicts of 0 to 4 rise, the one of 9 falls.
    assert (flips.higher, flips.lower, flips.to_right, flips.to_wrong) == (6, 3, 5, 1)
    assert [flip.case_id for flip in flips.largest][:2] == ["d/0/html/none", "d/1/html/none"]
    assert [flip.is_verdict for flip in flips.largest] == [True] * 6 + [False] * 3
    assert len(terminal_lines(agreement_blocks({}, flips))) == 1 + 9
    assert list(agreement_blocks({}, flips_of(before, before))) == []
