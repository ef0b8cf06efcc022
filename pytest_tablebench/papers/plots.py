"""The papers' analyses as figures, each as PNG and SVG (spec: torr_analyses.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.papers._task_plots import formats_figure, map_figure, skill_radar
from pytest_tablebench.papers.analyses import contrasts
from pytest_tablebench.papers.canvas import (
    COLOURS,
    GREY,
    MARKERS,
    Words,
    bar_chart,
    colour,
    has_number,
    heat_map,
    labelled,
    legend,
    line_chart,
    panels,
    points_over_bars,
    size,
    value_of,
    write_figures,
    write_words,
)
from pytest_tablebench.papers.table import ALL, Tree, all_keys, captions, whole_reason
from pytest_tablebench.papers.tables import ranked

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WHOLE = "whole benchmark"
"""Name of the growth of W over all datasets."""

Plot = Callable[["Figure", Tree, Words], bool]
"""Draws an analysis on an empty figure, and returns whether there was anything to draw."""


def write_plots(
    analysis: Tree, folder: Path, only: Iterable[str] | None = None
) -> dict[str, list[Path]]:
    """Draw the figures of one benchmark's analysis into `folder`: all of `PLOTS`, or some.

    Returns the files by the figure's name; an empty list for a figure without data.
    """
    names = PLOTS if only is None else only
    return write_figures({name: _of(name, analysis) for name in names}, folder)


def _of(name: str, analysis: Tree) -> Callable[[Figure], bool]:
    texts = captions()["figures"][name].items()
    words = {key: text.format(ranked=ranked(analysis)) for key, text in texts}
    return lambda figure: PLOTS[name](figure, analysis, words)


def _values(entries: Tree) -> dict[str, float]:
    return {name: value_of(entry) for name, entry in entries.items()}


def _further(analysis: Tree, name: str) -> Tree:
    tree: Tree = (analysis.get("further") or {}).get(name, {})
    return tree


# Levels of scores


def _performance_robustness(figure: Figure, analysis: Tree, words: Words) -> bool:
    performance = analysis["performance"]["by_model"]
    robustness = analysis["robustness"]["by_model"]
    models = list(performance)
    points = [(value_of(performance[m]), value_of(robustness.get(m))) for m in models]
    if not has_number([x + y for x, y in points]):
        return False
    size(figure, 6.6, max(4.4, 0.2 * len(models) + 1))
    axes = figure.subplots()
    for i, (label, (x, y)) in enumerate(zip(labelled(models), points, strict=True)):
        marker = MARKERS[i % len(MARKERS)]
        if not math.isnan(x + y):
            axes.plot(x, y, marker, color=colour(i), label=label, markersize=8, clip_on=False)
    axes.set(xlim=_window([x for x, _ in points]), ylim=_window([y for _, y in points]))
    write_words(axes, words, "both")
    legend(figure, axes, len(models), words["legend"])
    return True


def _window(values: Sequence[float]) -> tuple[float, float]:
    """Return the part of 0..1 that contains all values with a margin, at least 0.3 wide."""
    numbers = [value for value in values if not math.isnan(value)]
    width = min(max(max(numbers) - min(numbers) + 0.1, 0.3), 1.0)
    low = min(max((min(numbers) + max(numbers) - width) / 2, 0.0), 1 - width)
    return low, low + width


def _performance_spread(figure: Figure, analysis: Tree, words: Words) -> bool:
    """Draw each model's overall performance in every configuration, and their mean."""
    by_model = {
        model: list(entry["by_configuration"].values())
        for model, entry in _further(analysis, "performance_spread").items()
        if entry.get("by_configuration")
    }
    if not by_model:
        return False
    models = sorted(by_model, key=lambda model: -sum(by_model[model]) / len(by_model[model]))
    size(figure, 7.0, 1.5 + 0.34 * len(models))
    axes = figure.subplots()
    for index, model in enumerate(models):
        values = by_model[model]
        axes.plot(values, [index] * len(values), "|", color=GREY, markersize=12)
        axes.plot(sum(values) / len(values), index, "o", color=COLOURS[1], markersize=5)
    axes.plot([], [], "|", color=GREY, label="one configuration")
    axes.plot([], [], "o", color=COLOURS[1], label="mean")
    axes.set_yticks(range(len(models)), labelled(models))
    axes.set_ylim(len(models) - 0.5, -0.5)
    write_words(axes, words, "x")
    legend(figure, axes, 2, words["legend"])
    return True


