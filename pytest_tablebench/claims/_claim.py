"""A claim about a mean: its verdict by an interval, and how many examples decide it.

Gates and cheaper settings make such claims (spec: statistics.md 2, 3, 9).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Protocol

from pytest_tablebench.claims.estimate import TIE, Moments, level_bounds, paired_bounds

State = Literal["holds", "fails", "undecided"]

TOLERANCE = 1e-9
"""A value this close to a bound meets it, so that rounding decides nothing."""


POWER = 0.80
"""The share of runs in which a gate is decided at the named drop or number of examples."""

MOST = 1_000_000
"""A larger number of examples is no plan."""


@dataclass(frozen=True)
class Claim:
    """What an interval must show: a mean (or a `paired` difference) on one side of a bound.

    `tail` is the error outside each end of the interval. A failure has the error
    `tail / family`, because `family` claims share it (Holm).
    """

    bound: float
    at_least: bool
    paired: bool
    tail: float = 0.025
    family: int = 1


def examples_needed(stats: Moments, claim: Claim, *, fewest: int | None = None) -> int | None:
    """Return the smallest number of examples that decides a claim in 80 % of samples.

    The mean and its spread are taken as the true ones, and the examples per cluster as constant.
    With a probability of 20 % the mean of a sample is nearer to the bound by t_.80 standard errors.
    The interval of such a sample must exclude the bound. For a t interval this is the formula of
    section 9, (t_.975 + t_.80) * s / sqrt(n) <= |mean - bound|. So must the interval of a sample
    that is as much farther from the bound, because near 0 and 1 it may count whole clusters
    (`level_bounds`). Values without any spread are the same in every sample.

    Arguments:
        stats: the moments of the measured (or supposed) example values.
        claim: the claim.
        fewest: the smallest number to return; by default more than the measured one.

    Returns None if the mean equals the bound or more than a million examples are needed.
    """
    gap = stats.mean - claim.bound
    if abs(gap) <= TIE:
        return None
    state = "holds" if (gap > 0) == claim.at_least else "fails"
    tail = claim.tail / (claim.family if state == "fails" else 1)

    def is_decided(total: int) -> bool:
        sample = _scaled(stats, total / stats.n)
        bounds = paired_bounds if claim.paired else level_bounds
        moved = (_moved(sample, sign, paired=claim.paired) for sign in (-1, 1))
        for part in (sample, *moved):
            low, high, _ = bounds(part, tail)
            if decide(low, high, claim) != state:
                return False
        return True

    low = stats.n if fewest is None else fewest - 1
    high = low + 1
    while not is_decided(high):
        low, high = high, 2 * high
        if low >= MOST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_decided(middle) else (middle, high)
    return high if high <= MOST else None


def _scaled(stats: Moments, times: float) -> Moments:
    """Return the moments of a sample with `times` as many examples and clusters."""
    return replace(
        stats,
        variance=stats.variance / times,
        df=None if stats.df is None else max(1.0, (stats.df + 1) * times - 1),
        size=stats.size * times,
        n=round(stats.n * times),
        differing=stats.differing * times,
        independent=stats.independent / times,
    )


def _moved(stats: Moments, sign: int, *, paired: bool) -> Moments:
    """Return the sample whose mean is lower (`sign` -1) or higher (1) than 80 % of samples."""
    if stats.df is None:
        return stats
    from scipy.special import stdtrit

    mean = stats.mean + sign * float(stdtrit(stats.df, POWER)) * stats.se
    if paired:
        return replace(stats, mean=mean)
    # The spread of values in 0 to 1 changes with their mean.
    mean = min(max(mean, 0.0), 1.0)
    factor = mean * (1 - mean) / (stats.mean * (1 - stats.mean))
    changed = stats.variance * factor, stats.independent * factor
    return replace(stats, mean=mean, variance=changed[0], independent=changed[1])


class Bounded(Protocol):
    """A claim or a gate: what an interval is compared with."""

    @property
    def bound(self) -> float:
        """The bound."""

    @property
    def at_least(self) -> bool:
        """Whether values of the bound and above hold, otherwise those below."""


def decide(low: float, high: float, claim: Bounded) -> State:
    """Return the verdict of an interval; an interval without width is never undecided."""
    limit = claim.bound
    if not claim.at_least:
        low, high, limit = -high, -low, -limit
    if low >= limit - TOLERANCE:
        return "holds"
    return "fails" if high < limit - TOLERANCE else "undecided"
