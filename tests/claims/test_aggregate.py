"""Performance, robustness and pass rates, against values computed by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.claims.summary import spread, summarize
from pytest_tablebench.results import ScoreRow
from pytest_tablebench.results.record import tallies_of
from tests.support.present import present

CONFIGURATIONS = [
    ("html", "none"),
    ("html", "transpose"),
    ("csv", "none"),
    ("csv", "transpose"),
]


def cells(example, *scores, dataset="d", benchmark="b", reason="timeout"):
    """One example's cells over the four configurations above; None is no answer."""
    return [
        ScoreRow(
            benchmark,
            dataset,
            example,
            serializer,
            perturbation,
            score,
            None if score is None else score >= 1.0,
            reason if score is None else None,
            tallies=tallies_of({"reason": reason if score is None else None}),
        )
        for (serializer, perturbation), score in zip(CONFIGURATIONS, scores, strict=False)
    ]


def dataset_scope(records, dataset="d", benchmark="b"):
    return summarize(records)["benchmarks"][benchmark]["datasets"][dataset]


GRID = [
    *cells("e1", 1.0, 0.5, 0.5, 0.0),  # mean 0.5, range 1
    *cells("e2", 1.0, 1.0, 1.0, 0.5),  # mean 0.875, range 0.5
]


def test_a_scope_has_means_over_examples_and_counts():
    scope = dataset_scope(GRID)
    assert scope["performance"] == 0.6875  # of 0.5 and 0.875
    assert scope["robustness"] == 0.25  # 1 less the ranges: of 0 and 0.5
    assert scope["pass_rate"] == 0.5  # of 1/4 and 3/4
    assert (scope["n_examples"], scope["n_cases"], scope["no_answer"]) == (2, 8, 0.0)
    assert (scope["flags"], scope["reasons"]) == ([], {})


@pytest.mark.parametrize(
    ("second", "flags"), [((1.0, 1.0, 1.0), ["incomplete"]), ((), ["one configuration"])]
)
def test_a_missing_or_single_configuration_is_flagged(second, flags):
    first = (1.0, 1.0, 1.0, 1.0) if second else (1.0,)
    assert dataset_scope([*cells("e1", *first), *cells("e2", *second)])["flags"] == flags


def test_each_serializer_and_perturbation_has_its_own_scope():
    scope = dataset_scope(GRID)
    performances = {
        name: (part["performance"], part["robustness"])
        for axis in ("serializers", "perturbations")
        for name, part in scope[axis].items()
    }
    assert performances == {
        "html": (0.875, 0.75),  # 0.75 and 1; ranges 0.5 and 0
        "csv": (0.5, 0.5),  # 0.25 and 0.75; ranges 0.5 and 0.5
        "none": (0.875, 0.75),  # 0.75 and 1; ranges 0.5 and 0
        "transpose": (0.5, 0.5),  # 0.25 and 0.75; ranges 0.5 and 0.5
    }


def test_cases_without_an_answer_are_left_out_of_means_counted_and_flagged():
    scope = dataset_scope([*cells("e1", 1.0, None, 0.0, None), *cells("e2", 1.0, 1.0, 1.0, 1.0)])
    assert scope["performance"] == 0.75  # of 1/2 and 1
    assert scope["pass_rate"] == 0.75
    assert scope["no_answer"] == 0.25
    assert scope["reasons"] == {"timeout": 2}
    assert scope["flags"] == ["incomplete"]
    assert scope["serializers"]["csv"]["no_answer"] == 0.25
    assert scope["perturbations"]["none"]["flags"] == []


def test_an_example_without_any_answer_is_in_no_mean():
    scope = dataset_scope([*cells("e1", None, None, None, None), *cells("e2", 0.5, 0.5, 0.5, 0.5)])
    assert scope["performance"] == 0.5
    assert scope["robustness"] == 1.0
    assert scope["n_examples"] == 2
    assert scope["no_answer"] == 0.5


def test_truncated_replies_are_counted_in_each_scope():
    records = [
        *cells("e1", 1.0, None, 0.5, 0.0, reason="cut_off"),
        *(replace(cell, tallies={"truncated": 1.0}) for cell in cells("e2", 1.0, 1.0)),
        *cells("e3", None, 1.0, reason="timeout"),
    ]
    scope = dataset_scope(records)
    assert (scope["cut_off"], scope["truncated"], scope["no_answer"]) == (1 / 8, 2 / 8, 2 / 8)
    assert scope["perturbations"]["transpose"]["cut_off"] == 1 / 4
    assert scope["serializers"]["csv"]["truncated"] == 0.0
    assert "cut_at" not in scope
    limits = [
        replace(records[1], tallies=tallies_of({"reason": "cut_off", "reply_limit": limit}))
        for limit in (512, 8704)
    ]
    assert dataset_scope([limits[0], replace(limits[1], repeat=2)])["cut_at"] == [512, 8704]
    repeated = [*records, replace(records[1], repeat=2)]
    assert dataset_scope(repeated)["cut_off"] == 2 / 9


