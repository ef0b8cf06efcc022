"""Charts that several figures of a report share: heat maps, bars, lines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.documents.formats import number, signed
from pytest_tablebench.papers.canvas import (
    BLACK,
    COLOURS,
    DASHES,
    MARKERS,
    colour,
    has_number,
    labelled,
    legend,
    size,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def heat_map(  # noqa: PLR0917 - a matrix is its parts
    figure: Figure,
    values: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    reach: float,
    unit: str,
    **words: str,
) -> bool:
    """Draw numbers by row and column, coloured from `-reach` to `reach`.

    `words` are the title and the labels of the axes.
    """
    if not has_number([value for row in values for value in row]):
        return False
    import matplotlib as mpl
    import numpy as np

    labels = labelled(rows)
    margin = 2.6 + 0.07 * max(map(len, labels))
    size(figure, margin + 0.75 * len(columns), 2.0 + 0.42 * len(rows))
    axes = figure.subplots()
    colours = mpl.colormaps["PuOr"].with_extremes(bad="#DDDDDD")
    cells = np.ma.masked_invalid(np.array(values))
    image = axes.imshow(cells, cmap=colours, vmin=-reach, vmax=reach, aspect="auto")
    shades = image.to_rgba(cells)
    for i, row in enumerate(values):
        for j, value in enumerate(row):
            text = "-" if math.isnan(value) else signed(value, 2)
            ink = _ink(shades[i][j])
            axes.text(j, i, text, ha="center", va="center", fontsize=8, color=ink)
    axes.set_xticks(
        range(len(columns)), labelled(columns), rotation=35, ha="right", rotation_mode="anchor"
    )
    axes.set_yticks(range(len(rows)), labels)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    axes.set(**words)
    figure.colorbar(image, ax=axes, label=unit)
    return True


def _ink(background: Any) -> str:
    """Return black or white, whichever has more contrast (relative luminance as in WCAG)."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in background[:3]
    )
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "white" if luminance < 0.179 else "black"


def bar_chart(  # noqa: PLR0917 - a chart is its parts
    figure: Figure,
    values: Mapping[str, float],
    title: str,
    unit: str,
    top: float | None,
    heading: str = "dataset",
) -> bool:
    """Draw a horizontal bar for each name, with its number; `heading` is the title."""
    if not has_number(list(values.values())):
        return False
    size(figure, 7.0, 1.5 + 0.32 * len(values))
    axes = figure.subplots()
    places = range(len(values))
    axes.barh(places, [0 if math.isnan(v) else v for v in values.values()], color=COLOURS[0])
    for place, value in zip(places, values.values(), strict=True):
        text = " not computed" if math.isnan(value) else f" {number(value)}"
        axes.text(0 if math.isnan(value) else value, place, text, va="center", fontsize=8)
    axes.set_yticks(places, labelled(list(values)))
    # The first bar is at the top; a single bar does not fill the figure.
    air = 0.6 if len(values) > 1 else 1.0
    axes.set_ylim(len(values) - 1 + air, -air)
    if top is not None:
        axes.set_xlim(0, top * 1.1)
        axes.set_xticks([top * i / 5 for i in range(6)])
    else:
        axes.margins(x=0.14)
    axes.set(xlabel=unit, ylabel=heading, title=title)
    return True


def line_chart(
    figure: Figure,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    title: str,
    unit: str,
    heading: str,
    *,
    black: str | None = None,
    marks: Mapping[float, str] | None = None,
) -> bool:
    """Draw W against a whole number, one line for each name; the line of `black` is black.

    With `marks` (labels by number) the numbers have a logarithmic scale.
    """
    drawn = {name: points for name, points in lines.items() if has_number([y for _, y in points])}
    if not drawn:
        return False
    from matplotlib.ticker import MaxNLocator

    size(figure, 7.5, max(4.0, 0.2 * len(drawn) + 1))
    axes = figure.subplots()
    names = zip(drawn, labelled(list(drawn)), strict=True)
    for i, (name, label) in enumerate(names):
        points, is_black = drawn[name], name == black
        axes.plot(
            [x for x, _ in points],
            [y for _, y in points],
            marker=MARKERS[i % len(MARKERS)],
            linestyle="-" if is_black else DASHES[i // len(COLOURS) % len(DASHES)],
            color=BLACK if is_black else colour(i),
            label=label,
            markersize=4,
        )
    if marks is None:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        axes.set_xscale("log")
        axes.set_xticks(list(marks), list(marks.values()))
        axes.set_xticks([], minor=True)
    axes.set(ylim=(0, 1.03), xlabel=unit, ylabel="Kendall's W", title=title)
    axes.grid(alpha=0.3)
    legend(figure, axes, len(drawn), heading)
    return True
