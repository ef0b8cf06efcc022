"""Intervals of example values: one run and paired differences (spec: statistics.md 2 to 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_table import Floats

EQUAL = 1e-18
"""Variance of a mean below this is float noise: all values are equal."""

FEW = 5.0
"""Examples' worth of score on either side below which examples count as all or nothing."""

Bounds = tuple[float, float, str]


@dataclass(frozen=True, slots=True)
class Moments:
    """What an interval needs to know of the example values of one or more datasets.

    `mean` is the mean over datasets of the mean over examples. `variance` is the squared
    standard error, `df` its degrees of freedom (None where all values are equal). `size` is
    the number of examples that rules 1 and 2 of section 2 reckon with, `n` how many there are.
    """

    mean: float
    variance: float
    df: float | None
    size: float
    n: int

    @property
    def se(self) -> float:
        """The standard error; exactly 0 where all values are equal."""
        return math.sqrt(self.variance) if self.df is not None else 0.0


def moments(
    datasets: Sequence[Sequence[float] | Floats],
    clusters: Sequence[Sequence[Hashable] | None] | None = None,
) -> Moments | None:
    """Return the moments of one sequence of example values per dataset.

    `clusters` holds, beside each sequence, what its examples share (a table), or None where
    they share nothing (section 1). Several datasets: stratified, with Welch's and
    Satterthwaite's degrees of freedom (section 4). None where there is no dataset, or one
    with fewer than two independent examples.
    """
    shared = clusters if clusters is not None else [None] * len(datasets)
    means, shares, freedoms, sizes, count = [], [], [], [], 0
    for values, groups in zip(datasets, shared, strict=True):
        row = np.asarray(values, dtype=float)
        if len(row) < 2:
            return None
        centre = math.fsum(row) / len(row)
        rest, weights = row - centre, None
        if groups is not None:
            rest, weights = _cluster_sums(rest, groups)
            if len(rest) < 2:
                return None
        # G/(G-1) * sum of squared cluster sums / n^2; with one example each that is s^2/n.
        group_count = len(rest)
        means.append(centre)
        shares.append(
            group_count / (group_count - 1) * math.fsum(rest * rest) / float(len(row)) ** 2
        )
        freedoms.append(group_count - 1)
        sizes.append(float(len(row)) if weights is None else weights)
        count += len(row)
    if not means:
        return None
    number = len(means)
    variance = math.fsum(shares) / number**2
    df = None
    if variance >= EQUAL:
        spread = zip(shares, freedoms, strict=True)
        df = math.fsum(shares) ** 2 / math.fsum(share**2 / free for share, free in spread)
    size = number**2 / math.fsum(1 / size for size in sizes)
    return Moments(math.fsum(means) / number, variance, df, size, count)


def _cluster_sums(rest: Any, groups: Sequence[Hashable]) -> tuple[Any, float]:
    """Return the sum of each cluster, and how many clusters of equal size would do the same.

    That number, n^2 / sum of squared cluster sizes, is the number of clusters itself where
    all are equally large, and the number of examples where each stands alone.
    """
    places: dict[Hashable, int] = {}
    index = np.array([places.setdefault(group, len(places)) for group in groups])
    sums = np.bincount(index, weights=rest)
    counts = np.bincount(index).astype(float)
    return sums, float(len(rest) ** 2 / (counts @ counts))


def clopper_pearson(successes: float, total: float, tail: float = 0.025) -> tuple[float, float]:
    """Return the exact binomial interval with `tail` outside each end; counts may be broken."""
    from scipy.special import betaincinv

    low = betaincinv(successes, total - successes + 1, tail) if successes > 0 else 0.0
    high = betaincinv(successes + 1, total - successes, 1 - tail) if successes < total else 1.0
    return float(low), float(high)


