"""Confidence intervals of one run (spec: statistics.md sections 2 and 4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["interval"]


def interval(
    datasets: Sequence[Sequence[float]], level: float = 0.95
) -> tuple[float, float] | None:
    """Return the interval of the mean over datasets of the mean over examples.

    `datasets` holds one sequence of example values in 0..1 per dataset. The rule is the
    effective Clopper-Pearson interval of Korn and Graubard (1998), with the exact interval of
    the examples where there is less than 5 examples' worth of score on either side and the
    zero-variance bound where all examples are equal. None when it cannot be told: no
    dataset, one example alone, or a dataset with fewer than two.
    """
    if not datasets or any(len(values) < 2 for values in datasets):
        return None
    # The plain functions: scipy.stats takes ten times as long to import.
    from scipy.special import betaincinv, ndtri, stdtrit

    tail = (1 - level) / 2
    count = len(datasets)
    means = [math.fsum(values) / len(values) for values in datasets]
    mean = math.fsum(means) / count
    # Variance of each dataset's mean; all equal when differences are below float noise.
    shares = [
        math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1) / len(values)
        for values, centre in zip(datasets, means, strict=True)
    ]
    size = count**2 / math.fsum(1 / len(values) for values in datasets)
    variance = math.fsum(shares) / count**2
    if variance < 1e-18:
        reach = 1 - tail ** (1 / size)
        return max(0.0, mean - reach), min(1.0, mean + reach)
    successes, total = size * mean, size
    if min(successes, total - successes) >= 5:
        freedom = math.fsum(shares) ** 2 / math.fsum(
            share**2 / (len(values) - 1) for share, values in zip(shares, datasets, strict=True)
        )
        quantiles = ndtri(1 - tail) / stdtrit(freedom, 1 - tail)
        total = mean * (1 - mean) / variance * quantiles**2
        successes = mean * total
    low = betaincinv(successes, total - successes + 1, tail) if successes > 0 else 0.0
    high = betaincinv(successes + 1, total - successes, 1 - tail) if successes < total else 1.0
    return float(low), float(high)
