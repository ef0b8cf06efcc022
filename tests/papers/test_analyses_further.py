"""Figures of the paper outside its numbered analyses, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench.papers.analyses.analyse import analyse, further_figures
from tests.support.score_grids import record


def score_record(
    model: str, dataset: str, example: str, configuration: str, score: Any
) -> dict[str, Any]:
    serializer, perturbation = configuration.split("|")
    return record(
        score,
        model=model,
        dataset=dataset,
        example=example,
        serializer=serializer,
        perturbation=perturbation,
    )


SCORES: dict[tuple[str, str], dict[str, tuple[float | None, ...]]] = {
    # model, dataset: scores of its two examples by configuration
    ("a", "d"): {"html|none": (1.0, 0.0), "html|transpose": (0.5, 0.0)},
    ("a", "e"): {"html|none": (0.8, 0.6), "html|transpose": (0.2, 0.2)},
    ("b", "d"): {"html|none": (1.0, 1.0), "html|transpose": (1.0, 0.0)},
    ("b", "e"): {"html|none": (None, None), "html|transpose": (0.4, 0.0)},
}
RECORDS = [
    score_record(model, dataset, f"x{place}", configuration, score)
    for (model, dataset), row in SCORES.items()
    for configuration, scores in row.items()
    for place, score in enumerate(scores)
]


def figures(groups: dict[str, str]) -> dict[str, Any]:
    return further_figures(RECORDS, analyse(RECORDS), groups)


def test_overall_performance_is_a_mean_over_datasets_by_configuration():
    # none: (1 + 0) / 2 = .5 and (.8 + .6) / 2 = .7, so .6; transpose: .25 and .2, so .225.
    spread = figures({})["performance_spread"]["a"]
    assert spread["by_configuration"] == pytest.approx({"html|none": 0.6, "html|transpose": 0.225})
    assert spread["value"] == pytest.approx(0.375)
    assert (spread["lowest"], spread["highest"]) == ("html|transpose", "html|none")
    # Two values have a standard deviation of half their difference.
    assert spread["sd"] == pytest.approx(0.1875)


def test_a_model_that_lacks_a_score_in_a_configuration_has_no_spread():
    spread = figures({})["performance_spread"]["b"]
    assert spread["value"] is None
    assert spread["reason"] == "a dataset has no score in some configuration"


def test_a_single_configuration_has_no_spread():
    rows = [
        record for record in RECORDS if record["perturbation"] == "none" and record["model"] == "a"
    ]
    spread = further_figures(rows, analyse(rows), {})["performance_spread"]["a"]
    assert spread["reason"] == "fewer than two configurations are in every dataset"


def test_configurations_that_a_dataset_lacks_do_not_count():
    rows = [*RECORDS[:8], score_record("a", "e", "x0", "csv|none", 0.1)]
    spread = further_figures(rows, analyse(rows), {})["performance_spread"]["a"]
    assert list(spread["by_configuration"]) == ["html|none", "html|transpose"]


def test_impact_of_a_perturbation_is_a_mean_over_models():
    # d: a |1 - .5|, |0 - 0| is .25, b |1 - 1|, |1 - 0| is .5; e: a .6 and .4 is .5, b has none.
    impact = figures({})["impact_by_perturbation"]["transpose"]
    assert impact["d"]["value"] == pytest.approx(0.375)
    assert (impact["e"]["value"], impact["e"]["n"]) == (pytest.approx(0.5), 1)
    assert impact["all"]["value"] == pytest.approx(0.4375)


def test_groups_of_models_have_the_mean_of_their_models():
    # Performance: a .375 in d and .45 in e, b .75 in d and .2 in e.
    performance = figures({"a": "open", "b": "closed", "c": "open"})["open_closed"]["performance"]
    assert performance["open"]["d"]["value"] == pytest.approx(0.375)
    assert performance["open"]["all"]["value"] == pytest.approx(0.4125)
    assert performance["closed"]["e"]["value"] == pytest.approx(0.2)
    assert figures({"a": "open", "b": "open"})["open_closed"]["performance"]["open"]["d"] == {
        "value": pytest.approx(0.5625),
        "n": 2,
    }
    assert figures({})["open_closed"] == {"performance": {}, "robustness": {}}
