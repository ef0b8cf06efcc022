"""What every figure of a report needs: style, colours, labels from hostile names, files."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.extras import PLOTS, require
from pytest_tablebench.documents.formats import distinct

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
