"""Win rates, impact of perturbations, separability: by hand, and rules for all scores."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from pytest_tablebench.papers.analyses import contrasts
from tests.support.score_grids import GAPS, figures, grids, models, quick, row, values

# Win rates


def test_the_win_rate_of_the_worked_example():
    win_rates = quick(row((0.2, 0.7, 0.7, 0.9)))["win_rates"]["serializer"]
    expected = {"csv": 0.0, "html": 0.2, "json": 0.2, "markdown": 0.6}
    assert win_rates["overall"]["value"] == pytest.approx(expected)
    assert win_rates["by_dataset"]["d"]["n_used"] == 1


def test_dropped_examples_are_counted():
    records = [
        *row((0.1, 0.2)),  # html wins
        *row((0.3, 0.1 + 0.2), example="equal"),  # 0.30000000000000004
        *row((0.5, None), example="incomplete"),
        *row((0.9,), example="not asked"),
    ]
    win_rates = quick(records)["win_rates"]
    counts = {"n_used": 1, "n_dropped_equal": 1, "n_dropped_incomplete": 2}
    assert win_rates["serializer"]["by_dataset"]["d"] == {
        "value": {"csv": 0.0, "html": 1.0},
        **counts,
    }
    shared = win_rates["serializer, all equal = 1/K"]["by_dataset"]["d"]
    assert shared == {
        "value": {"csv": 0.25, "html": 0.75},
        "n_used": 2,
        "n_dropped_equal": 0,
        "n_dropped_incomplete": 2,
    }


def test_win_rates_within_each_perturbation_agree_with_figures_worked_out_by_hand():
    records = [
        *row((0.1, 0.2)),  # html
        *row((0.9, 0.2), perturbation="transpose"),  # csv
        *row((0.4, 0.4), perturbation="shuffle_rows"),  # a tie
    ]
    win_rates = quick(records)["win_rates"]
    inside = win_rates["serializer, inside each perturbation"]["overall"]["value"]
    assert inside == {"csv": 0.5, "html": 0.5}
    assert win_rates["serializer"]["overall"]["value"] == {
        "csv": 1.0,
        "html": 0.0,
    }  # 1.4 against 0.8
    # Sums 0.3, 0.8 and 1.1.
    perturbation = win_rates["perturbation"]["overall"]["value"]
    expected = {"none": 0, "shuffle_rows": 1 / 3, "transpose": 2 / 3}
    assert perturbation == pytest.approx(expected)


def test_datasets_have_equal_weight_in_the_overall_win_rate():
    records = [record for n in range(5) for record in row((0, 1), example=f"e{n}")]
    records += row((1, 0), dataset="x")
    win_rates = quick(records)["win_rates"]["serializer"]["overall"]["value"]
    assert win_rates == {"csv": 0.5, "html": 0.5}


def test_a_dataset_without_a_winner_is_left_out_and_named():
    records = [*row((0, 1)), *row((0.5, 0.5), dataset="tied"), *row((0.2, 0.2), dataset="x")]
    rates = quick(records)["win_rates"]["serializer"]
    why = "all alternatives equal in 1 of 1 examples"
    expected = {"value": {"csv": 0.0, "html": 1.0}, "left_out": {"tied": why, "x": why}}
    assert contrasts.overall_winners(rates) == expected
    assert [*contrasts.winners_by_model(rates).values()] == [expected]
    assert contrasts.winners_note(expected) == f"without tied ({why}), x ({why})"


def test_without_a_complete_example_a_dataset_has_no_win_rate():
    records = [*row((0, 1)), *row((0.5, None), dataset="cut")]
    overall = contrasts.overall_winners(quick(records)["win_rates"]["serializer"])
    assert overall == {"value": None, "reason": "no value in: cut"}


@given(grids(scores=GAPS))
def test_win_rates_sum_to_1_and_every_example_is_counted(records):
    examples = {(record["model"], record["dataset"], record["example_id"]) for record in records}
    for variant in quick(records)["win_rates"].values():
        for figure in figures(variant):
            if figure["value"] is not None:
                assert sum(figure["value"].values()) == pytest.approx(1)
                assert min(figure["value"].values()) >= 0
        parts = list(variant.get("by_dataset", {}).values())
        if parts:
            counted = sum(
                part[name]
                for part in parts
                for name in ("n_used", "n_dropped_equal", "n_dropped_incomplete")
            )
            assert counted == len(examples)


MONOTONE = {
    "square": lambda score: score**2,
    "half": lambda score: 0.5 + score / 2,
    "logistic": lambda score: 1 / (1 + math.exp(-9 * score)),
}


@pytest.mark.parametrize("name", MONOTONE)
@given(records=grids(scores=GAPS, perturbations=(1, 1)))
def test_win_rates_do_not_depend_on_the_scale_of_scores(name, records):
    moved = [
        record | {"score": None if record["score"] is None else MONOTONE[name](record["score"])}
        for record in records
    ]
    assert quick(moved)["win_rates"] == quick(records)["win_rates"]


@given(grids(scores=GAPS))
def test_win_rates_within_perturbations_do_not_depend_on_the_scale(records):
    moved = [record | {"score": record["score"] and record["score"] ** 2} for record in records]
    name = "serializer, inside each perturbation"
    assert quick(moved)["win_rates"][name] == quick(records)["win_rates"][name]


# Impact of perturbations


def test_impact_agrees_with_figures_worked_out_by_hand():
    records = [
        *row((0.5, 0.5)),
        *row((0.7, 0.1), perturbation="transpose"),  # +0.2, -0.4
        *row((1.0, None), example="f"),
        *row((0.9, 0.3), example="f", perturbation="transpose"),  # -0.1, no pair
    ]
    impact = quick(records)["perturbation_impact"]
    signed = impact["signed_by_model_dataset_perturbation"]["m"]["d"]["transpose"]
    assert signed == {"value": pytest.approx(-0.1), "n": 3}
    absolute = impact["absolute_by_model_dataset"]["m"]["d"]
    assert absolute == {"value": pytest.approx(0.7 / 3), "n": 3}


@given(grids(scores=GAPS, perturbations=(2, 3)))
def test_swapping_perturbation_and_baseline_flips_the_sign(records):
    other = {"none": "transpose", "transpose": "none"}
    kept = [record for record in records if record["perturbation"] != "shuffle_rows"]
    kept += [record | {"perturbation": "transpose"} for record in kept]
    kept = list({tuple(list(record.values())[:5]): record for record in kept}.values())
    swapped = [record | {"perturbation": other[record["perturbation"]]} for record in kept]
    forward, back = (quick(part)["perturbation_impact"] for part in (kept, swapped))
    for first, second in zip(
        figures(forward["signed_by_model_dataset_perturbation"]),
        figures(back["signed_by_model_dataset_perturbation"]),
        strict=True,
    ):
        assert first["n"] == second["n"]
        if first["value"] is not None:
            assert first["value"] == pytest.approx(-second["value"])
    assert values(forward["absolute_by_model_dataset"]) == pytest.approx(
        values(back["absolute_by_model_dataset"])
    )


@given(grids(scores=GAPS, perturbations=(2, 3)))
def test_signed_impact_is_at_most_the_absolute_one(records):
    impact = quick(records)["perturbation_impact"]
    pairs = zip(
        figures(impact["signed_by_model_dataset_perturbation"]),
        figures(impact["absolute_by_model_dataset_perturbation"]),
        strict=True,
    )
    for signed, absolute in pairs:
        assert signed["n"] == absolute["n"]
        if signed["value"] is not None:
            assert abs(signed["value"]) <= absolute["value"] + 1e-12


def test_a_dataset_without_baseline_leaves_the_mean_undefined():
    records = [
        *row((0.5, 0.5)),
        *row((0.7, 0.1), perturbation="transpose"),
        *row((0.7, 0.1), perturbation="transpose", dataset="x"),
    ]
    impact = quick(records)["perturbation_impact"]
    assert impact["absolute_by_model"]["m"] == {"value": None, "reason": "no value in: x"}
    assert impact["absolute_by_dataset"]["d"]["value"] == pytest.approx(0.3)


# Separability


def test_separability_agrees_with_figures_worked_out_by_hand():
    records = models(low=[0.1, 0.2], high=[0.8, 0.9], wide=[0.0, 1.0])
    # Of 40 draws one has the first example twice, one the second, the others each once.
    draws = [[0, 0], [1, 1], *([[0, 1]] * 38)]
    separability = quick(records, resamples={"d": draws}, resamples_pooled=draws)["separability"]
    # Type 7 over 40 values: place 0.975 of 39, 97.5 % of the way from the lowest to the next.
    intervals = {
        "high": [0.8 + 0.975 * 0.05, 0.9 - 0.975 * 0.05],
        "low": [0.1 + 0.975 * 0.05, 0.2 - 0.975 * 0.05],
        "wide": [0.975 * 0.5, 1 - 0.975 * 0.5],
    }
    for part in (
        separability["by_dataset"]["d"],
        separability["pooled"],
        separability["stratified"],
    ):
        assert part["value"] == 1.0
        for model, ends in intervals.items():
            assert part["intervals"][model] == pytest.approx(ends)


def test_touching_intervals_overlap():
    records = models(one=[0.1, 0.3], other=[0.1 + 0.2, 0.6])
    draws = [[0, 0]] * 20 + [[1, 1]] * 20  # every interval is the two scores
    separability = quick(records, resamples={"d": draws})["separability"]["by_dataset"]["d"]
    assert separability["value"] == 0.0
    assert (
        separability["intervals"]["one"][1] < separability["intervals"]["other"][0]
    )  # by rounding only


@given(grids(models=(2, 3)))
def test_separability_is_symmetric_in_the_models(records):
    other = {"m0": "m2", "m1": "m1", "m2": "m0"}
    renamed = [record | {"model": other[record["model"]]} for record in records]
    separability, turned = quick(records)["separability"], quick(renamed)["separability"]
    for figure, turned_figure in zip(figures(separability), figures(turned), strict=True):
        assert 0 <= figure["value"] <= 1
        assert figure["value"] == turned_figure["value"]
        assert {other[model]: ends for model, ends in figure["intervals"].items()} == turned_figure[
            "intervals"
        ]


@given(grids())
def test_equal_models_are_not_separable(records):
    equal = [
        record | {"model": name} for record in records if record["model"] == "m0" for name in "abc"
    ]
    assert set(values(quick(equal)["separability"])) == {0.0}
