"""Agreement of rankings and its growth: worked out by hand, rules for all scores, default draws."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench import SettingsError, analyse
from pytest_tablebench.papers.analyses._agreement import benchmark_growth, equivalences
from pytest_tablebench.papers.analyses._draws import Draws
from pytest_tablebench.papers.analyses.grid import read_scores
from tests.support.present import present
from tests.support.score_grids import (
    PERTURBATIONS,
    SERIALIZERS,
    TENTHS,
    grids,
    models,
    quick,
    record,
)

# Agreement


def rankings(**datasets):
    """Records of one configuration: by dataset, the scores of models m0, m1, ..."""
    return [
        record(score, model=f"m{number}", dataset=dataset)
        for dataset, row in datasets.items()
        for number, score in enumerate(row)
    ]


def test_tau_b_agrees_with_figures_worked_out_by_hand():
    records = rankings(a=[0.1, 0.2, 0.3], b=[0.3, 0.2, 0.1], c=[0.1, 0.1, 0.2], d=[0.1] * 3)
    dataset_agreement = quick(records)["dataset_agreement"]
    tau = dataset_agreement["tau_b"]
    assert tau["a"]["b"]["value"] == pytest.approx(-1)
    # Two of three pairs agree, one is tied on one side: 2 / sqrt(3 * 2).
    assert tau["a"]["c"]["value"] == pytest.approx(2 / math.sqrt(6))
    assert tau["a"]["d"]["reason"] == "all models tied in one of the datasets"
    assert dataset_agreement["mean_off_diagonal"]["a"] == {
        "value": pytest.approx((2 / math.sqrt(6) - 1) / 2),
        "n": 2,
    }


@given(
    st.integers(2, 6).flatmap(
        lambda count: st.lists(
            st.lists(TENTHS, min_size=count, max_size=count), min_size=2, max_size=3
        )
    )
)
def test_tau_b_is_symmetric_and_bounded(table):
    tau = quick(rankings(**{f"d{n}": row for n, row in enumerate(table)}))
    tau = tau["dataset_agreement"]["tau_b"]
    for first, second in itertools.product(tau, repeat=2):
        assert tau[first][second] == tau[second][first]
        if first == second:
            row = table[int(first[1:])]
            expected = pytest.approx(1) if len(set(row)) > 1 else None
            assert tau[first][first]["value"] == expected
        elif tau[first][second]["value"] is not None:
            assert -1 - 1e-12 <= tau[first][second]["value"] <= 1 + 1e-12


def raters(table):
    """Records of one example: a row of the table is a serializer's scores of m0, m1, ..."""
    return [
        record(score, model=f"m{number}", serializer=f"s{place}")
        for place, row in enumerate(table)
        for number, score in enumerate(row)
    ]


def test_kendalls_w_agrees_with_figures_worked_out_by_hand():
    # Rank sums 3, 5.5, 9.5 (mean 6), S = 9 + 0.25 + 12.25 = 21.5; one tie of two: T = 6.
    table = [[0.1, 0.2, 0.3], [0.1, 0.3, 0.1 + 0.2], [0.1, 0.2, 0.9]]
    agreement = quick(raters(table))["kendall_w"]["by_dataset"]["d"]
    ranks = [[1, 2, 3], [1, 2.5, 2.5], [1, 2, 3]]
    sums = [sum(column) for column in zip(*ranks, strict=True)]
    above = 12 * sum((total - 6) ** 2 for total in sums)
    assert agreement["value"] == pytest.approx(above / (9 * 24 - 3 * 6))
    assert agreement["raters"] == 3


def test_a_rater_that_misses_a_model_is_left_out():
    table = [[0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.9, 0.2, None]]
    agreement = quick(raters(table))["kendall_w"]["by_dataset"]["d"]
    assert agreement == {"value": 1.0, "raters": 2, "raters_left_out": 1}


TABLES = st.integers(2, 5).flatmap(
    lambda count: st.lists(st.lists(TENTHS, min_size=count, max_size=count), min_size=2, max_size=5)
)


@given(TABLES)
def test_kendalls_w_is_between_0_and_1(table):
    agreement = quick(raters(table))["kendall_w"]["by_dataset"]["d"]
    if all(len(set(row)) == 1 for row in table):
        assert agreement["reason"] == "every rater ties all models"
    else:
        assert 0 <= agreement["value"] <= 1 + 1e-12


@given(st.lists(TENTHS, min_size=2, max_size=5, unique=True), st.integers(2, 5))
def test_w_of_identical_rankings_is_1(scores, count):
    table = [[score**power for score in scores] for power in range(1, count + 1)]
    assert quick(raters(table))["kendall_w"]["by_dataset"]["d"]["value"] == pytest.approx(1)


@given(TABLES)
def test_w_of_raters_and_their_reverses_is_0(table):
    both = [*table, *([1 - score for score in row] for row in table)]
    agreement = quick(raters(both))["kendall_w"]["by_dataset"]["d"]
    assert agreement["value"] is None or agreement["value"] == pytest.approx(0)


