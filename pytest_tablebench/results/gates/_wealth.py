"""Betting wealth: evidence that is valid at any moment (spec: statistics.md 10.2, 10.3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Floats

BETS = 20
SHARES = [(number + 0.5) / BETS for number in range(BETS)]
TOGETHER = 4096
"""Values that are computed at once: memory is bounded, whatever the number of cases."""

EDGE, LEAST = 1e-9, 1e-12

Decision = Literal["above", "below"]


class Wealth:
    """Two wealth processes over values in 0..1, against each side of a threshold.

    Fed in an order drawn before any value was seen. `decision` is "above" or "below" once the mean
    is decided to be on that side, each with an error of `alpha` / 2 at any stopping time, and stays
    so; `alpha` None leaves the decision to the caller. With `population` the target is the mean of
    exactly so many values, drawn without replacement; otherwise of the wider set they come from.

    `log_above` is the logarithm of the wealth against "the mean is at most the threshold",
    `log_below` of that against "at least"; infinite where the population's remaining values
    can no longer bring the mean to that side. The peaks are the largest so far: 1 / exp(peak)
    is a p-value at any moment.
    """

    def __init__(
        self, threshold: float, *, alpha: float | None = 0.05, population: int | None = None
    ) -> None:
        self.threshold = threshold
        self.population = population
        self.goal = math.inf if alpha is None else math.log(2 / alpha)
        self.decision: Decision | None = None
        self.log_above = self.log_below = 0.0
        self.peak_above = self.peak_below = 0.0
        self._seen, self._sum = 0, 0.0
        self._wealth = np.zeros((2, BETS))

    def feed(self, *values: float) -> None:
        """Take the next values in their order; nothing changes after the decision."""
        for start in range(0, len(values), TOGETHER):
            if self.decision is None:
                self._feed(np.array(values[start : start + TOGETHER], dtype=float))

    def _feed(self, row: Floats) -> None:
        still = np.full(len(row), self.threshold)
        if self.population is not None:
            # The mean still to come if the whole mean were the threshold.
            before = self._sum + np.concatenate([[0.0], row[:-1].cumsum()])
            left = self.population - self._seen - np.arange(len(row))
            still = (self.population * self.threshold - before) / left
        self._seen += len(row)
        self._sum += math.fsum(row)
        inside = np.minimum(1 - EDGE, np.maximum(EDGE, still))
        odds = np.array([1 / inside, 1 / (inside - 1)]) * (row - still)  # sides, values
        wealth = self._wealth + _log_wealth(odds.T[:, :, None] * SHARES)
        self._wealth = wealth[-1]
        logs = _log_means(wealth)
        # What is left cannot bring the mean of the whole population to that side any more.
        logs[still < 0, 0] = logs[still > 1, 1] = math.inf
        self.log_above, self.log_below = logs[-1].tolist()
        peaks = logs.max(axis=0).tolist()
        self.peak_above = max(self.peak_above, peaks[0])
        self.peak_below = max(self.peak_below, peaks[1])
        if max(peaks) >= self.goal:
            first = int((logs >= self.goal).any(axis=1).argmax())
            self.decision = "above" if logs[first, 0] >= self.goal else "below"


def betting_interval(
    values: Floats, alpha: float = 0.05, *, points: int = 400
) -> tuple[float, float]:
    """Return the always valid interval of the mean of values in 0..1, to 1 / `points`.

    All means against which neither wealth ever reached 2 / `alpha`, widened to the next grid
    point.
    """
    goal = math.log(2 / alpha)
    low, high = 0, points
    grid = [min(1 - EDGE, max(EDGE, place / points)) for place in range(points + 1)]
    # Wealth falls as the mean under test moves towards the data, so each end is a search.
    for step in (points, -points):
        left, right = 0, points
        while left < right:
            middle = (left + right + (step < 0)) // 2
            mean = grid[middle]
            share = np.divide(SHARES, mean if step > 0 else mean - 1)
            out = bool((_log_means(_log_wealth((values - mean)[:, None] * share)) >= goal).any())
            if step > 0:
                left, right = (middle + 1, right) if out else (left, middle)
            else:
                left, right = (left, middle - 1) if out else (middle, right)
        if step > 0:
            low = max(0, left - 1)
        else:
            high = min(points, left + 1)
    return low / points, high / points


def _log_wealth(gains: Floats) -> Floats:
    """Return the logarithm of each bet's wealth after each value, from the bets' gains."""
    wealth: Floats = np.log(np.maximum(LEAST, 1 + gains)).cumsum(axis=0)
    return wealth


def _log_means(logs: Floats) -> Floats:
    """Return the logarithm of the mean over the bets of wealth given by its logarithms."""
    top = logs.max(axis=-1, keepdims=True)
    means: Floats = top[..., 0] + np.log(np.exp(logs - top).mean(axis=-1))
    return means