def test_measures_without_any_answer_are_none_and_not_0():
    scope = dataset_scope(cells("e1", None, None, None, None))
    assert [scope[name] for name in ("performance", "robustness", "pass_rate")] == [None] * 3
    assert scope["no_answer"] == 1.0
    assert scope["ci95"] == {"performance": None, "robustness": None, "pass_rate": None}


def test_reasons_are_counted_with_the_most_frequent_first():
    records = [
        *cells("e1", None, None, reason="timeout"),
        *cells("e2", None, reason="rate_limit"),
        *cells("e3", None, None, None, reason="content_filter"),
    ]
    reasons = dataset_scope(records)["reasons"]
    assert list(reasons.items()) == [("content_filter", 3), ("timeout", 2), ("rate_limit", 1)]


def test_a_benchmark_is_the_unweighted_mean_of_its_datasets():
    # Ten examples of one dataset weigh as much as one of the other.
    many = [cell for number in range(10) for cell in cells(f"m{number}", 1.0, 1.0)]
    further = cells("e1", 0.0, 0.5, dataset="other")
    benchmark = summarize([*many, *further])["benchmarks"]["b"]
    assert benchmark["performance"] == 0.625  # of 1 and 0.25
    assert benchmark["robustness"] == 0.75  # of 1 and 0.5
    assert benchmark["pass_rate"] == 0.5
    assert (benchmark["n_examples"], benchmark["n_cases"]) == (11, 22)
    assert list(benchmark["datasets"]) == ["d", "other"]


def test_a_benchmark_has_no_performance_if_one_of_its_datasets_has_none():
    records = [*cells("e1", 1.0, 1.0), *cells("e1", None, None, dataset="other")]
    benchmark = summarize(records)["benchmarks"]["b"]
    assert benchmark["performance"] is None
    assert benchmark["no_answer"] == 0.5


def test_benchmarks_and_datasets_are_separate():
    records = [*cells("e1", 1.0), *cells("e1", 0.0, dataset="other")]
    further = cells("e1", 0.0, benchmark="c", dataset="x")
    benchmarks = summarize([*records, *further])["benchmarks"]
    assert {name: part["performance"] for name, part in benchmarks.items()} == {"b": 0.5, "c": 0.0}
    assert benchmarks["b"]["n_examples"] == 2  # one id in two datasets
    assert summarize([]) == {"benchmarks": {}}


def test_spread_names_best_and_worst():
    scope = dataset_scope(GRID)
    assert spread(scope["serializers"]) == (("html",), 0.875, ("csv",), 0.5, (4, 4))
    assert spread({"html": scope["serializers"]["html"]}) is None
    unknown = {**scope["serializers"]["csv"], "performance": None}
    assert spread({"html": scope["serializers"]["html"], "csv": unknown}) is None


def test_spread_names_all_serializers_that_tie():
    """A third three times is another float sum in another order, and no other mean."""
    values = {"a": 0.1 + 0.2, "b": 0.3, "c": 0.9, "d": 0.3}
    scopes = {
        name: {"performance": value, "n_cases": 4, "no_answer": 0.25 if name == "c" else 0}
        for name, value in values.items()
    }
    ends = present(spread(scopes))
    assert ends.answers == (3, 4)
    assert (ends.best, ends.worst, ends.all_equal) == (("c",), ("a", "b", "d"), False)
    alike = present(spread({name: scopes[name] for name in "abd"}))
    assert alike.all_equal


SCORES = st.one_of(st.none(), st.floats(0, 1))
RUNS = st.lists(
    st.builds(
        lambda dataset, example, scores: cells(example, *scores, dataset=dataset),
        st.sampled_from(["d", "other"]),
        st.sampled_from(["e1", "e2", "e3", "e4", "e5"]),
        st.lists(SCORES, min_size=4, max_size=4),
    ),
    min_size=1,
    max_size=8,
    unique_by=lambda entry: (entry[0].dataset, entry[0].example_id),
).map(lambda parts: [cell for part in parts for cell in part])


@given(RUNS)
def test_measures_agree_with_a_second_implementation(records):
    benchmark = summarize(records)["benchmarks"]["b"]
    for name, scope in benchmark["datasets"].items():
        by_example: dict[str, list[float]] = {}
        for cell in records:
            if cell.dataset == name and cell.score is not None:
                by_example.setdefault(cell.example_id, []).append(cell.score)
        if not by_example:
            assert scope["performance"] is None
            continue
        means = [sum(scores) / len(scores) for scores in by_example.values()]
        ranges = [max(scores) - min(scores) for scores in by_example.values()]
        assert math.isclose(scope["performance"], sum(means) / len(means), abs_tol=1e-12)
        assert math.isclose(scope["robustness"], 1 - sum(ranges) / len(ranges), abs_tol=1e-12)


@given(RUNS)
def test_measures_are_between_0_and_1(records):
    for benchmark in summarize(records)["benchmarks"].values():
        for scope in (benchmark, *benchmark["datasets"].values()):
            for name in ("performance", "robustness", "pass_rate", "no_answer"):
                assert scope[name] is None or 0.0 <= scope[name] <= 1.0


@pytest.mark.parametrize("reason", [None, ""])
def test_a_missing_reason_is_named_unknown(reason):
    assert dataset_scope(cells("e1", None, reason=reason))["reasons"] == {"unknown": 1}
