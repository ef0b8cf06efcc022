"""The analyses of the ToRR paper: worked examples by hand, and rules that hold for all scores."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench import DataError, SettingsError, analyse
from pytest_tablebench.results import Record
from pytest_tablebench.results.analyses import benchmark_growth, equivalences
from pytest_tablebench.results.analyses._draws import Draws
from pytest_tablebench.results.analyses._grid import read_scores
from pytest_tablebench.results.analyses._levels import families_by_name

SERIALIZERS = ("csv", "html", "json")
PERTURBATIONS = ("none", "shuffle_rows", "transpose")
RESAMPLES = 30


def record(score, *, model="m", dataset="d", example="e", serializer="csv", perturbation="none"):
    return {
        "model": model,
        "dataset": dataset,
        "example_id": example,
        "serializer": serializer,
        "perturbation": perturbation,
        "score": score,
    }


def row(scores, serializers=("csv", "html", "json", "markdown"), **names):
    """One example's records under several serializers."""
    return [
        record(score, serializer=serializer, **names)
        for serializer, score in zip(serializers, scores, strict=False)
    ]


def few_draws(records, **more):
    """Params that draw little, where draws are not what is looked at."""
    draw = random.Random(1)
    order = {}
    for found in records:
        order.setdefault(found["dataset"], set()).add(found["example_id"])
    order = {dataset: sorted(order[dataset]) for dataset in sorted(order)}
    everything = sum(map(len, order.values()))
    return {
        "example_order": order,
        "resamples": {
            dataset: [draw.choices(range(len(ids)), k=len(ids)) for _ in range(RESAMPLES)]
            for dataset, ids in order.items()
        },
        "resamples_pooled": [
            draw.choices(range(everything), k=everything) for _ in range(RESAMPLES)
        ],
        "growth": {dataset: {} for dataset in order},
        "points": [],
        **more,
    }


def quick(records, **params):
    return analyse(records, few_draws(records, **params))


TENTHS = st.integers(0, 10).map(lambda number: number / 10)


@st.composite
def grids(draw, scores=TENTHS, models=(1, 3), datasets=(1, 2), perturbations=(1, 3)):
    """Records of small full grids, scores drawn cell by cell."""
    serializers = SERIALIZERS[: draw(st.integers(1, 3))]
    changes = PERTURBATIONS[: draw(st.integers(*perturbations))]
    count = draw(st.integers(*models))
    return [
        record(
            draw(scores),
            model=f"m{model}",
            dataset=f"d{dataset}",
            example=f"e{example}",
            serializer=serializer,
            perturbation=perturbation,
        )
        for dataset in range(draw(st.integers(*datasets)))
        for example in range(draw(st.integers(1, 4)))
        for model in range(count)
        for serializer in serializers
        for perturbation in changes
    ]


GAPS = st.none() | TENTHS


def figures(structure):
    """Every figure (a mapping with "value") inside a structure."""
    if isinstance(structure, dict):
        if "value" in structure:
            yield structure
        for inner in structure.values():
            yield from figures(inner)
    elif isinstance(structure, list):
        for inner in structure:
            yield from figures(inner)


def values(structure):
    return [found["value"] for found in figures(structure) if found["value"] is not None]


def by_cell(records):
    """{(model, dataset): {example: scores}} of what was answered."""
    found = {}
    for one in records:
        cell = found.setdefault((one["model"], one["dataset"]), {})
        if one["score"] is not None:
            cell.setdefault(one["example_id"], []).append(one["score"])
    return found


# All analyses


@given(grids(scores=GAPS), st.randoms())
def test_the_order_of_records_does_not_matter(records, shuffler):
    mixed = list(records)
    shuffler.shuffle(mixed)
    assert quick(mixed) == quick(records)


@given(grids(scores=GAPS))
def test_a_figure_is_a_number_or_has_a_reason(records):
    for found in figures(quick(records)):
        assert (found["value"] is None) == bool(found.get("reason"))
        assert found["value"] == found["value"]


