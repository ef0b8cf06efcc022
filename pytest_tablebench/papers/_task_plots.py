"""Figures of skills, of the complexity of tables, and of formats by task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

from pytest_tablebench.papers._realhit import TASKS
from pytest_tablebench.papers._skills import BEST_SUBTASK, skills_of
from pytest_tablebench.papers.canvas import (
    GREY,
    MARKERS,
    Words,
    colour,
    labelled,
    legend,
    panels,
    size,
    value_of,
    write_words,
)
from pytest_tablebench.papers.structure import MappedTable
from pytest_tablebench.papers.table import Tree, all_keys
from pytest_tablebench.results.figures import plain_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def skill_radar(figure: Figure, analysis: Tree, words: Words) -> bool:
    """Draw a line for each model around its skills; return False for fewer than three skills."""
    by_model = analysis.get("skills") or {}
    skills = skills_of(by_model)
    if len(skills) < 3:
        return False
    angles = [2 * math.pi * index / len(skills) for index in range(len(skills))]
    size(figure, 6.6, 4.8)
    axes = figure.add_subplot(projection="polar")
    for i, (scores, label) in enumerate(
        zip(by_model.values(), labelled(list(by_model)), strict=True)
    ):
        points = [value_of({"value": scores["skills"][BEST_SUBTASK].get(name)}) for name in skills]
        marker, shade = MARKERS[i % len(MARKERS)], colour(i)
        around = [*angles, angles[0]], [*points, points[0]]
        axes.plot(*around, marker=marker, color=shade, label=label, markersize=4)
    axes.set_xticks(angles, labelled(skills))
    axes.set_ylim(0, 1)
    write_words(axes, words)
    legend(figure, axes, len(by_model), words["legend"])
    return True


def map_figure(figure: Figure, analysis: Tree, words: Words) -> bool:
    """Draw tokens of each table across and complexity upwards, coloured by its score of all models.

    A table without a score is grey. Returns False without a map.
    """
    by_model: Mapping[str, Sequence[MappedTable]] = analysis.get("tables") or {}
    by_table: dict[tuple[str, str], list[MappedTable]] = {}
    for tables in by_model.values():
        for table in tables:
            by_table.setdefault((table.dataset, table.table), []).append(table)
    if not by_table:
        return False
    points = [
        (max(same[0].tokens, 1), same[0].complexity, plain_mean(table.score for table in same))
        for same in by_table.values()
    ]
    size(figure, 7.0, 4.6)
    axes = figure.subplots()
    runs = labelled(list(by_model))
    look: dict[str, Any] = {"s": 26, "linewidths": 0.6, "edgecolors": "black"}
    blank = [point for point in points if point[2] is None]
    scored = [point for point in points if point[2] is not None]
    if blank:
        across, up, _ = zip(*blank, strict=True)
        axes.scatter(across, up, color="#BBBBBB", **look)
    if scored:
        across, up, scores = zip(*scored, strict=True)
        drawn = axes.scatter(across, up, c=scores, cmap="viridis", vmin=0, vmax=1, **look)
        score = f"mean score of {len(runs)} runs" if len(runs) > 1 else "mean score"
        figure.colorbar(drawn, ax=axes, label=score)
    sizes = [point[0] for point in points]
    # Whole decades: there are always two that have a label.
    axes.set_xscale("log")
    axes.set_xlim(10 ** floor(log10(min(sizes))) * 0.9, 10 ** ceil(log10(max(sizes) + 1)) * 1.1)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter("")
    axes.set_ylim(-3, 103)
    write_words(axes, words)
    pooled = f"\nmean over the runs {', '.join(runs)}" if len(runs) > 1 else f": {runs[0]}"
    axes.set_title(f"{words['title']}{pooled}", wrap=True)
    axes.grid(alpha=0.3)
    return True


def formats_figure(figure: Figure, analysis: Tree, words: Words) -> bool:
    """Draw a group of bars for each task, a bar for each serializer; False with fewer than two."""
    means_by_run = analysis.get("formats") or {}
    names = all_keys(means_by_run.values())
    rows = [by_task for by_name in means_by_run.values() for by_task in by_name.values()]
    if len(names) < 2 or all(mean is None for by_task in rows for mean in by_task):
        return False
    grid = panels(figure, len(means_by_run), 3, 4.2, 2.4, (1.2, 0.8), sharey=True)
    for axes, title, by_name in zip(
        grid, labelled(list(means_by_run), 56), means_by_run.values(), strict=True
    ):
        _draw_formats(axes, names, by_name)
        axes.set_title(title, fontsize=9)
    figure.suptitle(words["title"], fontsize=10)
    figure.supylabel(words["ylabel"], fontsize=9)
    legend(figure, grid[-1], len(names) + 1, words["legend"])
    return True


def _draw_formats(axes: Axes, names: Sequence[str], by_name: Tree) -> None:
    width = 0.8 / len(names)
    blank = (None,) * len(TASKS)
    for i, (name, label) in enumerate(zip(names, labelled(names), strict=True)):
        left = [group + width * (i + 0.5) - 0.4 for group in range(len(TASKS))]
        heights = [value_of({"value": mean}) for mean in by_name.get(name, blank)]
        axes.bar(left, heights, width=width, color=colour(i), label=label)
        for x, height in zip(left, heights, strict=True):
            if height == 0:
                axes.text(x, 0.01, "0", color=colour(i), ha="center", fontsize=8, in_layout=False)
        gaps = [x for x, height in zip(left, heights, strict=True) if math.isnan(height)]
        axes.plot(gaps, [0.03] * len(gaps), "x", color=GREY, markersize=5)
    axes.plot([], [], "x", color=GREY, label="no score")
    axes.set_xticks(range(len(TASKS)), [task.upper() for task in TASKS])
    axes.set_ylim(0, 1)
    axes.grid(axis="y", alpha=0.3)
