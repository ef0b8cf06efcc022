"""The charts of pages, by the kinds that a document names."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import number
from pytest_tablebench.documents.svg import (
    BLUE,
    GREY,
    INK,
    ORANGE,
    SKY,
    Canvas,
    ChartAxes,
    Plot,
    axis_ticks,
    decades,
    name_labels,
)

Range = tuple[float, float, float]

_BARS = 36
_MOST = 400
"""The most examples of a dataset that are drawn."""


def band_plot(title: str, ranges: Mapping[str, Sequence[Range]]) -> Plot | None:
    """Draw (lowest, mean, highest) of each example by dataset, sorted by the mean."""
    ranges_of = {name: sorted(values, key=lambda r: (r[1], r)) for name, values in ranges.items()}
    ranges_of = {name: values for name, values in ranges_of.items() if len(values) > 1}
    if not ranges_of:
        return None
    columns = min(5, len(ranges_of))
    rows = math.ceil(len(ranges_of) / columns)
    # As wide as the page, so that the text has the usual size.
    width, tall = (756, 115 if columns > 2 else 151) if columns > 1 else (331, 151)
    canvas = Canvas(width, 30 + tall * rows)
    room = (width - 44) / columns
    for index, (label, values) in enumerate(
        zip(name_labels(ranges_of), ranges_of.values(), strict=True)
    ):
        left, top = 44 + room * (index % columns), 18 + tall * (index // columns)
        axes = ChartAxes(
            canvas, left, top, left + room - 16, top + tall - 34, (0.0, -0.03), (100.0, 1.03)
        )
        canvas.text((axes.left + axes.right) / 2, top - 5, label)
        _draw_band(axes, _thinned(values))
        sides = {0.0: "0.0", 0.5: "0.5", 1.0: "1.0"} if index % columns == 0 else {}
        axes.frame({0.0: "0", 50.0: "50", 100.0: "100"}, sides)
    canvas.text(44 + (width - 56) / 2, 24 + tall * rows, "examples, sorted by mean score (%)")
    canvas.text(10, 18 + (tall * rows - 34) / 2, "score", up=True)
    text = "Band from the lowest to the highest score of each example, line at its mean"
    return Plot(title, text, canvas.svg(), columns > 1)


def _draw_band(axes: ChartAxes, bands: Sequence[Range]) -> None:
    edges = [axes.x(100 * n / len(bands)) for n in range(len(bands) + 1)]
    steps = [
        [(x, axes.y(band[side])) for n, band in enumerate(bands) for x in (edges[n], edges[n + 1])]
        for side in (0, 2)
    ]
    axes.canvas.area([*steps[0], *reversed(steps[1])], SKY, 0.45)
    middles = [axes.x(100 * (n + 0.5) / len(bands)) for n in range(len(bands))]
    means = [(x, axes.y(band[1])) for x, band in zip(middles, bands, strict=True)]
    axes.canvas.line(means, BLUE, 1.6)


def _thinned(bands: Sequence[Range]) -> Sequence[Range]:
    """Return at most `_MOST` evenly spaced bands."""
    if len(bands) <= _MOST:
        return bands
    return [bands[i * (len(bands) - 1) // (_MOST - 1)] for i in range(_MOST)]


def win_rate_plot(title: str, rates: Mapping[str, float]) -> Plot | None:
    """Draw a bar for each name, and a line at the rate of equal names."""
    if len(rates) < 2:
        return None
    ranked = sorted(rates.items(), key=lambda entry: (-entry[1], entry[0]))
    labels = name_labels(name for name, _ in ranked)
    height = 21 * len(ranked)
    canvas = Canvas(331, height + 44)
    left = min(190.0, 14 + 5.8 * max(map(len, labels)))
    highest = max(1.14 * ranked[0][1], 1.14 / len(ranked))
    axes = ChartAxes(canvas, left, 8, 323, 8 + height, (0.0, 0.0), (highest, 1.0))
    for index, (label, (_, value)) in enumerate(zip(labels, ranked, strict=True)):
        top = axes.top + 21 * index
        canvas.bar(axes.left, top + 3.5, axes.x(value) - axes.left, 14, BLUE)
        canvas.text(axes.left - 6, top + 13.5, label, "end")
        canvas.text(axes.x(value) + 4, top + 13.5, number(value), "start", size=8)
    even_rate = axes.x(1 / len(ranked))
    canvas.line([(even_rate, axes.top), (even_rate, axes.bottom)], GREY, 1, "4 2")
    axes.frame(axis_ticks(0, highest, 5), {})
    canvas.text((axes.left + axes.right) / 2, height + 38, "win rate (dashed: all alike)")
    best, worst = ranked[0], ranked[-1]
    text = f"highest {best[0]} {number(best[1])}, lowest {worst[0]} {number(worst[1])}"
    return Plot(title, text, canvas.svg())


def histogram_plot(title: str, unit: str, series: Mapping[str, Sequence[float]]) -> Plot | None:
    """Draw histograms of positive numbers over a logarithmic axis."""
    positive = {name: [v for v in values if 0 < v < math.inf] for name, values in series.items()}
    positive = {name: values for name, values in positive.items() if values}
    if not positive:
        return None
    low = min(map(min, positive.values())) / 1.05
    high = max(map(max, positive.values())) * 1.05
    start, width = math.log10(low), (math.log10(high) - math.log10(low)) / _BARS
    edges = [10 ** (start + width * n) for n in range(1, _BARS)]
    counts = {name: _counted(values, edges) for name, values in positive.items()}
    most = max(map(max, counts.values()))
    canvas = Canvas(331, 166)
    axes = ChartAxes(canvas, 46, 18, 323, 130, (0.0, 0.0), (_BARS, 1.05 * most))
    for shade, heights in zip((BLUE, ORANGE), counts.values(), strict=False):
        tops = [(axes.x(n + side), axes.y(c)) for n, c in enumerate(heights) for side in (0, 1)]
        canvas.area([(axes.left, axes.bottom), *tops, (axes.right, axes.bottom)], shade, 0.75)
    across = {(math.log10(value) - start) / width: label for value, label in decades(low, high)}
    axes.frame(across, axis_ticks(0, most, 5, 1.0))
    canvas.text((axes.left + axes.right) / 2, 160, unit)
    canvas.text(10, 74, "cases", up=True)
    for index, (shade, name) in enumerate(zip((BLUE, ORANGE), positive, strict=False)):
        if len(positive) > 1:
            canvas.bar(180 + 70 * index, 3, 14, 7, shade)
            canvas.text(198 + 70 * index, 10, name, "start", size=8)
    text = ", ".join(
        f"{name}: {min(values):,.4g} to {max(values):,.4g}" for name, values in positive.items()
    )
    return Plot(title, text, canvas.svg())


def _counted(values: Iterable[float], edges: Sequence[float]) -> list[int]:
    tally = Counter(bisect_right(edges, value) for value in values)
    return [tally[index] for index in range(len(edges) + 1)]


def price_plot(title: str, places: Mapping[str, tuple[float, Estimate]], unit: str) -> Plot | None:
    """Draw price and score of settings over a logarithmic axis of prices in a unit."""
    if len(places) < 2:
        return None
    ordered = sorted(
        ((name[:20], price, score.value or 0.0, score) for name, (price, score) in places.items()),
        key=lambda point: point[1],
    )
    low, high = ordered[0][1] / 1.4, ordered[-1][1] * 1.4
    start, end = math.log10(low), math.log10(high)
    canvas = Canvas(331, 186)
    axes = ChartAxes(canvas, 46, 18, 323, 150, (start, -0.03), (end, 1.03))
    points = [(axes.x(math.log10(price)), axes.y(value)) for _, price, value, _ in ordered]
    canvas.line(points, BLUE, 1.0, "4 2")
    for (name, _, value, score), (x, y) in zip(ordered, points, strict=True):
        canvas.line([(x, axes.y(end)) for end in score.interval or (value, value)], INK, 1.0)
        canvas.bar(x - 3, y - 3, 6, 6, BLUE)
        canvas.text(x + 6, y - 5, name, "start", size=8)
    across = {math.log10(value): label for value, label in decades(low, high)}
    axes.frame(across, {0.0: "0.0", 0.5: "0.5", 1.0: "1.0"})
    canvas.text((axes.left + axes.right) / 2, 180, unit)
    canvas.text(10, 84, "score", up=True)
    text = ", ".join(f"{name}: {number(v)} at {price:,.4g}" for name, price, v, _ in ordered)
    return Plot(title, f"{text} ({unit})", canvas.svg())


def sequence_plot(
    title: str,
    *,
    points: Sequence[tuple[int, float]],
    band: Sequence[tuple[int, float, float, float]],
    reach: float,
    looks: int,
    ends: tuple[str, str],
    alarm: int | None,
    versions: Sequence[tuple[int, str]],
) -> Plot | None:
    """Draw changes at numbered looks, and their mean so far in a band that holds at every look.

    Arguments:
        title: the measure.
        points: look and change.
        band: look, and the low end, mean and high end of all looks so far.
        reach: the largest change on the axis, up and down.
        looks: the number of all looks.
        ends: the days of the first and the last look.
        alarm: the look at which a change was certain; None without one.
        versions: look, and the version that the provider gave from then on.
    """
    if not points:
        return None
    canvas = Canvas(756, 250)
    axes = ChartAxes(canvas, 52, 12, 716, 220, (1.0, -reach), (max(2.0, looks), reach))

    def at(look: int, change: float) -> tuple[float, float]:
        return axes.x(look), axes.y(max(-reach, min(reach, change)))

    low, mean, high = ([at(entry[0], entry[end]) for entry in band] for end in (1, 2, 3))
    canvas.area([*high, *reversed(low)], SKY, 0.45)
    canvas.line([(axes.left, axes.y(0)), (axes.right, axes.y(0))], GREY, 0.8)
    canvas.line(mean, BLUE, 1.6)
    for x, y in (at(*point) for point in points):
        canvas.area([(x - 2.5, y), (x, y - 2.5), (x + 2.5, y), (x, y + 2.5)], INK, 0.6)
    for look, version in versions:
        x = axes.x(look)
        canvas.line([(x, axes.top), (x, axes.bottom)], GREY, 0.9, "3 4")
        canvas.text(x + 3, axes.top + 8, version[:24], "start", size=8)
    if alarm is not None:
        canvas.line([(axes.x(alarm), axes.top), (axes.x(alarm), axes.bottom)], ORANGE, 2)
    axes.frame(
        {1.0: ends[0], float(max(2, looks)): ends[1]},
        {part * reach: f"{part * reach:+.2f}" for part in (-1, -0.5, 0, 0.5, 1)},
    )
    last = band[-1]
    text = f"at look {last[0]}: mean {last[2]:+.3f}, 95 % from {last[1]:+.3f} to {last[3]:+.3f}"
    return Plot(title, text, canvas.svg(), wide=True)


_COLOURS = (BLUE, ORANGE, "#009e73", "#cc79a7", "#e69f00", SKY)
_DASHES = ("", "6 3", "2 2", "8 2 2 2")
_WIDTH, _TALL, _ROW = 331.0, 150.0, 14.0
_NARROWEST = 0.2
"""The smallest height of a chart of shares, so that noise stays small."""


def history_plot(
    title: str,
    lines: Mapping[str, Mapping[int, Estimate]],
    dates: Sequence[str],
    columns: Sequence[int],
    changes: Mapping[int, Sequence[int]],
    *,
    is_share: bool = True,
) -> Plot | None:
    """Draw a measure of one panel; None without any figure.

    Arguments:
        title: the measure.
        lines: by model, its figures by number of the run, with a colour and dashes of their own.
        dates: the date of every run of the history, for the labels below.
        columns: the column of every run; runs of several models on one day share a column.
        changes: by number of a run, the numbers of the changes before it.
        is_share: whether the figures are shares from 0 to 1; otherwise they start at 0.
    """
    runs = sorted({run for line in lines.values() for run in line})
    if not runs:
        return None
    used_columns = sorted({columns[run] for run in runs})
    places = {run: used_columns.index(columns[run]) for run in runs}
    low, high = _range([f for line in lines.values() for f in line.values()], is_share=is_share)
    rows = len(lines) if len(lines) > 1 else 0
    canvas = Canvas(_WIDTH, _TALL + 36 + _ROW * rows)
    margin = 0.5 if len(used_columns) > 1 else 1.0
    axes = ChartAxes(
        *(canvas, 44.0, 20.0, _WIDTH - 10, _TALL),
        low=(-margin, low),
        high=(len(used_columns) - 1 + margin, high),
    )
    step = -(-len(used_columns) // 4)
    across = {float(places[run]): dates[run] for run in runs if places[run] % step == 0}
    axes.frame(across, axis_ticks(low, high, 6))
    _draw_changes(axes, places, changes)
    for row, (label, line) in enumerate(zip(name_labels(lines), lines.values(), strict=True)):
        colour, dash = _COLOURS[row % len(_COLOURS)], _DASHES[row // len(_COLOURS) % len(_DASHES)]
        shift = 0.3 * ((row + 0.5) / len(lines) - 0.5)
        _draw_line(axes, [(places[run] + shift, f) for run, f in line.items()], colour, dash)
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
    for position, labels in by_place.items():
        if labels:
            x = axes.x(position - 0.5)
            axes.canvas.line([(x, axes.top), (x, axes.bottom)], GREY, 0.9, "3 2")
            first, last = min(labels), max(labels)
            label = str(first) if first == last else f"{first}-{last}"
            axes.canvas.text(x, axes.top - 5, label, size=8)


def _draw_line(
    axes: ChartAxes, points: Sequence[tuple[float, Estimate]], colour: str, dash: str
) -> None:
    for position, figure in points:
        if figure.low is not None and figure.high is not None:
            x = axes.x(position)
            ends = axes.y(figure.low), axes.y(figure.high)
            axes.canvas.line([(x, ends[0]), (x, ends[1])], colour, 1)
            for y in ends:
                axes.canvas.line([(x - 2.5, y), (x + 2.5, y)], colour, 1)
    middles = [(axes.x(position), axes.y(figure.value or 0.0)) for position, figure in points]
    if len(middles) > 1:
        axes.canvas.line(middles, colour, 1.6, dash)
    for x, y in middles:
        axes.canvas.area([(x - 3, y), (x, y - 3), (x + 3, y), (x, y + 3)], colour)


def _described(lines: Mapping[str, Mapping[int, Estimate]], dates: Sequence[str]) -> str:
    """Return the first and last figure of each line as text."""
    texts = []
    for model, line in lines.items():
        runs = list(line)
        ends = (f"{number(line[run].value)} ({dates[run]})" for run in runs[:: len(runs) - 1 or 1])
        texts.append(f"{model}: {' to '.join(ends)}")
    return "; ".join(texts)


CHARTS: Mapping[str, Callable[..., Plot | None]] = {
    "bands": band_plot,
    "bars": win_rate_plot,
    "drawn": lambda _, plot: plot,  # by matplotlib
    "histogram": histogram_plot,
    "prices": price_plot,
    "history": history_plot,
    "sequence": sequence_plot,
}


def draw(chart: doc.Chart) -> Plot | None:
    """Draw a chart of a document; None if its data are too few."""
    return CHARTS[chart.kind](chart.title, **chart.data)
