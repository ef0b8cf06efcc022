"""Compute further figures of the ToRR paper: spread, groups of models, and impacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from statistics import pstdev
from typing import TYPE_CHECKING, Any

from pytest_tablebench.papers.analyses._figures import Figure, figure, plain_mean
from pytest_tablebench.results.figures import mean, means

if TYPE_CHECKING:
    from pytest_tablebench.papers.analyses.grid import Scores

OPEN, CLOSED = "open", "closed"
"""The groups of models in `open_closed`: with and without published weights."""


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
    for place, model in enumerate(scores.models):
        columns = zip(*(table[place].tolist() for table in by_dataset), strict=True)
        values = [sum(column) / len(column) for column in columns]
        if len(names) < 2:
            spreads[model] = figure(None, "fewer than two configurations are in every dataset")
            continue
        if any(map(isnan, values)):
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
        figures = {"all": _mean_of([tree["by_model"].get(model) for model in models])}
        for name in datasets:
            figures[name] = _mean_of([by_model[model].get(name) for model in models])
        by_group[group] = figures
    return by_group


def impact_by_perturbation(
    impact: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> dict[str, dict[str, Figure]]:
    """Return the mean absolute impact of each perturbation, by dataset and `all`.

    `impact` contains the figures by model, dataset and perturbation. They are averaged over
    models; `all` is the mean over the datasets that have the perturbation.
    """
    parts: dict[str, dict[str, list[Any]]] = {}
    for datasets in impact.values():
        for dataset, entries in datasets.items():
            for name, entry in entries.items():
                parts.setdefault(name, {}).setdefault(dataset, []).append(entry)
    margins: dict[str, dict[str, Figure]] = {}
    for name, by_dataset in parts.items():
        figures = {dataset: _mean_of(entries) for dataset, entries in by_dataset.items()}
        margins[name] = {"all": plain_mean(figures), **figures}
    return margins


def _mean_of(entries: Sequence[Any]) -> Figure:
    values = [entry["value"] for entry in entries if entry and entry.get("value") is not None]
    return figure(mean(values) if values else None, "no model with a value", n=len(values))
