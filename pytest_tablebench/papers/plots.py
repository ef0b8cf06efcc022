"""The paper's analyses as figures, each as PNG and SVG (spec: torr_analyses.md).

The colours are Okabe and Ito's; markers or line styles differ as well; maps run from
orange to blue. The same analysis gives the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.papers._charts import bar_chart, heat_map, line_chart
from pytest_tablebench.papers._further_plots import (
    by_dataset,
    impact_by_model,
    impact_by_perturbation,
    kendall_w,
    open_closed,
    performance_spread,
    win_rates_by_dataset,
)
from pytest_tablebench.papers._realhit_serializers import serializer_figure
from pytest_tablebench.papers._skills import skill_radar
from pytest_tablebench.papers._table_map import map_figure
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
    write_figures,
)
from pytest_tablebench.papers.entries import WHOLE, Tree, all_keys, ranked, whole_reason

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_plots(
    analysis: Tree, folder: Path, only: Iterable[str] | None = None
) -> dict[str, list[Path]]:
    """Draw the figures of one benchmark's analysis into `folder`: all of `PLOTS`, or some.

    Returns the files by the figure's name; an empty list for a figure without data.
    """
    names = PLOTS if only is None else only
    return write_figures({name: _of_analysis(PLOTS[name], analysis) for name in names}, folder)


def _of_analysis(draw: Callable[[Figure, Tree], bool], analysis: Tree) -> Callable[[Figure], bool]:
    return lambda figure: draw(figure, analysis)


# Figures


def _performance_robustness(figure: Figure, analysis: Tree) -> bool:
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
    axes.set(xlabel="performance", ylabel="robustness", title="Performance and robustness")
    axes.grid(alpha=0.3)
    legend(figure, axes, len(models), "model")
    return True


def _window(values: Sequence[float]) -> tuple[float, float]:
    """Return the part of 0..1 that contains all values with a margin, at least 0.3 wide."""
    numbers = [value for value in values if not math.isnan(value)]
    width = min(max(max(numbers) - min(numbers) + 0.1, 0.3), 1.0)
    low = min(max((min(numbers) + max(numbers) - width) / 2, 0.0), 1 - width)
    return low, low + width


def _win_rates(axis: str) -> Callable[[Figure, Tree], bool]:
    def draw(figure: Figure, analysis: Tree) -> bool:
        tree = analysis["win_rates"].get(axis, {})
        overall = winners.overall(tree)["value"] or {}
        rates = {name: entry["value"] or {} for name, entry in winners.by_model(tree).items()}
        names = all_keys([overall, *rates.values()])
        if not names:
            return False
        size(figure, 7.5, max(0.42 * len(names) + 1.4, 0.2 * len(rates) + 1))
        axes = figure.subplots()
        places = range(len(names))
        if overall:
            axes.barh(
                places,
                [overall.get(name, math.nan) for name in names],
                color="#C8C8C8",
                height=0.75,
                label="all models",
            )
        shown = [(model, model_rates) for model, model_rates in rates.items() if model_rates]
        # Each model has its own line inside the bar, so that equal rates stay visible.
        for i, ((_, model_rates), label) in enumerate(
            zip(shown, labelled([model for model, _ in shown]), strict=True)
        ):
            shift = 0.6 * ((i + 0.5) / len(shown) - 0.5)
            axes.plot(
                [model_rates.get(name, math.nan) for name in names],
                [place + shift for place in places],
                MARKERS[i % len(MARKERS)],
                color=colour(i),
                label=label,
                markersize=5,
            )
        even = axes.axvline(1 / len(names), color=GREY, linestyle=":", linewidth=1)
        even.set_label("all alike")
        axes.set_yticks(places, labelled(names))
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set(xlabel="win rate (share of strict wins, averaged over examples)", ylabel=axis)
        axes.set_title(f"Win rates of {axis}s")
        undefined = [model for model in rates if not rates[model]]
        if undefined:
            # An empty entry in the legend: a model without a rate is named, never dropped.
            for label in labelled(undefined):
                axes.plot([], [], " ", label=f"{label}: no win rate")
        legend(figure, axes, len(rates) + 2, "model")
        return True

    return draw


def _impact_signed(figure: Figure, analysis: Tree) -> bool:
    rows = analysis["perturbation_impact"].get("signed_by_model_perturbation", {})
    columns = all_keys(rows.values())
    values = [[value_of(entries.get(name)) for name in columns] for entries in rows.values()]
    reach = max((abs(v) for row in values for v in row if not math.isnan(v)), default=0)
    reach = max(reach, 0.1)  # noise stays pale
    words = {"xlabel": "perturbation", "ylabel": "model", "title": "Impact of perturbations"}
    unit = "score - score by perturbation none"
    return heat_map(figure, values, list(rows), columns, reach, unit, **words)


def _agreement(figure: Figure, analysis: Tree) -> bool:
    taus = analysis["dataset_agreement"].get("tau_b", {})
    names = list(taus)
    if len(names) < 2:
        return False
    values = [[value_of(taus[row].get(column)) for column in names] for row in names]
    title = f"Agreement of datasets on the ranking of {ranked(analysis)}"
    words = {"xlabel": "dataset", "ylabel": "dataset", "title": title}
    return heat_map(figure, values, names, names, 1.0, "Kendall's tau-b", **words)


def _impact_absolute(figure: Figure, analysis: Tree) -> bool:
    by_dataset = analysis["perturbation_impact"].get("absolute_by_dataset", {})
    values = {name: value_of(entry) for name, entry in by_dataset.items()}
    unit = "mean |score - score by perturbation none|, all models"
    return bar_chart(figure, values, "Mean absolute impact of perturbations", unit, None)


def _separability(figure: Figure, analysis: Tree) -> bool:
    tree = analysis["separability"]
    values = {name: value_of(entry) for name, entry in tree["by_dataset"].items()}
    values["all, pooled"] = value_of(tree["pooled"])
    values["all, equal weights"] = value_of(tree["stratified"])
    unit = "share of model pairs with separate 95 % intervals"
    return bar_chart(figure, values, "Separability of models", unit, 1.0)


def _w_growth(figure: Figure, analysis: Tree) -> bool:
    tree = analysis["w_growth"]
    if whole_reason(tree):
        return False
    lines = {
        name: sorted((float(q), value_of(entry)) for q, entry in entries.items())
        for name, entries in tree.items()
    }
    title = f"Agreement of sets of configurations on the ranking of {ranked(analysis)}"
    unit = "configurations in a set (q)"
    return line_chart(figure, lines, title, unit, "dataset", black=WHOLE)


def _points(figure: Figure, analysis: Tree) -> bool:
    points = analysis["configurations_vs_examples"]
    if whole_reason(points):
        return False
    lines: dict[str, list[tuple[float, float]]] = {}
    datasets: dict[float, list[int]] = {}
    for point in sorted(points, key=lambda point: (int(point["q"]), int(point["e"]))):
        e = float(point["e"])
        lines.setdefault(str(point["q"]), []).append((e, value_of(point["mean_over_datasets"])))
        datasets.setdefault(e, []).append(len(point["by_dataset"]))
    title = "Configurations versus examples (mean over datasets)"
    unit = "examples per dataset (e), and the number of datasets that have so many"
    marks = {
        e: f"{e:.0f}\n({'-'.join(map(str, sorted({min(counts), max(counts)})))})"
        for e, counts in datasets.items()
    }
    return line_chart(figure, lines, title, unit, "configurations (q)", marks=marks)


def _histograms(key: str, title: str, unit: str, counted: str) -> Callable[[Figure, Tree], bool]:
    def draw(figure: Figure, analysis: Tree) -> bool:
        counts = {n: c for n, c in analysis["difficulty"].get(key, {}).items() if sum(c)}
        if not counts:
            return False
        columns = min(4, len(counts))
        rows = math.ceil(len(counts) / columns)
        from matplotlib.ticker import MaxNLocator

        size(figure, 2.9 * columns, 2.1 * rows + 0.7)
        grid = figure.subplots(rows, columns, squeeze=False)
        for i, (label, heights) in enumerate(
            zip(labelled(list(counts)), counts.values(), strict=True)
        ):
            axes = grid[i // columns][i % columns]
            width = 1 / len(heights)
            left = [j * width for j in range(len(heights))]
            axes.bar(
                left,
                heights,
                width=width,
                align="edge",
                color=COLOURS[0],
                edgecolor="white",
                linewidth=0.4,
            )
            axes.set_xlim(0, 1)
            axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
            axes.set_title(label, fontsize=9)
        for i in range(len(counts), rows * columns):
            grid[i // columns][i % columns].set_visible(False)
        figure.suptitle(title, fontsize=10)
        figure.supxlabel(unit, fontsize=9)
        figure.supylabel(counted, fontsize=9)
        return True

    return draw


def _min_max(figure: Figure, analysis: Tree) -> bool:
    ranges = analysis["min_max"]["by_model"]
    performance = analysis["performance"]["by_model"]
    rows = [
        (
            model,
            value_of(extremes.get("min")),
            value_of(performance.get(model)),
            value_of(extremes.get("max")),
        )
        for model, extremes in ranges.items()
    ]
    rows = [row for row in rows if not math.isnan(row[1] + row[3])]
    if not rows:
        return False
    rows.sort(key=lambda row: -row[2] if not math.isnan(row[2]) else 0)
    size(figure, 7.5, 1.5 + 0.34 * len(rows))
    axes = figure.subplots()
    places = range(len(rows))
    axes.hlines(
        places, [row[1] for row in rows], [row[3] for row in rows], color=COLOURS[5], linewidth=5
    )
    for column, marker, label in (
        (1, "<", "worst configuration"),
        (2, "o", "mean (performance)"),
        (3, ">", "best configuration"),
    ):
        shade = COLOURS[1] if column == 2 else COLOURS[0]
        values = [row[column] for row in rows]
        axes.plot(values, places, marker, color=shade, label=label, clip_on=False, zorder=3)
    axes.set_yticks(places, labelled([row[0] for row in rows]))
    axes.set(ylim=(len(rows) - 0.5, -0.5), xlim=(0, 1), ylabel="model")
    axes.set(
        xlabel="score, mean over examples", title="Range over the configurations of an example"
    )
    axes.grid(axis="x", alpha=0.3)
    legend(figure, axes, 3, "of each example")
    return True


PLOTS: Mapping[str, Callable[[Figure, Tree], bool]] = {
    "performance_robustness": _performance_robustness,
    "performance_by_dataset": by_dataset("performance"),
    "robustness_by_dataset": by_dataset("robustness"),
    "performance_spread": performance_spread,
    "min_max": _min_max,
    "win_rates_serializer": _win_rates("serializer"),
    "win_rates_serializer_by_dataset": win_rates_by_dataset("serializer"),
    "win_rates_perturbation": _win_rates("perturbation"),
    "win_rates_perturbation_by_dataset": win_rates_by_dataset("perturbation"),
    "impact_signed": _impact_signed,
    "impact_absolute": _impact_absolute,
    "impact_absolute_by_model": impact_by_model,
    "impact_absolute_by_perturbation": impact_by_perturbation,
    "open_closed": open_closed,
    "separability": _separability,
    "dataset_agreement": _agreement,
    "kendall_w": kendall_w,
    "w_growth": _w_growth,
    "configurations_vs_examples": _points,
    "score_histogram": _histograms(
        "score_histogram", "Scores of all models and configurations", "score", "cases"
    ),
    "difficulty_histogram": _histograms(
        "histogram",
        "Difficulty of examples",
        "mean score over all models and configurations",
        "examples",
    ),
    "skills": skill_radar,
    "complexity_tokens": map_figure,
    "formats_by_task": serializer_figure,
}
"""Every figure by the stem of its files."""
