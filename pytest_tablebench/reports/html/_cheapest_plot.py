"""The figure of score against price for the settings of a benchmark."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from pytest_tablebench.config.axes import Axis
from pytest_tablebench.documents.canvas import BLUE, INK, Canvas, ChartAxes, Plot, decades
from pytest_tablebench.documents.formats import number
from pytest_tablebench.util.names import printable

_UNITS = (("usd_per_answer", 1000.0, "US dollars for 1,000 answers"),)
_TOKENS = ("tokens_per_answer", 1.0, "tokens of an answer")


class _Place(NamedTuple):
    """A setting: its price, its score, and the interval of the score."""

    name: str
    price: float
    score: float
    low: float
    high: float


def setting_plot(
    benchmark: str, axis: Axis, figures: Mapping[str, Mapping[str, Any]]
) -> Plot | None:
    """Draw the score of each setting, with its 95 % interval, over its price.

    The price is in tokens if the cost of a setting is unknown. None with fewer than two places.
    """
    for key, factor, unit in (*_UNITS, _TOKENS):
        places = [
            place for name, entry in figures.items() if (place := _place(name, entry, key, factor))
        ]
        if len(places) == len(figures) > 1:
            return _drawn(f"{printable(benchmark, 40)} by {axis.name}", places, unit)
    return None


def _place(name: str, entry: Mapping[str, Any], key: str, factor: float) -> _Place | None:
    price, score, bounds = entry.get(key), entry["performance"], entry["ci95"]["performance"]
    if not price or score is None:
        return None
    low, high = bounds or (score, score)
    return _Place(printable(name, 20), factor * price, score, low, high)


def _drawn(about: str, places: list[_Place], unit: str) -> Plot:
    prices = [place.price for place in places]
    low, high = min(prices) / 1.4, max(prices) * 1.4
    start, end = math.log10(low), math.log10(high)
    canvas = Canvas(331, 186)
    axes = ChartAxes(canvas, 46, 18, 323, 150, (start, -0.03), (end, 1.03))
    ordered = sorted(places, key=lambda place: place.price)
    points = [(axes.x(math.log10(place.price)), axes.y(place.score)) for place in ordered]
    canvas.line(points, BLUE, 1.0, "4 2")
    for place, (x, y) in zip(ordered, points, strict=True):
        canvas.line([(x, axes.y(place.low)), (x, axes.y(place.high))], INK, 1.0)
        canvas.bar(x - 3, y - 3, 6, 6, BLUE)
        canvas.text(x + 6, y - 5, place.name, "start", size=8)
    across = {math.log10(value): label for value, label in decades(low, high)}
    axes.frame(across, {0.0: "0.0", 0.5: "0.5", 1.0: "1.0"})
    canvas.text((axes.left + axes.right) / 2, 180, unit)
    canvas.text(10, 84, "score", up=True)
    text = ", ".join(
        f"{place.name}: {number(place.score)} at {place.price:,.4g}" for place in ordered
    )
    title = f"Score and price of {about}"
    return Plot(title, f"{text} ({unit})", canvas.svg())
