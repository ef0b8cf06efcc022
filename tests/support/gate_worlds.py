"""Simulated runs of two models with known true means (spec: statistics.md section 11)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CONFIGURATIONS = [(f"s{place // 5}", f"p{place % 5}") for place in range(35)]


@dataclass(frozen=True, slots=True)
class Record:
    """The fields of a record that gates use."""

    dataset: str
    example_id: str
    serializer: str
    perturbation: str
    score: float | None = None
    passed: bool | None = None
    raw: str | None = None


class World:
    """Scores of two models with correlated difficulties of examples.

    Each example has a value for each model; a normal copula with correlation .5 joins the two.
    Right/wrong: the value is beta distributed with the given mean and intraclass correlation, and
    is the probability of each right answer. Continuous: the value is U-shaped (beta, a + b = 1.2),
    and each answer's score is that value with probability sqrt(correlation), otherwise a new draw.
    """

    def __init__(
        self, *, mean: float = 0.6, drop: float = 0.0, icc: float = 0.5, binary: bool = True
    ) -> None:
        from scipy.special import betaincinv, ndtr

        # Quantiles on a grid of normal values make drawing a table look-up.
        self.normal = np.linspace(-6, 6, 4001)
        shape = 1 / icc - 1 if binary else 1.2
        self.binary, self.copied = binary, np.sqrt(icc)
        self.quantiles = [
            betaincinv(level * shape, (1 - level) * shape, ndtr(self.normal))
            for level in (mean - drop, mean)
        ]

    def scores(self, draw: np.random.Generator, examples: int, cells: int = 35) -> list[np.ndarray]:
        """Return scores of the new and of the old model, of the shape (examples, cells)."""
        first = draw.standard_normal(examples)
        second = 0.5 * first + np.sqrt(0.75) * draw.standard_normal(examples)
        drawn = []
        for normal, quantiles in zip((first, second), self.quantiles, strict=True):
            value = np.interp(normal, self.normal, quantiles)[:, None]
            if self.binary:
                drawn.append((draw.random((examples, cells)) < value).astype(float))
                continue
            fresh = np.interp(draw.standard_normal((examples, cells)), self.normal, quantiles)
            drawn.append(np.where(draw.random((examples, cells)) < self.copied, value, fresh))
        return drawn


def six_worlds(**options: float) -> list[World]:
    """Return right/wrong and continuous scores, each with three intraclass correlations."""
    return [
        World(icc=icc, binary=binary, **options)
        for binary in (True, False)
        for icc in (0.2, 0.5, 0.8)
    ]


def cases_of(examples: int, cells: int = 35, dataset: str = "d") -> list[Record]:
    """Return planned cases, without a score."""
    return [
        Record(dataset, f"e{row:04}", *CONFIGURATIONS[column])
        for row in range(examples)
        for column in range(cells)
    ]


def as_records(scores: np.ndarray, dataset: str = "d") -> list[Record]:
    """Return records of an array of scores (NaN without an answer), examples by configurations."""
    return [
        Record(
            dataset,
            f"e{row:04}",
            *CONFIGURATIONS[column],
            None if np.isnan(value) else float(value),
            None if np.isnan(value) else bool(value >= 0.5),
        )
        for row, values in enumerate(scores)
        for column, value in enumerate(values)
    ]
