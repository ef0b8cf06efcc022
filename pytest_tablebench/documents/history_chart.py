"""Charts of a history: a measure over the runs, with intervals and numbered changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.documents._canvas import (
    BLUE,
    GREY,
    ORANGE,
    SKY,
    Canvas,
    ChartAxes,
    Plot,
    axis_ticks,
    name_labels,
)
from pytest_tablebench.documents.formats import number

_COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", "#e69f00", SKY)
_DASHES = ("", "6 3", "2 2", "8 2 2 2")
_WIDTH, _TALL, _ROW = 331.0, 150.0, 14.0
_NARROWEST = 0.2
"""The smallest height of a chart of shares, so that noise stays small."""


@dataclass(frozen=True)
class PlottedLine:
    """The figures of one model by number of the run."""

    model: str
    figures: Mapping[int, Estimate]


def history_plot(
    title: str,
    lines: Sequence[PlottedLine],
    dates: Sequence[str],
    columns: Sequence[int],
    changes: Mapping[int, Sequence[int]],
    *,
    is_share: bool = True,
) -> Plot | None:
    """Draw a measure of one panel; None without any figure.

    Arguments:
        title: the measure.
        lines: at least one, each with its own colour and dashes.
        dates: the date of every run of the history, for the labels below.
        columns: the column of every run; runs of several models on one day share a column.
        changes: by number of a run, the numbers of the changes before it.
        is_share: whether the figures are shares from 0 to 1; otherwise they start at 0.
    """
    shown = sorted({run for line in lines for run in line.figures})
    if not shown:
        return None
    used_columns = sorted({columns[run] for run in shown})
    places = {run: used_columns.index(columns[run]) for run in shown}
    low, high = _range([f for line in lines for f in line.figures.values()], is_share=is_share)
    rows = len(lines) if len(lines) > 1 else 0
    canvas = Canvas(_WIDTH, _TALL + 36 + _ROW * rows)
    margin = 0.5 if len(used_columns) > 1 else 1.0
    axes = ChartAxes(
        *(canvas, 44.0, 20.0, _WIDTH - 10, _TALL),
        low=(-margin, low),
        high=(len(used_columns) - 1 + margin, high),
    )
    step = -(-len(used_columns) // 4)
    across = {float(places[run]): dates[run] for run in shown if places[run] % step == 0}
    axes.frame(across, axis_ticks(low, high, 6))
    _draw_changes(axes, places, changes)
    for row, (label, line) in enumerate(
        zip(name_labels(line.model for line in lines), lines, strict=True)
    ):
        colour, dash = _COLOURS[row % len(_COLOURS)], _DASHES[row // len(_COLOURS) % len(_DASHES)]
        shift = 0.3 * ((row + 0.5) / len(lines) - 0.5)
        _draw_line(
            axes, [(places[run] + shift, f) for run, f in line.figures.items()], colour, dash
        )
        if rows:
            y = _TALL + 32 + _ROW * row
            canvas.line([(44, y), (68, y)], colour, 1.6, dash)
            canvas.text(74, y + 3, label, "start")
    return Plot(title, _described(lines, dates), canvas.svg())


def _range(figures: Sequence[Estimate], *, is_share: bool) -> tuple[float, float]:
    """Return the lowest and highest value of the axis."""
    values = [v for f in figures for v in (f.value, f.low, f.high) if v is not None]
    if not is_share:
        return 0.0, 1.1 * max(values) or 1.0
    low, high = min(values), max(values)
    room = max(0.05 * (high - low), (_NARROWEST - (high - low)) / 2)
    return max(0.0, low - room), min(1.0, high + room)


def _draw_changes(
    axes: ChartAxes, places: Mapping[int, int], changes: Mapping[int, Sequence[int]]
) -> None:
    """Draw a dashed line before each column with changes, with their numbers above."""
    by_place: dict[int, set[int]] = {}
    for run, numbers in changes.items():
        if run in places:
            by_place.setdefault(places[run], set()).update(numbers)
    for place, labels in by_place.items():
        if labels:
            x = axes.x(place - 0.5)
            axes.canvas.line([(x, axes.top), (x, axes.bottom)], GREY, 0.9, "3 2")
            first, last = min(labels), max(labels)
            label = str(first) if first == last else f"{first}-{last}"
            axes.canvas.text(x, axes.top - 5, label, size=8)


def _draw_line(
    axes: ChartAxes, points: Sequence[tuple[float, Estimate]], colour: str, dash: str
) -> None:
    for place, figure in points:
        if figure.low is not None and figure.high is not None:
            x = axes.x(place)
            ends = axes.y(figure.low), axes.y(figure.high)
            axes.canvas.line([(x, ends[0]), (x, ends[1])], colour, 1)
            for y in ends:
                axes.canvas.line([(x - 2.5, y), (x + 2.5, y)], colour, 1)
    middles = [(axes.x(place), axes.y(figure.value or 0.0)) for place, figure in points]
    if len(middles) > 1:
        axes.canvas.line(middles, colour, 1.6, dash)
    for x, y in middles:
        axes.canvas.area([(x - 3, y), (x, y - 3), (x + 3, y), (x, y + 3)], colour)


def _described(lines: Sequence[PlottedLine], dates: Sequence[str]) -> str:
    """Return the first and last figure of each line as text."""
    texts = []
    for line in lines:
        runs = list(line.figures)
        first, last = (
            f"{number(line.figures[run].value)} ({dates[run]})" for run in (runs[0], runs[-1])
        )
        texts.append(f"{line.model}: {first if len(runs) == 1 else f'{first} to {last}'}")
    return "; ".join(texts)
