"""The always-valid test of the looks of a watch, and the bound on their noise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Floats

NOISE_ERROR, REFERENCE_ERROR = 0.01, 0.03
"""The shares of the total error of .05 for the two bounds of this module."""

_STEPS = 60
"""Halvings of an interval, which reach the precision of a float."""


@dataclass(frozen=True)
class Noise:
    """Bounds on the score of one run, as the sum over clusters of mean scores, without a change.

    `variance` is an upper bound of its variance. `offset` is a bound on the error of the
    reference's sum, the mean of `repeats` runs, on each side. `n` is the number of clusters.
    """

    n: int
    repeats: int
    variance: float
    offset: float


class NoiseMeter:
    """Measures the noise of the score from consecutive runs of an unchanged model.

    The value of a cluster in a run is the mean score of its cases, in 0..1. Clusters are
    independent, and so are runs; cases of one cluster may depend on each other. Half the squared
    difference of two runs is in 0..1/2 and has the cluster's variance as its mean. So Hoeffding's
    inequality (1963, Theorem 1, in its relative-entropy form, for independent variables with
    different means) bounds the mean variance. The bound is computed each time the number of pairs
    has doubled, with half the remaining error, so that it is valid at every look.

    Arguments:
        reference: the scores by case and repeat, at least two repeats.
        clusters: the cluster of each case.
    """

    def __init__(self, reference: Floats, clusters: Sequence[Hashable]) -> None:
        self.repeats = reference.shape[1]
        counts = Counter(clusters)
        numbers = {name: number for number, name in enumerate(counts)}
        self._places = np.array([numbers[name] for name in clusters])
        self._sizes = np.array(list(counts.values()), dtype=float)
        self.n = len(self._sizes)
        self._sum, self._pairs = 0.0, 0
        self._error, self._due = NOISE_ERROR / 2, 1
        self._waiting: Floats | None = None
        self.variance = self.n / 4  # Popoviciu's bound for values in 0..1
        for scores in reference.T:
            self.add(scores)

    def by_cluster(self, values: Floats) -> Floats:
        """Return the mean of each cluster; missing values count as 0."""
        sums = np.bincount(self._places, np.nan_to_num(values), minlength=self.n)
        means: Floats = sums / self._sizes
        return means

    def add(self, scores: Floats) -> None:
        """Add the scores of the next run; every second run completes a pair."""
        if self._waiting is None:
            self._waiting = scores
            return
        difference = self.by_cluster(self._waiting - scores)
        self._waiting = None
        self._sum += float((difference**2).sum()) / 2
        self._pairs += 1
        if self._pairs == self._due:
            count = self._pairs * self.n
            self.variance = self.n / 2 * mean_bound(2 * self._sum / count, count, self._error)
            self._error, self._due = self._error / 2, self._due * 2

    @property
    def noise(self) -> Noise:
        """The bounds as of now."""
        variance = min(self.variance, self.n / 4)
        offset = deviation(variance, REFERENCE_ERROR / 2, runs=self.repeats)
        return Noise(self.n, self.repeats, variance, offset)


def mean_bound(mean: float, count: int, error: float) -> float:
    """Return an upper bound of the mean of independent values in 0..1, wrong with at most `error`.

    `mean` is the mean of `count` values.
    """
    goal = math.log(1 / error) / count
    return _boundary(lambda bound: _relative_entropy(mean, bound) < goal, mean, 1.0)


def deviation(variance: float, error: float, *, runs: int = 1) -> float:
    """Return what the mean of `runs` sums exceeds its expectation by with at most `error`.

    It is Bennett's inequality (1962) for sums of independent terms in 0..1 with this total
    variance.
    """
    if variance <= 0:
        return 0.0
    goal = math.log(1 / error) / (variance * runs)
    limit = 2.0
    while _bennett(limit) < goal:
        limit *= 2
    return _boundary(lambda ratio: _bennett(ratio) < goal, 0.0, limit) * variance


def _bennett(ratio: float) -> float:
    return (1 + ratio) * math.log1p(ratio) - ratio


def _relative_entropy(mean: float, bound: float) -> float:
    """Return the relative entropy of two Bernoulli distributions."""
    left = mean * math.log(mean / bound) if mean > 0 else 0.0
    if mean >= 1:
        return left
    return left + (1 - mean) * math.log((1 - mean) / (1 - bound)) if bound < 1 else math.inf


def _boundary(is_below: Callable[[float], bool], low: float, high: float) -> float:
    """Return the value at which a condition that is true for small values becomes false."""
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return high


LOOK_ERROR = 0.01
"""The share of the total error of .05 for the looks; half of it for each direction."""

BETS = np.geomspace(0.01, 4.0, 14)
"""The factors of the exponential bets; their wealth is averaged."""

MOST_LOOKS = 5000
"""The horizon of `looks_until`."""


_GROWTH = np.expm1(BETS) - BETS
"""The logarithm by which noise of variance 1 multiplies each wealth at most (Bennett)."""


def log_goal(start: int) -> float:
    """Return the logarithm of the wealth that decides, for bets that begin at a look from 0.

    The weights 1 / (s (s + 1)) of the starts s = 1, 2, ... sum to 1.
    """
    return math.log(2 / LOOK_ERROR * (start + 1) * (start + 2))


def log_wealth(sums: Floats, counts: Floats, noise: Noise) -> Floats:
    """Return the logarithm of the mean wealth of all bets, for sums of drops over looks."""
    excess = np.asarray(sums, dtype=float) - np.asarray(counts) * noise.offset
    logs = excess[..., None] * BETS - np.asarray(counts)[..., None] * noise.variance * _GROWTH
    top = logs.max(axis=-1, keepdims=True)
    values: Floats = top[..., 0] + np.log(np.exp(logs - top).mean(axis=-1))
    return values


def first_start(drops: Floats, noise: Noise) -> int | None:
    """Return the start whose wealth against "no drop" is highest above its goal; None if none is.

    `drops` are the differences of the sums of scores, reference minus look, in order.
    """
    count = len(drops)
    sums = drops[::-1].cumsum()[::-1]
    goals = np.array([log_goal(start) for start in range(count)])
    surplus = log_wealth(sums, np.arange(count, 0, -1.0), noise) - goals
    best = int(surplus.argmax()) if count else 0
    return best if count and surplus[best] >= 0 else None


def radius(looks: int, start: int, noise: Noise) -> float:
    """Return half the width of the confidence sequence of a mean drop, in score."""
    low, high, goal = 0.0, 1.0, log_goal(start)
    count = np.array(float(looks))

    def is_small(excess: float) -> bool:
        return float(log_wealth(np.array(looks * (noise.offset + excess)), count, noise)) < goal

    while is_small(high):
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if is_small(middle) else (low, middle)
    return (noise.offset + high) / noise.n


def drop_since(drops: Floats, start: int, noise: Noise) -> Estimate:
    """Return the mean drop of the looks since a start, with its confidence sequence.

    Its ends hold at every look at once: `low` above 0 is a drop, `high` below 0 a rise.
    """
    mean = float(drops[start:].mean()) / noise.n
    half = radius(len(drops) - start, start, noise)
    low, high = max(-1.0, mean - half), min(1.0, mean + half)
    return Estimate(mean, low, high, clusters=noise.n, method="confidence sequence")


def looks_until(drop: float, noise: Noise, looks: int = 0) -> int | None:
    """Return after about how many looks a drop is found that begins after `looks` looks.

    None if the reference is too short: its own error is larger than the drop, or the wealth needs
    more than `MOST_LOOKS` looks.
    """
    counts = np.arange(1.0, MOST_LOOKS + 1)
    logs = log_wealth(counts * drop * noise.n, counts, noise)
    enough = np.flatnonzero(logs >= log_goal(looks))
    return int(enough[0]) + 1 if len(enough) else None
