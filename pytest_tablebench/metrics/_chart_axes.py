"""The values that a drawn chart shows (specs: realhitbench.md, 5, and tablebench.md, Charts).

Whatever runs a program reads its figure with this, in the program's process; so nothing here needs
more than numpy, which every figure has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

__all__ = ["CHART_TYPES", "axes_values"]


def axes_values(axes: Any, chart_type: str) -> list[Any]:
    """Return the numbers of matplotlib's axes: one list for each series, or one for all.

    `chart_type` is one of `CHART_TYPES`, or RealHiTBench's sub-type, such as
    `LineChart Generation`. Masked values are NaN. Raises `KeyError` for another type and
    `TypeError` or `ValueError` where what is drawn is no number.
    """
    words = chart_type.split()
    name = words[0].lower().removesuffix("chart") if words else ""
    return _READERS[name](axes)


def _lines(axes: Any) -> list[list[float]]:
    return [_floats(line.get_ydata()) for line in axes.get_lines()]


def _open_lines(axes: Any) -> list[list[float]]:
    # A radar's line comes back to where it began.
    return [values[:-1] for values in _lines(axes)]


def _heights(axes: Any) -> list[float]:
    return _floats([patch.get_height() for patch in axes.patches if hasattr(patch, "get_height")])


def _widths(axes: Any) -> list[float]:
    return _floats([patch.get_width() for patch in axes.patches if hasattr(patch, "get_width")])


def _shares(axes: Any) -> list[float]:
    wedges = [patch for patch in axes.patches if hasattr(patch, "theta2")]
    angles = _floats([wedge.theta2 - wedge.theta1 for wedge in wedges])
    return [round(angle / 360, 2) for angle in angles]


def _second_coordinates(axes: Any) -> list[list[float]]:
    offsets = [collection.get_offsets() for collection in axes.collections]
    return [_floats(point[1] for point in points) for points in offsets]


def _outlines(axes: Any) -> list[list[float]]:
    """Return the heights of each area's corners but those on the ground.

    An area over a base line has the base's corners too, which are 0; a value of 0 goes with them.
    """
    found = []
    for collection in axes.collections:
        for path in collection.get_paths():
            heights = _floats(corner[1] for corner in path.vertices)
            found.append([height for height in heights if height != 0])
    return found


def _floats(values: Iterable[Any]) -> list[float]:
    import numpy as np

    kept = values if hasattr(values, "dtype") else list(values)
    filled: Any = np.ma.filled(np.ma.asarray(kept, dtype=float), np.nan)
    return [float(value) for value in filled.ravel()]


_READERS: Mapping[str, Callable[[Any], list[Any]]] = MappingProxyType(
    {
        "line": _lines,
        "bar": _heights,
        "waterfall": _heights,
        "hbar": _widths,
        "pie": _shares,
        "scatter": _second_coordinates,
        "radar": _open_lines,
        "area": _outlines,
    }
)

CHART_TYPES = tuple(_READERS)
"""TableBench's names of the charts that are read; RealHiTBench has four of them."""
