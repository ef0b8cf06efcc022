"""All analyses of the ToRR paper from records (spec: torr_analyses.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pytest_tablebench.papers.analyses import _agreement as agreement
from pytest_tablebench.papers.analyses import _levels as levels
from pytest_tablebench.papers.analyses import contrasts
from pytest_tablebench.papers.analyses._draws import Draws
from pytest_tablebench.papers.analyses.grid import plain_mean, read_scores


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
    scores = read_scores(records)
    draws = Draws(scores.grids, params)
    performance = levels.performance(scores)
    families = draws.params.get("families")
    if families is None:
        families = levels.families_by_name(scores.models)
    return {
        "performance": performance,
        "robustness": levels.robustness(scores),
        "min_max": levels.min_max(scores),
        "serializer_spread": levels.serializer_spread(scores),
        "win_rates": contrasts.win_rates(scores),
        "perturbation_impact": contrasts.perturbation_impact(scores),
        "separability": agreement.separability(scores, draws),
        "dataset_agreement": agreement.dataset_agreement(scores),
        "kendall_w": agreement.kendall_w(scores),
        "w_growth": agreement.w_growth(draws),
        "configurations_vs_examples": agreement.configurations_vs_examples(draws),
        "difficulty": levels.difficulty(scores),
        "families": levels.families(performance["by_model"], families),
    }


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
    impacts = analysis["perturbation_impact"]
    impact = impacts.get("absolute_by_model_dataset_perturbation", {})
    return {
        "impact_absolute": plain_mean(impacts.get("absolute_by_model", {})),
        "performance_spread": levels.performance_spread(read_scores(records)),
        "impact_by_perturbation": contrasts.impact_by_perturbation(impact),
        "open_closed": {
            name: levels.open_closed(analysis[name], groups)
            for name in ("performance", "robustness")
        },
    }
