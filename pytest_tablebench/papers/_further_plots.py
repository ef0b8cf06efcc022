"""Plots of the paper's further analyses."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pytest_tablebench.papers._charts import bar_chart
from pytest_tablebench.papers.analyses import winners
from pytest_tablebench.papers.canvas import (
    COLOURS,
    GREY,
    MARKERS,
    colour,
    has_number,
    labelled,
    legend,
    size,
    value_of,
)
from pytest_tablebench.papers.entries import Tree, all_keys, ranked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Lines = Mapping[str, Mapping[str, float]]


def performance_spread(figure: Figure, analysis: Tree) -> bool:
    """Draw each model's overall performance in every configuration, and their mean."""
    by_model = {
        model: list(entry["by_configuration"].values())
        for model, entry in _further(analysis, "performance_spread").items()
        if entry.get("by_configuration")
    }
    if not by_model:
        return False
    ranked = sorted(by_model, key=lambda model: -sum(by_model[model]) / len(by_model[model]))
    size(figure, 7.0, 1.5 + 0.34 * len(ranked))
    axes = figure.subplots()
    for place, model in enumerate(ranked):
        values = by_model[model]
        axes.plot(values, [place] * len(values), "|", color=GREY, markersize=12)
        axes.plot(sum(values) / len(values), place, "o", color=COLOURS[1], markersize=5)
    axes.plot([], [], "|", color=GREY, label="one configuration")
    axes.plot([], [], "o", color=COLOURS[1], label="mean")
    axes.set_yticks(range(len(ranked)), labelled(ranked))
    axes.set(ylim=(len(ranked) - 0.5, -0.5), xlabel="performance, mean over datasets")
    axes.set(ylabel="model", title="Overall performance in each configuration")
    axes.grid(axis="x", alpha=0.3)
    legend(figure, axes, 2, "")
    return True


def impact_by_model(figure: Figure, analysis: Tree) -> bool:
    """Draw the mean absolute impact of all perturbations on each model."""
    entries = analysis["perturbation_impact"].get("absolute_by_model", {})
    values = {name: value_of(entry) for name, entry in entries.items()}
    title = "Mean absolute impact of perturbations, by model"
    unit = "mean |score - score unperturbed|, mean over datasets"
    return bar_chart(figure, values, title, unit, None, heading="model")


def impact_by_perturbation(figure: Figure, analysis: Tree) -> bool:
    """Draw the mean absolute impact of each perturbation, with a point for each dataset."""
    tree = _further(analysis, "impact_by_perturbation")
    bars = {name: value_of(entries.get("all")) for name, entries in tree.items()}
    points = _turned(
        {
            name: {key: value_of(entry) for key, entry in entries.items()}
            for name, entries in tree.items()
        }
    )
    points.pop("all", None)
    title = "Mean absolute impact of each perturbation"
    unit = "mean |score - score unperturbed|, all models"
    return _points_over_bars(figure, bars, points, title, unit, "dataset")


def open_closed(figure: Figure, analysis: Tree) -> bool:
    """Draw performance by dataset of the models with open weights and of the others."""
    groups = _further(analysis, "open_closed").get("performance", {})
    points = {
        group: {
            "all datasets" if name == "all" else name: value_of(entry)
            for name, entry in entries.items()
        }
        for group, entries in groups.items()
    }
    if len(points) < 2:
        return False
    title = "Models with open weights against closed ones"
    names = all_keys(points.values())
    return _points_over_bars(
        figure, dict.fromkeys(names, math.nan), points, title, "performance, mean over models", ""
    )


def win_rates_by_dataset(axis: str) -> Callable[[Figure, Tree], bool]:
    """Return a plot of the win rates in each dataset, over all models."""

    def draw(figure: Figure, analysis: Tree) -> bool:
        tree = analysis["win_rates"].get(axis, {})
        points = {
            name: entry["value"]
            for name, entry in tree.get("by_dataset", {}).items()
            if entry.get("value")
        }
        names = all_keys(points.values())
        overall = winners.overall(tree)["value"] or {}
        bars = {name: overall.get(name, math.nan) for name in names}
        title = f"Win rates of {axis}s by dataset"
        unit = "win rate (share of strict wins), all models"
        return _points_over_bars(figure, bars, points, title, unit, "dataset")

    return draw


def by_dataset(measure: str) -> Callable[[Figure, Tree], bool]:
    """Return a plot of performance or robustness in each dataset, with a point for each model."""

    def draw(figure: Figure, analysis: Tree) -> bool:
        points = {
            model: {name: value_of(entry) for name, entry in entries.items()}
            for model, entries in analysis[measure]["by_model_dataset"].items()
        }
        bars = dict.fromkeys(all_keys(points.values()), math.nan)
        title = f"{measure.capitalize()} by dataset"
        return _points_over_bars(figure, bars, points, title, measure, "model")

    return draw


def kendall_w(figure: Figure, analysis: Tree) -> bool:
    """Draw the agreement of single configurations on the ranking of models, by dataset."""
    tree = analysis["kendall_w"]
    values = {name: value_of(entry) for name, entry in tree.get("by_dataset", {}).items()}
    title = f"Agreement of single configurations on the ranking of {ranked(analysis)}"
    return bar_chart(figure, values, title, "Kendall's W", 1.0)


def _further(analysis: Tree, name: str) -> Tree:
    tree: Tree = (analysis.get("further") or {}).get(name, {})
    return tree


def _turned(lines: Lines) -> dict[str, dict[str, float]]:
    """Return the values by the inner name first."""
    return {
        name: {outer: entries[name] for outer, entries in lines.items() if name in entries}
        for name in all_keys(lines.values())
    }


def _points_over_bars(  # noqa: PLR0917 - a chart is its parts
    figure: Figure,
    bars: Mapping[str, float],
    points: Lines,
    title: str,
    unit: str,
    heading: str,
) -> bool:
    """Draw a bar for each name, and over it a point for each line that has a value there."""
    values = [value for entries in points.values() for value in entries.values()]
    if not has_number([*values, *bars.values()]):
        return False
    names = list(bars)
    height = max(0.42 * len(names) + 1.4, 0.2 * len(points) + 1)
    size(figure, 7.5, height)
    axes = figure.subplots()
    if has_number(list(bars.values())):
        widths = [0 if math.isnan(value) else value for value in bars.values()]
        axes.barh(range(len(names)), widths, color="#C8C8C8", height=0.75, label="all")
    for number, ((_, entries), label) in enumerate(
        zip(points.items(), labelled(list(points)), strict=True)
    ):
        shift = 0.6 * ((number + 0.5) / len(points) - 0.5)
        axes.plot(
            [entries.get(name, math.nan) for name in names],
            [place + shift for place in range(len(names))],
            MARKERS[number % len(MARKERS)],
            color=colour(number),
            label=label,
            markersize=5,
        )
    axes.set_yticks(range(len(names)), labelled(names))
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set(xlabel=unit, title=title)
    legend(figure, axes, len(points) + 1, heading)
    return True
