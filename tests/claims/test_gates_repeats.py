"""Gates over repeated cases: repeats make one cell, and counts include every repeat."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.claims.gates import judge_gates, plan_gates
from pytest_tablebench.errors import DataError
from pytest_tablebench.results import ScoreRow

GATES = ["d.performance >= 0.4", "d.pass_rate >= 0.4", "d.robustness >= 0.4", "d.no_answer <= 0.1"]


def cell(example: str, score: float | None, repeat: int = 1, serializer: str = "html") -> ScoreRow:
    passed = None if score is None else score >= 0.5
    reason = "timeout" if score is None else None
    return ScoreRow("b", "d", example, serializer, "none", score, passed, reason, repeat)


def estimates(cells: list[ScoreRow]) -> list[float | None]:
    return [result.value for result in judge_gates(cells, GATES)]


def test_a_cell_has_the_mean_of_its_answered_repeats():
    """
    repeat   1     2     3       mean   passed
    a html   1.0   0.0   none    0.5    1/2
    a csv    0.5   -     -       0.5    1
    b html   0.25  0.25  1.0     0.5    1/3
    b csv    none  none  none    none
    """
    cells = [
        cell("a", 1.0),
        cell("a", 0.0, 2),
        cell("a", None, 3),
        cell("a", 0.5, serializer="csv"),
        *(cell("b", score, n) for n, score in enumerate((0.25, 0.25, 1.0), start=1)),
        *(cell("b", None, n, "csv") for n in (1, 2, 3)),
    ]
    performance, pass_rate, _, no_answer = judge_gates(cells, GATES)
    assert performance.value == pytest.approx(0.5)
    assert pass_rate.value == pytest.approx((3 / 4 + 1 / 3) / 2)
    assert performance.examples == 2
    # 4 of 10: repeats are counted, not cells.
    assert (no_answer.n_no_answer, no_answer.n_cases) == (4, 10)
    assert performance.no_answer == pytest.approx(0.4)


def test_differences_between_repeats_do_not_lower_robustness():
    cells = [
        cell(example, float(repeat == 1), repeat, serializer)
        for example in "abc"
        for repeat in (1, 2)
        for serializer in ("html", "csv")
    ]
    assert estimates(cells)[2] == 1
    # Differences between formats do.
    alone = [replace(case, serializer=f"s{case.repeat}", repeat=1) for case in cells[::2]]
    assert estimates(alone)[2] == 0


scores = st.lists(
    st.one_of(st.none(), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=2, max_size=8
)


@given(scores, st.integers(1, 4), st.randoms())
def test_repeating_every_answer_changes_only_counts(values, times, random):
    once = [cell(f"e{place}", score) for place, score in enumerate(values)]
    often = [replace(case, repeat=repeat) for case in once for repeat in range(1, times + 1)]
    random.shuffle(often)
    for single, repeated in zip(judge_gates(once, GATES), judge_gates(often, GATES), strict=True):
        assert (single.value, single.interval, single.state) == (
            repeated.value,
            repeated.interval,
            repeated.state,
        )
        assert (single.examples, single.n_left_out) == (repeated.examples, repeated.n_left_out)
        if single.n_cases is not None:
            assert repeated.n_cases == times * single.n_cases


@given(scores, scores)
def test_a_model_is_never_worse_than_itself_at_any_number_of_repeats(first, second):
    cells = [
        replace(case, repeat=repeat)
        for repeat, values in ((1, first), (2, second))
        for case in [cell(f"e{place}", score) for place, score in enumerate(values)]
    ]
    [result] = judge_gates(cells, ["d.performance >= baseline"], cells)
    assert result.state_point == ("undecided" if result.value is None else "holds")
    assert result.value in {None, 0}


def test_answers_are_identical_only_if_every_repeat_is():
    def run(*texts: str) -> list[dict[str, object]]:
        names = ("dataset", "example_id", "serializer", "perturbation", "score", "passed", "repeat")
        return [
            {name: getattr(cell(example, 1.0, number), name) for name in names} | {"raw": raw}
            for example in "abc"
            for number, raw in enumerate(texts, start=1)
        ]

    gate = ["d.performance >= baseline"]
    assert judge_gates(run("x", "y"), gate, run("x", "y"))[0].identical
    assert not judge_gates(run("x", "y"), gate, run("x", "z"))[0].identical
    assert not judge_gates(run("x", "y"), gate, run("y", "x"))[0].identical


@pytest.mark.parametrize("repeats", [(1, 1), (1, 2, 2)])
def test_a_case_that_occurs_twice_is_refused(repeats):
    with pytest.raises(DataError, match=r"case d/a/html/none.* occurs 2 times"):
        judge_gates([cell("a", 1.0, repeat) for repeat in repeats], GATES)


def test_a_plan_counts_examples_not_repeats():
    cells = [cell(f"e{n}", None, repeat) for n in range(20) for repeat in (1, 2, 3)]
    [once] = plan_gates(["d.performance >= 0.4"], cells[::3])
    [often] = plan_gates(["d.performance >= 0.4"], cells)
    assert (often.n_examples, often.smallest_drop) == (20, once.smallest_drop)
