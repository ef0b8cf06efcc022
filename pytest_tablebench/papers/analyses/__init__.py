"""Compute the analyses of the ToRR paper from records (spec: torr_analyses.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_tablebench.papers.analyses._skills import BEST_SUBTASK, RULES, by_skill

__all__ = [
    "BEST_SUBTASK",
    "RULES",
    "analyse",
    "benchmark_growth",
    "by_skill",
    "equivalences",
    "further_figures",
    "serializer_spread",
]


def analyse(records: Iterable[Any], params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return all analyses of the records of one or more models.

    A record is a `Record` or a mapping with `model`, `dataset`, `example_id`, `serializer`,
    `perturbation` and `score` (0 to 1, None without an answer). A dataset's grid is every
    serializer times every perturbation in its records. An unanswered cell is missing, never 0.
    Records that differ only in `repeat` (default 1) are one cell, with the mean score of its
    answered repeats. A figure is `{"value": number or None}` with counts, and with the reason if
    it is None.

    `params` fixes the random draws. A missing entry is drawn with a seed made of its dataset's
    name, examples and configurations:

    * `example_order` {dataset: ids} (sorted), `resamples` {dataset: lists of indices into that
      order} and `resamples_pooled` (indices into all orders, datasets sorted): the bootstrap of
      `separability`, by default 1,000 resamples;
    * `growth` {dataset: {q: repeats of sets of "serializer|perturbation"}}: by default 100 repeats
      of as many disjoint sets of q configurations as possible, if there are at least two;
    * `points`: a list of `{"q", "e", "draws": {dataset: repeats of {"configurations",
      "examples"}}}`: as `growth`, but each set has its own e examples; by default q and e are 1,
      2, 5, 10, 20, ... up to the size of the smallest dataset;
    * `families` {name: models}: by default models whose names begin with the same letters.

    Raises `DataError` with the first record that cannot be used, and `SettingsError` for params
    that do not fit the records. Uses about 50 bytes of memory per record.
    """
    # Imported here, because a run does not need these modules.
    from pytest_tablebench.papers.analyses import _agreement, _levels, contrasts
    from pytest_tablebench.papers.analyses._draws import Draws
    from pytest_tablebench.papers.analyses.grid import read_scores

    scores = read_scores(records)
    draws = Draws(scores.grids, params)
    performance = _levels.performance(scores)
    families = draws.params.get("families")
    if families is None:
        families = _levels.families_by_name(scores.models)
    return {
        "performance": performance,
        "robustness": _levels.robustness(scores),
        "min_max": _levels.min_max(scores),
        "serializer_spread": _levels.serializer_spread(scores),
        "win_rates": contrasts.win_rates(scores),
        "perturbation_impact": contrasts.perturbation_impact(scores),
        "separability": _agreement.separability(scores, draws),
        "dataset_agreement": _agreement.dataset_agreement(scores),
        "kendall_w": _agreement.kendall_w(scores),
        "w_growth": _agreement.w_growth(draws),
        "configurations_vs_examples": _agreement.configurations_vs_examples(draws),
        "difficulty": _levels.difficulty(scores),
        "families": _levels.families(performance["by_model"], families),
    }


def equivalences(points: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return how many examples of one configuration replace several configurations (section 9).

    `points` is the result of `configurations_vs_examples`. Each point with two or more
    configurations and a value gets `e_at_one`, the smallest e at q = 1 that reaches the value, or
    None. Only points with all datasets are comparable; the others are left out.
    """
    points = list(points)
    most = max((len(point["by_dataset"]) for point in points), default=0)
    points_with_value = [
        (point["q"], point["e"], point["mean_over_datasets"]["value"])
        for point in points
        if point["mean_over_datasets"]["value"] is not None and len(point["by_dataset"]) == most
    ]
    single = sorted((e, value) for q, e, value in points_with_value if q == 1)
    return [
        {
            "q": q,
            "e": e,
            "value": value,
            "e_at_one": next((few for few, at in single if at >= value - 1e-9), None),
        }
        for q, e, value in sorted(points_with_value)
        if q > 1
    ]


def benchmark_growth(records: Iterable[Any]) -> dict[str, Any]:
    """Return the growth of Kendall's W for the benchmark as a whole (section 8b).

    Models are scored by the mean over all datasets; `w_growth` of `analyse` has single datasets.
    """
    from pytest_tablebench.papers.analyses import _agreement
    from pytest_tablebench.papers.analyses.grid import read_scores

    return _agreement.benchmark_growth(read_scores(records).grids)


def further_figures(
    records: Iterable[Any], analysis: Mapping[str, Any], groups: Mapping[str, str]
) -> dict[str, Any]:
    """Return figures of the paper that are not part of `analyse`.

    `performance_spread` is by model, `impact_absolute` is the mean over models,
    `impact_by_perturbation` is by perturbation and dataset, and `open_closed` has performance and
    robustness by group of models and dataset.

    Args:
        records: the records, as for `analyse`.
        analysis: the result of `analyse` for them.
        groups: `open` or `closed`, by model; other models are left out.
    """
    from pytest_tablebench.papers.analyses import _figures, _further
    from pytest_tablebench.papers.analyses.grid import read_scores

    impacts = analysis["perturbation_impact"]
    impact = impacts.get("absolute_by_model_dataset_perturbation", {})
    return {
        "impact_absolute": _figures.plain_mean(impacts.get("absolute_by_model", {})),
        "performance_spread": _further.performance_spread(read_scores(records)),
        "impact_by_perturbation": _further.impact_by_perturbation(impact),
        "open_closed": {
            name: _further.open_closed(analysis[name], groups)
            for name in ("performance", "robustness")
        },
    }


def serializer_spread(records: Iterable[Any]) -> dict[str, Any]:
    """Return best minus worst serializer over all perturbations, by model and dataset (section 3).

    It is the entry `perturbations=all` of `analyse`, without the time for the other analyses.
    """
    from pytest_tablebench.papers.analyses import _levels
    from pytest_tablebench.papers.analyses.grid import read_scores

    spreads: dict[str, Any] = _levels.serializer_spread(read_scores(records))["perturbations=all"]
    return spreads
