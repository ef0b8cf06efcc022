"""The figures of `tablebench stats`: kinds of questions, sizes, and structure of tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pytest_tablebench.papers.canvas import COLOURS, labelled, legend, size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pytest_tablebench.datasets.statistics import DatasetStatistics

_VALUES = 20
"""Values of a tag in a figure; the files have all."""

_COLUMNS = 3
_BINS = 24


def draw_tags(figure: Figure, statistics: DatasetStatistics) -> bool:
    """Draw questions and tables by the values of each tag; False without tags."""
    tags = {tag: values for tag, values in statistics.tags.items() if values}
    if not tags:
        return False
    lengths = [min(len(values), _VALUES) for values in tags.values()]
    by_row = [max(lengths[row : row + _COLUMNS]) for row in range(0, len(lengths), _COLUMNS)]
    panels = _panels(figure, len(tags), [0.8 + 0.24 * most for most in by_row])
    axes = panels[0]
    for number, (tag, label) in enumerate(zip(tags, labelled(list(tags)), strict=True)):
        axes = panels[number]
        values = list(tags[tag].items())[:_VALUES]
        places = range(len(values))
        for shift, colour, name, counts in (
            (-0.2, COLOURS[0], "questions", [count.questions for _, count in values]),
            (0.2, COLOURS[4], "tables", [count.tables for _, count in values]),
        ):
            axes.barh([place + shift for place in places], counts, 0.4, color=colour, label=name)
        axes.set_yticks(places, labelled([value for value, _ in values], 26), fontsize=8)
        axes.set_ylim(by_row[number // _COLUMNS] - 0.5, -0.5)
        left = len(tags[tag]) - len(values)
        axes.set_title(f"{label}{f' ({left:,} more values)' if left else ''}", fontsize=9)
    figure.suptitle("Questions and tables by kind", fontsize=10)
    legend(figure, axes, 2, "")
    return True


def draw_sizes(figure: Figure, statistics: DatasetStatistics) -> bool:
    """Draw the distribution of each size; return False without any."""
    values = {name: measured for name, measured in statistics.values.items() if measured}
    if not values:
        return False
    panels = _panels(figure, len(values), [2.3] * math.ceil(len(values) / _COLUMNS))
    for axes, (name, measured) in zip(panels, values.items(), strict=False):
        low, high = min(measured), max(measured)
        if low >= 1 and high > 50 * low:
            # Sizes differ by orders of magnitude: every bin is a factor.
            edges = [low * (high / low) ** (place / _BINS) for place in range(_BINS + 1)]
            edges[-1] = high
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter("{x:,.0f}")
            axes.xaxis.set_minor_formatter("")
        else:
            width = max((high - low) / _BINS, 1 / _BINS)
            edges = [low + width * place for place in range(_BINS + 1)]
            edges[-1] = max(edges[-1], high)
        axes.hist(measured, bins=edges, color=COLOURS[0], edgecolor="white", linewidth=0.4)
        axes.set_title(name.replace("_", " "), fontsize=9)
        axes.set_ylabel("questions" if name.endswith("_words") else "tables", fontsize=8)
    figure.suptitle("Sizes of tables and lengths of questions", fontsize=10)
    return True


def draw_structure(figure: Figure, statistics: DatasetStatistics) -> bool:
    """Draw how many tables have each feature, complexity and number of tokens; False without."""
    if not statistics.tables:
        return False
    panels = _panels(figure, 3, [2.8])
    for axes, title, counts in zip(
        panels,
        ("structure", "complexity (of 100)", "tokens"),
        (statistics.features, statistics.complexity, statistics.tokens),
        strict=True,
    ):
        _draw_counts(axes, title, counts, statistics.tables)
    figure.suptitle("Structure, complexity and tokens of tables", fontsize=10)
    return True


def _draw_counts(axes: Axes, title: str, counts: Mapping[str, int], whole: int) -> None:
    names = [name.replace("_", " ") for name in counts]
    axes.barh(range(len(names)), list(counts.values()), color=COLOURS[0])
    for place, count in enumerate(counts.values()):
        axes.text(count, place, f" {count:,}", va="center", fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, whole * 1.15)
    axes.set(xlabel="tables")
    axes.set_title(title, fontsize=9)


def _panels(figure: Figure, count: int, heights: Sequence[float]) -> Sequence[Axes]:
    """Return axes in rows of three. `heights` are the rows' heights in inches."""
    columns = min(_COLUMNS, count)
    size(figure, 3.6 * columns + 1, sum(heights) + 0.5)
    grid = figure.subplots(len(heights), columns, squeeze=False, height_ratios=heights)
    panels = [axes for row in grid for axes in row]
    for axes in panels[count:]:
        axes.set_visible(False)
    return panels[:count]
