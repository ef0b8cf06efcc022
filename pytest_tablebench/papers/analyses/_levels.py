"""Compute levels and ranges of scores (spec: torr_analyses.md sections 1 to 3, 10 and 11)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import pstdev
from typing import TYPE_CHECKING, Any

from pytest_tablebench.papers.analyses.grid import (
    Figure,
    ScoreGrid,
    Scores,
    each,
    figure,
    mean_of_known,
    plain_mean,
)
from pytest_tablebench.results.figures import means
from pytest_tablebench.results.figures import robustness as one_minus_range
from pytest_tablebench.results.score_table import EQUAL
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Floats

BINS = 20
"""The number of bins of a histogram of scores from 0 to 1."""

ByDataset = dict[str, dict[str, Figure]]


def _by_model(scores: Scores, columns: Mapping[str, Mapping[str, Figure]]) -> ByDataset:
    """Turn {dataset: {model: figure}} into {model: {dataset: figure}}."""
    return {model: {name: columns[name][model] for name in columns} for model in scores.models}


def performance(scores: Scores) -> dict[str, Any]:
    """Return mean scores over configurations, then examples, then datasets (section 1)."""
    columns = {
        grid.dataset: each(
            scores.models,
            grid.means,
            "no scores",
            n_examples=(grid.answered > 0).sum(axis=1),
            n_missing_cells=(grid.cells.shape[2] - grid.answered).sum(axis=1),
        )
        for grid in scores.grids
    }
    by_model = _by_model(scores, columns)
    return {
        "by_model_dataset": by_model,
        "by_model": {model: plain_mean(parts) for model, parts in by_model.items()},
    }


def robustness(scores: Scores) -> dict[str, Any]:
    """Return the mean of 1 minus the range of an example's scores (section 2).

    The range is taken over answered cells, and missing cells make it too small. Such a figure is
    flagged `incomplete`, and `complete_examples_only` leaves these examples out.
    """
    columns = {grid.dataset: _robustness(scores.models, grid) for grid in scores.grids}
    by_model = _by_model(scores, columns)
    flags = {
        model: sorted({flag for part in parts.values() for flag in part["flags"]})
        for model, parts in by_model.items()
    }
    overall = {m: {**plain_mean(parts), "flags": flags[m]} for m, parts in by_model.items()}
    return {"by_model_dataset": by_model, "by_model": overall}


def _robustness(models: Sequence[str], grid: ScoreGrid) -> dict[str, Figure]:
    of_complete = means(one_minus_range(grid.cells, whole=True))
    figures = each(
        models,
        means(one_minus_range(grid.cells)),
        "no scores",
        n_examples=(grid.answered > 0).sum(axis=1),
        n_incomplete=(~grid.complete).sum(axis=1),
    )
    for entry, complete in zip(figures.values(), of_complete, strict=True):
        flags = ["incomplete"] if entry["n_incomplete"] else []
        flags += ["one configuration"] if grid.cells.shape[2] == 1 else []
        entry["flags"] = flags
        entry["complete_examples_only"] = figure(complete, "")["value"]
    return figures


def min_max(scores: Scores) -> dict[str, Any]:
    """Return the means of each example's best and worst score (section 11)."""
    columns = {}
    for grid in scores.grids:
        # fmin and fmax ignore NaN, without a warning if all values are NaN.
        low, high = (means(end.reduce(grid.cells, axis=2)) for end in (np.fmin, np.fmax))
        columns[grid.dataset] = {
            model: {"max": figure(best, "no scores"), "min": figure(worst, "no scores")}
            for model, best, worst in zip(scores.models, high, low, strict=True)
        }
    by_model = _by_model(scores, columns)
    return {
        "by_model_dataset": by_model,
        "by_model": {
            model: {
                end: plain_mean({dataset: part[end] for dataset, part in parts.items()})
                for end in ("max", "min")
            }
            for model, parts in by_model.items()
        },
    }


def serializer_spread(scores: Scores) -> dict[str, Any]:
    """Return best minus worst serializer, over all perturbations and over `none` (section 3)."""
    return {
        f"perturbations={which}": _by_model(
            scores, {grid.dataset: _spread(scores.models, grid, which) for grid in scores.grids}
        )
        for which in ("all", "none")
    }


def _spread(models: Sequence[str], grid: ScoreGrid, which: str) -> dict[str, Figure]:
    is_counted = [which in ("all", perturbation) for perturbation in grid.perturbations]
    if any(is_counted):
        parts = grid.scores[..., np.array(is_counted)]
        table = means(means(parts), axis=1)  # over perturbations, then over examples
    else:
        table = np.full((len(models), len(grid.serializers)), np.nan)
    figures = {}
    for model, row in zip(models, table.tolist(), strict=True):
        pairs = zip(grid.serializers, row, strict=True)
        means_of = {name: value for name, value in pairs if not math.isnan(value)}
        value = max(means_of.values()) - min(means_of.values()) if len(means_of) > 1 else None
        figures[model] = figure(
            value, "fewer than two serializers with a score", serializers=means_of
        )
    return figures


