"""The expected values of a chart as simple shapes, shown next to the drawn picture.

Shapes are made of numbers alone: the page makes elements of SVG of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.reports.html._pictures import is_picture
from pytest_tablebench.results import Record

Shape = dict[str, Any]
"""The `name`, `style` and `values` of an element; an element `text` also has its `text`."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 350, 10, 206
"""The frame inside 360 x 216 units."""
_SERIES, _VALUES = 8, 200
"""The largest numbers of series and of values that are drawn."""
_KINDS = ("line", "bar", "waterfall", "hbar", "pie", "scatter", "radar", "area")


def shown_chart(record: Record) -> dict[str, Any] | None:
    """Return the chart of a case; None for a case without a chart.

    It has the file of the `picture` that a program drew (or None), the `kind` of chart, the
    `shapes` of the expected values (empty if they are not numbers), and how many values of their
    `count` are `drawn`. A case has a chart if its metric is of charts or a program drew a picture.
    """
    files = [step.get("picture") for step in record.steps if isinstance(step, Mapping)]
    drawn = [name for name in files if isinstance(name, str) and is_picture(name)]
    if not drawn and not str(record.metric).endswith("_chart"):
        return None
    kind = next(filter(None, map(_kind, record.tags.values())), "bar")
    series = next(filter(None, map(_series, record.references)), [])
    total = sum(map(len, series))
    shown_series = _cut(series)
    shapes = (_wedges(shown_series) if kind == "pie" else None) or (
        _on_axis(shown_series, kind) if shown_series else []
    )
    return {
        "picture": drawn[-1] if drawn else None,
        "kind": kind,
        "shapes": shapes,
        "drawn": sum(map(len, shown_series)),
        "count": total,
    }


def _shape(name: str, style: str, values: Mapping[str, Any], text: str | None = None) -> Shape:
    shape = {"name": name, "style": style, "values": values}
    return shape if text is None else {**shape, "text": text}


def _kind(tag: str) -> str | None:
    """Return the kind of chart in a tag such as `bar` or `LineChart Generation`, or None."""
    word = tag.split(" ", 1)[0].lower().removesuffix("chart")
    return word if word in _KINDS else None


def _series(reference: Any) -> list[list[float]]:
    """Return the numbers of a text such as `[[1, 2]]` or `y_references = [1, 2]`, else nothing."""
    from pytest_tablebench.metrics.chart_values import read_values  # only runs with charts need it

    try:
        values = read_values(str(reference).rpartition("=")[2])
        rows = values if all(isinstance(row, list) for row in values) else [values]
        series = [[float(value) for value in row] for row in rows if row]
    except (TypeError, ValueError, OverflowError):
        return []
    return series if all(abs(value) < 1e100 for row in series for value in row) else []


def _cut(series: Sequence[list[float]]) -> list[list[float]]:
    left, shown_series = _VALUES, []
    for values in series[:_SERIES]:
        if left > 0:
            shown_series.append(values[:left])
            left -= len(shown_series[-1])
    return shown_series


def _wedges(series: Sequence[Sequence[float]]) -> list[Shape] | None:
    """Return a pie, counterclockwise from the right; None if the values do not make one."""
    values = [value for row in series for value in row]
    total = math.fsum(values)
    if min(values, default=-1) < 0 or total <= 0:
        return None
    shapes, angle = [], 0.0
    for number, value in enumerate(values):
        turn = 2 * math.pi * value / total
        if turn > 6.28:
            shapes.append(_shape("circle", _tone(number), {"cx": 180, "cy": 108, "r": 96}))
        elif turn:
            start, end = _on_circle(angle), _on_circle(angle + turn)
            path = f"M180 108L{start}A96 96 0 {int(turn > math.pi)} 0 {end}Z"
            shapes.append(_shape("path", _tone(number), {"d": path}))
        angle += turn
    return shapes


def _on_circle(angle: float) -> str:
    return f"{180 + 96 * math.cos(angle):.1f} {108 - 96 * math.sin(angle):.1f}"


def _tone(number: int) -> str:
    return f"t{number % 6}"


def _on_axis(series: Sequence[Sequence[float]], kind: str) -> list[Shape]:
    values = [value for row in series for value in row]
    # Horizontal bars are drawn upright, and values that make no pie as bars.
    bars = kind in {"bar", "waterfall", "hbar", "pie"}
    low, high = min(values), max(values)
    if bars or kind in {"area", "radar"}:
        low, high = min(low, 0.0), max(high, 0.0)
    if low == high:
        low, high = low - 1, high + 1

    def up(value: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * (value - low) / (high - low), 1)

    shapes = _scale(low, high, up)
    longest = max(map(len, series))
    room = (_RIGHT - _LEFT) / longest
    for number, row in enumerate(series):
        middles = [round(_LEFT + room * (at + 0.5), 1) for at in range(len(row))]
        if bars:
            wide = room * 0.8 / len(series)
            for at, value in enumerate(row):
                x = round(_LEFT + room * (at + 0.1) + wide * number, 1)
                top, foot = sorted((up(value), up(0.0)))
                size = {"width": round(wide, 1), "height": round(max(foot - top, 0.5), 1)}
                shapes.append(_shape("rect", _tone(number), {"x": x, "y": top, **size}))
            continue
        points = [*zip(middles, map(up, row), strict=True)]
        if kind != "scatter" and len(points) > 1:
            line = " ".join(f"{x},{y}" for x, y in points)
            shapes.append(_shape("polyline", _tone(number), {"points": line}))
        shapes += [_shape("circle", _tone(number), {"cx": x, "cy": y, "r": 2.5}) for x, y in points]
    return shapes


def _scale(low: float, high: float, up: Any) -> list[Shape]:
    """Return lines with numbers at both ends of the axis, and at 0."""
    marks = {low, high, 0.0} if low < 0 < high else {low, high}
    shapes: list[Shape] = []
    for mark in sorted(marks):
        y = up(mark)
        shapes.append(_shape("line", "grid", {"x1": _LEFT, "x2": _RIGHT, "y1": y, "y2": y}))
        shapes.append(_shape("text", "tick", {"x": _LEFT - 6, "y": y + 4}, f"{mark:.6g}"))
    return shapes
