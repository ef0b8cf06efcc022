"""Steps in plain Python that find outliers, correlate and test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from pytest_tablebench.generate.pair import Amount, PlainAnswer, RejectedError, Texts
from pytest_tablebench.generate.rules import _statistics as formulas
from pytest_tablebench.generate.rules._plain_basics import Rows, column_values, labels, number
from pytest_tablebench.generate.rules._sheet import ParsedSheet

ALPHA = 0.05
"""The level of every test (spec: treb.md section 6.1)."""
_BORDER = 0.1
"""A test is rejected if its statistic is closer to the critical value than this share of it."""


def _floats(sheet: ParsedSheet, rows: Rows, column: str, least: int) -> list[float]:
    return [float(value) for value in column_values(sheet, rows, column, least)]


def _outside(sheet: ParsedSheet, rows: Rows, column: str, rule: str) -> set[int]:
    values = _floats(sheet, rows, column, 8)
    outside = (formulas.tukey_outside if rule == "tukey" else formulas.z_outside)(values)
    if outside is None:
        raise RejectedError("ambiguous")
    return {rows[place] for place in outside}


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
        columns = [formulas.ranks(values) for values in columns]
    return formulas.pearson(*columns)


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


def _t_critical(freedom: float) -> float:
    from scipy import stats

    return float(stats.t.ppf(1 - ALPHA / 2, freedom))


def _is_related(sheet: ParsedSheet, rows: Rows, first: str, second: str) -> bool:
    r, freedom = _related(sheet, rows, first, second, "pearson"), len(rows) - 2
    if abs(r) > 0.999999:
        raise RejectedError("trivial")
    return _beyond(r * (freedom / (1 - r * r)) ** 0.5, _t_critical(freedom))


def _group(sheet: ParsedSheet, rows: Rows, column: str, by: str, value: str) -> list[float]:
    chosen = tuple(row for row in rows if sheet.cells[by][row] == value)
    return _floats(sheet, chosen, column, 4)


def _differ(sheet: ParsedSheet, rows: Rows, column: str, by: str, *groups: str) -> bool:
    first, second = (_group(sheet, rows, column, by, value) for value in groups)
    statistic, freedom = formulas.welch(first, second)
    return _beyond(statistic, _t_critical(freedom))


def _departs(sheet: ParsedSheet, rows: Rows, column: str, expected: str) -> bool:
    values = _floats(sheet, rows, column, 8)
    statistic = formulas.t_statistic(values, float(number(expected)))
    return _beyond(statistic, _t_critical(len(values) - 1))


def _t_value(sheet: ParsedSheet, rows: Rows, column: str, expected: str) -> Amount:
    values = _floats(sheet, rows, column, 5)
    return Amount(formulas.t_statistic(values, float(number(expected))), 2, exact=False)


def _groups_differ(sheet: ParsedSheet, rows: Rows, column: str, by: str) -> bool:
    from scipy import stats

    names = sorted({sheet.cells[by][row] for row in rows})
    if len(names) < 3:
        raise RejectedError("trivial")
    statistic, *freedom = formulas.f_statistic(
        [_group(sheet, rows, column, by, name) for name in names]
    )
    return _beyond(statistic, float(stats.f.ppf(1 - ALPHA, *freedom)))


def _shape(sheet: ParsedSheet, rows: Rows, column: str, name: str) -> Amount:
    values = _floats(sheet, rows, column, 8)
    value = (formulas.skewness if name == "skewness" else formulas.kurtosis)(values)
    return Amount(value, 2, exact=False)


def _normal(sheet: ParsedSheet, rows: Rows, column: str) -> bool:
    values = _floats(sheet, rows, column, 8)
    if len(values) > 5000:
        raise RejectedError("too many items")
    p = formulas.shapiro_p(values)
    if ALPHA * 0.7 < p < ALPHA * 1.4:
        raise RejectedError("borderline")
    return p > ALPHA


def _even(sheet: ParsedSheet, rows: Rows, by: str) -> bool:
    from scipy import stats

    cells = [sheet.cells[by][row] for row in rows]
    counts = [cells.count(value) for value in sorted(set(cells))]
    if len(counts) < 2 or sum(counts) < 5 * len(counts):  # the test's usual condition
        raise RejectedError("trivial")
    critical = float(stats.chi2.ppf(1 - ALPHA, len(counts) - 1))
    return not _beyond(formulas.chi_square_even(counts), critical)


ANALYSES: dict[str, Callable[..., PlainAnswer]] = {
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