def difficulty(scores: Scores) -> dict[str, Any]:
    """Return each example's mean over models and configurations, and histograms (section 10)."""
    examples, histogram, score_histogram = {}, {}, {}
    for grid in scores.grids:
        values = means(grid.cells, axis=(0, 2))
        counts = grid.answered.sum(axis=0)
        examples[grid.dataset] = each(grid.examples, values, "no scores", n=counts)
        histogram[grid.dataset] = _histogram(values)
        score_histogram[grid.dataset] = _histogram(grid.cells)
    return {"by_example": examples, "histogram": histogram, "score_histogram": score_histogram}


def _histogram(values: Floats) -> list[int]:
    """Count values by twentieths; the tolerance counts a value just below an edge as above it."""
    finite = values[np.isfinite(values)]
    bins = np.clip(np.floor(BINS * finite + EQUAL).astype(np.intp), 0, BINS - 1)
    counts: list[int] = np.bincount(bins, minlength=BINS).tolist()
    return counts


def families(
    performances: Mapping[str, Figure], members: Mapping[str, Sequence[str]]
) -> dict[str, Figure]:
    """Return the mean difference in performance over the model pairs of a family (section 11).

    `performances` is by model. A family is undefined if one of its models has no value.
    """
    differences = {}
    for name, models in members.items():
        values = [performances.get(model, {"value": None})["value"] for model in models]
        pairs = [] if None in values else [abs(a - b) for a, b in combinations(values, 2)]
        value = sum(pairs) / len(pairs) if pairs else None
        differences[name] = figure(value, "fewer than two models with a value")
    return differences


def families_by_name(models: Sequence[str]) -> dict[str, list[str]]:
    """Return the families of two or more models whose names begin with the same letters.

    The provider, up to the last `/`, is ignored: `openai/gpt-4o` and `gpt-4o-mini` are both in
    the family `gpt`.
    """
    by_start: dict[str, list[str]] = {}
    for model in models:
        start = re.match(r"[A-Za-z]+", model.rpartition("/")[2])
        if start:
            by_start.setdefault(start[0].lower(), []).append(model)
    return {name: by_start[name] for name in sorted(by_start) if len(by_start[name]) > 1}


# Further figures of the paper


def performance_spread(scores: Scores) -> dict[str, Any]:
    """Return each model's overall performance by configuration, and its spread.

    The overall performance of a configuration is the mean over datasets of its mean over examples.
    Only configurations of all datasets count, and only models with a score in all of them. `value`
    is the highest minus the lowest, `sd` the standard deviation over configurations.
    """
    if not scores.grids:
        return {}
    common = set[str].intersection(*(set(grid.configurations) for grid in scores.grids))
    names = [name for name in scores.grids[0].configurations if name in common]
    by_dataset = [
        means(grid.cells[:, :, [grid.configurations.index(name) for name in names]], axis=1)
        for grid in scores.grids
    ]
    spreads: dict[str, Any] = {}
    for index, model in enumerate(scores.models):
        columns = zip(*(table[index].tolist() for table in by_dataset), strict=True)
        values = [sum(column) / len(column) for column in columns]
        if len(names) < 2:
            spreads[model] = figure(None, "fewer than two configurations are in every dataset")
            continue
        if any(map(math.isnan, values)):
            spreads[model] = figure(None, "a dataset has no score in some configuration")
            continue
        by_value = dict(zip(names, values, strict=True))
        lowest, highest = min(names, key=by_value.__getitem__), max(names, key=by_value.__getitem__)
        spreads[model] = figure(
            by_value[highest] - by_value[lowest],
            "",
            sd=pstdev(values),
            lowest=lowest,
            highest=highest,
            by_configuration=by_value,
        )
    return spreads


def open_closed(
    tree: Mapping[str, Mapping[str, Any]], groups: Mapping[str, str]
) -> dict[str, dict[str, Figure]]:
    """Return the mean of a figure over the models of each group, by dataset and `all`.

    Args:
        tree: a figure with the entries `by_model_dataset` and `by_model`.
        groups: the group of each model; models without a group are left out.

    A model without a value in a dataset is left out there; `n` is the number of the others.
    """
    by_model = tree["by_model_dataset"]
    datasets = dict.fromkeys(name for by_dataset in by_model.values() for name in by_dataset)
    by_group: dict[str, dict[str, Figure]] = {}
    for group in dict.fromkeys(groups.values()):
        models = [model for model in by_model if groups.get(model) == group]
        figures = {"all": mean_of_known([tree["by_model"].get(model) for model in models])}
        for name in datasets:
            figures[name] = mean_of_known([by_model[model].get(name) for model in models])
        by_group[group] = figures
    return by_group