def test_records_of_ours_are_read_like_mappings():
    plain = [*row((0.2, None)), *row((0.3, 1.0), example="f")]
    ours = [
        Record(
            case_id="c",
            benchmark="b",
            strategy="direct",
            modality="text",
            outcome="right",
            **one,
        )
        for one in plain
    ]
    assert analyse(ours) == analyse(plain)
    assert analyse([ours[0], *plain[1:]]) == analyse(plain)


def test_no_records():
    found = analyse([])
    assert found["performance"] == {"by_model_dataset": {}, "by_model": {}}
    assert found["configurations_vs_examples"] == []
    assert found["difficulty"] == {"by_example": {}, "histogram": {}, "score_histogram": {}}
    for figure in figures(found):
        assert figure["value"] is None
        assert figure["reason"]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({}, "record 2: 'model'"),
        (record(0.5) | {"score": "0.5"}, "record 2: "),
        (record(1.5), "record 2: score is 1.5"),
        (record(-0.1), "record 2: score is -0.1"),
        (record(math.nan), "record 2: score is nan"),
        (record(0.5, model=["m"]), "record 2: "),
        (object(), "record 2: "),
    ],
)
def test_a_bad_record_is_named(bad, words):
    with pytest.raises(DataError, match="a record has model, dataset, example_id") as caught:
        analyse([record(0.5, example="first"), bad])
    assert words in str(caught.value)


@pytest.mark.parametrize("axis", ["model", "dataset", "example", "serializer", "perturbation"])
def test_names_are_text(axis):
    with pytest.raises(DataError, match="7 stands where a record has a name"):
        analyse([record(0.5), record(0.5, **{axis: 7})])


def test_a_cell_that_occurs_twice_is_refused():
    records = [record(0.5, dataset="a"), *row((0.1, 0.2)), *row((0.1, 0.1), model="n"), record(0.1)]
    with pytest.raises(DataError, match="dataset d: m/e/csv/none occurs more than once"):
        analyse(records)


def test_an_error_of_the_source_is_its_own():
    def source():
        yield record(0.5)
        raise ValueError("torn file")

    with pytest.raises(ValueError, match="torn file") as caught:
        analyse(source())
    assert not isinstance(caught.value, DataError)


