"""The simulated coverage of corrected means in a few cells."""

from __future__ import annotations

from math import sqrt

import pytest

from benchmarks.judges import Cell, coverage

REPLICATIONS = 600

CELLS = (
    Cell("unbiased", 0.9, 50, 250, 4),
    Cell("lenient", 0.5, 100, 250, 4),
    Cell("length", 0.3, 200, 250, 4),
    Cell("marks", 0.7, 100, 250, 4),
    Cell("lenient", 0.7, 100, 250, 4, by_mark=True),
)


@pytest.mark.parametrize(
    "cell", CELLS, ids=lambda cell: f"{cell.judge}-{cell.kappa}-{cell.by_mark}"
)
def test_corrected_intervals_contain_the_truth(cell: Cell) -> None:
    result = coverage(cell, REPLICATIONS)
    # 94 to 97 %, and 2.5 standard errors of the simulation on each side.
    error = 2.5 * sqrt(0.95 * 0.05 / REPLICATIONS)
    assert 0.94 - error <= result.corrected <= 0.97 + error
    if cell.kappa < 0.9:
        assert result.naive < 0.5
