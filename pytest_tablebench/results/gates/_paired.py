"""Two runs over the same questions: flips, p-values, differences (spec: statistics.md 3, 7)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from pytest_tablebench.results._intervals import moments, paired_bounds

TIE = 1e-9
"""Sums closer than this are equal, or equal sums would be lost to float noise."""


@dataclass(frozen=True, slots=True)
class PairedInterval:
    """A mean paired difference with its interval.

    `estimate` is None without an example; `low`, `high`, `se` and `df` are None where the
    interval cannot be told (a dataset with fewer than two examples), `df` also where all
    differences are equal. `n` counts the examples of all datasets.
    """

    estimate: float | None
    low: float | None
    high: float | None
    se: float | None
    df: float | None
    method: str | None
    n: int


def mcnemar(better: int, worse: int) -> float:
    """Return the exact two-sided p of so many flips in each direction (section 7).

    Valid where each example appears once: inside one serializer and perturbation. Counted
    over examples instead of flips it is the sign test.
    """
    total = better + worse
    if total == 0:
        return 1.0
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(better, worse), total, 0.5)))


def sign_flip(differences: Sequence[float], *, resamples: int = 9999, seed: int = 0) -> float:
    """Return the two-sided p of the sum of example differences under random signs (section 7).

    For a mean over several datasets divide each difference by the number of examples of its
    dataset first. Deterministic for a seed; 1 where nothing differs.
    """
    import numpy as np

    values = np.asarray(differences, dtype=float)
    values = values[np.abs(values) > TIE]
    if not len(values):
        return 1.0
    draw = np.random.default_rng(seed)
    # A fixed number of signs at a time, so that memory stays small.
    rows = max(1, 2_000_000 // len(values))
    reached, least = 0, abs(float(values.sum())) - TIE
    for start in range(0, resamples, rows):
        shape = (min(rows, resamples - start), len(values))
        negative = draw.integers(0, 2, shape, dtype=np.int8).astype(bool)
        # The sum with signs is the plain sum less twice what is negative.
        sums = values.sum() - 2 * (negative @ values)
        reached += int((np.abs(sums) >= least).sum())
    return (1 + reached) / (1 + resamples)


def paired_difference(
    differences: Sequence[float] | Sequence[Sequence[float]], level: float = 0.95
) -> PairedInterval:
    """Return the mean of example differences (new minus old) with its t interval (section 3).

    `differences` is one sequence of values in -1..1, or one for each of several datasets: then
    the mean over datasets, stratified (section 4).
    """
    datasets: list[Sequence[float]]
    if len(differences) and not hasattr(differences[0], "__len__"):
        datasets = [cast("Sequence[float]", differences)]
    else:
        datasets = list(cast("Sequence[Sequence[float]]", differences))
    count = sum(len(values) for values in datasets)
    if not datasets or any(len(values) == 0 for values in datasets):
        return PairedInterval(None, None, None, None, None, None, count)
    found = moments(datasets)
    if found is None:
        means = [math.fsum(values) / len(values) for values in datasets]
        estimate = math.fsum(means) / len(means)
        return PairedInterval(estimate, None, None, None, None, None, count)
    low, high, method = paired_bounds(found, (1 - level) / 2)
    return PairedInterval(found.mean, low, high, found.se, found.df, method, count)
