"""Figures of a page: drawn by matplotlib, coloured by the page's style sheet.

A style attribute would be stopped by the page's policy and could not follow a dark theme, so
styles become presentation attributes; the sheet gives each colour used here its shade.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.reports.formats import number
from pytest_tablebench.reports.paper._canvas import COLOURS, GREY, STYLE, labelled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, ORANGE, SKY = COLOURS[0], COLOURS[1], COLOURS[5]
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


@dataclass(frozen=True)
class Plot:
    """A figure for a page: `svg` is markup of our own making, `text` says what it shows."""

    title: str
    text: str
    svg: str
    wide: bool = False


def inline_svg(source: str) -> str:
    """Return matplotlib's SVG as an element that a page can hold under its policy."""
    body = source[source.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", body, flags=re.S)
    body = re.sub(r'(<svg[^>]*?) width="[^"]*" height="[^"]*"', r"\1", body, count=1)
    body = re.sub(r' id="(?:figure|patch|axes|text|line2d|xtick|ytick|legend)_\d+"', "", body)
    return _STYLE.sub(_attributes, body).replace("\n", " ").strip()


def _attributes(found: re.Match[str]) -> str:
    pairs = (entry.partition(":") for entry in found[1].split(";"))
    kept = [(name.strip(), value.strip()) for name, _, value in pairs]
    return "".join(f' {name}="{value}"' for name, value in kept if name in _KEPT)


def _drawn(size: tuple[float, float], draw: Callable[[Figure], None]) -> str:
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style: Any = {**mpl.rcParamsDefault, **STYLE, "svg.fonttype": "none", "axes.titlesize": 9}
    style.pop("backend", None)
    with mpl.rc_context(style):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        out = io.StringIO()
        figure.savefig(
            out, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    return inline_svg(out.getvalue())


def band_plot(ranges: Mapping[str, Sequence[tuple[float, float, float]]]) -> Plot | None:
    """Draw (lowest, mean, highest) of each example by dataset, sorted by the mean."""
    shown = {name: sorted(found, key=lambda r: (r[1], r)) for name, found in ranges.items()}
    shown = {name: found for name, found in shown.items() if len(found) > 1}
    if not shown:
        return None
    columns = min(5, len(shown))
    rows = math.ceil(len(shown) / columns)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
        for place, (label, found) in enumerate(
            zip(labelled(list(shown)), map(_thinned, shown.values()), strict=True)
        ):
            axes = grid[place // columns][place % columns]
            share = [100 * (i + 0.5) / len(found) for i in range(len(found))]
            low, mean, high = zip(*found, strict=True)
            axes.fill_between(share, low, high, color=SKY, alpha=0.45, linewidth=0, step="mid")
            axes.plot(share, mean, color=BLUE, linewidth=1.6)
            axes.set(xlim=(0, 100), ylim=(-0.03, 1.03), title=label, xticks=(0, 50, 100))
        for place in range(len(shown), rows * columns):
            grid[place // columns][place % columns].set_visible(False)
        figure.supxlabel("examples, sorted by mean score (%)", fontsize=9)
        figure.supylabel("score", fontsize=9)

    # As wide as the page, so that its text is as large as elsewhere.
    size = (10.5 if columns > 1 else 4.6, 0.8 + (1.6 if columns > 2 else 2.1) * rows)
    text = "Band from the lowest to the highest score of each example, line at its mean"
    return Plot(
        "Range of each example over its configurations", text, _drawn(size, draw), columns > 1
    )


def _thinned(
    found: Sequence[tuple[float, float, float]], most: int = 400
) -> Sequence[tuple[float, float, float]]:
    """Return evenly spaced ones of many: a screen has no more places."""
    if len(found) <= most:
        return found
    return [found[i * (len(found) - 1) // (most - 1)] for i in range(most)]


def win_rate_plot(title: str, rates: Mapping[str, float]) -> Plot | None:
    """Draw one bar for each name, and the rate at which all would be alike."""
    if len(rates) < 2:
        return None
    ranked = sorted(rates.items(), key=lambda entry: (-entry[1], entry[0]))

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        places = range(len(ranked))
        values = [value for _, value in ranked]
        axes.barh(places, values, color=BLUE, height=0.66)
        axes.axvline(1 / len(ranked), color=GREY, linestyle="--", linewidth=1)
        axes.set_yticks(places, labelled([name for name, _ in ranked]))
        for place, value in zip(places, values, strict=True):
            # Points, as a blank in front would not survive in SVG.
            shift: Any = {"xytext": (4, 0), "textcoords": "offset points"}
            axes.annotate(number(value), (value, place), va="center", fontsize=8, **shift)
        axes.set_ylim(len(ranked) - 0.4, -0.6)
        axes.margins(x=0.14)
        axes.set_xlabel("win rate (dashed: all alike)")
        axes.tick_params(axis="y", length=0)

    svg = _drawn((4.6, 0.9 + 0.3 * len(ranked)), draw)
    best, worst = ranked[0], ranked[-1]
    text = f"highest {best[0]} {number(best[1])}, lowest {worst[0]} {number(worst[1])}"
    return Plot(title, text, svg)


def histogram_plot(title: str, unit: str, series: Mapping[str, Sequence[float]]) -> Plot | None:
    """Draw histograms of positive numbers over a logarithmic axis."""
    known = {name: [v for v in values if v > 0] for name, values in series.items()}
    known = {name: values for name, values in known.items() if values}
    if not known:
        return None
    low = min(map(min, known.values()))
    high = max(map(max, known.values()))
    steps = 36
    low, high = math.log10(low / 1.05), math.log10(high * 1.05)
    edges = [10 ** (low + (high - low) * i / steps) for i in range(steps + 1)]

    def draw(figure: Figure) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

        axes = figure.subplots()
        for shade, (name, values) in zip((BLUE, ORANGE), known.items(), strict=False):
            axes.hist(values, bins=edges, color=shade, alpha=0.75, label=name, linewidth=0)
        axes.set_xscale("log")
        narrow = edges[-1] / edges[0] < 12
        axes.xaxis.set_major_locator(MaxNLocator(5) if narrow else LogLocator(numticks=7))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.4g}"))
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.set(xlabel=unit, ylabel="cases")
        if len(known) > 1:
            axes.legend(frameon=False, fontsize=8)

    text = ", ".join(
        f"{name}: {min(values):,.4g} to {max(values):,.4g}" for name, values in known.items()
    )
    return Plot(title, text, _drawn((4.6, 2.3), draw))


def read_plots(files: Mapping[str, Sequence[Path]], wide: Collection[str] = ()) -> list[Plot]:
    """Return figures that were written as files with their own titles; only SVG is looked at."""
    return [
        Plot("", name.replace("_", " "), inline_svg(path.read_text(encoding="utf-8")), name in wide)
        for name, paths in files.items()
        for path in paths
        if path.suffix == ".svg"
    ]
