"""Compute the figures of repeats: pass@k, pass^k and their spread (statistics.md section 5)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from statistics import variance
from typing import TYPE_CHECKING, Any

from pytest_tablebench.results.figures import mean, pass_at_k, pass_hat_k

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Integers
    from pytest_tablebench.results.score_table import Cells


def repeat_figures(cells: Cells, datasets: Sequence[Integers]) -> dict[str, Any] | None:
    """Return a scope's entry `repeats` for `summary.json`; None without repeats.

    `datasets` contains the indices of each dataset's cells. The entry contains:

    * `n`: the largest number of repeats of a cell;
    * `pass_at_k`, `pass_hat_k`: by k from "1" to n, means over an example's cells, then over
      examples, then over datasets;
    * `left_out`: by k, the number of cells with fewer than k answered repeats, which are left out;
    * `spread`: means over cells with two answered repeats or more, then over datasets: `sd` of the
      scores (with n - 1), `range` of the scores, and `disagree`, the share of cells with right
      and wrong repeats.

    A mean over datasets is None if a dataset has no value, as with all other measures.
    """
    n = max((int(cells.times[places].max()) for places in datasets), default=0)
    if n < 2:
        return None
    answered = [count for places in datasets for count in cells.answered[places].tolist()]
    spreads = [_spread(cells, places) for places in datasets]
    return {
        "n": n,
        **{
            name: {
                str(k): mean(_pass_rate(cells, places, k, estimate) for places in datasets)
                for k in range(1, n + 1)
            }
            for name, estimate in (("pass_at_k", pass_at_k), ("pass_hat_k", pass_hat_k))
        },
        "left_out": {str(k): sum(count < k for count in answered) for k in range(1, n + 1)},
        "spread": {
            name: mean(spread[name] for spread in spreads) for name in ("sd", "range", "disagree")
        },
    }


def _pass_rate(
    cells: Cells, places: Integers, k: int, estimate: Callable[[int, int, int], float]
) -> float | None:
    enough = places[cells.answered[places] >= k]
    columns = (cells.codes("example"), cells.answered, cells.right)
    examples: dict[int, list[float]] = {}
    for example, n, right in zip(*(column[enough].tolist() for column in columns), strict=True):
        examples.setdefault(example, []).append(estimate(n, right, k))
    return mean(map(mean, examples.values()))


def _spread(cells: Cells, places: Integers) -> dict[str, float | None]:
    repeated = places[cells.answered[places] > 1]
    scores = [cells.scores(cell) for cell in repeated.tolist()]
    deviations = [
        sqrt(fsum((score - middle) ** 2 for score in repeats) / (len(repeats) - 1))
        for repeats, middle in zip(scores, cells.score[repeated].tolist(), strict=True)
    ]
    right, answered = cells.right[repeated], cells.answered[repeated]
    return {
        "sd": mean(deviations),
        "range": mean(repeats[-1] - repeats[0] for repeats in scores),
        "disagree": mean(((right > 0) & (right < answered)).astype(float).tolist()),
    }


ASSUMED_CORRELATION = 0.5
"""The assumed intraclass correlation of configurations (statistics.md section 9)."""


@dataclass(frozen=True)
class SamplingCost:
    """How much wider the interval of the mean is than with the whole grid.

    `width` is the ratio of the widths. `assumed` is whether it uses an assumed intraclass
    correlation of .5, because one configuration per example does not show their spread.
    """

    drawn: int
    of: int
    width: float
    assumed: bool


def sampling_cost(examples: Sequence[Sequence[float]], grid_size: int) -> SamplingCost | None:
    """Return the cost of drawing each example's scores from `grid_size` configurations.

    With the variance S^2 of the examples' means, the mean variance w inside an example, and K of
    C configurations drawn, the whole grid would have the variance S^2 - w (1/K - 1/C), because
    configurations are a fixed set. None for fewer than two examples, and if that variance is not
    above 0, which means too few examples.
    """
    if len(examples) < 2:
        return None
    drawn = min(len(scores) for scores in examples)
    if drawn < 2:
        variance_share = ASSUMED_CORRELATION + (1 - ASSUMED_CORRELATION) / grid_size
        return SamplingCost(drawn, grid_size, math.sqrt(1 / variance_share), assumed=True)
    total = variance([math.fsum(scores) / len(scores) for scores in examples])
    inside = math.fsum(variance(scores) for scores in examples) / len(examples)
    whole = total - inside * (1 / drawn - 1 / grid_size)
    if whole <= 0:
        return None
    return SamplingCost(drawn, grid_size, math.sqrt(total / whole), assumed=False)
