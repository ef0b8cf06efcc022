"""Coverage of intervals over tables of unequal size, few tables and few differences.

    python -m benchmarks.intervals [--runs 2000] [--seed 0]

Each repetition draws scores and computes the interval that gates and comparisons use. Differences
of two models come from a normal world with a correlation inside tables, or from two models whose
answers share the difficulty of an example. Levels come from tables with probabilities of right
answers of their own (beta distributed). Of 4,000 pairs of models that differ by more than a margin,
at most 5 % may look as if they did not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from pytest_tablebench.claims.estimate import (
    Bounds,
    Moments,
    level_bounds,
    moments,
    paired_bounds,
)

SIZES = {
    "one of 40, 20 of 1": [40] + [1] * 20,
    "1 to 20": list(range(1, 21)),
    "10 of 5": [5] * 10,
}
"""Sizes of tables by name."""

FEW = [(tables, size) for tables in (3, 5, 8, 12) for size in (10, 40)]
CORRELATIONS, RATES = (0.0, 0.15, 0.3, 0.5), (0.3, 0.6, 0.9, 0.98)
CEILINGS = [
    (n, before, after)
    for n in (20, 40, 100)
    for before, after in ((0.99, 0.94), (0.94, 0.99), (0.9, 0.85))
]

EXAMPLES, MARGINS, PAIRS = (2, 3, 4, 5, 10, 20, 40, 70, 100), (0.01, 0.05, 0.1, 0.2), 4000


@dataclass(frozen=True)
class Coverage:
    """Shares of repetitions with the truth inside, below and above the interval; its mean width."""

    inside: float
    below: float
    above: float
    width: float


def coverage(
    truth: float, draws: Iterator[Moments | None], bounds: Callable[[Moments], Bounds]
) -> Coverage:
    """Return the coverage over repetitions."""
    ends = np.array([bounds(stats)[:2] for stats in draws if stats is not None])
    low, high = ends.T
    below, above = float((truth < low).mean()), float((truth > high).mean())
    return Coverage(1 - below - above, below, above, float((high - low).mean()))


def unequal(sizes: Sequence[int], runs: int, draw: np.random.Generator) -> Coverage:
    """Return the coverage of a mean difference of 0 with a correlation of .5 inside tables."""
    groups = np.repeat(np.arange(len(sizes)), sizes)

    def draws() -> Iterator[Moments | None]:
        for _ in range(runs):
            shared = draw.standard_normal(len(sizes))[groups]
            values = np.clip(0.2 * (shared + draw.standard_normal(len(groups))), -1, 1)
            yield moments([values], [groups.tolist()])

    return coverage(0.0, draws(), paired_bounds)


def few_tables(
    shape: tuple[int, int], correlation: float, rate: float, runs: int, draw: np.random.Generator
) -> tuple[Coverage, float]:
    """Return the coverage of a mean score, and the width of 95 % of the means themselves.

    `shape` is the number of tables and of questions about each.
    """
    tables, size = shape
    groups, means = np.repeat(np.arange(tables), size).tolist(), []

    def draws() -> Iterator[Moments | None]:
        for _ in range(runs):
            shares = np.full(tables, rate)
            if correlation:
                spread = (1 - correlation) / correlation
                shares = draw.beta(rate * spread, (1 - rate) * spread, tables)
            values = (draw.random((tables, size)) < shares[:, None]).ravel().astype(float)
            means.append(values.mean())
            yield moments([values], [groups])

    result = coverage(rate, draws(), level_bounds)
    return result, float(np.quantile(means, 0.975) - np.quantile(means, 0.025))


def ceiling(n: int, before: float, after: float, runs: int, draw: np.random.Generator) -> Coverage:
    """Return the coverage of a difference over six configurations of correlated models."""
    limits = ndtri(before), ndtri(after)

    def draws() -> Iterator[Moments | None]:
        for _ in range(runs):
            common = draw.standard_normal(n)
            sides = []
            for limit in limits:
                ability = np.sqrt(0.6) * common + np.sqrt(0.4) * draw.standard_normal(n)
                noise = draw.standard_normal((n, 6))
                latent = np.sqrt(0.8) * ability[:, None] + np.sqrt(0.2) * noise
                sides.append((latent < limit).mean(axis=1))
            yield moments([sides[1] - sides[0]])

    return coverage(after - before, draws(), paired_bounds)


def false_holds(n: int, margin: float, draw: np.random.Generator) -> float:
    """Return the share of `PAIRS` whose interval shows a loss within the margin, wrongly.

    Each pair of models has a true loss just beyond the margin. The new model is right where the
    old one is wrong with a probability of its own, which is 0 in half of the pairs.
    """
    better = draw.uniform(0, (1 - margin) / 2, PAIRS) * draw.integers(0, 2, PAIRS)
    worse = np.minimum(better + margin + 1e-4, 1 - better)
    rates = np.column_stack([worse, better, np.maximum(0, 1 - worse - better)])
    flips = draw.multinomial(n, rates)
    counts, times = np.unique(flips, axis=0, return_counts=True)
    holding = [paired_bounds(flipped(*count))[0] >= -margin for count in counts.tolist()]
    return float(times[holding].sum()) / PAIRS


def flipped(worse: int, better: int, equal: int) -> Moments:
    """Return the moments of so many examples that are worse, better and equal."""
    stats = moments([np.repeat([-1.0, 1.0, 0.0], [worse, better, equal])])
    assert stats is not None
    return stats


def one_flip(n: int) -> float:
    """Return the smallest margin that an example which is worse allows, of so many."""
    return -paired_bounds(flipped(1, 0, n - 1))[0]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the four tables, in percent."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    draw, runs = np.random.default_rng(options.seed), options.runs
    print(f"{runs:,} repetitions; covered, truth below, truth above, mean width")
    print("differences over tables of unequal size")
    for name, sizes in SIZES.items():
        print(f"  {name:20} {_row(unequal(sizes, runs, draw))}")
    print("differences near a perfect score, six configurations")
    for n, before, after in CEILINGS:
        print(f"  {n:3} of {before} and {after:4} {_row(ceiling(n, before, after, runs, draw))}")
    print(f"of {PAIRS:,} pairs that differ by more than a margin, those within it by the interval")
    for n in EXAMPLES:
        margins = [*MARGINS, one_flip(n)]
        row = [(margin, false_holds(n, margin, draw)) for margin in margins if margin < 0.9]
        print(f"  {n:3}: " + ", ".join(f"{margin:.3f} {100 * share:.1f}" for margin, share in row))
    print("levels over few tables: the lowest coverage and the width against the true spread")
    for tables, size in FEW:
        cells = [
            few_tables((tables, size), correlation, rate, runs, draw)
            for correlation in CORRELATIONS
            for rate in RATES
        ]
        lowest = min(cell.inside for cell, _ in cells)
        ratios = [cell.width / spread for cell, spread in cells if spread]
        middle, most = float(np.median(ratios)), max(ratios)
        print(f"  {tables:2} of {size}: {100 * lowest:.1f}; {middle:.1f} (at most {most:.1f})")


def _row(cell: Coverage) -> str:
    shares = (cell.inside, cell.below, cell.above)
    return " ".join(f"{100 * share:6.1f}" for share in shares) + f"  {cell.width:.3f}"


if __name__ == "__main__":
    main()
