"""Estimate the mean that people would give, from all marks of a judge and some labels by people.

The estimate is prediction-powered inference for a mean (Angelopoulos, Bates, Fannjiang, Jordan and
Zrnic 2023, Science 382) with the power tuning of PPI++ (Angelopoulos, Duchi and Zrnic 2023,
arXiv:2311.01453), clustered by example. The labelled cases are some of the judged ones, so it is
also the difference estimator of survey sampling (Saerndal, Swensson and Wretman 1992, chapter 9).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_tablebench.claims._clusters import ClusteredMean, numbered
from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Flags, Floats, Integers

FEWEST_LABELS = 20
"""The number of labels below which there is no corrected estimate."""

FEWEST_CLUSTERS = 10
"""The number of labelled tables (or examples) below which there is none either."""

_CORNERS = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0))
_PSEUDO = 0.3
"""The weight of each pseudo-label in units of one label."""

_EQUAL = 1e-9

_LEAST = 1e-12
"""The least variance, so that no figure is divided by 0."""


@dataclass(frozen=True)
class LabelledMean:
    """A mean corrected by labels, or a difference of such means.

    Args:
        mean: the estimate, not cut to 0..1.
        naive: the same figure of the judge's marks.
        weight: how far the marks are used: 1 for the judge's mean plus the mean error, 0 for the
            labels alone; None for several datasets.
        variance: the squared standard error; `df` are its degrees of freedom.
        n_labels: the number of labelled cases; `n_clusters` is the number of their clusters.
        n: the number of examples.
        influence: the contribution of each cluster to the error of the estimate.
        extra: the part of the variance that belongs to no cluster but to the pseudo-labels. The
            variance is this plus the sum of the squared contributions.
    """

    mean: float
    naive: float
    weight: float | None
    variance: float
    df: float
    n_labels: int
    n_clusters: int
    n: int
    influence: Mapping[Hashable, float] = field(default_factory=dict, repr=False)
    extra: float = 0.0

    @property
    def se(self) -> float:
        """The standard error."""
        return math.sqrt(self.variance)

    @property
    def value(self) -> float:
        """The estimate, cut to 0..1."""
        return min(1.0, max(0.0, self.mean))

    @property
    def estimate(self) -> Estimate:
        """The estimate of a mean from 0 to 1 with its interval."""
        low, high = self.bounds()
        return Estimate(
            self.value, low, high, examples=self.n, clusters=self.n_clusters, method="labels"
        )

    def bounds(self, tail: float = 0.025) -> tuple[float, float]:
        """Return the interval of a mean from 0 to 1 with `tail` outside each end.

        It is Wilson's (1927) with t quantiles and the effective number of labels (`size`), as for
        complex samples (Franco, Little, Louis and Slud 2019, JSSAM 7).
        """
        from scipy.special import stdtrit

        t, mean, size = float(stdtrit(self.df, 1 - tail)), self.value, self.size
        square = t * t / size
        centre = (mean + square / 2) / (1 + square)
        reach = math.sqrt(square * (mean * (1 - mean) + square / 4)) / (1 + square)
        return max(0.0, centre - reach), min(1.0, centre + reach)

    @property
    def size(self) -> float:
        """The number of independent labels that would give the same variance.

        One right and one wrong label are added to the mean, so that a mean of 0 or 1 has a size.
        """
        mean = (self.value * self.n_clusters + 1) / (self.n_clusters + 2)
        return mean * (1 - mean) / self.variance

    def failure_tail(self, bound: float, *, above: bool) -> float:
        """Return the tail at which the interval ends at the bound; as in the gates' intervals."""
        from scipy.special import stdtr

        gap = self.value - bound if above else bound - self.value
        spread = math.sqrt(bound * (1 - bound) / self.size) if 0 < bound < 1 else 0.0
        if spread == 0:
            return 1.0 if gap >= 0 else 0.0
        return float(stdtr(self.df, gap / spread))

    def difference_bounds(self, tail: float = 0.025) -> tuple[float, float]:
        """Return the t interval of a difference of two means, within -1..1."""
        from scipy.special import stdtrit

        reach = float(stdtrit(self.df, 1 - tail)) * self.se
        return max(-1.0, self.mean - reach), min(1.0, self.mean + reach)

    def difference_tail(self, bound: float, *, above: bool) -> float:
        """Return the tail at which the t interval of a difference ends at the bound."""
        from scipy.special import stdtr

        gap = self.mean - bound if above else bound - self.mean
        return float(stdtr(self.df, gap / self.se))


