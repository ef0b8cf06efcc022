"""Values that a drawn chart shows (specs: realhitbench.md, 5, and tablebench.md, Charts).

The sandbox runs this file's text in the program's process, without the rest of the package. It
needs only matplotlib and numpy, which every figure has. `axes_values` reads a chart as the
published scripts do, `drawn_series` as people see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

PICTURE = "drawn chart.png"
"""The file to which `draw` writes the picture."""


def draw(
    program: str, chart_type: str, *, function: bool = False, times: int = 1, indent: str = ""
) -> dict[str, Any]:
    """Run a program that draws, and return what its current axes show at its end.

    `pd`, `plt` and `np` are defined, because a reply's imports may have been cut off. The picture
    is written to `PICTURE`. Raises what the program raises.

    Arguments:
        program: Python source.
        chart_type: as `axes_values` takes it.
        function: run it inside a function, as the published scripts do. Functions in the program,
            and before Python 3.12 comprehensions, then do not see its names.
        times: how often it runs, with its figures left open in between.
        indent: put before each line, inside a block.

    Returns:
        `ran`: whether the first run succeeded. `values`: what the published scripts read, None if
        they cannot read it or the last run failed. `drawn`: the series of the figure, one list for
        each way to read them (see `drawn_series`).
    """
    import matplotlib.pyplot as plt
    import numpy as np
    import pandas as pd

    if indent:
        program = "if True:\n" + "".join(f"{indent}{line}\n" for line in program.split("\n"))
    code = compile(program, "<program>", "exec")
    succeeded: list[bool] = []
    for _ in range(times):
        names: dict[str, Any] = {"__name__": "__main__", "pd": pd, "plt": plt, "np": np}
        try:
            with suppress(SystemExit):
                exec(code, names, {} if function else names)  # noqa: S102 - in the sandbox
        except Exception:
            if times == 1:
                raise
            succeeded.append(False)
        else:
            succeeded.append(True)
    outcome: dict[str, Any] = {"ran": succeeded[0], "values": None, "drawn": []}
    if succeeded[-1]:
        axes = plt.gca()
        with suppress(TypeError, ValueError, AttributeError):
            outcome["values"] = axes_values(axes, chart_type)
        if not function:
            outcome["drawn"] = drawn_series(plt.gcf(), axes, chart_type)
        try:
            _save(plt.gcf())
        except Exception:  # the values count even if the picture cannot be written
            plt.close("all")
    return outcome


def _save(figure: Any) -> None:
    # Saving takes a third of a chart's time. These axes have no labels near the title, so
    # matplotlib need not measure every label to place it.
    for axes in figure.axes:
        if axes.name == "rectilinear" and axes.xaxis.get_ticks_position() == "bottom":
            axes._autotitlepos = False
    figure.savefig(PICTURE, dpi=72, format="png", pil_kwargs={"compress_level": 1})


def axes_values(axes: Any, chart_type: str) -> list[Any]:
    """Return what the published scripts read: one list for each series, or one for all.

    `chart_type` is a name of `_READERS`, or RealHiTBench's sub-type, such as `LineChart
    Generation`. Masked values are NaN; the y values of a line may be texts. Raises `KeyError` for
    another type, `TypeError` or `ValueError` if the chart shows something other than numbers, and
    `AttributeError` for shapes that the scripts do not expect, such as the shadow of a pie.
    """
    return _READERS[_type_name(chart_type)](axes)


def _type_name(chart_type: str) -> str:
    words = chart_type.split()
    return words[0].lower().removesuffix("chart") if words else ""


def _lines(axes: Any) -> list[list[Any]]:
    return [_floats_or_texts(line.get_ydata()) for line in axes.get_lines()]


def _open_lines(axes: Any) -> list[list[Any]]:
    # A radar's line ends at its first point.
    return [values[:-1] for values in _lines(axes)]


def _heights(axes: Any) -> list[float]:
    return _floats([patch.get_height() for patch in axes.patches])


def _widths(axes: Any) -> list[float]:
    return _floats([patch.get_width() for patch in axes.patches])


def _shares(axes: Any) -> list[float]:
    angles = _floats([wedge.theta2 - wedge.theta1 for wedge in axes.patches])
    return [round(angle / 360, 2) for angle in angles]


def _second_coordinates(axes: Any) -> list[list[float]]:
    offsets = [collection.get_offsets() for collection in axes.collections]
    return [_floats(point[1] for point in points) for points in offsets]


def _outlines(axes: Any) -> list[list[float]]:
    """Return the heights of each area's corners without zeros.

    Corners on the base line have height 0 and are no values. A value of 0 is lost with them.
    """
    bars = []
    for collection in axes.collections:
        for path in collection.get_paths():
            heights = _floats(corner[1] for corner in path.vertices)
            bars.append([height for height in heights if height != 0])
    return bars


def _floats_or_texts(values: Iterable[Any]) -> list[Any]:
    # If one value is a text, the published scripts print all of them as texts.
    sequence = _sequence(values)
    return [str(value) for value in sequence] if _has_text(sequence) else _floats(sequence)


def _sequence(values: Iterable[Any]) -> Any:
    return values if hasattr(values, "dtype") else list(values)


def _has_text(values: Any) -> bool:
    return any(isinstance(value, str) for value in values)


def _floats(values: Iterable[Any]) -> list[float]:
    import numpy as np

    filled: Any = np.ma.filled(np.ma.asarray(_sequence(values), dtype=float), np.nan)
    return [float(value) for value in filled.ravel()]


_READERS: Mapping[str, Callable[[Any], list[Any]]] = {
    "line": _lines,
    "bar": _heights,
    "waterfall": _heights,
    "hbar": _widths,
    "pie": _shares,
    "scatter": _second_coordinates,
    "radar": _open_lines,
    "area": _outlines,
}
"""Keys are TableBench's names of chart types; RealHiTBench has four of them."""


def drawn_series(figure: Any, axes: Any, chart_type: str) -> list[list[list[float]]]:
    """Return the series of a figure as people see it (`fixed`), read in several ways.

    The first reading has the series of the current axes, the second the series of every axes.
    Several series of bars are also read by their positions. Only what shows data counts, not caps
    of error bars, reference lines, bands or empty series. Bars may be horizontal or vertical. A
    chart of texts has no series.
    """
    read = _SERIES[_type_name(chart_type)]
    series_by_group = []
    for group in ([axes], figure.axes):
        try:
            series = [values for artist in group for values in read(artist) if values]
        except (TypeError, ValueError):
            continue
        series_by_group.append(series)
        if read is _bar_series and len({len(values) for values in series}) == 1 < len(series):
            series_by_group.append([list(values) for values in zip(*series, strict=True)])
    return series_by_group


def _numbers(values: Iterable[Any], axis: Any) -> list[float]:
    """Return the values along an axis. Raises `ValueError` for texts."""
    from matplotlib.category import UnitData

    sequence = _sequence(values)
    if isinstance(axis.units, UnitData) or _has_text(sequence):
        raise ValueError("the values are texts")
    return _floats(sequence)


def _data_lines(axes: Any) -> list[Any]:
    """Return the lines that show data, without caps of error bars and reference lines."""
    from matplotlib.container import ErrorbarContainer

    bars = [container for container in axes.containers if isinstance(container, ErrorbarContainer)]
    caps = {id(cap) for container in bars for cap in container[1]}
    return [
        line
        for line in axes.get_lines()
        if id(line) not in caps and _is_in_data(line, axes) and type(line).__name__ != "AxLine"
    ]


def _is_in_data(artist: Any, axes: Any) -> bool:
    return all(artist.get_transform().contains_branch_seperately(axes.transData))


def _line_series(axes: Any) -> list[list[float]]:
    return [_numbers(line.get_ydata(), axes.yaxis) for line in _data_lines(axes)]


def _radar_series(axes: Any) -> list[list[float]]:
    series = [_floats(line.get_ydata()) for line in axes.get_lines()]
    return [values[:-1] if values[:1] == values[-1:] else values for values in series]


def _bar_series(axes: Any) -> list[list[float]]:
    series = []
    for bars in _bar_containers(axes):
        if bars.orientation == "horizontal":
            series.append(_numbers([bar.get_width() for bar in bars], axes.xaxis))
        else:
            series.append(_numbers([bar.get_height() for bar in bars], axes.yaxis))
    if series:
        return series
    from matplotlib.patches import Rectangle

    shapes = [
        patch for patch in axes.patches if isinstance(patch, Rectangle) and _is_in_data(patch, axes)
    ]
    return [_numbers([shape.get_height() for shape in shapes], axes.yaxis)]


def _hbar_series(axes: Any) -> list[list[float]]:
    return [
        _numbers([bar.get_width() for bar in bars], axes.xaxis)
        for bars in _bar_containers(axes)
        if bars.orientation == "horizontal"
    ]


def _bar_containers(axes: Any) -> list[Any]:
    from matplotlib.container import BarContainer

    return [container for container in axes.containers if isinstance(container, BarContainer)]


def _pie_series(axes: Any) -> list[list[float]]:
    wedges = [patch for patch in axes.patches if hasattr(patch, "theta2")]
    angles = _floats([wedge.theta2 - wedge.theta1 for wedge in wedges])
    return [[round(angle / 360, 6) for angle in angles]]


def _scatter_series(axes: Any) -> list[list[float]]:
    from matplotlib.collections import PathCollection

    marks: list[Any] = [
        collection for collection in axes.collections if isinstance(collection, PathCollection)
    ]
    series = [
        _numbers([point[1] for point in collection.get_offsets()], axes.yaxis)
        for collection in marks
    ]
    for line in _data_lines(axes):
        is_bare = str(line.get_linestyle()) in ("None", " ", "")
        if is_bare and str(line.get_marker()) not in ("None", " ", ""):
            series.append(_numbers(line.get_ydata(), axes.yaxis))
    return series


def _area_series(axes: Any) -> list[list[float]]:
    from matplotlib.collections import PolyCollection

    areas = [
        collection for collection in axes.collections if isinstance(collection, PolyCollection)
    ]
    return [_thickness(path) for area in areas for path in area.get_paths()]


def _thickness(path: Any) -> list[float]:
    heights: dict[float, list[float]] = {}
    for x, height in path.vertices:
        heights.setdefault(float(x), []).append(float(height))
    thickness = []
    for x in sorted(heights):
        low, high = min(heights[x]), max(heights[x])
        # An area below the base line has a negative value.
        thickness.append(low if high == 0 else high - low)
    return thickness


_SERIES: Mapping[str, Callable[[Any], list[list[float]]]] = {
    "line": _line_series,
    "bar": _bar_series,
    "waterfall": _bar_series,
    "hbar": _hbar_series,
    "pie": _pie_series,
    "scatter": _scatter_series,
    "radar": _radar_series,
    "area": _area_series,
}
