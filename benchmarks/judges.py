"""Coverage of the mean corrected by labels, next to the naive interval of a judge's marks.

    python -m benchmarks.judges [--replications 2000] [--mean 0.6]

Every cell draws examples with correlated answers, the verdicts of people, the marks of a judge of
the given kappa, and a random sample of labels. It counts how often a 95 % interval contains the
mean that people would give to all answers of all examples.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pytest_tablebench.claims._labelled_mean import corrected_mean, plain_values

JUDGES = ("unbiased", "lenient", "length", "marks")
"""Errors at random; only wrong answers called right; long answers favoured, which are more often
wrong; marks in tenths that are too high."""

KAPPAS = (0.3, 0.5, 0.7, 0.9)
SIZES = ((50, 250, 4), (100, 250, 4), (200, 250, 4), (500, 400, 5))
"""Labels, examples, and answers to each example: 1,000 to 2,000 judged answers."""

AGREEMENT = 0.4
"""The correlation of verdicts on answers to the same example."""

NOISE = {0.3: 0.55, 0.5: 0.38, 0.7: 0.25, 0.9: 0.12}
"""The standard deviation of the errors of marks, by the approximate kappa."""


@dataclass(frozen=True)
class Cell:
    """One kind of judge and sample.

    `by_mark` is whether half of the labels come from each verdict of the judge, as in a proposed
    sample.
    """

    judge: str
    kappa: float
    labels: int
    examples: int
    answers: int
    by_mark: bool = False
    mean: float = 0.6


def cells(mean: float = 0.6) -> Iterator[Cell]:
    """Yield all cells of the table."""
    for judge in JUDGES:
        for kappa in KAPPAS:
            for size in SIZES:
                yield Cell(judge, kappa, *size, mean=mean)
    for kappa in KAPPAS:
        for size in SIZES:
            yield Cell("lenient", kappa, *size, by_mark=True, mean=mean)


def error_rate(judge: str, kappa: float, mean: float) -> float:
    """Return the error rate at which a judge of 0/1 verdicts has this kappa."""
    rates = np.linspace(0, 0.999, 4000)
    if judge == "lenient":  # the rate among wrong answers
        share = mean + (1 - mean) * rates
        agreement = 1 - (1 - mean) * rates
    else:
        errors = rates / 2
        share = mean * (1 - errors) + (1 - mean) * errors
        agreement = 1 - errors
    by_chance = share * mean + (1 - share) * (1 - mean)
    kappas = (agreement - by_chance) / (1 - by_chance)
    return float(rates[np.argmin(np.abs(kappas - kappa))])


def world(cell: Cell, draw: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels that people would give, and the judge's marks, by example and answer."""
    shape = cell.examples, cell.answers
    total = 1 / AGREEMENT - 1
    level = draw.beta(cell.mean * total, (1 - cell.mean) * total, cell.examples)[:, None]
    right = (draw.random(shape) < level).astype(float)
    if cell.judge == "marks":
        # People mark in quarters: right answers 3/4 or 1, wrong ones 0 or 1/4, each half the time.
        truth = 0.75 * right + 0.25 * (draw.random(shape) < 0.5)
        noise = 0.1 + NOISE[cell.kappa] * draw.standard_normal(shape)
        return truth, np.clip(np.round(10 * (truth + noise)) / 10, 0, 1)
    rate = error_rate(cell.judge, cell.kappa, cell.mean)
    if cell.judge == "lenient":
        return right, np.where((right == 0) & (draw.random(shape) < rate), 1.0, right)
    if cell.judge == "unbiased":
        return right, np.where(draw.random(shape) < rate / 2, 1 - right, right)
    # Length is mostly a matter of the question.
    length = 0.6 * draw.random((cell.examples, 1)) + 0.4 * draw.random(shape)
    length = np.clip(length + 0.15 * (0.5 - right), 0, 1)
    errors = np.where(right == 0, rate * length, rate * (1 - length))
    return right, np.where(draw.random(shape) < errors, 1 - right, right)


def truth(cell: Cell) -> float:
    """Return the mean label over all examples."""
    return 0.75 * cell.mean + 0.125 if cell.judge == "marks" else cell.mean


@dataclass(frozen=True)
class Coverage:
    """Shares of 95 % intervals that contain the truth, and mean widths."""

    corrected: float
    naive: float
    corrected_width: float
    naive_width: float


def coverage(cell: Cell, replications: int, seed: int = 0) -> Coverage:
    """Return the coverage of the corrected and of the naive interval."""
    draw = np.random.default_rng(
        [seed, JUDGES.index(cell.judge), int(100 * cell.kappa), cell.labels]
    )
    number = cell.examples * cell.answers
    clusters = np.repeat(np.arange(cell.examples), cell.answers)
    weights, target = np.full(number, 1 / number), truth(cell)
    inside, widths = np.zeros(2), np.zeros(2)
    for _ in range(replications):
        people, marks = world(cell, draw)
        flat, labels = marks.reshape(-1), np.full(number, np.nan)
        if cell.by_mark:
            sides = [np.flatnonzero(flat >= 0.5), np.flatnonzero(flat < 0.5)]
            low = min(len(sides[1]), cell.labels // 2)
            sizes = cell.labels - low, low
            chosen = np.concatenate(
                [draw.choice(side, size, False) for side, size in zip(sides, sizes, strict=True)]
            )
        else:
            chosen = draw.choice(number, cell.labels, replace=False)
        labels[chosen] = people.reshape(-1)[chosen]
        strata = (flat >= 0.5).astype(int) if cell.by_mark else None
        estimates = (
            corrected_mean(flat, labels, weights, clusters, strata=strata),
            plain_values(marks.mean(axis=1).tolist(), range(cell.examples)),
        )
        for place, estimate in enumerate(estimates):
            assert estimate is not None
            low_end, high_end = estimate.bounds()
            inside[place] += low_end <= target <= high_end
            widths[place] += high_end - low_end
    return Coverage(*(inside / replications).tolist(), *(widths / replications).tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replications", type=int, default=2000)
    parser.add_argument("--mean", type=float, default=0.6, help="the share of right answers")
    parser.add_argument("--seed", type=int, default=0, help="of the simulation")
    options = parser.parse_args()
    print("| judge | kappa | labels of answers | corrected % | naive % | width | naive width |")
    print("|---|---|---|---|---|---|---|")
    results = []
    for cell in cells(options.mean):
        result = coverage(cell, options.replications, options.seed)
        results.append(result.corrected)
        sample = f"{cell.labels} of {cell.examples * cell.answers:,}"
        print(
            f"| {cell.judge}{', by mark' * cell.by_mark} | {cell.kappa} | {sample} | "
            f"{100 * result.corrected:.1f} | {100 * result.naive:.1f} | "
            f"{result.corrected_width:.3f} | {result.naive_width:.3f} |",
            flush=True,
        )
    print(
        f"corrected: {100 * min(results):.1f} to {100 * max(results):.1f} % in {len(results)} cells"
    )


if __name__ == "__main__":
    main()
