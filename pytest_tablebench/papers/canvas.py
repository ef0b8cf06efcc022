"""What every figure of a report needs: style, labels from hostile names, files, charts.

The colours are Okabe and Ito's; markers or line styles differ as well; maps run from orange to
blue. The same values give the same bytes.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_tablebench.config.extras import PLOTS, require
from pytest_tablebench.documents.formats import distinct, number, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
BLACK = "#000000"
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
DASHES = ("-", "--", "-.", ":")
GREY = "#666666"
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib, so the same everywhere
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,  # a dollar sign in a model's name is no formula
    "svg.fonttype": "path",
    "svg.hashsalt": "pytest-tablebench",
    "savefig.dpi": 130,
}
_WIDEST = 24.0
"""Inches; beyond that a figure is no longer opened gladly."""


Maker = Callable[["Figure"], bool]
"""Draws on an empty figure, and returns whether there was anything to draw."""


def write_figures(makers: Mapping[str, Maker], folder: Path) -> dict[str, list[Path]]:
    """Draw figures into a folder, by the stem of their files.

    Returns the files by the same names; an empty list for a figure without data. Raises
    `SettingsError` without matplotlib.
    """
    require(PLOTS, "a report with figures")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # A user's own matplotlib settings must not change a report.
    style: Any = {**mpl.rcParamsDefault, **STYLE}
    style.pop("backend", None)
    files: dict[str, list[Path]] = {}
    for name, draw in makers.items():
        # Without pyplot, which would keep state and could open a window.
        with mpl.rc_context(style):
            figure = Figure(layout="constrained")
            files[name] = _save(figure, folder / name) if draw(figure) else []
    return files


def _save(figure: Figure, stem: Path) -> list[Path]:
    """Write the figure as PNG and SVG, the same bytes every time; return the files."""
    png, svg = stem.with_name(stem.name + ".png"), stem.with_name(stem.name + ".svg")
    figure.savefig(png, metadata={"Software": None})
    figure.savefig(svg, metadata={"Date": None, "Creator": None})
    return [png, svg]


Words = Mapping[str, str]
"""Title and labels of a figure, by the names that `captions.toml` has for them."""


def write_words(axes: Axes, words: Words, grid: Literal["", "x", "y", "both"] = "") -> None:
    """Write the title and the labels of the axes, and draw a grid along some of them."""
    axes.set(**{key: text for key, text in words.items() if key != "legend"})
    if grid:
        axes.grid(axis=grid, alpha=0.3)


# Names, sizes, values


@lru_cache(maxsize=1)
def _glyphs() -> frozenset[int]:
    from matplotlib import font_manager

    font = font_manager.get_font(font_manager.findfont("DejaVu Sans"))
    return frozenset(font.get_charmap())


def _label(name: str) -> str:
    """Return a printable name as a figure can show it: only glyphs the font has."""
    text = unicodedata.normalize("NFC", name)
    return "".join(
        character
        if ord(character) in _glyphs()
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def labelled(names: Sequence[str], limit: int = 32) -> list[str]:
    """Return labels of about `limit` characters, which differ if the names do."""
    return [_label(name) for name in distinct(names, limit)]


def size(figure: Figure, width: float, height: float) -> None:
    """Set the figure's size in inches, within what can be read and opened."""
    figure.set_size_inches(min(max(width, 4.5), _WIDEST), min(max(height, 2.6), _WIDEST))


def value_of(entry: Any) -> float:
    """Return an entry's number, or NaN."""
    value = entry.get("value") if isinstance(entry, Mapping) else None
    return math.nan if value is None else float(value)


def has_number(values: Sequence[float]) -> bool:
    """Tell whether there is any number to draw."""
    return any(not math.isnan(value) for value in values)


def colour(number: int) -> str:
    """Return the colour of the line or point with this number."""
    return COLOURS[number % len(COLOURS)]


def legend(figure: Figure, axes: Axes, entries: int, title: str) -> None:
    """Put the legend next to the axes, in two columns if it is long."""
    columns = 1 if entries <= 18 else 2
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside right upper", title=title, ncols=columns, frameon=False
    )