def _min_max(figure: Figure, analysis: Tree, words: Words) -> bool:
    by_model = analysis["performance"]["by_model"]
    rows = [
        (model, *map(value_of, (ends.get("min"), by_model.get(model), ends.get("max"))))
        for model, ends in analysis["min_max"]["by_model"].items()
    ]
    rows = [row for row in rows if not math.isnan(row[1] + row[3])]
    if not rows:
        return False
    rows.sort(key=lambda row: -row[2] if not math.isnan(row[2]) else 0)
    models, lowest, means, highest = zip(*rows, strict=True)
    size(figure, 7.5, 1.5 + 0.34 * len(rows))
    axes = figure.subplots()
    places = range(len(rows))
    axes.hlines(places, lowest, highest, color=COLOURS[5], linewidth=5)
    for values, marker, shade, label in (
        (lowest, "<", COLOURS[0], "worst configuration"),
        (means, "o", COLOURS[1], "mean (performance)"),
        (highest, ">", COLOURS[0], "best configuration"),
    ):
        axes.plot(values, places, marker, color=shade, label=label, clip_on=False, zorder=3)
    axes.set_yticks(places, labelled(models))
    axes.set(ylim=(len(rows) - 0.5, -0.5), xlim=(0, 1))
    write_words(axes, words, "x")
    legend(figure, axes, 3, words["legend"])
    return True


def _histograms(figure: Figure, analysis: Tree, words: Words, key: str) -> bool:
    """Draw a histogram for each dataset."""
    counts = {n: c for n, c in analysis["difficulty"].get(key, {}).items() if sum(c)}
    if not counts:
        return False
    from matplotlib.ticker import MaxNLocator

    for axes, label, heights in zip(
        panels(figure, len(counts), 4, 2.9, 2.1, (0, 0.7)),
        labelled(list(counts)),
        counts.values(),
        strict=True,
    ):
        width = 1 / len(heights)
        left = [index * width for index in range(len(heights))]
        look: Any = {"color": COLOURS[0], "edgecolor": "white", "linewidth": 0.4}
        axes.bar(left, heights, width=width, align="edge", **look)
        axes.set_xlim(0, 1)
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.set_title(label, fontsize=9)
    figure.suptitle(words["title"], fontsize=10)
    figure.supxlabel(words["xlabel"], fontsize=9)
    figure.supylabel(words["ylabel"], fontsize=9)
    return True


# Bars with points


def _bars_with_points(
    figure: Figure,
    bars: Mapping[str, float],
    points: Mapping[str, Mapping[str, float]],
    words: Words,
    *,
    lines: Sequence[str] | None = None,
    label: str = "all",
) -> bool:
    """Draw a bar for each name, and a point on it for each line; `lines` are of win rates."""
    axes = points_over_bars(figure, bars, points, lines=len(lines or points), bars_label=label)
    if axes is None:
        return False
    if lines is not None:
        even = axes.axvline(1 / len(bars), color=GREY, linestyle=":", linewidth=1)
        even.set_label("all alike")
    axes.set_yticks(range(len(bars)), labelled(list(bars)))
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    write_words(axes, words)
    # An empty entry in the legend: a line without a point is named, never dropped.
    for name in labelled([line for line in lines or () if line not in points]):
        axes.plot([], [], " ", label=f"{name}: no win rate")
    legend(figure, axes, len(lines or points) + (1 if lines is None else 2), words["legend"])
    return True


def _by_dataset(figure: Figure, analysis: Tree, words: Words, measure: str) -> bool:
    """Draw performance or robustness in each dataset, with a point for each model."""
    points = {
        model: _values(entries) for model, entries in analysis[measure]["by_model_dataset"].items()
    }
    bars = dict.fromkeys(all_keys(points.values()), math.nan)
    return _bars_with_points(figure, bars, points, words)


def _open_closed(figure: Figure, analysis: Tree, words: Words) -> bool:
    """Draw performance by dataset of the models with open weights and of the others."""
    points = {
        group: {ALL if name == "all" else name: value for name, value in _values(entries).items()}
        for group, entries in _further(analysis, "open_closed").get("performance", {}).items()
    }
    if len(points) < 2:
        return False
    bars = dict.fromkeys(all_keys(points.values()), math.nan)
    return _bars_with_points(figure, bars, points, words)


def _impact_by_perturbation(figure: Figure, analysis: Tree, words: Words) -> bool:
    """Draw the mean absolute impact of each perturbation, with a point for each dataset."""
    tree = {
        name: _values(entries)
        for name, entries in _further(analysis, "impact_by_perturbation").items()
    }
    bars = {name: entries.pop("all", math.nan) for name, entries in tree.items()}
    points = {
        dataset: {name: entries[dataset] for name, entries in tree.items() if dataset in entries}
        for dataset in all_keys(tree.values())
    }
    return _bars_with_points(figure, bars, points, words)


def _win_rates_by_dataset(figure: Figure, analysis: Tree, words: Words, axis: str) -> bool:
    """Draw the win rates in each dataset, over all models."""
    tree = analysis["win_rates"].get(axis, {})
    points = {
        name: entry["value"]
        for name, entry in tree.get("by_dataset", {}).items()
        if entry.get("value")
    }
    overall = contrasts.overall_winners(tree)["value"] or {}
    bars = {name: overall.get(name, math.nan) for name in all_keys(points.values())}
    return _bars_with_points(figure, bars, points, words)


