"""The analyses of the ToRR paper: rules for all of them, and the levels of scores."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import DataError, analyse
from pytest_tablebench.papers.analyses._levels import families_by_name
from pytest_tablebench.results import Record
from tests.support.score_grids import GAPS, figures, grids, quick, record, row, values

# All analyses


@given(grids(scores=GAPS), st.randoms())
def test_the_order_of_records_does_not_matter(records, shuffler):
    mixed = list(records)
    shuffler.shuffle(mixed)
    assert quick(mixed) == quick(records)


@given(grids(scores=GAPS))
def test_a_figure_is_a_number_or_has_a_reason(records):
    for figure in figures(quick(records)):
        assert (figure["value"] is None) == bool(figure.get("reason"))
        assert figure["value"] == figure["value"]


def test_records_and_mappings_give_the_same_analyses():
    plain = [*row((0.2, None)), *row((0.3, 1.0), example="f")]
    ours = [
        Record(
            case_id="c",
            benchmark="b",
            strategy="direct",
            modality="text",
            outcome="right",
            **entry,
        )
        for entry in plain
    ]
    assert analyse(ours) == analyse(plain)
    assert analyse([ours[0], *plain[1:]]) == analyse(plain)


def test_without_records_every_analysis_is_empty():
    analysis = analyse([])
    assert analysis["performance"] == {"by_model_dataset": {}, "by_model": {}}
    assert analysis["configurations_vs_examples"] == []
    assert analysis["difficulty"] == {"by_example": {}, "histogram": {}, "score_histogram": {}}
    for figure in figures(analysis):
        assert figure["value"] is None
        assert figure["reason"]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({}, "record 2: 'model'"),
        (record(0.5) | {"score": "0.5"}, "record 2: "),
        (record(1.5), "record 2: d/e/csv/none has the score 1.5"),
        (record(-0.1), "record 2: d/e/csv/none has the score -0.1"),
        (record(math.nan), "record 2: d/e/csv/none has the score nan"),
        (record(0.5, model=["m"]), "record 2: "),
        (object(), "record 2: "),
    ],
)
def test_a_bad_record_is_named_in_the_error(bad, words):
    with pytest.raises(DataError, match="a record needs model, dataset, example_id") as caught:
        analyse([record(0.5, example="first"), bad])
    assert words in str(caught.value)


@pytest.mark.parametrize("axis", ["model", "dataset", "example", "serializer", "perturbation"])
def test_names_of_an_axis_must_be_text(axis):
    with pytest.raises(DataError, match="a record has 7 as its"):
        analyse([record(0.5), record(0.5, **{axis: 7})])


def test_a_cell_that_occurs_twice_is_refused():
    records = [record(0.5, dataset="a"), *row((0.1, 0.2)), *row((0.1, 0.1), model="n"), record(0.1)]
    with pytest.raises(DataError, match="dataset d: m/e/csv/none occurs more than once"):
        analyse(records)


def test_errors_of_the_record_source_propagate_unchanged():
    def source():
        yield record(0.5)
        raise ValueError("torn file")

    with pytest.raises(ValueError, match="torn file") as caught:
        analyse(source())
    assert not isinstance(caught.value, DataError)


def test_importing_the_analyses_does_not_load_numpy():
    code = (
        "import sys; from pytest_tablebench import analyse; "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'scipy', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Levels


def by_cell(records):
    """Return the scores of answered cases as {(model, dataset): {example: scores}}."""
    scores_by_cell: dict[tuple[str, str], dict[str, Any]] = {}
    for entry in records:
        cell = scores_by_cell.setdefault((entry["model"], entry["dataset"]), {})
        if entry["score"] is not None:
            cell.setdefault(entry["example_id"], []).append(entry["score"])
    return scores_by_cell


def test_levels_agree_with_figures_worked_out_by_hand():
    records = [
        *row((0.0, 1.0, None)),  # mean 1/2, range 1, incomplete
        *row((0.4, 0.2, 0.6), example="f"),  # mean 0.4, range 0.4
        *row((None, None, None), example="g"),
        *row((1.0, 1.0, 1.0), dataset="x"),
    ]
    analysis = quick(records)
    performance = analysis["performance"]["by_model_dataset"]["m"]["d"]
    assert performance == {"value": pytest.approx(0.45), "n_examples": 2, "n_missing_cells": 4}
    assert analysis["performance"]["by_model"]["m"]["value"] == pytest.approx(0.725)
    robustness = analysis["robustness"]["by_model_dataset"]["m"]["d"]
    assert robustness["value"] == pytest.approx(0.3)  # of 0 and 0.6
    assert robustness["complete_examples_only"] == pytest.approx(0.6)
    assert (robustness["n_examples"], robustness["n_incomplete"]) == (2, 2)
    assert robustness["flags"] == ["incomplete"]
    assert analysis["robustness"]["by_model"]["m"]["flags"] == ["incomplete"]
    ends = analysis["min_max"]["by_model_dataset"]["m"]["d"]
    assert ends["max"]["value"] == pytest.approx(0.8)  # of 1 and 0.6
    assert ends["min"]["value"] == pytest.approx(0.1)  # of 0 and 0.2
    spread = analysis["serializer_spread"]["perturbations=all"]["m"]["d"]
    assert spread["serializers"] == pytest.approx({"csv": 0.2, "html": 0.6, "json": 0.6})
    assert spread["value"] == pytest.approx(0.4)


@given(grids(scores=GAPS))
def test_performance_is_a_mean_of_means(records):
    by_model = quick(records)["performance"]["by_model_dataset"]
    for (model, dataset), examples in by_cell(records).items():
        means = [sum(scores) / len(scores) for scores in examples.values()]
        if means:
            assert by_model[model][dataset]["value"] == pytest.approx(sum(means) / len(means))
        else:
            assert by_model[model][dataset]["reason"] == "no scores"


@given(grids(scores=GAPS | st.just(1.0)))
def test_robustness_is_1_only_where_each_example_s_scores_are_equal(records):
    by_model = quick(records)["robustness"]["by_model_dataset"]
    for (model, dataset), examples in by_cell(records).items():
        if examples:
            value = by_model[model][dataset]["value"]
            assert 0 <= value <= 1
            assert (value == 1) == all(len(set(scores)) == 1 for scores in examples.values())


@given(grids(scores=GAPS))
def test_performance_is_between_min_and_max(records):
    analysis = quick(records)
    performance, ends = analysis["performance"], analysis["min_max"]
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
    for spread in figures(spreads):
        if spread["value"] is not None:
            assert 0 <= spread["value"] <= 1
            means = list(spread["serializers"].values())
            assert (spread["value"] == 0) == (len(set(means)) == 1)


@given(grids(scores=GAPS | st.floats(0, 1)))
def test_histograms_count_every_score_once(records):
    difficulty = quick(records)["difficulty"]
    for dataset, counts in difficulty["score_histogram"].items():
        scored = [
            entry for entry in records if entry["dataset"] == dataset and entry["score"] is not None
        ]
        assert len(counts) == 20
        assert sum(counts) == len(scored)
        examples = difficulty["by_example"][dataset]
        assert sum(difficulty["histogram"][dataset]) == len(values(examples))
        assert sum(part["n"] for part in examples.values()) == len(scored)


def test_scores_at_a_bin_edge_count_in_the_upper_bin():
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


def test_difficulty_agrees_with_figures_worked_out_by_hand():
    records = [*row((0.1, 0.5)), *row((None, 0.9), model="n"), *row((None, None), example="f")]
    difficulty = quick(records)["difficulty"]
    assert difficulty["by_example"]["d"] == {
        "e": {"value": pytest.approx(0.5), "n": 3},
        "f": {"value": None, "reason": "no scores", "n": 0},
    }


def test_families_agree_with_figures_worked_out_by_hand():
    records = [record(score, model=name) for name, score in [("a", 0.1), ("b", 0.4), ("c", 1.0)]]
    records.append(record(None, model="d"))
    members = {"all": ["a", "b", "c"], "one": ["a"], "gap": ["a", "b", "d"], "absent": ["a", "z"]}
    by_family = quick(records, families=members)["families"]
    assert by_family["all"]["value"] == pytest.approx(0.6)  # of 0.3, 0.9 and 0.6
    undefined = {"value": None, "reason": "fewer than two models with a value"}
    assert [by_family[name] for name in ("one", "gap", "absent")] == [undefined] * 3


@given(grids(models=(2, 3)))
def test_families_of_the_same_scores_do_not_differ(records):
    same = [
        entry | {"model": f"llama-{number}"}
        for entry in records
        if entry["model"] == "m0"
        for number in range(3)
    ]
    assert quick(same)["families"] == {"llama": {"value": 0.0}}


def test_models_are_grouped_into_families_by_name_prefix():
    names = ["openai/gpt-4o", "gpt-4o-mini", "claude-3", "Qwen2.5-7B", "x/qwen-72b", "4o", "m/1"]
    assert families_by_name(names) == {
        "gpt": ["openai/gpt-4o", "gpt-4o-mini"],
        "qwen": ["Qwen2.5-7B", "x/qwen-72b"],
    }
