"""Repeated cases, against values worked out by hand."""

from __future__ import annotations

import json
from itertools import combinations
from math import isnan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import DataError
from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.results import Record, ScoreRow, ScoreTable
from pytest_tablebench.results.figures import pass_at_k, pass_hat_k
from tests.support.repeats import RUN, dataset_scope, repeats, runs

# The estimators


@st.composite
def counts(draw, most=7):
    n = draw(st.integers(1, most))
    return n, draw(st.integers(0, n)), draw(st.integers(1, n))


@given(counts())
def test_both_estimators_agree_with_counting_every_draw(numbers):
    n, c, k = numbers
    draws = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == sum(map(any, draws)) / len(draws)
    assert pass_hat_k(n, c, k) == sum(map(all, draws)) / len(draws)


@given(counts(most=100))
def test_more_draws_raise_pass_at_k_and_lower_pass_hat_k(numbers):
    n, c, _ = numbers
    at = [pass_at_k(n, c, k) for k in range(1, n + 1)]
    hat = [pass_hat_k(n, c, k) for k in range(1, n + 1)]
    assert at == sorted(at)
    assert hat == sorted(hat, reverse=True)
    assert at[0] == hat[0] == c / n
    assert (at[-1], hat[-1]) == (float(c > 0), float(c == n))


@pytest.mark.parametrize(("n", "c", "k"), [(3, 1, 4), (3, 1, 0), (3, 4, 1), (3, -1, 1), (0, 0, 1)])
@pytest.mark.parametrize("estimate", [pass_at_k, pass_hat_k])
def test_impossible_counts_are_refused(estimate, n, c, k):
    with pytest.raises(DataError, match=f"{c} of {n} repeats are right and {k} are drawn"):
        estimate(n, c, k)


# Cells


def test_a_cell_has_the_mean_score_and_pass_rate_of_its_answers():
    table = ScoreTable.from_records(RUN)
    cells = table.cells
    columns = cells.score, cells.passed, cells.times, cells.answered
    figures = {
        table.case(row, "example", "serializer"): values
        for row, *values in zip(cells.first, *(column.tolist() for column in columns), strict=True)
    }
    assert figures == {
        "e1/html": [0.5, 1 / 3, 3, 3],
        "e1/csv": [1.0, 1.0, 3, 3],
        "e2/html": [1.0, 1.0, 3, 2],
        "e2/csv": [1 / 3, 1 / 3, 3, 3],
    }


def test_a_cell_without_any_answer_has_no_score():
    cells = ScoreTable.from_records(repeats("e1", "html", None, None)).cells
    assert (cells.times.tolist(), cells.answered.tolist()) == ([2], [0])
    assert isnan(cells.score[0])
    assert isnan(cells.passed[0])


def test_records_and_rows_fold_into_the_same_cells():
    records = [
        Record(
            case_id=f"{n}",
            model="m",
            outcome=cell.outcome,
            **{
                name: getattr(cell, name)
                for name in ScoreRow.__dataclass_fields__
                if name not in {"answer_mark", "tallies"}
            },
        )
        for n, cell in enumerate(RUN)
    ]
    assert summarize(records) == summarize(RUN)
    lines = [Record.from_line(record.to_line()) for record in records]
    assert [line.repeat for line in lines] == [1, 2, 3] * 4


def test_a_record_of_an_older_run_is_its_first_repeat():
    line = repeats_line()
    del line["repeat"]
    assert Record.from_line(json.dumps(line)).repeat == 1


def repeats_line():
    names = ["case_id", "model", "benchmark", "dataset", "example_id", "serializer"]
    names += ["perturbation", "strategy", "modality"]
    texts: dict[str, Any] = dict.fromkeys(names, "x")
    record = Record(**texts, outcome="no_answer", repeat=2)
    line = json.loads(record.to_line())
    assert line["repeat"] == 2
    return line


# The summary


def test_measures_use_the_mean_of_a_cell():
    scope = dataset_scope(RUN)
    assert scope["performance"] == pytest.approx((3 / 4 + 2 / 3) / 2)
    assert scope["robustness"] == pytest.approx((1 / 2 + 1 / 3) / 2)  # ranges 1/2 and 2/3
    assert scope["pass_rate"] == pytest.approx((2 / 3 + 2 / 3) / 2)
    assert scope["serializers"]["csv"]["performance"] == pytest.approx((1 + 1 / 3) / 2)
    assert scope["serializers"]["csv"]["robustness"] == 1.0  # one mean per example has the range 0


def test_cases_and_missing_answers_count_every_repeat():
    scope = dataset_scope(RUN)
    assert (scope["n_examples"], scope["n_cases"]) == (2, 12)
    assert scope["no_answer"] == pytest.approx(1 / 12)
    assert scope["reasons"] == {"timeout": 1}
    # The cell still has two answers, so the grid is complete.
    assert scope["flags"] == []


def test_a_cell_without_any_answer_is_missing_from_the_grid():
    records = [*repeats("e1", "html", None, None), *repeats("e1", "csv", 1.0, 1.0)]
    scope = dataset_scope(records)
    assert scope["flags"] == ["incomplete"]
    assert scope["performance"] == 1.0
    assert scope["no_answer"] == 0.5


def test_repeats_do_not_count_as_configurations():
    scope = dataset_scope([*repeats("e1", "html", 1.0, 0.0), *repeats("e2", "html", 1.0, 1.0)])
    assert scope["flags"] == ["one configuration"]
    assert scope["robustness"] == 1.0
    assert scope["sampled"] is None