def _win_rates(figure: Figure, analysis: Tree, words: Words, axis: str) -> bool:
    tree = analysis["win_rates"].get(axis, {})
    overall = contrasts.overall_winners(tree)["value"] or {}
    rates = {name: entry["value"] or {} for name, entry in contrasts.winners_by_model(tree).items()}
    bars = {name: overall.get(name, math.nan) for name in all_keys([overall, *rates.values()])}
    points = {model: model_rates for model, model_rates in rates.items() if model_rates}
    return _bars_with_points(figure, bars, points, words, lines=[*rates], label="all models")


# Impacts and agreement


def _impact_signed(figure: Figure, analysis: Tree, words: Words) -> bool:
    rows = analysis["perturbation_impact"].get("signed_by_model_perturbation", {})
    columns = all_keys(rows.values())
    values = [[value_of(entries.get(name)) for name in columns] for entries in rows.values()]
    reach = max((abs(v) for row in values for v in row if not math.isnan(v)), default=0)
    reach = max(reach, 0.1)  # noise stays pale
    return heat_map(figure, values, list(rows), columns, reach, words)


def _agreement(figure: Figure, analysis: Tree, words: Words) -> bool:
    taus = analysis["dataset_agreement"].get("tau_b", {})
    names = list(taus)
    if len(names) < 2:
        return False
    values = [[value_of(taus[row].get(column)) for column in names] for row in names]
    return heat_map(figure, values, names, names, 1.0, words)


def _impact_absolute(figure: Figure, analysis: Tree, words: Words, by: str) -> bool:
    values = _values(analysis["perturbation_impact"].get(f"absolute_by_{by}", {}))
    return bar_chart(figure, values, words)


def _separability(figure: Figure, analysis: Tree, words: Words) -> bool:
    tree = analysis["separability"]
    both = {"all, pooled": tree["pooled"], "all, equal weights": tree["stratified"]}
    return bar_chart(figure, _values({**tree["by_dataset"], **both}), words, 1.0)


def _kendall_w(figure: Figure, analysis: Tree, words: Words) -> bool:
    return bar_chart(figure, _values(analysis["kendall_w"].get("by_dataset", {})), words, 1.0)


def _w_growth(figure: Figure, analysis: Tree, words: Words) -> bool:
    tree = analysis["w_growth"]
    if whole_reason(tree):
        return False
    lines = {
        name: sorted((float(q), value_of(entry)) for q, entry in entries.items())
        for name, entries in tree.items()
    }
    return line_chart(figure, lines, words, black=WHOLE)


def _configurations_vs_examples(figure: Figure, analysis: Tree, words: Words) -> bool:
    points = analysis["configurations_vs_examples"]
    if whole_reason(points):
        return False
    lines: dict[str, list[tuple[float, float]]] = {}
    datasets: dict[float, list[int]] = {}
    for point in sorted(points, key=lambda point: (int(point["q"]), int(point["e"]))):
        e = float(point["e"])
        lines.setdefault(str(point["q"]), []).append((e, value_of(point["mean_over_datasets"])))
        datasets.setdefault(e, []).append(len(point["by_dataset"]))
    marks = {
        e: f"{e:.0f}\n({'-'.join(map(str, sorted({min(counts), max(counts)})))})"
        for e, counts in datasets.items()
    }
    return line_chart(figure, lines, words, marks=marks)


PLOTS: Mapping[str, Plot] = {
    "performance_robustness": _performance_robustness,
    "performance_by_dataset": partial(_by_dataset, measure="performance"),
    "robustness_by_dataset": partial(_by_dataset, measure="robustness"),
    "performance_spread": _performance_spread,
    "min_max": _min_max,
    "win_rates_serializer": partial(_win_rates, axis="serializer"),
    "win_rates_serializer_by_dataset": partial(_win_rates_by_dataset, axis="serializer"),
    "win_rates_perturbation": partial(_win_rates, axis="perturbation"),
    "win_rates_perturbation_by_dataset": partial(_win_rates_by_dataset, axis="perturbation"),
    "impact_signed": _impact_signed,
    "impact_absolute": partial(_impact_absolute, by="dataset"),
    "impact_absolute_by_model": partial(_impact_absolute, by="model"),
    "impact_absolute_by_perturbation": _impact_by_perturbation,
    "open_closed": _open_closed,
    "separability": _separability,
    "dataset_agreement": _agreement,
    "kendall_w": _kendall_w,
    "w_growth": _w_growth,
    "configurations_vs_examples": _configurations_vs_examples,
    "score_histogram": partial(_histograms, key="score_histogram"),
    "difficulty_histogram": partial(_histograms, key="histogram"),
    "skills": skill_radar,
    "complexity_tokens": map_figure,
    "formats_by_task": formats_figure,
}
"""Every figure by the stem of its files."""