# Charts


def heat_map(  # noqa: PLR0917 - a matrix is its parts
    figure: Figure,
    values: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    reach: float,
    words: Words,
) -> bool:
    """Draw numbers by row and column, coloured from `-reach` to `reach`."""
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
    write_words(axes, words)
    figure.colorbar(image, ax=axes, label=words["legend"])
    return True


def _ink(background: Any) -> str:
    """Return black or white, whichever has more contrast (relative luminance as in WCAG)."""
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in background[:3]
    )
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "white" if luminance < 0.179 else "black"


def bar_chart(
    figure: Figure, values: Mapping[str, float], words: Words, top: float | None = None
) -> bool:
    """Draw a horizontal bar for each name, with its number; `top` is the highest value."""
    if not has_number(list(values.values())):
        return False
    size(figure, 7.0, 1.5 + 0.32 * len(values))
    axes = figure.subplots()
    places = range(len(values))
    axes.barh(places, [0 if math.isnan(v) else v for v in values.values()], color=COLOURS[0])
    for position, value in zip(places, values.values(), strict=True):
        text = " not computed" if math.isnan(value) else f" {number(value)}"
        axes.text(0 if math.isnan(value) else value, position, text, va="center", fontsize=8)
    axes.set_yticks(places, labelled(list(values)))
    # The first bar is at the top; a single bar does not fill the figure.
    air = 0.6 if len(values) > 1 else 1.0
    axes.set_ylim(len(values) - 1 + air, -air)
    if top is not None:
        axes.set_xlim(0, top * 1.1)
        axes.set_xticks([top * i / 5 for i in range(6)])
    else:
        axes.margins(x=0.14)
    write_words(axes, words)
    return True


def line_chart(
    figure: Figure,
    lines: Mapping[str, Sequence[tuple[float, float]]],
    words: Words,
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
    axes.set_ylim(0, 1.03)
    write_words(axes, words, "both")
    legend(figure, axes, len(drawn), words["legend"])
    return True


def points_over_bars(
    figure: Figure,
    bars: Mapping[str, float],
    points: Mapping[str, Mapping[str, float]],
    *,
    lines: int,
    bars_label: str,
) -> Axes | None:
    """Draw a bar for each name, and over it a point for each line that has a value there.

    `lines` is the number of entries that the legend will have.
    Returns None without a number.
    """
    values = [value for entries in points.values() for value in entries.values()]
    if not has_number([*values, *bars.values()]):
        return None
    size(figure, 7.5, max(0.42 * len(bars) + 1.4, 0.2 * lines + 1))
    axes = figure.subplots()
    if has_number(list(bars.values())):
        widths = [0 if math.isnan(value) else value for value in bars.values()]
        axes.barh(range(len(bars)), widths, color="#C8C8C8", height=0.75, label=bars_label)
    # Each line has its own height inside the bar, so that equal values stay visible.
    for i, (entries, label) in enumerate(zip(points.values(), labelled(list(points)), strict=True)):
        shift = 0.6 * ((i + 0.5) / len(points) - 0.5)
        axes.plot(
            [entries.get(name, math.nan) for name in bars],
            [position + shift for position in range(len(bars))],
            MARKERS[i % len(MARKERS)],
            color=colour(i),
            label=label,
            markersize=5,
        )
    return axes


def panels(  # noqa: PLR0917 - a grid is its sizes
    figure: Figure,
    count: int,
    most: int,
    width: float,
    heights: float | Sequence[float],
    air: tuple[float, float],
    *,
    sharey: bool = False,
) -> list[Axes]:
    """Return axes in rows of at most `most`; `air` is added to the width and height of all."""
    columns = min(most, count)
    rows = math.ceil(count / columns)
    heights = [heights] * rows if isinstance(heights, float) else heights
    size(figure, width * columns + air[0], sum(heights) + air[1])
    look: Any = {"squeeze": False, "sharey": sharey, "height_ratios": heights}
    axes = list(figure.subplots(rows, columns, **look).flat)
    for blank in axes[count:]:
        blank.set_visible(False)
    return axes[:count]
