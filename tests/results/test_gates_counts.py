"""Gates on counts and cost."""

import pytest

from pytest_tablebench.results.run_facts import RunFacts
from tests.support.gate_rows import cell, judge, rows


def test_the_measure_no_answer_is_a_count():
    records = rows([1.0] * 98 + [None] * 2)
    result = judge("all.no_answer <= 2 %", records)
    assert (result.state, result.method, result.interval) == ("holds", "count", None)
    assert (result.n_cases, result.n_no_answer) == (100, 2)
    assert judge("all.no_answer <= 0.019", records).state == "fails"
    against = judge("all.no_answer <= baseline + 1 %", records, rows([1.0] * 99 + [None]))
    assert (against.value, against.state) == (pytest.approx(0.01), "holds")


def test_cut_off_and_truncated_replies_are_counts():
    records = rows([1.0] * 96 + [None] * 4)
    records[95] |= {"flags": ["truncated"]}
    for row in records[97:]:
        row |= {"reason": "cut_off"}
    cut = judge("all.cut_off <= 3 %", records)
    assert (cut.value, cut.state, cut.method) == (0.03, "holds", "count")
    assert cut.reason.startswith("3 of 100 cases were cut off before an answer (0.03)")
    assert (cut.no_answer, cut.n_no_answer) == (None, None)
    assert judge("all.cut_off <= 0.029", records).state == "fails"
    truncated = judge("all.truncated <= 1 %", records)
    assert (truncated.value, truncated.state) == (0.01, "holds")
    assert truncated.reason.startswith("1 of 100 cases has a truncated answer")
    assert judge("all.no_answer <= 4 %", records).value == 0.04
    against = judge("all.cut_off <= baseline + 1 %", records, rows([1.0] * 100))
    assert (against.value, against.state) == (0.03, "fails")


def test_failures_that_cluster_in_examples_widen_the_interval():
    names = [f"s{number}/p" for number in range(10)]
    records = [
        cell(example, None if example < 5 else 1.0, cell=name)
        for example in range(20)
        for name in names
    ]
    result = judge("all.no_answer <= 0.5", records)
    assert result.value == 0.25
    exact, effective = result.clopper_pearson, result.effective_interval
    assert effective[0] < exact[0] < 0.25 < exact[1] < effective[1]


@pytest.mark.parametrize(
    ("run", "state"),
    [
        ({"cost_usd": 19.99}, "holds"),
        ({"cost_usd": 20.01}, "fails"),
        ({"cost_usd": None, "calls_paid": 10}, "undecided"),
        ({"cost_usd": None, "calls_paid": 0}, "holds"),
        # A killed run records only what it knew at its start.
        ({"cost_usd": None, "calls_paid": 0, "status": "running"}, "undecided"),
        ({"cost_usd": 0.5, "calls_paid": 1, "status": "running"}, "undecided"),
        ({}, "undecided"),
    ],
)
def test_cost_is_read_from_the_run(run, state):
    result = judge("run.cost <= 20", rows([1.0]), run=RunFacts.from_json(run))
    assert result.state == result.state_point == state
    assert result.reason


def test_cost_is_compared_with_the_cost_of_the_baseline():
    result = judge(
        "run.cost <= baseline + 1",
        rows([1.0]),
        run=RunFacts.from_json({"cost_usd": 5.0}),
        baseline_run=RunFacts.from_json({"cost_usd": 3}),
    )
    assert (result.value, result.state) == (2.0, "fails")
