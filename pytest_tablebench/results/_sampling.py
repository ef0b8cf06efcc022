"""What asking only some configurations of each example costs (spec: statistics.md section 9)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import variance

ASSUMED_CORRELATION = 0.5
"""Intraclass correlation of configurations where a run cannot tell (statistics.md section 9)."""


@dataclass(frozen=True)
class SamplingCost:
    """How much wider the interval of the mean is than with the whole grid.

    `width` is the ratio of the widths. `assumed` tells that it rests on an assumed intraclass
    correlation of .5, because one configuration per example says nothing of their spread.
    """

    drawn: int
    of: int
    width: float
    assumed: bool


def sampling_cost(examples: Sequence[Sequence[float]], grid_size: int) -> SamplingCost | None:
    """Return the cost for examples with so many scores each, drawn from `grid_size` configurations.

    With S^2 the variance of the examples' means, w the mean variance inside an example, K
    drawn of C: the whole grid would have S^2 - w (1/K - 1/C), as configurations are a fixed
    set and not sampled from a wider one. None for fewer than two examples, or where that
    difference is not above 0 (too few examples to tell).
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