def test_importing_loads_no_numpy():
    code = (
        "import sys; from pytest_tablebench.results import analyse; "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'scipy', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Levels


def test_levels_by_hand():
    records = [
        *row((0.0, 1.0, None)),  # mean 1/2, range 1, incomplete
        *row((0.4, 0.2, 0.6), example="f"),  # mean 0.4, range 0.4
        *row((None, None, None), example="g"),
        *row((1.0, 1.0, 1.0), dataset="x"),
    ]
    found = quick(records)
    performance = found["performance"]["by_model_dataset"]["m"]["d"]
    assert performance == {"value": pytest.approx(0.45), "n_examples": 2, "n_missing_cells": 4}
    assert found["performance"]["by_model"]["m"]["value"] == pytest.approx(0.725)
    robustness = found["robustness"]["by_model_dataset"]["m"]["d"]
    assert robustness["value"] == pytest.approx(0.3)  # of 0 and 0.6
    assert robustness["complete_examples_only"] == pytest.approx(0.6)
    assert (robustness["n_examples"], robustness["n_incomplete"]) == (2, 2)
    assert robustness["flags"] == ["incomplete"]
    assert found["robustness"]["by_model"]["m"]["flags"] == ["incomplete"]
    ends = found["min_max"]["by_model_dataset"]["m"]["d"]
    assert ends["max"]["value"] == pytest.approx(0.8)  # of 1 and 0.6
    assert ends["min"]["value"] == pytest.approx(0.1)  # of 0 and 0.2
    spread = found["serializer_spread"]["perturbations=all"]["m"]["d"]
    assert spread["serializers"] == pytest.approx({"csv": 0.2, "html": 0.6, "json": 0.6})
    assert spread["value"] == pytest.approx(0.4)


@given(grids(scores=GAPS))
def test_performance_is_a_mean_of_means(records):
    found = quick(records)["performance"]["by_model_dataset"]
    for (model, dataset), examples in by_cell(records).items():
        means = [sum(scores) / len(scores) for scores in examples.values()]
        if means:
            assert found[model][dataset]["value"] == pytest.approx(sum(means) / len(means))
        else:
            assert found[model][dataset]["reason"] == "no scores"


@given(grids(scores=GAPS | st.just(1.0)))
def test_robustness_is_1_only_where_each_example_s_scores_are_equal(records):
    found = quick(records)["robustness"]["by_model_dataset"]
    for (model, dataset), examples in by_cell(records).items():
        if examples:
            value = found[model][dataset]["value"]
            assert 0 <= value <= 1
            assert (value == 1) == all(len(set(scores)) == 1 for scores in examples.values())


@given(grids(scores=GAPS))
def test_performance_lies_between_min_and_max(records):
    found = quick(records)
    performance, ends = found["performance"], found["min_max"]
    for model, datasets in performance["by_model_dataset"].items():
        pairs = [(part, ends["by_model_dataset"][model][name]) for name, part in datasets.items()]
        pairs.append((performance["by_model"][model], ends["by_model"][model]))
        for part, both in pairs:
            if part["value"] is not None:
                assert both["min"]["value"] <= part["value"] + 1e-12
                assert part["value"] <= both["max"]["value"] + 1e-12


@given(grids())
def test_spread_is_0_only_for_equal_serializers(records):
    spreads = quick(records)["serializer_spread"]["perturbations=all"]
    for found in figures(spreads):
        if found["value"] is not None:
            assert 0 <= found["value"] <= 1
            known = list(found["serializers"].values())
            assert (found["value"] == 0) == (len(set(known)) == 1)


@given(grids(scores=GAPS | st.floats(0, 1)))
def test_histograms_count_every_score_once(records):
    found = quick(records)["difficulty"]
    for dataset, counts in found["score_histogram"].items():
        own = [one for one in records if one["dataset"] == dataset and one["score"] is not None]
        assert len(counts) == 20
        assert sum(counts) == len(own)
        examples = found["by_example"][dataset]
        assert sum(found["histogram"][dataset]) == len(values(examples))
        assert sum(part["n"] for part in examples.values()) == len(own)


def test_bins_of_a_histogram():
    # 1 - 0.9 falls short of 0.1 by rounding and belongs above that edge; 1 is in the last bin.
    scores = (0.0, 0.049, 0.05, 1 - 0.9, 1.0)
    names = [f"s{number}" for number in range(5)]
    counts = quick(row(scores, names))["difficulty"]["score_histogram"]["d"]
    assert {place: count for place, count in enumerate(counts) if count} == {
        0: 2,
        1: 1,
        2: 1,
        19: 1,
    }


def test_difficulty_by_hand():
    records = [*row((0.1, 0.5)), *row((None, 0.9), model="n"), *row((None, None), example="f")]
    found = quick(records)["difficulty"]
    assert found["by_example"]["d"] == {
        "e": {"value": pytest.approx(0.5), "n": 3},
        "f": {"value": None, "reason": "no scores", "n": 0},
    }


def test_families_by_hand():
    records = [record(score, model=name) for name, score in [("a", 0.1), ("b", 0.4), ("c", 1.0)]]
    records.append(record(None, model="d"))
    members = {"all": ["a", "b", "c"], "one": ["a"], "gap": ["a", "b", "d"], "absent": ["a", "z"]}
    found = quick(records, families=members)["families"]
    assert found["all"]["value"] == pytest.approx(0.6)  # of 0.3, 0.9 and 0.6
    undefined = {"value": None, "reason": "fewer than two models with a value"}
    assert [found[name] for name in ("one", "gap", "absent")] == [undefined] * 3


@given(grids(models=(2, 3)))
def test_families_of_the_same_scores_do_not_differ(records):
    same = [
        one | {"model": f"llama-{number}"}
        for one in records
        if one["model"] == "m0"
        for number in range(3)
    ]
    assert quick(same)["families"] == {"llama": {"value": 0.0}}


def test_families_by_the_beginning_of_names():
    names = ["openai/gpt-4o", "gpt-4o-mini", "claude-3", "Qwen2.5-7B", "x/qwen-72b", "4o", "m/1"]
    assert families_by_name(names) == {
        "gpt": ["openai/gpt-4o", "gpt-4o-mini"],
        "qwen": ["Qwen2.5-7B", "x/qwen-72b"],
    }


# Win rates


def test_the_worked_win_rate():
    found = quick(row((0.2, 0.7, 0.7, 0.9)))["win_rates"]["serializer"]
    expected = {"csv": 0.0, "html": 0.2, "json": 0.2, "markdown": 0.6}
    assert found["overall"]["value"] == pytest.approx(expected)
    assert found["by_dataset"]["d"]["n_used"] == 1


def test_dropped_examples_are_counted():
    records = [
        *row((0.1, 0.2)),  # html wins
        *row((0.3, 0.1 + 0.2), example="equal"),  # 0.30000000000000004
        *row((0.5, None), example="incomplete"),
        *row((0.9,), example="not asked"),
    ]
    found = quick(records)["win_rates"]
    counts = {"n_used": 1, "n_dropped_equal": 1, "n_dropped_incomplete": 2}
    assert found["serializer"]["by_dataset"]["d"] == {"value": {"csv": 0.0, "html": 1.0}, **counts}
    shared = found["serializer, all equal = 1/K"]["by_dataset"]["d"]
    assert shared == {
        "value": {"csv": 0.25, "html": 0.75},
        "n_used": 2,
        "n_dropped_equal": 0,
        "n_dropped_incomplete": 2,
    }


def test_win_rates_inside_each_perturbation_by_hand():
    records = [
        *row((0.1, 0.2)),  # html
        *row((0.9, 0.2), perturbation="transpose"),  # csv
        *row((0.4, 0.4), perturbation="shuffle_rows"),  # nobody
    ]
    found = quick(records)["win_rates"]
    inside = found["serializer, inside each perturbation"]["overall"]["value"]
    assert inside == {"csv": 0.5, "html": 0.5}
    assert found["serializer"]["overall"]["value"] == {"csv": 1.0, "html": 0.0}  # 1.4 against 0.8
    # Sums 0.3, 0.8 and 1.1.
    perturbation = found["perturbation"]["overall"]["value"]
    expected = {"none": 0, "shuffle_rows": 1 / 3, "transpose": 2 / 3}
    assert perturbation == pytest.approx(expected)


def test_datasets_count_alike_in_the_overall_win_rate():
    records = [record for n in range(5) for record in row((0, 1), example=f"e{n}")]
    records += row((1, 0), dataset="x")
    found = quick(records)["win_rates"]["serializer"]["overall"]["value"]
    assert found == {"csv": 0.5, "html": 0.5}


@given(grids(scores=GAPS))
def test_win_rates_sum_to_1_and_every_example_is_counted(records):
    asked = {(one["model"], one["dataset"], one["example_id"]) for one in records}
    for variant in quick(records)["win_rates"].values():
        for found in figures(variant):
            if found["value"] is not None:
                assert sum(found["value"].values()) == pytest.approx(1)
                assert min(found["value"].values()) >= 0
        parts = list(variant.get("by_dataset", {}).values())
        if parts:
            counted = sum(
                part[name]
                for part in parts
                for name in ("n_used", "n_dropped_equal", "n_dropped_incomplete")
            )
            assert counted == len(asked)


MONOTONE = {
    "square": lambda score: score**2,
    "half": lambda score: 0.5 + score / 2,
    "logistic": lambda score: 1 / (1 + math.exp(-9 * score)),
}


@pytest.mark.parametrize("name", MONOTONE)
@given(records=grids(scores=GAPS, perturbations=(1, 1)))
def test_win_rates_do_not_depend_on_the_scale_of_scores(name, records):
    moved = [
        one | {"score": None if one["score"] is None else MONOTONE[name](one["score"])}
        for one in records
    ]
    assert quick(moved)["win_rates"] == quick(records)["win_rates"]


@given(grids(scores=GAPS))
def test_win_rates_inside_perturbations_do_not_depend_on_the_scale(records):
    moved = [one | {"score": one["score"] and one["score"] ** 2} for one in records]
    name = "serializer, inside each perturbation"
    assert quick(moved)["win_rates"][name] == quick(records)["win_rates"][name]


# Impact of perturbations


def test_impact_by_hand():
    records = [
        *row((0.5, 0.5)),
        *row((0.7, 0.1), perturbation="transpose"),  # +0.2, -0.4
        *row((1.0, None), example="f"),
        *row((0.9, 0.3), example="f", perturbation="transpose"),  # -0.1, no pair
    ]
    found = quick(records)["perturbation_impact"]
    signed = found["signed_by_model_dataset_perturbation"]["m"]["d"]["transpose"]
    assert signed == {"value": pytest.approx(-0.1), "n": 3}
    absolute = found["absolute_by_model_dataset"]["m"]["d"]
    assert absolute == {"value": pytest.approx(0.7 / 3), "n": 3}


@given(grids(scores=GAPS, perturbations=(2, 3)))
def test_swapping_perturbation_and_baseline_turns_the_sign(records):
    other = {"none": "transpose", "transpose": "none"}
    kept = [one for one in records if one["perturbation"] != "shuffle_rows"]
    kept += [one | {"perturbation": "transpose"} for one in kept]
    kept = list({tuple(list(one.values())[:5]): one for one in kept}.values())
    swapped = [one | {"perturbation": other[one["perturbation"]]} for one in kept]
    there, back = (quick(part)["perturbation_impact"] for part in (kept, swapped))
    for one, two in zip(
        figures(there["signed_by_model_dataset_perturbation"]),
        figures(back["signed_by_model_dataset_perturbation"]),
        strict=True,
    ):
        assert one["n"] == two["n"]
        if one["value"] is not None:
            assert one["value"] == pytest.approx(-two["value"])
    assert values(there["absolute_by_model_dataset"]) == pytest.approx(
        values(back["absolute_by_model_dataset"])
    )


@given(grids(scores=GAPS, perturbations=(2, 3)))
def test_signed_impact_is_at_most_the_absolute_one(records):
    found = quick(records)["perturbation_impact"]
    pairs = zip(
        figures(found["signed_by_model_dataset_perturbation"]),
        figures(found["absolute_by_model_dataset_perturbation"]),
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
    found = quick(records)["perturbation_impact"]
    assert found["absolute_by_model"]["m"] == {"value": None, "reason": "no value in: x"}
    assert found["absolute_by_dataset"]["d"]["value"] == pytest.approx(0.3)


# Separability


def models(**scores):
    """Records of one configuration: scores by model, one per example."""
    return [
        record(score, model=model, example=f"e{number}")
        for model, row in scores.items()
        for number, score in enumerate(row)
    ]


def test_separability_by_hand():
    records = models(low=[0.1, 0.2], high=[0.8, 0.9], wide=[0.0, 1.0])
    # Of 40 draws one has the first example twice, one the second, the others each once.
    draws = [[0, 0], [1, 1], *([[0, 1]] * 38)]
    found = quick(records, resamples={"d": draws}, resamples_pooled=draws)["separability"]
    # Type 7 over 40 values: place 0.975 of 39, 97.5 % of the way from the lowest to the next.
    intervals = {
        "high": [0.8 + 0.975 * 0.05, 0.9 - 0.975 * 0.05],
        "low": [0.1 + 0.975 * 0.05, 0.2 - 0.975 * 0.05],
        "wide": [0.975 * 0.5, 1 - 0.975 * 0.5],
    }
    for part in (found["by_dataset"]["d"], found["pooled"], found["stratified"]):
        assert part["value"] == 1.0
        for model, ends in intervals.items():
            assert part["intervals"][model] == pytest.approx(ends)


def test_touching_intervals_overlap():
    records = models(one=[0.1, 0.3], other=[0.1 + 0.2, 0.6])
    draws = [[0, 0]] * 20 + [[1, 1]] * 20  # every interval is the two scores
    found = quick(records, resamples={"d": draws})["separability"]["by_dataset"]["d"]
    assert found["value"] == 0.0
    assert found["intervals"]["one"][1] < found["intervals"]["other"][0]  # by rounding only


@given(grids(models=(2, 3)))
def test_separability_does_not_depend_on_which_model_is_which(records):
    other = {"m0": "m2", "m1": "m1", "m2": "m0"}
    renamed = [one | {"model": other[one["model"]]} for one in records]
    found, turned = quick(records)["separability"], quick(renamed)["separability"]
    for one, two in zip(figures(found), figures(turned), strict=True):
        assert 0 <= one["value"] <= 1
        assert one["value"] == two["value"]
        assert {other[model]: ends for model, ends in one["intervals"].items()} == two["intervals"]


@given(grids())
def test_equal_models_are_not_separable(records):
    equal = [one | {"model": name} for one in records if one["model"] == "m0" for name in "abc"]
    assert set(values(quick(equal)["separability"])) == {0.0}


# Agreement


def rankings(**datasets):
    """Records of one configuration: by dataset, the scores of models m0, m1, ..."""
    return [
        record(score, model=f"m{number}", dataset=dataset)
        for dataset, row in datasets.items()
        for number, score in enumerate(row)
    ]


def test_tau_b_by_hand():
    records = rankings(a=[0.1, 0.2, 0.3], b=[0.3, 0.2, 0.1], c=[0.1, 0.1, 0.2], d=[0.1] * 3)
    found = quick(records)["dataset_agreement"]
    tau = found["tau_b"]
    assert tau["a"]["b"]["value"] == pytest.approx(-1)
    # Two of three pairs agree, one is tied on one side: 2 / sqrt(3 * 2).
    assert tau["a"]["c"]["value"] == pytest.approx(2 / math.sqrt(6))
    assert tau["a"]["d"]["reason"] == "all models tied in one of the datasets"
    assert found["mean_off_diagonal"]["a"] == {
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
    for one, other in itertools.product(tau, repeat=2):
        assert tau[one][other] == tau[other][one]
        if one == other:
            row = table[int(one[1:])]
            expected = pytest.approx(1) if len(set(row)) > 1 else None
            assert tau[one][one]["value"] == expected
        elif tau[one][other]["value"] is not None:
            assert -1 - 1e-12 <= tau[one][other]["value"] <= 1 + 1e-12


def raters(table):
    """Records of one example: a row of the table is a serializer's scores of m0, m1, ..."""
    return [
        record(score, model=f"m{number}", serializer=f"s{place}")
        for place, row in enumerate(table)
        for number, score in enumerate(row)
    ]


def test_w_by_hand():
    # Rank sums 3, 5.5, 9.5 (mean 6), S = 9 + 0.25 + 12.25 = 21.5; one tie of two: T = 6.
    table = [[0.1, 0.2, 0.3], [0.1, 0.3, 0.1 + 0.2], [0.1, 0.2, 0.9]]
    found = quick(raters(table))["kendall_w"]["by_dataset"]["d"]
    ranks = [[1, 2, 3], [1, 2.5, 2.5], [1, 2, 3]]
    sums = [sum(column) for column in zip(*ranks, strict=True)]
    above = 12 * sum((total - 6) ** 2 for total in sums)
    assert found["value"] == pytest.approx(above / (9 * 24 - 3 * 6))
    assert found["raters"] == 3


def test_a_rater_that_misses_a_model_is_left_out():
    table = [[0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.9, 0.2, None]]
    found = quick(raters(table))["kendall_w"]["by_dataset"]["d"]
    assert found == {"value": 1.0, "raters": 2, "raters_left_out": 1}


TABLES = st.integers(2, 5).flatmap(
    lambda count: st.lists(st.lists(TENTHS, min_size=count, max_size=count), min_size=2, max_size=5)
)


@given(TABLES)
def test_w_is_bounded(table):
    found = quick(raters(table))["kendall_w"]["by_dataset"]["d"]
    if all(len(set(row)) == 1 for row in table):
        assert found["reason"] == "every rater ties all models"
    else:
        assert 0 <= found["value"] <= 1 + 1e-12


@given(st.lists(TENTHS, min_size=2, max_size=5, unique=True), st.integers(2, 5))
def test_w_of_identical_rankings_is_1(scores, count):
    table = [[score**power for score in scores] for power in range(1, count + 1)]
    assert quick(raters(table))["kendall_w"]["by_dataset"]["d"]["value"] == pytest.approx(1)


@given(TABLES)
def test_w_of_raters_and_their_reverses_is_0(table):
    both = [*table, *([1 - score for score in row] for row in table)]
    found = quick(raters(both))["kendall_w"]["by_dataset"]["d"]
    assert found["value"] is None or found["value"] == pytest.approx(0)


@given(grids(models=(2, 3)))
def test_growth_with_all_configurations_at_once_is_undefined(records):
    sets = {}
    for one in records:
        name = f"{one['serializer']}|{one['perturbation']}"
        sets.setdefault(one["dataset"], set()).add(name)
    growth = {name: {str(len(found)): [[sorted(found)]] * 2} for name, found in sets.items()}
    found = quick(records, growth=growth)["w_growth"]
    undefined = {
        "value": None,
        "reason": "fewer than two raters",
        "per_repeat": [None, None],
        "n_undefined": 2,
    }
    assert found == {name: {str(len(all_)): undefined} for name, all_ in sets.items()}


@given(grids(models=(2, 3), datasets=(1, 1)))
def test_growth_by_one_is_w_of_single_configurations(records):
    names = sorted({f"{one['serializer']}|{one['perturbation']}" for one in records})
    found = quick(records, growth={"d0": {"1": [[[name] for name in names]]}})
    single = found["kendall_w"]["by_dataset"]["d0"]
    grown = found["w_growth"]["d0"]["1"]
    assert grown.get("reason") == single.get("reason")
    if single["value"] is not None:
        assert grown["value"] == pytest.approx(single["value"])


def test_points_by_hand():
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

    found = quick(records, points=[point("e"), point("f"), point("e", "f")])
    found = [one["mean_over_datasets"]["value"] for one in found["configurations_vs_examples"]]
    assert found == [1.0, 0.0, 0.0]  # html over both: 0.6 against 0.2


def test_equivalences_by_hand():
    points = [
        {"q": q, "e": e, "mean_over_datasets": {"value": value}}
        for q, e, value in [(1, 1, 0.1), (1, 2, 0.5), (1, 5, 0.8), (2, 1, 0.5), (5, 5, 0.9)]
    ]
    points.append({"q": 5, "e": 1, "mean_over_datasets": {"value": None}})
    assert equivalences(points) == [
        {"q": 2, "e": 1, "value": 0.5, "e_at_one": 2},
        {"q": 5, "e": 5, "value": 0.9, "e_at_one": None},
    ]


# Draws of our own


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


def test_documented_defaults():
    found = analyse(full_grid(3))
    growth = found["w_growth"]["d"]  # nine configurations
    assert list(growth) == ["1", "2", "3", "4"]
    assert {len(part["per_repeat"]) for part in growth.values()} == {100}
    points = found["configurations_vs_examples"]
    assert [(point["q"], point["e"]) for point in points] == list(
        itertools.product((1, 2, 4), (1, 2, 5, 7))
    )
    assert found == analyse(full_grid(3))


def test_sets_are_disjoint_and_as_many_as_there_are():
    [grid] = read_scores(full_grid(2)).grids
    for q, drawn in Draws([grid]).growth(grid):
        sets = drawn.configurations.reshape(100, 9 // int(q), 9)
        assert set(sets.sum(axis=2).ravel()) == {int(q)}
        assert sets.sum(axis=1).max() == 1
        assert drawn.examples is None
        assert int(q) == 1 or len({part.tobytes() for part in sets}) > 50  # not the same ones


def test_each_set_has_examples_of_its_own():
    [grid] = read_scores(full_grid(2)).grids
    for point in Draws([grid]).points():
        [(_, drawn)] = point.raters
        if point.e == 7:
            assert drawn.examples is None
        else:
            assert set(drawn.examples.sum(axis=1)) == {point.e}
            assert len({row.tobytes() for row in drawn.examples}) > 5


def test_a_thousand_resamples_of_as_many_examples():
    [grid] = read_scores(full_grid(2)).grids
    drawn = Draws([grid]).resamples(grid)
    assert drawn.shape == (1000, 7)
    assert set(drawn.sum(axis=1)) == {7}
    assert drawn.sum(axis=0).min() > 850  # 1,000 each on average; seeded


def test_draws_depend_on_neither_models_nor_other_datasets():
    alone, more = full_grid(2), [*full_grid(3), *full_grid(3, dataset="x", examples=4)]
    [few], [same, other] = read_scores(alone).grids, read_scores(more).grids
    assert (Draws([few]).resamples(few) == Draws([same, other]).resamples(same)).all()
    one = dict(Draws([few]).growth(few))
    two = dict(Draws([same, other]).growth(same))
    assert all((one[q].configurations == two[q].configurations).all() for q in one)
    two = dict(Draws([other]).growth(other))
    assert not (one["2"].configurations == two["2"].configurations).all()


def test_one_model_needs_no_draws():
    found = analyse(full_grid(1))
    for part in found["w_growth"]["d"].values():
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
def test_params_that_do_not_fit_are_refused(params, words):
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


def test_benchmark_growth_of_one_dataset_is_that_datasets():
    records = _benchmark_records(random.Random(1), 1, 1.0)
    assert benchmark_growth(records) == analyse(records)["w_growth"]["d0"]


def test_benchmark_growth_is_one_where_all_configurations_agree():
    found = benchmark_growth(_benchmark_records(random.Random(2), 3, 0.0))
    assert list(found) == ["1", "2", "3"]
    assert all(figure["value"] == pytest.approx(1.0, abs=1e-12) for figure in found.values())


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_benchmark_growth_lies_between_0_and_1_and_knows_no_order(seed):
    records = _benchmark_records(random.Random(seed), 4, 2.0)
    found = benchmark_growth(records)
    assert all(0 <= figure["value"] <= 1 + 1e-12 for figure in found.values())
    assert benchmark_growth(records[::-1]) == found


def test_benchmark_growth_needs_the_same_configurations_everywhere():
    records = _benchmark_records(random.Random(3), 2, 1.0)
    fewer = [r for r in records if r["dataset"] == "d0" or r["serializer"] != "json"]
    [figure] = benchmark_growth(fewer).values()
    assert figure == {"value": None, "reason": "datasets have different configurations"}
