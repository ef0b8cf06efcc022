"""The values that a drawn chart shows (specs: realhitbench.md, 5, and tablebench.md, Charts).

This text runs in the program's own process, which has nothing else of the package: nothing here
needs more than matplotlib and numpy, which every figure has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

PICTURE = "drawn chart.png"
"""The file in which `draw` leaves the picture."""


def draw(
    program: str, chart_type: str, *, function: bool = False, times: int = 1, indent: str = ""
) -> dict[str, Any]:
    """Run a program that draws, and return what its current axes show at its end.

    It knows `pd`, `plt` and `np`, as an import of them may have been cut off. The picture is left
    in a file. Raises what the program raises.

    Arguments:
        program: Python source.
        chart_type: as `axes_values` takes it.
        function: whether it runs as the published scripts run it, inside a function: its names are
            then unknown in functions of its own, and before Python 3.12 in comprehensions.
        times: how often it runs, its figures left open in between.
        indent: put before each line, in a block.

    Returns:
        `ran`: whether the first time succeeded; `values`, or None where what is drawn is no number
        or the last time failed.
    """
    import matplotlib.pyplot as plt
    import numpy as np
    import pandas as pd

    if indent:
        program = "if True:\n" + "".join(f"{indent}{line}\n" for line in program.split("\n"))
    code = compile(program, "<program>", "exec")
    failed: list[Exception | None] = []
    for _ in range(times):
        names: dict[str, Any] = {"__name__": "__main__", "pd": pd, "plt": plt, "np": np}
        try:
            exec(code, names, {} if function else names)  # noqa: S102 - in a process for this
        except SystemExit:
            failed.append(None)
        except Exception as error:
            failed.append(error)
            if times == 1:
                raise
        else:
            failed.append(None)
    values = None
    if failed[-1] is None:
        values = _values_and_picture(plt, chart_type)
    return {"ran": failed[0] is None, "values": values}


def _values_and_picture(plt: Any, chart_type: str) -> list[Any] | None:
    try:
        values = axes_values(plt.gca(), chart_type)
    except (TypeError, ValueError):
        values = None
    try:
        _save(plt.gcf())
    except Exception:  # what cannot be shown was drawn all the same
        plt.close("all")
    return values


def _save(figure: Any) -> None:
    """Leave the picture of a figure, which nothing follows: it is a third of what a chart takes."""
    for axes in figure.axes:
        if axes.name == "rectilinear" and axes.xaxis.get_ticks_position() == "bottom":
            # Titles are in nobody's way; matplotlib would measure every label to find that out.
            axes._autotitlepos = False
    figure.savefig(PICTURE, dpi=72, format="png", pil_kwargs={"compress_level": 1})


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