def level_bounds(found: Moments, tail: float = 0.025) -> Bounds:
    """Return the interval of a mean of values in 0..1, and the name of its rule (section 2).

    Effective Clopper-Pearson of Korn and Graubard (1998), the exact interval of the examples
    where few of them are right or wrong, and the zero-variance bound where all are equal.
    """
    if found.df is None:
        reach = 1 - tail ** (1 / found.size)
        return max(0.0, found.mean - reach), min(1.0, found.mean + reach), "zero variance"
    if _few(found):
        low, high = clopper_pearson(found.size * found.mean, found.size, tail)
        return low, high, "example Clopper-Pearson"
    from scipy.special import ndtri, stdtrit

    quantiles = ndtri(1 - tail) / stdtrit(found.df, 1 - tail)
    total = float(found.mean * (1 - found.mean) / found.variance * quantiles**2)
    low, high = clopper_pearson(found.mean * total, total, tail)
    return low, high, "effective Clopper-Pearson"


def interval(
    datasets: Sequence[Sequence[float]], level: float = 0.95
) -> tuple[float, float] | None:
    """Return the interval of the mean over datasets of the mean over examples.

    `datasets` holds one sequence of example values in 0..1 per dataset. The rule is that of
    `level_bounds`. None when it cannot be told: no dataset, or one with fewer than two examples.
    """
    found = moments(datasets)
    return None if found is None else level_bounds(found, (1 - level) / 2)[:2]


def ci95(datasets: Sequence[Sequence[float]]) -> list[float] | None:
    """Return `interval` as it stands in `summary.json`."""
    bounds = interval(datasets)
    return None if bounds is None else list(bounds)


def paired_bounds(found: Moments, tail: float = 0.025) -> Bounds:
    """Return the interval of a mean paired difference, cut to -1..1, and its rule (section 3)."""
    if found.df is None:
        reach, rule = 1 - tail ** (1 / found.size), "zero variance"
    else:
        from scipy.special import stdtrit

        reach, rule = float(stdtrit(found.df, 1 - tail)) * found.se, "t"
    # Scores, pass rates and robustness are 0 to 1: no difference lies further out than 1.
    return max(-1.0, found.mean - reach), min(1.0, found.mean + reach), rule


def failure_tail(found: Moments, bound: float, *, above: bool, paired: bool) -> float:
    """Return the one-sided p of "fails": the tail at which the interval's end meets the bound.

    `above` tells that the gate asks for at least `bound` (it fails when the upper end lies
    below), otherwise for at most. Where the rule is Clopper-Pearson and the estimate itself
    keeps the bound, the p is 1 (section 8).
    """
    if paired and found.df is not None:
        from scipy.special import stdtr

        distance = found.mean - bound if above else bound - found.mean
        return float(stdtr(found.df, distance / found.se))
    gap = bound - found.mean if above else found.mean - bound
    if gap <= 0:
        return 1.0
    if found.df is None:
        return float(max(0.0, 1 - gap) ** found.size)
    if _few(found):
        from scipy.special import betaincc

        # Mirrored for "at most": as many failures as there were successes.
        share, limit = (found.mean, bound) if above else (1 - found.mean, 1 - bound)
        successes = found.size * share
        return float(betaincc(successes + 1, found.size - successes, min(1.0, limit)))
    end = (lambda tail: level_bounds(found, tail)[1] - bound) if above else None
    return _meeting(end or (lambda tail: bound - level_bounds(found, tail)[0]))


def _few(found: Moments) -> bool:
    successes = found.size * found.mean
    # Five out of 77 are 4.999999999999999 as mean times size.
    return min(successes, found.size - successes) < FEW - 1e-9


def _meeting(excess: Callable[[float], float]) -> float:
    """Return the tail in (1e-12, .5) at which a falling function is 0 (bisection on logarithms)."""
    low, high = math.log(1e-12), math.log(0.4999)
    if excess(math.exp(low)) <= 0:
        return math.exp(low)
    if excess(math.exp(high)) >= 0:
        return math.exp(high)
    for _ in range(50):
        middle = (low + high) / 2
        if excess(math.exp(middle)) > 0:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)
