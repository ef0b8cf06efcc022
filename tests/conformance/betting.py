"""Betting wealth, for its golden records; no rule of the package bets (statistics.md 10.2)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BETS = 20
SHARES = [(number + 0.5) / BETS for number in range(BETS)]
TOGETHER = 4096
"""The number of values per computation, which bounds memory."""

EDGE, LEAST = 1e-9, 1e-12

Decision = Literal["above", "below"]


class Wealth:
    """Two wealth processes over values in 0..1, one for each side of a threshold.

    The order of the values must be drawn before any value is seen. `decision` becomes "above" or
    "below" once the mean is decided to be on that side, with an error of `alpha` / 2 each at any
    stopping time, and never changes. With `alpha` None the caller decides. With `population` the
    target is the mean of exactly that many values, drawn without replacement; otherwise it is the
    mean of the distribution they come from.

    `log_above` is the logarithm of the wealth against "the mean is at most the threshold",
    `log_below` against "at least". Either is infinite if the population's remaining values can no
    longer bring the mean to that side.
    """

    def __init__(
        self, threshold: float, *, alpha: float | None = 0.05, population: int | None = None
    ) -> None:
        self.threshold = threshold
        self.population = population
        self.goal = math.inf if alpha is None else math.log(2 / alpha)
        self.decision: Decision | None = None
        self.log_above = self.log_below = 0.0
        self._seen, self._sum = 0, 0.0
        self._wealth = np.zeros((2, BETS))

    def feed(self, *values: float) -> None:
        """Add the next values in order; ignore values after the decision."""
        for start in range(0, len(values), TOGETHER):
            if self.decision is None:
                self._feed(np.array(values[start : start + TOGETHER], dtype=float))

    def _feed(self, row: Floats) -> None:
        target = np.full(len(row), self.threshold)
        if self.population is not None:
            # The mean of the remaining values if the mean of all were the threshold.
            before = self._sum + np.concatenate([[0.0], row[:-1].cumsum()])
            left = self.population - self._seen - np.arange(len(row))
            target = (self.population * self.threshold - before) / left
        self._seen += len(row)
        self._sum += math.fsum(row)
        inside = np.minimum(1 - EDGE, np.maximum(EDGE, target))
        odds = np.array([1 / inside, 1 / (inside - 1)]) * (row - target)  # sides, values
        wealth = self._wealth + _log_wealth(odds.T[:, :, None] * SHARES)
        self._wealth = wealth[-1]
        logs = _log_means(wealth)
        # The remaining values cannot bring the mean of the population to that side any more.
        logs[target < 0, 0] = logs[target > 1, 1] = math.inf
        self.log_above, self.log_below = logs[-1].tolist()
        peaks = logs.max(axis=0).tolist()
        if max(peaks) >= self.goal:
            first = int((logs >= self.goal).any(axis=1).argmax())
            self.decision = "above" if logs[first, 0] >= self.goal else "below"


def _log_wealth(gains: Floats) -> Floats:
    wealth: Floats = np.log(np.maximum(LEAST, 1 + gains)).cumsum(axis=0)
    return wealth


def _log_means(logs: Floats) -> Floats:
    top = logs.max(axis=-1, keepdims=True)
    means: Floats = top[..., 0] + np.log(np.exp(logs - top).mean(axis=-1))
    return means
