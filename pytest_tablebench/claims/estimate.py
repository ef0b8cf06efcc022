"""A figure with its interval, of one run or of paired differences (spec: statistics.md 2 to 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_tablebench.claims._clusters import ClusteredMean, combined, numbered
from pytest_tablebench.results.figures import mean
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Floats

TIE = 1e-9
"""Values closer than this are equal, whatever their rounding."""

EQUAL = 1e-18
"""A variance of a mean below this is rounding noise: all values are equal."""

FEW = 5.0
"""With fewer right or wrong examples than this, the interval counts each example as a whole."""

FEW_DIFFERING = 20
"""With so many differing examples their own squares are enough."""

FEW_CLUSTERS = 0.5
"""The same, in clusters, where examples share clusters."""

Bounds = tuple[float, float, str]


@dataclass(frozen=True)
class Estimate:
    """A figure over examples, or a difference of two, with its confidence interval.

    Args:
        value: the figure; None if it cannot be computed.
        low, high: the ends of the interval at `level`; None without an interval.
        examples: the number of used examples.
        clusters: the number of tables that the interval takes as independent; None if it takes
            examples, or if tables are unknown.
        method: the rule of the interval.
        note: why the value or the interval is missing, or what is special about it.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    examples: int = 0
    clusters: int | None = None
    method: str | None = None
    note: str | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval; None without one."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def negated(self) -> Estimate:
        """The figure with the opposite sign, as a drop for a change."""
        value, low, high = (
            None if end is None else 0 - end for end in (self.value, self.high, self.low)
        )
        return replace(self, value=value, low=low, high=high)

    @property
    def ci95(self) -> list[float] | None:
        """The interval as a list, for JSON."""
        return None if self.interval is None else list(self.interval)


def span(bounds: Iterable[float], number: Callable[[float], str]) -> str:
    """Return the ends of an interval as text; `number` formats an end."""
    return " to ".join(map(number, bounds))


@dataclass(frozen=True, slots=True)
class Moments:
    """The moments of the example values of one or more datasets, for an interval.

    `mean` is the mean over datasets of the mean over examples. `variance` is the squared
    standard error, `df` its degrees of freedom (None if all values are equal). `n` is the number
    of examples, `size` the effective number for rules 1 and 2 of section 2. `is_clustered` is
    whether some examples share a cluster. `differing` is the number of clusters with a value other
    than 0, for differences. `independent` is the variance if clusters did not matter; 0 without
    any.
    """

    mean: float
    variance: float
    df: float | None
    size: float
    n: int
    is_clustered: bool = False
    differing: float = math.inf
    independent: float = 0.0

    @property
    def has_few_differing(self) -> bool:
        """Whether fewer than 20 examples, and less than half of them, have a difference."""
        return self.differing < min(FEW_DIFFERING, self.size / 2)

    @property
    def paired_se(self) -> float:
        """The standard error of a mean of differences.

        If few examples differ (`has_few_differing`), a quarter of a better and of
        a worse example are added to their squares, as Agresti and Min (2005, Statistics in Medicine
        24) add half: near a perfect score a t interval is too narrow without (simulated:
        `benchmarks.intervals`).
        """
        if self.df is None or not self.has_few_differing:
            return self.se
        return math.sqrt(self.variance + 0.5 / (self.size * (self.size - 1)))

    @property
    def se(self) -> float:
        """The standard error; exactly 0 if all values are equal."""
        return math.sqrt(self.variance) if self.df is not None else 0.0


def moments(
    datasets: Sequence[Sequence[float] | Floats],
    clusters: Sequence[Sequence[Hashable] | None] | None = None,
) -> Moments | None:
    """Return the moments of example values; None if a dataset has fewer than two clusters.

    `datasets` contains one sequence of example values per dataset. `clusters` contains the cluster
    (table) of each example, or None for a dataset whose examples are their own clusters
    (section 1). Equal names in two datasets are one cluster. Several datasets are strata
    (section 4). None without a dataset.
    """
    shared = clusters if clusters is not None else [None] * len(datasets)
    centres, strata = [], []
    for values, groups in zip(datasets, shared, strict=True):
        row = np.asarray(values, dtype=float)
        stratum = _clustered(row, groups)
        if stratum is None:
            return None
        centres.append(math.fsum(row) / len(row))
        strata.append(stratum)
    if not strata:
        return None
    variance, df, size = combined(strata, [1 / len(strata)] * len(strata))
    mean, n = math.fsum(centres) / len(strata), sum(map(len, datasets))
    is_clustered = sum(len(stratum.errors) for stratum in strata) < n
    differing = sum(map(_differing, datasets, shared))
    free = df if variance >= EQUAL else None
    independent = 0.0
    if is_clustered:
        spreads = (float(np.var(values, ddof=1)) / len(values) for values in datasets)
        independent = math.fsum(spreads) / len(datasets) ** 2
    return Moments(mean, variance, free, size, n, is_clustered, differing, independent)