@given(grids(models=(2, 3)))
def test_growth_with_all_configurations_at_once_is_undefined(records):
    sets: dict[str, set[str]] = {}
    for entry in records:
        name = f"{entry['serializer']}|{entry['perturbation']}"
        sets.setdefault(entry["dataset"], set()).add(name)
    growth = {name: {str(len(names)): [[sorted(names)]] * 2} for name, names in sets.items()}
    w_growth = quick(records, growth=growth)["w_growth"]
    undefined = {
        "value": None,
        "reason": "fewer than two raters",
        "per_repeat": [None, None],
        "n_undefined": 2,
    }
    assert w_growth == {name: {str(len(all_)): undefined} for name, all_ in sets.items()}


@given(grids(models=(2, 3), datasets=(1, 1)))
def test_growth_by_one_is_w_of_single_configurations(records):
    names = sorted({f"{entry['serializer']}|{entry['perturbation']}" for entry in records})
    analysis = quick(records, growth={"d0": {"1": [[[name] for name in names]]}})
    single = analysis["kendall_w"]["by_dataset"]["d0"]
    grown = analysis["w_growth"]["d0"]["1"]
    assert grown.get("reason") == single.get("reason")
    if single["value"] is not None:
        assert grown["value"] == pytest.approx(single["value"])


def test_points_of_the_growth_curve_agree_with_figures_worked_out_by_hand():
    # On example e the two serializers rank the models alike, on f the other way round.
    records = [
        record(score, model=model, example=example, serializer=serializer)
        for (example, serializer), scores in {
            ("e", "csv"): (0.1, 0.2),
            ("e", "html"): (0.3, 0.4),
            ("f", "csv"): (0.1, 0.2),
            ("f", "html"): (0.9, 0.0),
        }.items()
        for model, score in zip("ab", scores, strict=True)
    ]

    def point(*examples):
        sets = [
            {"configurations": [name], "examples": list(examples)}
            for name in ("csv|none", "html|none")
        ]
        return {"q": 1, "e": len(examples), "draws": {"d": [sets]}}

    points = quick(records, points=[point("e"), point("f"), point("e", "f")])
    points = [
        point_result["mean_over_datasets"]["value"]
        for point_result in points["configurations_vs_examples"]
    ]
    assert points == [1.0, 0.0, 0.0]  # html over both: 0.6 against 0.2


def test_equivalences_agree_with_figures_worked_out_by_hand():
    points = [
        {"q": q, "e": e, "by_dataset": {"d": {}}, "mean_over_datasets": {"value": value}}
        for q, e, value in [(1, 1, 0.1), (1, 2, 0.5), (1, 5, 0.8), (2, 1, 0.5), (5, 5, 0.9)]
    ]
    points.append({"q": 5, "e": 1, "by_dataset": {"d": {}}, "mean_over_datasets": {"value": None}})
    # A mean over fewer datasets is not comparable.
    points.append({"q": 1, "e": 3, "by_dataset": {}, "mean_over_datasets": {"value": 0.9}})
    assert equivalences(points) == [
        {"q": 2, "e": 1, "value": 0.5, "e_at_one": 2},
        {"q": 5, "e": 5, "value": 0.9, "e_at_one": None},
    ]


# Default draws


def full_grid(models, dataset="d", examples=7, serializers=SERIALIZERS):
    return [
        record(
            (number * 7 + place * 3) % 11 / 10,
            model=f"m{number}",
            dataset=dataset,
            example=f"e{place:02}",
            serializer=serializer,
            perturbation=perturbation,
        )
        for number in range(models)
        for place in range(examples)
        for serializer in serializers
        for perturbation in PERTURBATIONS
    ]


def test_defaults_are_the_documented_numbers_of_draws():
    analysis = analyse(full_grid(3))
    growth = analysis["w_growth"]["d"]  # nine configurations
    assert list(growth) == ["1", "2", "3", "4"]
    assert {len(part["per_repeat"]) for part in growth.values()} == {100}
    points = analysis["configurations_vs_examples"]
    assert [(point["q"], point["e"]) for point in points] == list(
        itertools.product((1, 2, 4), (1, 2, 5, 7))
    )
    assert analysis == analyse(full_grid(3))


def test_points_have_the_datasets_with_so_many_examples():
    small, large = full_grid(2, "small", examples=3), full_grid(2, "large", examples=6)
    points = analyse([*small, *large])["configurations_vs_examples"]
    assert {point["e"]: set(point["by_dataset"]) for point in points} == {
        **{e: {"small", "large"} for e in (1, 2, 3)},
        **{e: {"large"} for e in (5, 6)},
    }


