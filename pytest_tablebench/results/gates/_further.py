"""Compute how many more examples would decide an undecided gate (spec: statistics.md 2, 9)."""

from __future__ import annotations

import math

from pytest_tablebench.results.gates._grammar import parse_gate
from pytest_tablebench.results.gates._power import smallest_drop
from pytest_tablebench.results.gates._result import GateResult, decide

MOST = 1_000_000
"""A larger number of examples is no plan."""


def further_examples(
    result: GateResult, *, at_least: bool | None = None, family: int = 1
) -> int | None:
    """Return how many more examples decide a gate in 80 % of runs; None if it cannot be computed.

    It assumes that the estimate and the spread stay as they are. The number of all examples n is
    the smallest with (t_.975 + t_.80) * s / sqrt(n) <= |estimate - bound| (section 9), where
    s / sqrt(n) is the standard error, which includes the correlation within tables. Without any
    spread, it is the smallest n with 1 - .025^(1/n) <= |estimate - bound| (section 2.1).

    Arguments:
        result: the gate's result. A decided gate and a count need no more examples: None.
        at_least: whether the gate's operator is `>=`; by default as in its text.
        family: the number of gates that Holm's correction counts. It applies to failures only.
    """
    estimate, n = result.estimate, result.n_examples
    if result.state != "undecided" or result.method == "count" or estimate is None or n < 1:
        return None
    if result.interval is None or result.se is None:
        return None
    gap = estimate - result.bound
    is_at_least = parse_gate(result.gate).at_least if at_least is None else at_least
    alone = decide(*result.interval, result.bound, at_least=is_at_least)
    if alone != "undecided" and not result.holm_marked:
        return None  # it is undecided for another reason than its interval
    is_failure = (gap < 0) == is_at_least
    tail = (1 - result.level) / 2 / (max(1, family) if is_failure else 1)
    gap = abs(gap)
    if gap <= 0:
        return None
    if result.df is None:
        # A difference is -1 to 1 (`paired_bounds`).
        most = 1 + estimate if estimate > result.bound else 1 - estimate
        share = gap / most if "baseline" in result.gate else gap
        size = math.log(tail) / math.log1p(-share) if share < 1 else 1.0
        tables = result.n_clusters or n
        total = math.ceil(size * n / tables)
    else:
        total = _smallest(n, result.se * math.sqrt(n), result.df / n, gap, tail)
    return max(1, total - n) if total <= MOST else None


def _smallest(n: int, spread: float, freedom: float, gap: float, tail: float) -> int:
    """Return the smallest number of examples, from `n` on, that detects a gap; by bisection.

    `freedom` is the number of degrees of freedom for each example.
    """

    def is_enough(total: int) -> bool:
        return smallest_drop(total, spread, level=1 - 2 * tail, df=freedom * total) <= gap

    low, high = n, max(2, n)
    while not is_enough(high):
        low, high = high, 2 * high
        if high > 2 * MOST:
            return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