def combined(parts: Sequence[LabelledMean], factors: Sequence[float]) -> LabelledMean:
    """Return the sum of corrected means times factors: their mean, or a difference.

    Contributions of the same cluster are added before they are squared. The degrees of freedom are
    Welch's and Satterthwaite's, over the parts.
    """
    influence: dict[Hashable, float] = {}
    for part, factor in zip(parts, factors, strict=True):
        for name, value in part.influence.items():
            influence[name] = influence.get(name, 0.0) + factor * value
    extra = math.fsum(f * f * part.extra for part, f in zip(parts, factors, strict=True))
    variance = math.fsum(value * value for value in influence.values()) + extra
    shares = [f * f * part.variance for part, f in zip(parts, factors, strict=True)]
    spread = math.fsum(
        share * share / part.df for share, part in zip(shares, parts, strict=True) if share
    )
    df = math.fsum(shares) ** 2 / spread if spread else math.inf
    most: float = len(influence) - 1
    if sum(len(part.influence) for part in parts) > len(influence):
        most = max(part.df for part in parts)  # a difference over the same clusters
    return LabelledMean(
        math.fsum(f * part.mean for part, f in zip(parts, factors, strict=True)),
        math.fsum(f * part.naive for part, f in zip(parts, factors, strict=True)),
        None,
        max(variance, _LEAST),
        max(1.0, min(df, most)),
        sum(part.n_labels for part in parts),
        sum(part.n_clusters for part in parts),
        sum(part.n for part in parts),
        influence,
        extra,
    )


def plain_values(values: Sequence[float], names: Sequence[Hashable]) -> LabelledMean | None:
    """Return the mean of example values that need no judge; None with fewer than two clusters.

    `names` are the clusters of the examples.
    """
    if len(set(names)) < 2:
        return None
    n, mean = len(values), math.fsum(values) / len(values)
    index, clusters = numbered(names)
    sums = np.bincount(index, weights=np.asarray(values, dtype=float) - mean) / n
    stats = ClusteredMean.of(sums, np.bincount(index) / n, clusters)
    influence = dict(zip(clusters, stats.errors.tolist(), strict=True))
    variance, size = max(_LEAST, stats.variance), len(clusters)
    return LabelledMean(mean, mean, 1.0, variance, stats.df, 0, size, n, influence)


def corrected_mean(
    marks: Floats,
    labels: Floats,
    weights: Floats,
    clusters: Integers,
    *,
    strata: Integers | None = None,
    sampling: Floats | None = None,
    names: Sequence[Hashable] | None = None,
) -> LabelledMean | None:
    """Return the corrected mean of one dataset; None with too few labels.

    All arrays have one value per judged case.

    Args:
        marks: the judge's marks, from 0 to 1.
        labels: the mean label of each case, from 0 to 1; NaN without a label.
        weights: the weight of each case in the mean of the dataset.
        clusters: the number of the cluster of each case, from 0.
        strata: the number of the stratum of each case, from 0: labels are a random sample within
            each. None: labels are a random sample of all cases.
        sampling: the relative sampling weight of each case, 1 divided by its chance of a label.
        names: the clusters by number, for `LabelledMean.influence`.

    Within stratum h, with the weights w of all cases and v of labelled ones (both add up to W_h),
    the estimate is sum_h (W_h y_h) + L * (F - sum_h (W_h f_h)): y_h and f_h are the means of labels
    and marks of the labelled cases, F is the mean of all marks. L minimises the variance and is
    cut to 0..1. The variance is the sum of the squared cluster sums of
    w * (L f + r_h - estimate) + v * (y - L f - r_h) with r_h = y_h - L f_h.

    Where labels equal marks, few labels show how rare errors are. Therefore three tenths of a label
    is added to the variance of each stratum for each combination of the label and mark 0 or 1,
    times its share of labels that equal the mark (Agresti and Min 2005, Statistics in Medicine 24,
    add half).
    """
    is_labelled = np.isfinite(labels)
    n_labels = int(is_labelled.sum())
    labelled_clusters = len(np.unique(clusters[is_labelled]))
    if n_labels < FEWEST_LABELS or labelled_clusters < FEWEST_CLUSTERS:
        return None
    weights = weights / weights.sum()
    groups = _merged(
        np.zeros(len(marks), dtype=np.int64) if strata is None else strata, is_labelled
    )
    number = int(groups.max()) + 1
    chances = (weights if sampling is None else weights * sampling) * is_labelled
    values: Floats = np.where(is_labelled, labels, 0.0)

    def sums(column: Floats) -> Floats:
        totals: Floats = np.bincount(groups, weights=column, minlength=number).astype(float)
        return totals

    shares = sums(weights)
    v = chances * (shares / sums(chances))[groups]
    label_means, mark_means = sums(v * values) / shares, sums(v * marks) / shares
    label_mean, mark_mean = float(shares @ label_means), float(shares @ mark_means)
    naive = float(weights @ marks)
    counts = np.bincount(groups[is_labelled], minlength=number)
    label_rest = np.where(is_labelled, values - label_means[groups], 0.0)
    mark_rest = np.where(is_labelled, marks - mark_means[groups], 0.0)
    label_term = weights * (label_means[groups] - label_mean) + v * label_rest
    mark_term = weights * (marks - mark_means[groups] - (naive - mark_mean)) - v * mark_rest
    size = int(clusters.max()) + 1
    of_labels = np.bincount(clusters, weights=label_term, minlength=size)
    of_marks = np.bincount(clusters, weights=mark_term, minlength=size)
    is_equal = is_labelled & (np.abs(values - marks) < _EQUAL)
    equal = sums(is_equal.astype(float)) / counts
    pseudo = _PSEUDO * float(equal @ (shares / counts) ** 2)
    corners = np.array(_CORNERS)
    label_ends, mark_ends = corners[:, 0] - label_mean, mark_mean - corners[:, 1]
    steepness = float(of_marks @ of_marks) + pseudo * float(mark_ends @ mark_ends)
    shared = float(of_labels @ of_marks) + pseudo * float(label_ends @ mark_ends)
    weight = min(1.0, max(0.0, -shared / steepness)) if steepness > 0 else 0.0
    of_labelled: Floats = np.bincount(clusters[is_labelled], v[is_labelled]).astype(float)
    of_labelled = of_labelled[of_labelled > 0]
    df = ClusteredMean(of_labelled, of_labelled / of_labelled.sum(), lost=number).df
    influence = of_labels + weight * of_marks
    # Residuals of labelled cases are too small by their leverage, on the mean and on the weight
    # (HC3; MacKinnon and White 1985, Journal of Econometrics 29).
    squares = (v * mark_rest) ** 2
    leverage = 1 / np.maximum(counts, 2)[groups] + squares / max(float(squares.sum()), 1e-12)
    rest = v * (label_rest - weight * mark_rest) * (1 / (1 - np.minimum(leverage, 0.9)) - 1)
    influence += np.bincount(clusters, weights=rest, minlength=size)
    corner_rest = label_ends + weight * mark_ends
    extra = pseudo * float(corner_rest @ corner_rest)
    variance = float(influence @ influence) + extra
    mean = label_mean + weight * (naive - mark_mean)
    if variance < _LEAST:
        # All errors are equal: a share of the cases may still have another error.
        extra = variance = ((1 - 0.025 ** (1 / labelled_clusters)) / 2) ** 2
    by_name = {} if names is None else dict(zip(names, influence.tolist(), strict=True))
    return LabelledMean(
        mean, naive, weight, variance, df, n_labels, labelled_clusters, size, by_name, extra
    )