def test_drawn_sets_are_disjoint_and_use_all_configurations():
    [grid] = read_scores(full_grid(2)).grids
    for q, drawn in Draws([grid]).growth(grid):
        sets = drawn.configurations.reshape(100, 9 // int(q), 9)
        assert set(sets.sum(axis=2).ravel()) == {int(q)}
        assert sets.sum(axis=1).max() == 1
        assert drawn.examples is None
        assert int(q) == 1 or len({part.tobytes() for part in sets}) > 50  # not the same ones


def test_each_set_draws_its_examples_independently():
    [grid] = read_scores(full_grid(2)).grids
    for _, e, raters_of in Draws([grid]).points():
        [(_, drawn)] = raters_of
        if e == 7:
            assert drawn.examples is None
        else:
            examples = present(drawn.examples)
            assert set(examples.sum(axis=1)) == {e}
            assert len({row.tobytes() for row in examples}) > 5


def test_each_of_1000_resamples_has_as_many_examples_as_the_dataset():
    [grid] = read_scores(full_grid(2)).grids
    drawn = Draws([grid]).resamples(grid)
    assert drawn.shape == (1000, 7)
    assert set(drawn.sum(axis=1)) == {7}
    assert drawn.sum(axis=0).min() > 850  # 1,000 each on average; seeded


def test_draws_depend_on_neither_models_nor_other_datasets():
    alone, more = full_grid(2), [*full_grid(3), *full_grid(3, dataset="x", examples=4)]
    [few], [same, second] = read_scores(alone).grids, read_scores(more).grids
    assert (Draws([few]).resamples(few) == Draws([same, second]).resamples(same)).all()
    growth = dict(Draws([few]).growth(few))
    two = dict(Draws([same, second]).growth(same))
    assert all((growth[q].configurations == two[q].configurations).all() for q in growth)
    two = dict(Draws([second]).growth(second))
    assert not (growth["2"].configurations == two["2"].configurations).all()


def test_one_model_needs_no_draws():
    analysis = analyse(full_grid(1))
    for part in analysis["w_growth"]["d"].values():
        assert part["reason"] == "fewer than two models"
        assert part["per_repeat"] == [None] * 100


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"resample": {}}, "unknown entry 'resample'; did you mean 'resamples'"),
        ({"resamples": {"d": [[0], [2]]}}, r"resamples\[d\] needs indices from 0 to 1"),
        ({"resamples": {"d": [[-1]]}}, r"resamples\[d\] needs indices from 0 to 1"),
        ({"resamples": {"d": [[]]}}, "at least one in each resample"),
        ({"resamples": {"d": []}}, r"resamples\[d\] is empty"),
        ({"example_order": {"d": ["e0", "z"]}}, r"example_order\[d\] has 'z', which no record has"),
        ({"growth": {"d": {"1": [[["csv|z"]]]}}}, r"growth\[d\]\[1\] has 'csv\|z'"),
        (
            {
                "points": [
                    {
                        "q": 1,
                        "e": 1,
                        "draws": {"d": [[{"configurations": ["csv|none"], "examples": ["z"]}]]},
                    }
                ]
            },
            r"points\[0\].draws\[d\] has 'z'",
        ),
    ],
)
def test_invalid_parameters_are_refused(params, words):
    with pytest.raises(SettingsError, match=words):
        quick(models(a=[0.1, 0.2], b=[0.3, 0.4]), **params)


# The growth of W for the whole benchmark


def _benchmark_records(draw: random.Random, datasets: int, noise: float) -> list[dict[str, Any]]:
    return [
        {
            "model": f"m{model}",
            "dataset": f"d{dataset}",
            "example_id": f"e{example}",
            "serializer": serializer,
            "perturbation": perturbation,
            "score": min(1.0, max(0.0, model / 4 + noise * (draw.random() - 0.5))),
        }
        for model in range(4)
        for dataset in range(datasets)
        for example in range(3)
        for serializer in ("html", "csv", "json")
        for perturbation in ("none", "transpose")
    ]


def test_benchmark_growth_over_one_dataset_equals_that_of_the_dataset():
    records = _benchmark_records(random.Random(1), 1, 1.0)
    assert benchmark_growth(read_scores(records).grids) == analyse(records)["w_growth"]["d0"]


def test_benchmark_growth_is_one_where_all_configurations_agree():
    growth = benchmark_growth(read_scores(_benchmark_records(random.Random(2), 3, 0.0)).grids)
    assert list(growth) == ["1", "2", "3"]
    assert all(figure["value"] == pytest.approx(1.0, abs=1e-12) for figure in growth.values())


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_benchmark_growth_is_between_0_and_1_in_any_order_of_records(seed):
    records = _benchmark_records(random.Random(seed), 4, 2.0)
    growth = benchmark_growth(read_scores(records).grids)
    assert all(0 <= figure["value"] <= 1 + 1e-12 for figure in growth.values())
    assert benchmark_growth(read_scores(records[::-1]).grids) == growth


def test_benchmark_growth_needs_the_same_configurations_everywhere():
    records = _benchmark_records(random.Random(3), 2, 1.0)
    fewer = [r for r in records if r["dataset"] == "d0" or r["serializer"] != "json"]
    [figure] = benchmark_growth(read_scores(fewer).grids).values()
    assert figure == {"value": None, "reason": "datasets have different configurations"}
