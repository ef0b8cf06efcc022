"""The always-valid test of the looks of a watch."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_tablebench.claims.drift._noise import Noise
from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Floats

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
