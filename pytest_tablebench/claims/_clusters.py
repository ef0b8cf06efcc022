"""Compute the variance of a mean over clusters of any sizes (statistics.md, unequal clusters).

The variance is CR2, and its degrees of freedom are those of Bell and McCaffrey (2002, Survey
Methodology 28). No vector of the length of the sample is needed: the matrix B of the specification,
divided by its trace, has the entries h_g on its diagonal and -u_g u_k off it, with
u_g = h_g / sqrt(1 - h_g).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Floats, Integers


def numbered(groups: Sequence[Hashable]) -> tuple[Integers, tuple[Hashable, ...]]:
    """Return the number of each value's group, and the groups in the order of first use."""
    places: dict[Hashable, int] = {}
    index = np.array([places.setdefault(group, len(places)) for group in groups])
    return index, tuple(places)


def cluster_count(datasets: Sequence[Sequence[Hashable] | None]) -> int | None:
    """Return the number of clusters of all datasets; None if a dataset's are unknown."""
    names = [name for groups in datasets for name in groups or ()]
    return None if not datasets or None in datasets else len(set(names))


@dataclass(frozen=True, slots=True)
class ClusteredMean:
    """What each cluster contributes to the error of a mean over two or more clusters.

    Args:
        errors: the sum of the weighted residuals of each cluster, corrected for its leverage.
        shares: the weight of each cluster in the mean, h_g in the specification; their sum is 1.
        names: the clusters, in the order of `errors`; None if no other mean has one of them.
        lost: the number of degrees of freedom that other estimates have used.
    """

    errors: Floats
    shares: Floats
    names: Sequence[Hashable] | None = None
    lost: int = 0

    @classmethod
    def of(
        cls, sums: Floats, shares: Floats, names: Sequence[Hashable] | None = None
    ) -> ClusteredMean:
        """Return a mean from the sums of its weighted residuals by cluster (CR2)."""
        return cls(sums / np.sqrt(1 - shares), shares, names)

    @property
    def variance(self) -> float:
        """The squared standard error; s^2 / n with one value per cluster."""
        return math.fsum(self.errors * self.errors)

    @property
    def df(self) -> float:
        """The degrees of freedom; the number of clusters minus 1 if all are equally large."""
        if np.ptp(self.shares) < 1e-12:
            return max(1.0, len(self.shares) - 1 - self.lost)
        return max(1.0, 1 / _product(self.shares, self.shares) - self.lost)

    @property
    def size(self) -> float:
        """The effective number of clusters: their number if all are equally large."""
        return 1 / math.fsum(self.shares * self.shares)


def _product(shares: Floats, others: Floats) -> float:
    """Return the sum of the products of the entries of two matrices B, each of trace 1."""
    both = shares * others
    apart = both / np.sqrt((1 - shares) * (1 - others))
    return math.fsum([*both, math.fsum(apart) ** 2, *-(apart * apart)])


def combined(
    means: Sequence[ClusteredMean], factors: Sequence[float]
) -> tuple[float, float, float]:
    """Return the variance, the degrees of freedom and the effective size of a sum of means.

    `factors` are the weights of the means. The contributions of a cluster that several means have
    are added before they are squared. The degrees of freedom are Satterthwaite's,
    (sum of v)^2 / sum of v_d v_e <B_d, B_e>, where v_d is the variance of the weighted mean d and
    <B_d, B_e> is the `_product` over common clusters: 1 / df of d itself, 0 without any. They are
    infinite if all residuals are 0.
    """
    parts = [factor**2 * mean.variance for mean, factor in zip(means, factors, strict=True)]
    variance = math.fsum(parts)
    weight = math.fsum(f * f / mean.size for mean, f in zip(means, factors, strict=True))
    spread = math.fsum(part * part / mean.df for part, mean in zip(parts, means, strict=True))
    columns = _common(means)
    if columns is not None:
        errors, shares = (column * np.array(factors)[:, None] for column in columns)
        variance = max(0.0, variance + _cross_terms(errors))
        weight += _cross_terms(shares)
        for index, row in enumerate(columns[1]):
            for other in range(index):
                product = _product(row, columns[1][other])
                spread += 2 * parts[index] * parts[other] * product
    df = math.fsum(parts) ** 2 / spread if spread > 0 else math.inf
    return variance, df, 1 / weight


def _common(means: Sequence[ClusteredMean]) -> tuple[Floats, Floats] | None:
    """Return errors and shares by mean and common cluster; None if there is no such cluster."""
    named = [mean.names or () for mean in means]
    counts = Counter(name for names in named for name in names)
    columns = {name: 0 for name, count in counts.items() if count > 1}
    if not columns:
        return None
    columns = {name: index for index, name in enumerate(columns)}
    errors, shares = np.zeros((2, len(means), len(columns)))
    for row, (mean, names) in enumerate(zip(means, named, strict=True)):
        for index, name in enumerate(names):
            if name in columns:
                errors[row, columns[name]] = mean.errors[index]
                shares[row, columns[name]] = mean.shares[index]
    return errors, shares


def _cross_terms(rows: Floats) -> float:
    """Return the sum over columns of the squared sum minus the sum of squares."""
    sums = rows.sum(axis=0)
    return math.fsum([*(sums * sums), *-(rows * rows).ravel()])
