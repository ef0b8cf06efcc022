"""Steps that find outliers, correlate and test, with scipy; and the answer of any steps.

Empty, trivial and ambiguous questions are rejected, with a reason that is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from math import sqrt
from statistics import correlation, fmean, quantiles, stdev
from typing import Any

from pytest_tablebench.generate.pair import Amount, PlainAnswer, PlanStep, RejectedError, Texts
from pytest_tablebench.generate.rules._basics import (
    BASICS,
    JUDGEMENTS,
    NARROWING,
    Rows,
    column_values,
    labels,
    number,
)
from pytest_tablebench.generate.rules._sheet import ParsedSheet

ALPHA = 0.05
"""The level of every test (spec: treb.md section 6.1)."""
_BORDER = 0.1
"""A test is rejected if its statistic is closer to the critical value than this share of it."""


def _stats() -> Any:
    """Return `scipy.stats`, imported for the few questions that need it."""
    from scipy import stats

    return stats


def _floats(sheet: ParsedSheet, rows: Rows, column: str, least: int) -> list[float]:
    return [float(value) for value in column_values(sheet, rows, column, least)]


def _tukey_ranges(values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield quartiles minus and plus 1.5 interquartile ranges, by two rules for quartiles."""
    for method in ("inclusive", "exclusive"):
        low, _, high = quantiles(values, n=4, method=method)
        room = 3 * (high - low) / 2
        yield low - room, high + room