def _merged(strata: Integers, is_labelled: Flags) -> Integers:
    """Return the strata, with each that has fewer than two labels joined to a neighbour."""
    counts = np.bincount(strata[is_labelled], minlength=int(strata.max()) + 1)
    targets: list[int] = []
    position = collected = 0
    for count in counts.tolist():
        targets.append(position)
        collected += count
        if collected >= 2:
            position, collected = position + 1, 0
    if collected < 2 and position:
        targets = [min(target, position - 1) for target in targets]
    merged: Integers = np.array(targets)[strata]
    return merged


def case_weights(examples: Sequence[Hashable], configurations: Sequence[Hashable]) -> Floats:
    """Return the weight of each case in the mean of a dataset.

    It is the mean over examples of the mean over configurations of the mean over repeats.
    """
    keys = list(zip(examples, configurations, strict=True))
    repeats = Counter(keys)
    cells = Counter(example for example, _ in repeats)
    return np.array([1 / (len(cells) * cells[key[0]] * repeats[key]) for key in keys])


def rogan_gladen(
    rate: float,
    size: float,
    sensitivity: tuple[float, float],
    specificity: tuple[float, float],
) -> Estimate | None:
    """Return a rate corrected for a judge's errors (Rogan and Gladen 1978, Am J Epidemiology 107).

    The interval is by Lang and Reiczigel (2014, Preventive Veterinary Medicine 113). Each of
    `sensitivity` and `specificity` is a share and its (effective) number of labels; `rate` is the
    share that the judge calls right, of `size` independent answers. None if the judge is no better
    than chance, or if there are no right or no wrong answers among the labels.
    """
    from scipy.special import ndtri

    (se, n_se), (sp, n_sp) = sensitivity, specificity
    if n_se <= 0 or n_sp <= 0 or se + sp - 1 <= 0:
        return None
    z = float(ndtri(0.975))
    n, n_right, n_wrong = size + z * z, n_se + 2, n_sp + 2
    q = (size * rate + z * z / 2) / n
    se_adjusted, sp_adjusted = (n_se * se + 1) / n_right, (n_sp * sp + 1) / n_wrong
    power = se_adjusted + sp_adjusted - 1
    if power <= 0:
        return None
    p = min(1.0, max(0.0, (q + sp_adjusted - 1) / power))
    of_se = se_adjusted * (1 - se_adjusted) / n_right
    of_sp = sp_adjusted * (1 - sp_adjusted) / n_wrong
    shift = 2 * z * z * (p * of_se - (1 - p) * of_sp)
    reach = z * math.sqrt(q * (1 - q) / n + p * p * of_se + (1 - p) ** 2 * of_sp) / power
    low, high = (min(1.0, max(0.0, end)) for end in (p + shift - reach, p + shift + reach))
    estimate = min(1.0, max(0.0, (rate + sp - 1) / (se + sp - 1)))
    return Estimate(estimate, low, high)