def _differing(values: Sequence[float] | Floats, groups: Sequence[Hashable] | None) -> int:
    """Return the number of clusters with a value other than 0."""
    places = np.flatnonzero(np.abs(np.asarray(values, dtype=float)) > TIE).tolist()
    return len(places if groups is None else {groups[position] for position in places})


def _clustered(row: Floats, groups: Sequence[Hashable] | None) -> ClusteredMean | None:
    """Return the clusters of example values; None with fewer than two."""
    n = len(row)
    if n < 2:
        return None
    rest = (row - math.fsum(row) / n) / n
    if groups is None:
        return ClusteredMean.of(rest, np.full(n, 1 / n))
    index, names = numbered(groups)
    if len(names) < 2:
        return None
    sums: Floats = np.bincount(index, weights=rest).astype(float)
    return ClusteredMean.of(sums, np.bincount(index) / n, names)


def clopper_pearson(successes: float, total: float, tail: float = 0.025) -> tuple[float, float]:
    """Return the exact binomial interval with `tail` outside each end; counts may be fractions."""
    from scipy.special import betaincinv

    low = betaincinv(successes, total - successes + 1, tail) if successes > 0 else 0.0
    high = betaincinv(successes + 1, total - successes, 1 - tail) if successes < total else 1.0
    return float(low), float(high)


def level_bounds(stats: Moments, tail: float = 0.025) -> Bounds:
    """Return the interval of a mean of values in 0..1, and the name of its rule (section 2).

    The rule is the effective Clopper-Pearson interval (Korn and Graubard 1998), the exact interval
    over examples if few are right or few are wrong, or the zero-variance bound if all are equal.
    With clusters the exact interval counts clusters, if less than half a cluster is right or wrong;
    otherwise the variance is at least that of independent examples (simulated for 3 to 12 clusters:
    `benchmarks.intervals`).
    """
    if stats.df is None:
        reach = 1 - tail ** (1 / stats.size)
        return (max(0.0, stats.mean - reach), min(1.0, stats.mean + reach), "zero variance")
    if _few(stats):
        low, high = clopper_pearson(stats.size * stats.mean, stats.size, tail)
        return low, high, "example Clopper-Pearson"
    from scipy.special import ndtri, stdtrit

    quantiles = ndtri(1 - tail) / stdtrit(stats.df, 1 - tail)
    variance = max(stats.variance, stats.independent)
    total = float(stats.mean * (1 - stats.mean) / variance * quantiles**2)
    if stats.is_clustered:
        total = max(total, stats.size)
    low, high = clopper_pearson(stats.mean * total, total, tail)
    return low, high, "effective Clopper-Pearson"


def estimate(
    datasets: Sequence[Sequence[float] | Floats],
    clusters: Sequence[Sequence[Hashable] | None] | None = None,
    *,
    level: float = 0.95,
    paired: bool = False,
) -> Estimate:
    """Return the mean over datasets of the mean over examples, with its interval.

    Example values are in 0..1, or differences of such values if `paired`; other arguments as of
    `moments`. The rule is chosen by `level_bounds` or `paired_bounds`. There is no value without
    a dataset or if one is empty, and no interval if one has fewer than two clusters.
    """
    value = mean(mean(list(values)) for values in datasets)
    groups = [] if clusters is None else [names for names in clusters if names is not None]
    figure = Estimate(
        value,
        level=level,
        examples=sum(map(len, datasets)),
        clusters=len({name for names in groups for name in names}) if groups else None,
    )
    stats = moments(datasets, clusters)
    if stats is None:
        return replace(figure, note="no interval can be computed")
    low, high, method = (paired_bounds if paired else level_bounds)(stats, (1 - level) / 2)
    return replace(figure, low=low, high=high, method=method)


def interval(
    datasets: Sequence[Sequence[float]],
    level: float = 0.95,
    *,
    clusters: Sequence[Sequence[Hashable] | None] | None = None,
) -> tuple[float, float] | None:
    """Return the interval of `estimate` alone."""
    return estimate(datasets, clusters, level=level).interval


