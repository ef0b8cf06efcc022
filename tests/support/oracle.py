"""A second computation of generated answers, with pandas and special functions.

It shares only the form of steps with the generator.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import special, stats

from pytest_tablebench.generate.pair import PlanStep
from pytest_tablebench.tables.table import Table

NARROWING = {"where", "both", "either", "top", "above"}
OPERATORS = {"=": "eq", "!=": "ne", "<": "lt", ">": "gt"}
SIDES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def number(text: str) -> float | None:
    match = re.fullmatch(r"-?[\d,]+(?:\.\d+)?(?: [a-z]+)?", text)
    return float(text.replace(",", "").split(" ")[0]) if match else None


class Oracle:
    """Answers questions about one table; blank lines are not entries."""

    # Any: pandas' stubs allow no computation with a single cell.
    texts: Any
    numbers: Any

    def __init__(self, table: Table) -> None:
        self.table = table
        rows = [row for row in table.rows if any(str(cell or "").strip() for cell in row)]
        texts = pd.DataFrame(
            [list(map(str, row)) for row in rows],
            columns=pd.Index(list(map(str, table.header))),
            dtype=object,
        )
        self.texts = texts.loc[:, ~texts.columns.duplicated()]
        values = {name: [number(cell) for cell in self.texts[name]] for name in self.texts}
        self.numbers = pd.DataFrame({n: cells for n, cells in values.items() if None not in cells})

    def answer(self, steps: Sequence[PlanStep]) -> Any:
        """Return a list of texts, a number, or a bool."""
        rows = self.texts.index
        result: Any = None
        for step in steps:
            operation = getattr(self, f"_{step.name}")
            if step.name in NARROWING:
                rows = operation(rows, *step.arguments)
            else:
                subject = result if step.name == "exceeds" else rows
                result = operation(subject, *step.arguments)
        return result.item() if hasattr(result, "item") else result

    def condition(self, rows: Any, column: str, test: str, values: Sequence[str]) -> Any:
        is_number = column in self.numbers
        cells = (self.numbers if is_number else self.texts)[column][rows]
        bounds = [number(value) if is_number else value for value in values]
        if test == "between":
            return cells.between(*bounds)
        return getattr(cells, OPERATORS[test])(bounds[0])

    def _where(self, rows: Any, *condition: Any) -> Any:
        return rows[self.condition(rows, *condition)]

    def _both(self, rows: Any, first: Any, second: Any) -> Any:
        return rows[self.condition(rows, *first) & self.condition(rows, *second)]

    def _either(self, rows: Any, first: Any, second: Any) -> Any:
        return rows[self.condition(rows, *first) | self.condition(rows, *second)]

    def _top(self, rows: Any, column: str, count: int, highest: bool) -> Any:
        values = self.numbers[column][rows]
        return (values.nlargest(count) if highest else values.nsmallest(count)).index

    def _above(self, rows: Any, column: str, statistic: str, higher: bool) -> Any:
        values, bound = self.numbers[column][rows], self._statistic(rows, column, statistic)
        return rows[values > bound if higher else values < bound]

    def entry(self, name: str) -> int:
        return int(self.texts.index[self.texts.eq(name).any(axis=1)][0])

    def number_of(self, name: str, column: str) -> float:
        return float(self.numbers.at[self.entry(name), column])

    def _labels(self, rows: Any, _ordered: bool = False) -> list[str]:
        """Return the names: the first column with distinct texts and no numbers."""
        for name, cells in self.texts.items():
            is_text = name not in self.numbers and not re.fullmatch(r"\d{4}(-\d\d){2}", cells[0])
            if is_text and cells.nunique() == len(self.texts.drop_duplicates()):
                return list(cells[rows])
        raise AssertionError("no names")

    def _cell(self, _rows: Any, name: str, column: str) -> list[str]:
        return [self.texts.at[self.entry(name), column]]

    def _cells(self, _rows: Any, name: str, columns: Sequence[str]) -> list[str]:
        return list(self.texts.loc[self.entry(name), list(columns)])

    def _cell_at(self, _rows: Any, row: int, column: int) -> list[str]:
        return [str(self.table.rows[row - 1][column - 1])]

    def place(self, value: str) -> tuple[int, int]:
        return next(
            (row, place)
            for row, cells in enumerate(self.table.rows)
            for place, cell in enumerate(cells)
            if cell == value
        )

    def _row_of(self, _rows: Any, value: str) -> int:
        return self.place(value)[0] + 1

    def _heading_of(self, _rows: Any, value: str) -> list[str]:
        return [str(self.table.header[self.place(value)[1]])]

    def _neighbour(self, _rows: Any, value: str, side: str) -> list[str]:
        row, column = np.add(self.place(value), SIDES[side])
        return [str(self.table.rows[row][column])]

    def _find(self, rows: Any, column: str, value: str) -> list[str]:
        matching = rows[self.texts[column][rows] == value]
        return list(dict.fromkeys(self._labels(matching)))  # an entry may occur twice

    def _value_of(self, rows: Any, column: str) -> list[str]:
        return list(self.texts[column][rows])

    def _count(self, rows: Any) -> int:
        return len(rows)

    def _distinct(self, rows: Any, column: str) -> int:
        return int(self.texts[column][rows].nunique())

    def _statistic(self, rows: Any, column: str, name: str) -> float:
        values = self.numbers[column][rows]
        return float(np.ptp(values) if name == "range" else getattr(values, name)())

    def _exceeds(self, value: float, bound: str) -> bool:
        return value > float(bound)

    def _extreme(self, rows: Any, column: str, highest: bool) -> list[str]:
        return self._labels(self._top(rows, column, 1, highest))

    def _share(self, rows: Any, column: str, name: str) -> float:
        return 100 * self.number_of(name, column) / self._statistic(rows, column, "sum")

    def _change(self, _rows: Any, name: str, before: str, after: str) -> float:
        return (self.number_of(name, after) / self.number_of(name, before) - 1) * 100

    def _ratio(self, _rows: Any, column: str, first: str, second: str) -> float:
        return self.number_of(first, column) / self.number_of(second, column)

    def _branch(self, rows: Any, test: Any, then: Any, other: Any) -> float:
        holds = self._statistic(rows, *test[:2]) > float(test[2])
        return self._statistic(rows, *(then if holds else other))

    def _is_cell(self, rows: Any, name: str, column: str, value: str) -> bool:
        return self._cell(rows, name, column) == [value]

    def _is_more(self, _rows: Any, column: str, first: str, second: str) -> bool:
        return self.number_of(first, column) > self.number_of(second, column)

    def outside(self, rows: Any, column: str, rule: str) -> Any:
        values = self.numbers[column][rows]
        if rule == "z":
            return rows[np.abs(stats.zscore(values)) > 3]
        low, high = values.quantile([0.25, 0.75])
        return rows[~values.between(2.5 * low - 1.5 * high, 2.5 * high - 1.5 * low)]

    def _outliers(self, rows: Any, column: str, rule: str) -> list[str]:
        return self._labels(self.outside(rows, column, rule))

    def _outlier_count(self, rows: Any, column: str, rule: str) -> int:
        return len(self.outside(rows, column, rule))

    def _is_outlier(self, rows: Any, column: str, rule: str, name: str) -> bool:
        return self.entry(name) in self.outside(rows, column, rule)

    def _correlation(self, rows: Any, first: str, second: str, kind: str) -> float:
        return float(self.numbers[first][rows].corr(self.numbers[second][rows], method=kind))

    def _partner(self, rows: Any, column: str, others: Sequence[str]) -> list[str]:
        return [max(others, key=lambda o: abs(self._correlation(rows, column, o, "pearson")))]

    def _is_related(self, rows: Any, first: str, second: str) -> bool:
        r, n = self._correlation(rows, first, second, "pearson"), len(rows)
        # Without correlation r has a beta distribution on [-1, 1].
        return bool(2 * special.betainc(n / 2 - 1, n / 2 - 1, (1 - abs(r)) / 2) < 0.05)

    def groups(self, rows: Any, column: str, by: str) -> Any:
        return self.numbers[column][rows].groupby(self.texts[by][rows])

    def _differ(self, rows: Any, column: str, by: str, *names: str) -> bool:
        groups = self.groups(rows, column, by).agg(["mean", "var", "count"]).loc[list(names)]
        errors = groups["var"] / groups["count"]
        t = np.diff(groups["mean"])[0] / np.sqrt(errors.sum())
        freedom = errors.sum() ** 2 / (errors**2 / (groups["count"] - 1)).sum()
        return bool(2 * special.stdtr(freedom, -abs(t)) < 0.05)

    def _t_value(self, rows: Any, column: str, expected: str) -> float:
        values = self.numbers[column][rows]
        return float((values.mean() - float(expected)) / values.sem())

    def _departs(self, rows: Any, column: str, expected: str) -> bool:
        t = self._t_value(rows, column, expected)
        return bool(2 * special.stdtr(len(rows) - 1, -abs(t)) < 0.05)

    def _groups_differ(self, rows: Any, column: str, by: str) -> bool:
        groups, values = self.groups(rows, column, by), self.numbers[column][rows]
        within = ((values - groups.transform("mean")) ** 2).sum()
        total = ((values - values.mean()) ** 2).sum()
        upper, lower = groups.ngroups - 1, len(rows) - groups.ngroups
        return bool(special.fdtrc(upper, lower, (total / within - 1) * lower / upper) < 0.05)

    def _shape(self, rows: Any, column: str, name: str) -> float:
        scores = stats.zscore(self.numbers[column][rows])
        return float(np.mean(scores**3) if name == "skewness" else np.mean(scores**4) - 3)

    def _normal(self, rows: Any, column: str) -> bool:
        return bool(stats.shapiro(self.numbers[column][rows]).pvalue > 0.05)

    def _even(self, rows: Any, by: str) -> bool:
        counts = self.texts[by][rows].value_counts()
        square = ((counts - counts.mean()) ** 2).sum() / counts.mean()
        return bool(special.chdtrc(len(counts) - 1, square) > 0.05)
