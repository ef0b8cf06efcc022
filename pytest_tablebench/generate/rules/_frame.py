"""The second way to an answer: pandas and scipy on a data frame, with its own reading of cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from pytest_tablebench.generate.pair import Amount, PlainAnswer, PlanStep, Texts
from pytest_tablebench.generate.rules._sheet import ParsedSheet

_ALPHA = 0.05
_NOT_OF_A_NUMBER = r"[^0-9.\-]"

Result = tuple[str, ...] | float | bool


class Frame:
    """A sheet as data frames: its texts, and its numeric columns as floats."""

    def __init__(self, sheet: ParsedSheet) -> None:
        import pandas as pd

        # Any: pandas' stubs allow no computation with a single cell.
        self.texts: Any = pd.DataFrame(
            [list(row) for row in sheet.table.rows],
            columns=list(sheet.table.header),
            dtype=object,
        )
        self.floats: Any = pd.DataFrame(
            {
                name: pd.to_numeric(
                    self.texts[name].astype(str).str.replace(_NOT_OF_A_NUMBER, "", regex=True)
                ).astype("float64")
                for name in sheet.numbers
            }
        )
        self.label = sheet.label

    @cached_property
    def stats(self) -> Any:
        """`scipy.stats`, imported for the few questions that need it."""
        from scipy import stats

        return stats

    def numbers(self, rows: Any, column: str) -> Any:
        """Return a numeric column of some entries."""
        return self.floats[column].loc[rows]

    def entry(self, name: str) -> int:
        """Return the row of a named entry."""
        return int(self.texts.index[self.texts[self.label] == name][0])


def frame_answer(steps: Sequence[PlanStep], frame: Frame) -> Result:
    """Compute the answer of the steps on data frames."""
    rows = frame.texts.index
    result: Any = None
    for step in steps:
        operation = SECOND_WAYS[step.name]
        if step.name in _NARROWING:
            rows = operation(frame, rows, *step.arguments)
        elif step.name == "exceeds":
            result = operation(result, *step.arguments)
        else:
            result = operation(frame, rows, *step.arguments)
    if isinstance(result, tuple):
        return result
    is_truth = type(result).__name__.startswith("bool")
    return bool(result) if is_truth else float(result)


def agrees(answer: PlainAnswer, result: Result) -> bool:
    """Return whether both ways give the same answer."""
    if isinstance(answer, bool) or isinstance(result, bool):
        return answer is result
    if isinstance(answer, Texts):
        if not isinstance(result, tuple):
            return False
        return answer.items == result if answer.ordered else sorted(answer.items) == sorted(result)
    if not isinstance(answer, Amount) or isinstance(result, tuple):
        return False
    return abs(float(answer.value) - result) <= 1e-7 * max(1.0, abs(result))


def _bound(text: str) -> float:
    return float(re.sub(_NOT_OF_A_NUMBER, "", text))


def _mask(frame: Frame, rows: Any, column: str, test: str, values: Sequence[str]) -> Any:
    if column not in frame.floats:
        same = frame.texts[column].loc[rows].eq(values[0])
        return same if test == "=" else ~same
    numbers = frame.numbers(rows, column)
    if test == "between":
        return numbers.between(_bound(values[0]), _bound(values[1]))
    operation = {"=": numbers.eq, "!=": numbers.ne, "<": numbers.lt, ">": numbers.gt}[test]
    return operation(_bound(values[0]))


def _where(frame: Frame, rows: Any, column: str, test: str, values: Sequence[str]) -> Any:
    return rows[_mask(frame, rows, column, test, values)]


def _top(frame: Frame, rows: Any, column: str, count: int, highest: bool) -> Any:
    numbers = frame.numbers(rows, column)
    return (numbers.nlargest(count) if highest else numbers.nsmallest(count)).index


def _above(frame: Frame, rows: Any, column: str, statistic: str, higher: bool) -> Any:
    numbers = frame.numbers(rows, column)
    bound = numbers.mean() if statistic == "mean" else numbers.median()
    return rows[numbers > bound] if higher else rows[numbers < bound]


_NARROWING = {"where", "both", "either", "top", "above"}


def _cell_at(frame: Frame, rows: Any, row: int, column: int) -> Result:  # noqa: ARG001
    return (frame.texts.iat[row - 1, column - 1],)


def _places(frame: Frame, value: str) -> tuple[int, int]:
    rows, columns = (frame.texts.to_numpy() == value).nonzero()
    return int(rows[0]), int(columns[0])


def _neighbour(frame: Frame, rows: Any, value: str, side: str) -> Result:  # noqa: ARG001
    axis = {"up": "index", "down": "index", "left": "columns", "right": "columns"}[side]
    moved = frame.texts.shift(1 if side in {"up", "left"} else -1, axis=axis)
    return (moved.iat[_places(frame, value)],)


def _cells(frame: Frame, rows: Any, name: str, columns: Sequence[str]) -> Result:  # noqa: ARG001
    return tuple(frame.texts.loc[frame.entry(name), list(columns)])


def _labels_of(frame: Frame, rows: Any) -> Result:
    return tuple(frame.texts[frame.label].loc[rows])


def _statistic(frame: Frame, rows: Any, column: str, name: str) -> Any:
    numbers = frame.numbers(rows, column)
    if name == "range":
        return numbers.max() - numbers.min()
    return getattr(numbers, name)()


def _extreme(frame: Frame, rows: Any, column: str, highest: bool) -> Result:
    numbers = frame.numbers(rows, column)
    place = numbers.idxmax() if highest else numbers.idxmin()
    return (frame.texts.at[place, frame.label],)


def _share(frame: Frame, rows: Any, column: str, name: str) -> Any:
    numbers = frame.numbers(rows, column)
    return (numbers / numbers.sum() * 100).at[frame.entry(name)]


def _change(frame: Frame, rows: Any, name: str, before: str, after: str) -> Any:  # noqa: ARG001
    pair = frame.floats.loc[frame.entry(name), [before, after]]
    return pair.pct_change().iloc[1] * 100


def _ratio(frame: Frame, rows: Any, column: str, first: str, second: str) -> Any:  # noqa: ARG001
    numbers = frame.floats[column]
    return numbers.at[frame.entry(first)] / numbers.at[frame.entry(second)]


def _is_more(frame: Frame, rows: Any, column: str, first: str, second: str) -> bool:  # noqa: ARG001
    numbers = frame.floats[column]
    return bool(numbers.at[frame.entry(first)] > numbers.at[frame.entry(second)])


def _branch(frame: Frame, rows: Any, test: Any, then: Any, other: Any) -> Any:
    column, statistic, bound = test
    holds = _statistic(frame, rows, column, statistic) > _bound(bound)
    return _statistic(frame, rows, *(then if holds else other))


def _outside(frame: Frame, rows: Any, column: str, rule: str) -> Any:
    numbers = frame.numbers(rows, column)
    if rule == "tukey":
        low, high = numbers.quantile(0.25), numbers.quantile(0.75)
        room = 1.5 * (high - low)
        return rows[(numbers < low - room) | (numbers > high + room)]
    return rows[((numbers - numbers.mean()) / numbers.std()).abs() > 3]


def _partner(frame: Frame, rows: Any, column: str, others: Sequence[str]) -> Result:
    matrix = frame.floats.loc[rows, [column, *others]].corr()
    return (str(matrix.loc[list(others), column].abs().idxmax()),)


def _related(frame: Frame, rows: Any, first: str, second: str, kind: str) -> Any:
    left, right = (frame.numbers(rows, column).to_numpy() for column in (first, second))
    return (frame.stats.pearsonr if kind == "pearson" else frame.stats.spearmanr)(left, right)


def _differ(frame: Frame, rows: Any, column: str, by: str, *groups: str) -> bool:
    numbers, values = frame.numbers(rows, column), frame.texts[by].loc[rows]
    left, right = (numbers[values == value].to_numpy() for value in groups)
    return bool(frame.stats.ttest_ind(left, right, equal_var=False).pvalue < _ALPHA)


def _one_sample(frame: Frame, rows: Any, column: str, expected: str) -> Any:
    return frame.stats.ttest_1samp(frame.numbers(rows, column).to_numpy(), _bound(expected))


def _groups_differ(frame: Frame, rows: Any, column: str, by: str) -> bool:
    numbers = frame.numbers(rows, column)
    groups = [group.to_numpy() for _, group in numbers.groupby(frame.texts[by].loc[rows])]
    return bool(frame.stats.f_oneway(*groups).pvalue < _ALPHA)


def _shape(frame: Frame, rows: Any, column: str, name: str) -> Any:
    shape = getattr(frame.stats, {"skewness": "skew"}.get(name, name))
    return shape(frame.numbers(rows, column).to_numpy())


SECOND_WAYS: dict[str, Callable[..., Any]] = {
    "where": _where,
    "both": lambda frame, rows, first, second: rows[
        _mask(frame, rows, *first) & _mask(frame, rows, *second)
    ],
    "either": lambda frame, rows, first, second: rows[
        _mask(frame, rows, *first) | _mask(frame, rows, *second)
    ],
    "top": _top,
    "above": _above,
    "cell": lambda frame, rows, name, column: _cells(frame, rows, name, [column]),
    "cells": _cells,
    "cell_at": _cell_at,
    "row_of": lambda frame, _rows, value: _places(frame, value)[0] + 1,
    "heading_of": lambda frame, _rows, value: (frame.texts.columns[_places(frame, value)[1]],),
    "neighbour": _neighbour,
    "find": lambda frame, rows, column, value: _labels_of(
        frame, _where(frame, rows, column, "=", (value,))
    ),
    "value_of": lambda frame, rows, column: tuple(frame.texts[column].loc[rows]),
    "labels": lambda frame, rows, _ordered: _labels_of(frame, rows),
    "count": lambda _frame, rows: len(rows),
    "distinct": lambda frame, rows, column: frame.texts[column].loc[rows].nunique(),
    "statistic": _statistic,
    "extreme": _extreme,
    "share": _share,
    "change": _change,
    "ratio": _ratio,
    "branch": _branch,
    "is_cell": lambda frame, _rows, name, column, value: bool(
        frame.texts.at[frame.entry(name), column] == value
    ),
    "is_more": _is_more,
    "exceeds": lambda result, bound: bool(result > _bound(bound)),
    "outliers": lambda frame, rows, column, rule: _labels_of(
        frame, _outside(frame, rows, column, rule)
    ),
    "outlier_count": lambda frame, rows, column, rule: len(_outside(frame, rows, column, rule)),
    "is_outlier": lambda frame, rows, column, rule, name: bool(
        frame.entry(name) in _outside(frame, rows, column, rule)
    ),
    "correlation": lambda *arguments: _related(*arguments).statistic,
    "partner": _partner,
    "is_related": lambda frame, rows, first, second: bool(
        _related(frame, rows, first, second, "pearson").pvalue < _ALPHA
    ),
    "differ": _differ,
    "departs": lambda frame, rows, column, value: bool(
        _one_sample(frame, rows, column, value).pvalue < _ALPHA
    ),
    "t_value": lambda frame, rows, column, value: _one_sample(frame, rows, column, value).statistic,
    "groups_differ": _groups_differ,
    "shape": _shape,
    "normal": lambda frame, rows, column: bool(
        frame.stats.shapiro(frame.numbers(rows, column).to_numpy()).pvalue > _ALPHA
    ),
    "even": lambda frame, rows, by: bool(
        frame.stats.chisquare(frame.texts[by].loc[rows].value_counts().to_numpy()).pvalue > _ALPHA
    ),
}
