"""Figures as SVG that the page's style sheet colours: drawn on a canvas, or by matplotlib.

A canvas draws in milliseconds. Every run writes its page at its end, and a library for figures
would take longer than the rest of the page. The page's policy forbids style attributes, and these
could not follow a dark theme. So styles of matplotlib become presentation attributes, and the style
sheet replaces each colour.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from pytest_tablebench.documents.formats import distinct

INK, GREY, LINES = "#000000", "#666666", "#b0b0b0"
BLUE, ORANGE, SKY = "#0072b2", "#d55e00", "#56b4e9"
"""Colours, which the style sheet replaces to suit the theme."""

Point = tuple[float, float]


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
        for value, label in across.items():
            x = self.x(value)
            self.canvas.line([(x, self.bottom), (x, self.bottom + 3)], INK)
            self.canvas.text(x, self.bottom + 13, label)
        for value, label in up.items():
            y = self.y(value)
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


def decades(low: float, high: float) -> list[tuple[float, str]]:
    """Return labels of a logarithmic axis: round numbers, or powers of ten over a wide range."""
    if high / low < 12:
        return [(value, label) for value, label in axis_ticks(low, high, 5).items() if value > 0]
    first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
    return [(10.0**n, f"{10.0**n:,.4g}") for n in range(first, last + 1, (last - first) // 7 + 1)]


_STYLE = re.compile(r' style="([^"<>]*)"')
_KEPT = {
    "fill",
    "fill-opacity",
    "fill-rule",
    "font-size",
    "opacity",
    "stroke",
    "stroke-dasharray",
    "stroke-dashoffset",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
}


def inline_svg(source: str, *, sized: bool = False) -> str:
    """Return matplotlib's SVG as an element that the page's policy allows.

    With `sized` it keeps its width, else it is as wide as its card.
    """
    body = source[source.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", body, flags=re.S)
    size = r'\1 width="\2"' if sized else r"\1"
    body = re.sub(r'(<svg[^>]*?) width="([\d.]*)[^"]*" height="[^"]*"', size, body, count=1)
    body = re.sub(r' id="(?:figure|patch|axes|text|line2d|xtick|ytick|legend)_\d+"', "", body)
    return _STYLE.sub(_attributes, body).replace("\n", " ").strip()


def _attributes(style: re.Match[str]) -> str:
    pairs = (entry.partition(":") for entry in style[1].split(";"))
    properties = [(name.strip(), value.strip()) for name, _, value in pairs]
    return "".join(f' {name}="{value}"' for name, value in properties if name in _KEPT)


def read_plots(files: Mapping[str, Sequence[Path]], wide: Collection[str] = ()) -> list[Plot]:
    """Return the figures in SVG files, which contain their titles.

    `wide` figures keep their size, so that all letters are equally large.
    """
    return [
        Plot(
            "",
            name.replace("_", " "),
            inline_svg(path.read_text(encoding="utf-8"), sized=name in wide),
            name in wide,
        )
        for name, paths in files.items()
        for path in paths
        if path.suffix == ".svg"
    ]
