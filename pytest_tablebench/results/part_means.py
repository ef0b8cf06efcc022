"""Means of named parts of scores, over all cases of a task that have them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import fsum

from pytest_tablebench.results.record import ScoreRow


def mean_parts(rows: Iterable[ScoreRow], columns: Sequence[tuple[str, str]]) -> list[float | None]:
    """Return, for each dataset and part, the mean over the cases that have it; None without any."""
    by_column: dict[tuple[str, str], list[float]] = {column: [] for column in columns}
    for row in rows:
        for name, value in row.parts.items():
            if (row.dataset, name) in by_column:
                by_column[row.dataset, name].append(value)
    return [plain_mean(values) for values in by_column.values()]


def plain_mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of what is known; None where nothing is."""
    numbers = [value for value in values if value is not None]
    return fsum(numbers) / len(numbers) if numbers else None