def _z_ranges(values: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the mean minus and plus 3 standard deviations, with n - 1 and with n."""
    floats = [float(value) for value in values]
    mean, sample = fmean(floats), stdev(floats)
    for deviation in (sample, sample * sqrt((len(floats) - 1) / len(floats))):
        yield mean - 3 * deviation, mean + 3 * deviation


def _outside(sheet: ParsedSheet, rows: Rows, column: str, rule: str) -> set[int]:
    # Quartiles of decimals are exact, so a value at the edge of a range is never outside it.
    values = column_values(sheet, rows, column, 8)
    first, second = (
        {row for row, value in zip(rows, values, strict=True) if not low <= value <= high}
        for low, high in (_tukey_ranges if rule == "tukey" else _z_ranges)(values)
    )
    if first != second:
        raise RejectedError("ambiguous")
    return first


def _outliers(sheet: ParsedSheet, rows: Rows, column: str, rule: str) -> Texts:
    outside = _outside(sheet, rows, column, rule)
    if not outside:
        raise RejectedError("empty")
    return labels(sheet, tuple(sorted(outside)), False)


def _outlier_count(sheet: ParsedSheet, rows: Rows, column: str, rule: str) -> Amount:
    outside = _outside(sheet, rows, column, rule)
    if not outside:
        raise RejectedError("empty")
    return Amount(Fraction(len(outside)))


def _is_outlier(sheet: ParsedSheet, rows: Rows, column: str, rule: str, name: str) -> bool:
    return sheet.rows_by_name[name] in _outside(sheet, rows, column, rule)


def _related(sheet: ParsedSheet, rows: Rows, first: str, second: str, kind: str) -> float:
    columns = [_floats(sheet, rows, column, 5) for column in (first, second)]
    if kind == "spearman":
        columns = [_stats().rankdata(values).tolist() for values in columns]
    return correlation(*columns)  # exact for ranks, where pearsonr is off at -0.225


def _correlation(sheet: ParsedSheet, rows: Rows, first: str, second: str, kind: str) -> Amount:
    return Amount(_related(sheet, rows, first, second, kind), 2, exact=False)


def _partner(sheet: ParsedSheet, rows: Rows, column: str, others: Sequence[str]) -> Texts:
    strengths = sorted((abs(_related(sheet, rows, column, o, "pearson")), o) for o in others)
    if strengths[-1][0] - strengths[-2][0] < 0.05:
        raise RejectedError("borderline")
    return Texts((strengths[-1][1],))


def _beyond(statistic: float, critical: float) -> bool:
    """Return whether a test rejects, by its critical value."""
    if abs(abs(statistic) - critical) <= _BORDER * critical:
        raise RejectedError("borderline")
    return abs(statistic) > critical


def _is_significant(t: float, freedom: float) -> bool:
    return _beyond(t, float(_stats().t.ppf(1 - ALPHA / 2, freedom)))


def _is_related(sheet: ParsedSheet, rows: Rows, first: str, second: str) -> bool:
    r, freedom = _related(sheet, rows, first, second, "pearson"), len(rows) - 2
    if abs(r) > 0.999999:
        raise RejectedError("trivial")
    return _is_significant(r * sqrt(freedom / (1 - r * r)), freedom)


def _group(sheet: ParsedSheet, rows: Rows, column: str, by: str, value: str) -> list[float]:
    chosen = tuple(row for row in rows if sheet.cells[by][row] == value)
    return _floats(sheet, chosen, column, 4)


def _differ(sheet: ParsedSheet, rows: Rows, column: str, by: str, *groups: str) -> bool:
    first, second = (_group(sheet, rows, column, by, value) for value in groups)
    test = _stats().ttest_ind(first, second, equal_var=False)
    return _is_significant(float(test.statistic), float(test.df))


def _t(values: Sequence[float], expected: str) -> float:
    """Return (mean - expected) / (s / sqrt(n))."""
    return (fmean(values) - float(number(expected))) / (stdev(values) / sqrt(len(values)))


def _departs(sheet: ParsedSheet, rows: Rows, column: str, expected: str) -> bool:
    values = _floats(sheet, rows, column, 8)
    return _is_significant(_t(values, expected), len(values) - 1)


def _t_value(sheet: ParsedSheet, rows: Rows, column: str, expected: str) -> Amount:
    return Amount(_t(_floats(sheet, rows, column, 5), expected), 2, exact=False)


def _groups_differ(sheet: ParsedSheet, rows: Rows, column: str, by: str) -> bool:
    names = sorted({sheet.cells[by][row] for row in rows})
    if len(names) < 3:
        raise RejectedError("trivial")
    groups = [_group(sheet, rows, column, by, name) for name in names]
    freedom = len(groups) - 1, len(rows) - len(groups)
    statistic = float(_stats().f_oneway(*groups).statistic)
    return _beyond(statistic, float(_stats().f.ppf(1 - ALPHA, *freedom)))


def _shape(sheet: ParsedSheet, rows: Rows, column: str, name: str) -> Amount:
    values = _floats(sheet, rows, column, 8)
    moment = _stats().skew if name == "skewness" else _stats().kurtosis
    return Amount(float(moment(values)), 2, exact=False)


def _normal(sheet: ParsedSheet, rows: Rows, column: str) -> bool:
    values = _floats(sheet, rows, column, 8)
    if len(values) > 5000:
        raise RejectedError("too many items")
    p = float(_stats().shapiro(values).pvalue)
    if ALPHA * 0.7 < p < ALPHA * 1.4:
        raise RejectedError("borderline")
    return p > ALPHA


def _even(sheet: ParsedSheet, rows: Rows, by: str) -> bool:
    cells = [sheet.cells[by][row] for row in rows]
    counts = [cells.count(value) for value in sorted(set(cells))]
    if len(counts) < 2 or sum(counts) < 5 * len(counts):  # the test's usual condition
        raise RejectedError("trivial")
    critical = float(_stats().chi2.ppf(1 - ALPHA, len(counts) - 1))
    return not _beyond(float(_stats().chisquare(counts).statistic), critical)


ANSWERS: dict[str, Callable[..., PlainAnswer]] = {
    **BASICS,
    "outliers": _outliers,
    "outlier_count": _outlier_count,
    "is_outlier": _is_outlier,
    "correlation": _correlation,
    "partner": _partner,
    "is_related": _is_related,
    "differ": _differ,
    "departs": _departs,
    "t_value": _t_value,
    "groups_differ": _groups_differ,
    "shape": _shape,
    "normal": _normal,
    "even": _even,
}


def narrow(step: PlanStep, sheet: ParsedSheet, rows: Rows) -> Rows:
    """Return the entries that a step keeps: some, but not all. Raises `RejectedError`."""
    kept = NARROWING[step.name](sheet, rows, *step.arguments)
    if not kept:
        raise RejectedError("empty")
    if len(kept) == len(rows):
        raise RejectedError("trivial")
    return kept


def plain_answer(steps: Sequence[PlanStep], sheet: ParsedSheet) -> PlainAnswer:
    """Compute the answer of the steps. Raises `RejectedError` without a unique, useful answer."""
    rows: Rows = tuple(range(sheet.size))
    steps = list(steps)
    while steps[0].name in NARROWING:
        rows = narrow(steps.pop(0), sheet, rows)
    answer = ANSWERS[steps[0].name](sheet, rows, *steps[0].arguments)
    for step in steps[1:]:
        answer = JUDGEMENTS[step.name](answer, *step.arguments)
    return answer
