"""Figures of the analyses: a value, or None with the reason."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_tablebench.results.figures import mean

Figure = dict[str, Any]
"""`{"value": number or None, "reason": text if None, ...counts}`."""


def figure(value: float | None, reason: str, **facts: Any) -> Figure:
    """Return a figure; a value of None or NaN becomes None with the reason."""
    if value is None or math.isnan(value):
        return {"value": None, "reason": reason, **facts}
    return {"value": float(value), **facts}


def plain_mean(figures: Mapping[str, Figure]) -> Figure:
    """Return the plain mean of figures; undefined if one of them is.

    Values that are mappings, such as win rates, are averaged name by name.
    """
    missing = [name for name, entry in figures.items() if entry["value"] is None]
    if missing:
        return {"value": None, "reason": f"no value in: {', '.join(missing)}"}
    values = [entry["value"] for entry in figures.values()]
    if not values:
        return {"value": None, "reason": "no figure to average"}
    if isinstance(values[0], Mapping):
        return {"value": {name: mean(value[name] for value in values) for name in values[0]}}
    return {"value": mean(values)}


def each(
    names: Iterable[str], values: Iterable[float], reason: str, **facts: Iterable[Any]
) -> dict[str, Figure]:
    """Return one figure per name; each of `facts` has one integer per name."""
    columns = {fact: [int(entry) for entry in column] for fact, column in facts.items()}
    return {
        name: figure(value, reason, **{fact: column[place] for fact, column in columns.items()})
        for place, (name, value) in enumerate(zip(names, values, strict=True))
    }
