"""Means of named parts of scores, over all cases of a task that have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Protocol


class HasParts(Protocol):
    """A record, as far as its parts are looked at."""

    @property
    def dataset(self) -> str:
        """The dataset."""
        ...

    @property
    def parts(self) -> Mapping[str, float]:
        """The named numbers of the score."""
        ...


def mean_parts(rows: Iterable[HasParts], columns: Sequence[tuple[str, str]]) -> list[float | None]:
    """Return, for each dataset and part, the mean over the cases that have it; None without any."""
    found: dict[tuple[str, str], list[float]] = {column: [] for column in columns}
    for row in rows:
        for name, value in row.parts.items():
            if (row.dataset, name) in found:
                found[row.dataset, name].append(value)
    return [plain_mean(values) for values in found.values()]


def plain_mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return fsum(known) / len(known) if known else None