def test_repeats_do_not_count_as_sampled_configurations():
    records = [
        cell
        for number in range(4)
        for cell in repeats(f"e{number}", "html" if number % 2 else "csv", 1.0, 0.0)
    ]
    sampled = dataset_scope(records)["sampled"]
    assert (sampled["drawn"], sampled["of"], sampled["assumed"]) == (1, 2, True)


def test_pass_at_k_and_pass_hat_k_are_means_over_configurations_then_examples():
    figures = dataset_scope(RUN)["repeats"]
    assert figures["n"] == 3
    # e1 and e2, each the mean of html and csv; at k = 3 e2 has csv only.
    assert figures["pass_at_k"] == {
        "1": pytest.approx((2 / 3 + 2 / 3) / 2),
        "2": pytest.approx((5 / 6 + 5 / 6) / 2),
        "3": 1.0,
    }
    assert figures["pass_hat_k"] == {
        "1": pytest.approx((2 / 3 + 2 / 3) / 2),
        "2": pytest.approx((1 / 2 + 1 / 2) / 2),
        "3": pytest.approx((1 / 2 + 0) / 2),
    }
    assert figures["left_out"] == {"1": 0, "2": 0, "3": 1}


def test_spread_is_a_mean_over_cells():
    spread = dataset_scope(RUN)["repeats"]["spread"]
    assert spread == {
        "sd": pytest.approx((0.5 + 0 + 0 + (1 / 3) ** 0.5) / 4),
        "range": pytest.approx((1 + 0 + 0 + 1) / 4),
        "disagree": pytest.approx(2 / 4),
    }


def test_cells_with_one_answer_have_no_spread():
    records = [*repeats("e1", "html", 1.0, None), *repeats("e1", "csv", 0.0, 1.0)]
    figures = dataset_scope(records)["repeats"]
    assert figures["spread"]["range"] == 1.0
    assert figures["left_out"] == {"1": 0, "2": 1}
    assert figures["pass_at_k"] == {"1": 0.75, "2": 1.0}


def test_measures_of_repeats_without_any_answer_are_none_and_not_0():
    figures = dataset_scope(repeats("e1", "html", None, None))["repeats"]
    assert figures["pass_at_k"] == figures["pass_hat_k"] == {"1": None, "2": None}
    assert figures["left_out"] == {"1": 1, "2": 1}
    assert set(figures["spread"].values()) == {None}


def test_measures_of_repeats_of_a_benchmark_are_unweighted_means_of_its_datasets():
    other = repeats("e1", "html", 0.0, 0.0, 0.0, dataset="other")
    figures = summarize([*RUN, *other])["benchmarks"]["b"]["repeats"]
    assert figures["n"] == 3
    assert figures["pass_at_k"]["3"] == 0.5  # of 1 and 0
    assert figures["pass_hat_k"]["3"] == 0.125  # of 1/4 and 0
    assert figures["left_out"] == {"1": 0, "2": 0, "3": 1}
    assert figures["spread"]["range"] == 0.25  # of 1/2 and 0


def test_a_benchmark_has_no_pass_at_k_if_a_dataset_has_fewer_repeats():
    other = repeats("e1", "html", 0.0, 1.0, dataset="other")
    benchmark = summarize([*RUN, *other])["benchmarks"]["b"]
    assert benchmark["datasets"]["other"]["repeats"]["n"] == 2
    assert benchmark["repeats"]["pass_at_k"] == {
        "1": pytest.approx((2 / 3 + 1 / 2) / 2),
        "2": pytest.approx((5 / 6 + 1) / 2),
        "3": None,
    }
    assert benchmark["repeats"]["left_out"] == {"1": 0, "2": 0, "3": 2}


def test_a_run_without_repeats_has_no_entry_for_them():
    records = [cell for cell in RUN if cell.repeat == 1]
    benchmark = summarize(records)["benchmarks"]["b"]
    assert "repeats" not in benchmark
    assert "repeats" not in benchmark["datasets"]["d"]


# Rules for all scores


@given(runs(), st.randoms(use_true_random=False))
def test_the_order_of_repeats_does_not_matter(records, draw):
    mixed = list(records)
    draw.shuffle(mixed)
    assert summarize(mixed) == summarize(records)


@given(runs())
def test_pass_at_1_is_the_pass_rate(records):
    benchmark = summarize(records)["benchmarks"]["b"]
    for scope in (benchmark, *benchmark["datasets"].values()):
        figures = scope.get("repeats")
        if figures is not None:
            expected = None if scope["pass_rate"] is None else pytest.approx(scope["pass_rate"])
            assert figures["pass_at_k"]["1"] == figures["pass_hat_k"]["1"] == expected


@given(runs(most=1), st.integers(2, 7))
def test_repeats_of_identical_answers_change_no_measure(once, times):
    often = [
        cell
        for case in once
        for cell in repeats(
            case.example_id, case.serializer, *[case.score] * times, dataset=case.dataset
        )
    ]
    before, after = (summarize(records)["benchmarks"]["b"] for records in (once, often))
    pairs = [(before, after)]
    pairs += [(part, after["datasets"][name]) for name, part in before["datasets"].items()]
    for single, repeated in pairs:
        figures = repeated.pop("repeats")
        assert repeated.pop("n_cases") == times * single.pop("n_cases")
        for scope in (single, repeated):
            for name in ("datasets", "reasons", "serializers", "perturbations"):
                scope.pop(name, None)
        assert repeated == single  # to the last digit
        if figures["spread"]["sd"] is not None:
            assert figures["spread"] == {"sd": 0.0, "range": 0.0, "disagree": 0.0}
