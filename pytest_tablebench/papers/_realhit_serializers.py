"""Scores of each serializer by task: RealHiTBench's Figure 4, as a table and as a figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.papers._realhit import BENCHMARK, TASKS, task_mean
from pytest_tablebench.papers.canvas import GREY, colour, labelled, legend, size, value_of
from pytest_tablebench.papers.entries import all_keys
from pytest_tablebench.papers.runs import runs_by_mode
from pytest_tablebench.papers.text import PaperTable, Value
from pytest_tablebench.results.run import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SerializerMeans = Mapping[str, Mapping[str, Mapping[str, float | None]]]
"""Means by run, serializer and task."""

_COLUMNS = 3


def serializer_means(runs: Sequence[Run], benchmark: str) -> SerializerMeans:
    """Return the mean of each task by run and serializer; empty for other benchmarks."""
    if benchmark != BENCHMARK:
        return {}
    return {
        run.model: {
            name: {
                task: task_mean([row for row in run.rows if row.serializer == name], task)
                for task in TASKS
            }
            for name in dict.fromkeys(row.serializer for row in run.rows)
        }
        for run in runs_by_mode(runs, benchmark)
    }


def serializer_tables(means_by_run: SerializerMeans) -> list[PaperTable]:
    """Return the table of the figure; none without runs."""
    if not means_by_run:
        return []
    rows: list[tuple[Value, ...]] = [
        (model, name, *map(tasks.get, TASKS))
        for model, by_name in means_by_run.items()
        for name, tasks in by_name.items()
    ]
    return [
        PaperTable(
            "formats_by_task",
            "Scores of each format by task (the paper's Figure 4)",
            ("model", "format", *TASKS),
            tuple(rows),
            notes=(
                "a task's score is the mean of its two figures; the figures that the paper drew "
                "are not printed in it",
            ),
        )
    ]


def serializer_figure(figure: Figure, analysis: Mapping[str, Any]) -> bool:
    """Draw a group of bars for each task, a bar for each serializer; False with fewer than two."""
    means_by_run: SerializerMeans = analysis.get("formats") or {}
    names = all_keys(means_by_run.values())
    scores = [tasks.values() for by_name in means_by_run.values() for tasks in by_name.values()]
    if len(names) < 2 or all(score is None for tasks in scores for score in tasks):
        return False
    columns = min(_COLUMNS, len(means_by_run))
    rows = math.ceil(len(means_by_run) / columns)
    size(figure, 4.2 * columns + 1.2, 2.4 * rows + 0.8)
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    width = 0.8 / len(names)
    axes = grid[0][0]
    for place, (title, by_name) in enumerate(
        zip(labelled(list(means_by_run), 56), means_by_run.values(), strict=True)
    ):
        axes = grid[place // columns][place % columns]
        for number, (name, label) in enumerate(zip(names, labelled(names), strict=True)):
            tasks = by_name.get(name, {})
            left = [group + width * (number + 0.5) - 0.4 for group in range(len(TASKS))]
            heights = [value_of({"value": tasks.get(task)}) for task in TASKS]
            shade = colour(number)
            axes.bar(left, heights, width=width, color=shade, label=label)
            zeros = [x for x, mean in zip(left, heights, strict=True) if mean == 0]
            gaps = [x for x, mean in zip(left, heights, strict=True) if math.isnan(mean)]
            for x in zeros:
                axes.text(x, 0.01, "0", color=shade, ha="center", fontsize=8, in_layout=False)
            axes.plot(gaps, [0.03] * len(gaps), "x", color=GREY, markersize=5)
        axes.plot([], [], "x", color=GREY, label="no score")
        axes.set_xticks(range(len(TASKS)), [task.upper() for task in TASKS])
        axes.set_ylim(0, 1)
        axes.set_title(title, fontsize=9)
        axes.grid(axis="y", alpha=0.3)
    for place in range(len(means_by_run), rows * columns):
        grid[place // columns][place % columns].set_visible(False)
    figure.suptitle("Scores of each format by task", fontsize=10)
    figure.supylabel("mean of the task's two figures", fontsize=9)
    legend(figure, axes, len(names) + 1, "format")
    return True