def paired_bounds(stats: Moments, tail: float = 0.025) -> Bounds:
    """Return the interval of a mean paired difference, within -1..1, and its rule (section 3).

    Equal differences have the zero-variance bound: a share of the questions that were not asked
    may have any other difference. If few examples differ, each end is also the exact bound of the
    share that flips to that side, less the observed flips to the other side. A t interval alone
    is too narrow there (simulated: `benchmarks.intervals`).
    """
    mean = stats.mean
    if stats.df is None:
        share = 1 - tail ** (1 / stats.size)
        # Scores, pass rates and robustness are 0 to 1, so a difference is -1 to 1.
        return mean - share * (1 + mean), mean + share * (1 - mean), "zero variance"
    from scipy.special import stdtrit

    reach = float(stdtrit(stats.df, 1 - tail)) * stats.paired_se
    low, high = mean - reach, mean + reach
    if stats.has_few_differing:
        squares = stats.variance * (stats.size - 1) + mean**2
        worse, better = (max(0.0, (squares + value) / 2) for value in (-mean, mean))
        low = min(low, mean + worse - clopper_pearson(worse * stats.size, stats.size, tail)[1])
        high = max(high, mean - better + clopper_pearson(better * stats.size, stats.size, tail)[1])
    return max(-1.0, low), min(1.0, high), "t"


def failure_tail(stats: Moments, bound: float, *, above: bool, paired: bool) -> float:
    """Return the one-sided p-value of "fails": the tail at which an interval ends at the bound.

    `above` means that the gate requires at least `bound` and fails if the upper end is below it;
    otherwise it requires at most `bound`. For Clopper-Pearson the p-value is 1 if the estimate
    meets the bound (section 8).
    """
    if paired and stats.df is not None:
        from scipy.special import stdtr

        distance = stats.mean - bound if above else bound - stats.mean
        p = float(stdtr(stats.df, distance / stats.paired_se))
        if not stats.has_few_differing or distance >= 0:
            return p
        if above:
            return max(p, _root(lambda tail: paired_bounds(stats, tail)[1] - bound))
        return max(p, _root(lambda tail: bound - paired_bounds(stats, tail)[0]))
    gap = bound - stats.mean if above else stats.mean - bound
    if gap <= 0:
        return 1.0
    if stats.df is None:
        most = 1.0 if not paired else 1 - stats.mean if above else 1 + stats.mean
        return float(max(0.0, 1 - gap / most) ** stats.size)
    if _few(stats):
        from scipy.special import betaincc

        # For "at most", exchange successes and failures.
        share, limit = (stats.mean, bound) if above else (1 - stats.mean, 1 - bound)
        successes = stats.size * share
        return float(betaincc(successes + 1, stats.size - successes, min(1.0, limit)))
    if above:
        return _root(lambda tail: level_bounds(stats, tail)[1] - bound)
    return _root(lambda tail: bound - level_bounds(stats, tail)[0])


def _few(stats: Moments) -> bool:
    successes = stats.size * stats.mean
    least = FEW_CLUSTERS if stats.is_clustered else FEW
    # Five of 77 are 4.999999999999999 as mean times size.
    return min(successes, stats.size - successes) < least - 1e-9


def _root(excess: Callable[[float], float]) -> float:
    """Return the tail in (1e-12, .5) at which a falling function is 0, by bisection of its log."""
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


def mcnemar(better: int, worse: int) -> float:
    """Return the exact two-sided p-value of so many flips in each direction (section 7).

    Valid if each example appears once, as in one serializer and perturbation. Counted over
    examples instead of flips it is the sign test.
    """
    total = better + worse
    if total == 0:
        return 1.0
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(better, worse), total, 0.5)))


def sign_flip(differences: Sequence[float], *, resamples: int = 9999, seed: int = 0) -> float:
    """Return the two-sided p-value of the sum of differences under random signs (section 7).

    For a mean over several datasets, first divide each difference by the number of examples of its
    dataset. Deterministic for a seed; 1 if all differences are 0.
    """
    values = np.asarray(differences, dtype=float)
    values = values[np.abs(values) > TIE]
    if not len(values):
        return 1.0
    draw = np.random.default_rng(seed)
    # Draw a limited number of signs at a time to bound memory.
    rows = max(1, 2_000_000 // len(values))
    reached, least = 0, abs(float(values.sum())) - TIE
    for start in range(0, resamples, rows):
        shape = (min(rows, resamples - start), len(values))
        negative = draw.integers(0, 2, shape, dtype=np.int8).astype(bool)
        # The signed sum is the plain sum minus twice the sum of the negated values.
        sums = values.sum() - 2 * (negative @ values)
        reached += int((np.abs(sums) >= least).sum())
    return (1 + reached) / (1 + resamples)


def holm(tails: Sequence[float], alpha: float = 0.025, size: int | None = None) -> list[bool]:
    """Return which of several one-sided p-values are rejected (Holm's correction; section 8).

    The r-th smallest must be below alpha / (size - r); the first that is not ends the rejections.
    `size` is the number of tests in the family, if it is larger than `tails`.
    """
    rejected = [False] * len(tails)
    left = len(tails) if size is None else size
    for index in sorted(range(len(tails)), key=tails.__getitem__):
        if not tails[index] < alpha / left:
            break
        rejected[index] = True
        left -= 1
    return rejected
