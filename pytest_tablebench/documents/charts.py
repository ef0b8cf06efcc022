"""Figures of a run's page, as SVG that the page's style sheet colours.

They consist of four shapes and are drawn here in milliseconds. Every run writes its page at its
end, and a library for figures would take longer than the rest of the page.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from pytest_tablebench.documents.formats import distinct, number

INK, GREY, LINES = "#000000", "#666666", "#b0b0b0"
BLUE, ORANGE, SKY = "#0072b2", "#d55e00", "#56b4e9"
"""Colours, which the style sheet replaces to suit the theme."""

_BARS = 36
_MOST = 400
"""The most examples of a dataset that are drawn."""

Point = tuple[float, float]
Range = tuple[float, float, float]


@dataclass(frozen=True)
class Plot:
    """A figure for a page: `svg` is trusted markup, `text` describes it."""

    title: str
    text: str
    svg: str
    wide: bool = False


class Canvas:
    """An SVG under construction; 72 units are an inch."""

    def __init__(self, width: float, height: float) -> None:
        self._size = width, height
        self._shapes: list[str] = []

    def line(
        self, points: Iterable[Point], stroke: str, width: float = 0.8, dash: str = ""
    ) -> None:
        """Draw a line through points."""
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        drawn = f'stroke="{stroke}" stroke-width="{width}"{dashed}'
        self._shapes.append(f'<path d="{_path(points)}" fill="none" {drawn}/>')

    def area(self, points: Iterable[Point], fill: str, opacity: float = 1.0) -> None:
        """Fill the area within points."""
        self._shapes.append(f'<path d="{_path(points)}z" fill="{fill}" fill-opacity="{opacity}"/>')

    def bar(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        """Fill a rectangle whose upper left corner is at `x`, `y`."""
        self.area([(x, y), (x + width, y), (x + width, y + height), (x, y + height)], fill)

    def text(
        self,
        x: float,
        y: float,
        content: str,
        anchor: str = "middle",
        *,
        size: int = 9,
        up: bool = False,
    ) -> None:
        """Write escaped text; with `up` it reads from below."""
        turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if up else ""
        self._shapes.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{INK}"{turned}>{escape(content)}</text>'
        )

    def svg(self) -> str:
        """Return the element."""
        width, height = self._size
        return f'<svg viewBox="0 0 {width:g} {height:g}">{"".join(self._shapes)}</svg>'


def _path(points: Iterable[Point]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


@dataclass(frozen=True)
class ChartAxes:
    """A frame on a canvas that maps the data between `low` and `high` to its area."""

    canvas: Canvas
    left: float
    top: float
    right: float
    bottom: float
    low: Point = (0.0, 0.0)
    high: Point = (1.0, 1.0)

    def x(self, value: float) -> float:
        """Return the place of a value on the lower axis."""
        share = (value - self.low[0]) / (self.high[0] - self.low[0])
        return self.left + share * (self.right - self.left)

    def y(self, value: float) -> float:
        """Return the place of a value on the left axis."""
        share = (value - self.low[1]) / (self.high[1] - self.low[1])
        return self.bottom - share * (self.bottom - self.top)

    def frame(self, across: Mapping[float, str], up: Mapping[float, str]) -> None:
        """Draw both axes with labels by place."""
        corners = [(self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)]
        self.canvas.line(corners, INK)
        for place, label in across.items():
            x = self.x(place)
            self.canvas.line([(x, self.bottom), (x, self.bottom + 3)], INK)
            self.canvas.text(x, self.bottom + 13, label)
        for place, label in up.items():
            y = self.y(place)
            self.canvas.line([(self.left - 3, y), (self.left, y)], INK)
            self.canvas.text(self.left - 6, y + 3, label, "end")


def name_labels(names: Iterable[str]) -> list[str]:
    """Return names as different labels of about 32 characters."""
    return distinct(names, 32)


def axis_ticks(low: float, high: float, most: int, least: float = 0.0) -> dict[float, str]:
    """Return at most `most` round numbers between two, at least `least` apart."""
    size = 10.0 ** math.floor(math.log10(max((high - low) / most, least, 1e-9)))
    for step in (size, 2 * size, 5 * size, 10 * size):
        first, last = math.ceil(low / step), math.floor(high / step)
        if step >= least and last - first < most:
            break
    return {n * step: f"{n * step:,.4g}" for n in range(first, last + 1)}


def band_plot(ranges: Mapping[str, Sequence[Range]]) -> Plot | None:
    """Draw (lowest, mean, highest) of each example by dataset, sorted by the mean."""
    shown = {name: sorted(values, key=lambda r: (r[1], r)) for name, values in ranges.items()}
    shown = {name: values for name, values in shown.items() if len(values) > 1}
    if not shown:
        return None
    columns = min(5, len(shown))
    rows = math.ceil(len(shown) / columns)
    # As wide as the page, so that the text has the usual size.
    width, tall = (756, 115 if columns > 2 else 151) if columns > 1 else (331, 151)
    canvas = Canvas(width, 30 + tall * rows)
    room = (width - 44) / columns
    for place, (label, values) in enumerate(zip(name_labels(shown), shown.values(), strict=True)):
        left, top = 44 + room * (place % columns), 18 + tall * (place // columns)
        axes = ChartAxes(
            canvas, left, top, left + room - 16, top + tall - 34, (0.0, -0.03), (100.0, 1.03)
        )
        canvas.text((axes.left + axes.right) / 2, top - 5, label)
        _draw_band(axes, _thinned(values))
        sides = {0.0: "0.0", 0.5: "0.5", 1.0: "1.0"} if place % columns == 0 else {}
        axes.frame({0.0: "0", 50.0: "50", 100.0: "100"}, sides)
    canvas.text(44 + (width - 56) / 2, 24 + tall * rows, "examples, sorted by mean score (%)")
    canvas.text(10, 18 + (tall * rows - 34) / 2, "score", up=True)
    text = "Band from the lowest to the highest score of each example, line at its mean"
    title = "Range of each example over its configurations"
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
    for place, (label, (_, value)) in enumerate(zip(labels, ranked, strict=True)):
        top = axes.top + 21 * place
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
    for place, (shade, name) in enumerate(zip((BLUE, ORANGE), positive, strict=False)):
        if len(positive) > 1:
            canvas.bar(180 + 70 * place, 3, 14, 7, shade)
            canvas.text(198 + 70 * place, 10, name, "start", size=8)
    text = ", ".join(
        f"{name}: {min(values):,.4g} to {max(values):,.4g}" for name, values in positive.items()
    )
    return Plot(title, text, canvas.svg())


def _counted(values: Iterable[float], edges: Sequence[float]) -> list[int]:
    tally = Counter(bisect_right(edges, value) for value in values)
    return [tally[place] for place in range(len(edges) + 1)]


def decades(low: float, high: float) -> list[tuple[float, str]]:
    """Return labels of a logarithmic axis: round numbers, or powers of ten over a wide range."""
    if high / low < 12:
        return [(value, label) for value, label in axis_ticks(low, high, 5).items() if value > 0]
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    return [(10.0**n, f"{10.0**n:,.4g}") for n in range(first, last + 1, (last - first) // 7 + 1)]
