"""Compute the basic figures over scores.

Sources: torr_analyses.md sections 1 and 2, statistics.md sections 1, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import comb, fsum
from typing import TYPE_CHECKING

from pytest_tablebench.errors import DataError
from pytest_tablebench.results.record import ScoreRow
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Floats, Integers


FEWEST = 3
"""The number of answered configurations that consistency needs; two have no majority."""


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean; None without values, or if a value is None."""
    numbers = list(values)
    if not numbers or None in numbers:
        return None
    return fsum(value for value in numbers if value is not None) / len(numbers)


def means(values: Floats, axis: int | tuple[int, ...] = -1) -> Floats:
    """Return the mean along some axes, ignoring NaN; NaN if all values are NaN.

    Sums are rounded once, so that the order of values does not change the last digit.
    """
    axes = (axis,) if isinstance(axis, int) else axis
    rows = np.moveaxis(values, axes, range(-len(axes), 0))
    shape = rows.shape[: -len(axes)]
    rows = rows.reshape(int(np.prod(shape)), int(np.prod(rows.shape[-len(axes) :])))
    has_value = np.isfinite(rows)
    counts = has_value.sum(axis=1)
    sums = np.array([fsum(row) for row in np.where(has_value, rows, 0.0).tolist()])
    averages: Floats = np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)
    return averages.reshape(shape)


def mean_of_equals(values: Sequence[float]) -> float:
    """Return the mean of ascending values; the mean of equal values is exactly that value."""
    return min(max(fsum(values) / len(values), values[0]), values[-1])


def robustness(values: Floats, *, whole: bool = False) -> Floats:
    """Return 1 minus the range along the last axis, ignoring NaN; NaN if all values are NaN.

    With `whole` the result is NaN if any value is.
    """
    # fmin and fmax ignore NaN, without a warning if all values are NaN.
    high, low = (np.maximum, np.minimum) if whole else (np.fmax, np.fmin)
    figures: Floats = 1 - (high.reduce(values, axis=-1) - low.reduce(values, axis=-1))
    return figures


def example_values(
    measure: str,
    scores: Floats,
    before: Floats | None = None,
    *,
    marks: Sequence[Integers] = (),
) -> Floats:
    """Return the value of each example, over which intervals are computed; NaN if left out.

    Robustness needs an answer in every cell, other measures in one. `before` are the same cells
    of a baseline; then only cells that both answered count (statistics.md sections 1, 3 and 5).
    `marks`, of `scores` and of `before`, are those of `agreement`, which consistency needs.
    """
    if measure == "consistency":
        both = np.where(np.isfinite(scores), 0.0 if before is None else before, np.nan)
        shares = [agreement(side, both)[0] for side in marks]
        return shares[0] if before is None else shares[0] - shares[1]
    if measure != "robustness":
        return means(scores if before is None else scores - before)
    ranges = robustness(scores, whole=True)
    return ranges if before is None else ranges - robustness(before, whole=True)


def agreement(marks: Integers, scores: Floats) -> tuple[Floats, Floats]:
    """Return each example's share of configurations with the most common answer, and its score.

    Both arrays have the shape (examples, configurations): marks, which are equal for equal answers
    and 0 for unknown ones, and scores. The score is the mean over the configurations with the most
    common answer, or with any of several equally common ones. Both are NaN with fewer than
    `FEWEST` answers.
    """
    is_marked = (marks != 0) & np.isfinite(scores)
    times = np.zeros(marks.shape, dtype=np.int64)
    for column in range(marks.shape[1]):
        times[:, column] = ((marks == marks[:, [column]]) & is_marked).sum(axis=1)
    times[~is_marked] = 0
    answers = is_marked.sum(axis=1)
    most = times.max(axis=1, initial=0)
    enough = answers >= FEWEST
    share = np.divide(most, answers, out=np.full(len(marks), np.nan), where=enough)
    chosen = (times == most[:, None]) & is_marked & enough[:, None]
    return share, means(np.where(chosen, scores, np.nan))


@lru_cache(maxsize=1 << 14)
def pass_at_k(n: int, c: int, k: int) -> float:
    """Return the chance that at least one of k repeats drawn from n, c of them right, is right.

    The unbiased estimator 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, Evaluating Large Language
    Models Trained on Code, section 2.1). Raises `DataError` unless 0 <= c <= n and 1 <= k <= n.
    """
    _check(n, c, k)
    return (comb(n, k) - comb(n - c, k)) / comb(n, k)


@lru_cache(maxsize=1 << 14)
def pass_hat_k(n: int, c: int, k: int) -> float:
    """Return the chance that all of k repeats drawn from n, c of them right, are right.

    pass^k = C(c, k) / C(n, k) (Yao et al. 2024, tau-bench). Raises `DataError` unless
    0 <= c <= n and 1 <= k <= n.
    """
    _check(n, c, k)
    return comb(c, k) / comb(n, k)


def _check(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 1 <= k <= n):
        raise DataError(
            f"{c} of {n} repeats are right and {k} are drawn; at most n repeats can be right, and "
            f"1 to n can be drawn"
        )


def sum_of_known(values: Iterable[int | None]) -> int | None:
    """Return the sum of the known values; None without any."""
    numbers = [value for value in values if type(value) is int]
    return sum(numbers) if numbers else None


def sum_of_all(values: Iterable[float | None]) -> float | None:
    """Return the sum; None without values, or if a value is None."""
    numbers: list[float] = []
    for value in values:
        if value is None:
            return None
        numbers.append(value)
    if not numbers:
        return None
    return sum(numbers) if all(isinstance(number, int) for number in numbers) else fsum(numbers)


def newest(times: Iterable[str | None]) -> str | None:
    """Return the latest of the known times in ISO 8601 of one zone; None without any."""
    return max((time for time in times if time is not None), default=None)


def mean_parts(rows: Iterable[ScoreRow], columns: Sequence[tuple[str, str]]) -> list[float | None]:
    """Return the mean of each dataset's part over the cases that have it; None without any."""
    by_column: dict[tuple[str, str], list[float]] = {column: [] for column in columns}
    for row in rows:
        for name, value in row.parts.items():
            if (row.dataset, name) in by_column:
                by_column[row.dataset, name].append(value)
    return [plain_mean(values) for values in by_column.values()]


def plain_mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the known values; None without any."""
    numbers = [value for value in values if value is not None]
    return fsum(numbers) / len(numbers) if numbers else None
