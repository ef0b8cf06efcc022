"""A third way to answer generated questions: SQL, the standard library, and special functions.

It shares only the form of plans with the generator.
"""

from __future__ import annotations

import math
import re
import sqlite3
import statistics
from collections.abc import Callable, Sequence
from typing import Any

from scipy import special, stats

from pytest_tablebench.generate.rules import Plan, PlanStep
from pytest_tablebench.tables.table import Table

NARROWING = {"where", "both", "either", "top", "above"}
OPERATORS = {"=": "=", "!=": "<>", "<": "<", ">": ">"}


def number(text: str) -> float | None:
    match = re.fullmatch(r"-?[\d,]+(?:\.\d+)?(?: [a-z]+)?", text)
    return float(text.replace(",", "").split(" ")[0]) if match else None


class ThirdWay:
    """One table in a database; blank lines are not entries."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.header = [str(name) for name in table.header]
        rows = [row for row in table.rows if any(str(cell or "").strip() for cell in row)]
        self.texts = [[str(cell) for cell in row] for row in rows]
        self.columns: dict[str, int] = {}
        for place, name in enumerate(self.header):
            self.columns.setdefault(name, place)
        self.numeric = {
            name
            for name, place in self.columns.items()
            if all(number(row[place]) is not None for row in self.texts)
        }
        self.db = sqlite3.connect(":memory:")
        names = ", ".join(f"c{place}" for place in range(len(self.header)))
        self.db.execute(f"CREATE TABLE t (id INTEGER PRIMARY KEY, {names})")
        marks = ", ".join("?" * (len(self.header) + 1))
        for id_, row in enumerate(self.texts):
            cells = [
                number(cell) if self.header[place] in self.numeric else cell
                for place, cell in enumerate(row)
            ]
            self.db.execute(f"INSERT INTO t VALUES ({marks})", [id_, *cells])

    def answer(self, plan: Plan) -> Any:
        """Return a list of texts, a number, or a bool."""
        steps = list(plan.steps)
        ids = list(range(len(self.texts)))
        while steps[0].name in NARROWING:
            ids = self.narrow(steps.pop(0), ids)
        result = getattr(self, f"_{steps[0].name}")(ids, *steps[0].arguments)
        result = result.item() if hasattr(result, "item") else result
        if len(steps) == 2:
            assert steps[1].name == "exceeds"
            return result > float(steps[1].arguments[0])
        return result

    def query(self, ids: Sequence[int], rest: str, values: Sequence[Any] = ()) -> list[int]:
        listed = ",".join(map(str, ids))
        sql = f"SELECT id FROM t WHERE id IN ({listed}) {rest}"
        return [id_ for (id_,) in self.db.execute(sql, list(values))]

    def condition(self, column: str, test: str, values: Sequence[str]) -> tuple[str, list[Any]]:
        cells = [number(value) if column in self.numeric else value for value in values]
        if test == "between":
            return f"(c{self.columns[column]} BETWEEN ? AND ?)", cells
        return f"(c{self.columns[column]} {OPERATORS[test]} ?)", cells

    def narrow(self, step: PlanStep, ids: list[int]) -> list[int]:
        if step.name == "where":
            sql, values = self.condition(*step.arguments)
            return self.query(ids, f"AND {sql}", values)
        if step.name in {"both", "either"}:
            (one, first), (two, second) = (self.condition(*given) for given in step.arguments)
            joined = "AND" if step.name == "both" else "OR"
            return self.query(ids, f"AND ({one} {joined} {two})", [*first, *second])
        if step.name == "top":
            column, count, highest = step.arguments
            order = "DESC" if highest else "ASC"
            return self.query(ids, f"ORDER BY c{self.columns[column]} {order} LIMIT {count}")
        column, statistic, higher = step.arguments
        bound = getattr(statistics, statistic)(self.values(ids, column))
        sign = ">" if higher else "<"
        return self.query(ids, f"AND c{self.columns[column]} {sign} ?", [bound])

    def values(self, ids: Sequence[int], column: str) -> list[float]:
        numbers = [number(self.texts[id_][self.columns[column]]) for id_ in ids]
        return [value for value in numbers if value is not None]

    def entry(self, name: str) -> int:
        return next(id_ for id_, row in enumerate(self.texts) if name in row)

    def label(self, ids: Sequence[int]) -> list[str]:
        """Return the names: the first column with distinct texts and no numbers."""
        for name, place in self.columns.items():
            cells = [row[place] for row in self.texts]
            plain = name not in self.numeric and not re.fullmatch(r"\d{4}-\d\d-\d\d", cells[0])
            if plain and len(set(cells)) == len(set(map(tuple, self.texts))):
                return [cells[id_] for id_ in ids]
        raise AssertionError("no names")

    def _cell(self, ids: Any, name: str, column: str) -> list[str]:
        return [self.texts[self.entry(name)][self.columns[column]]]

    def _cells(self, ids: Any, name: str, columns: Sequence[str]) -> list[str]:
        return [self._cell(ids, name, column)[0] for column in columns]

    def _cell_at(self, ids: Any, row: int, column: int) -> list[str]:
        return [str(self.table.rows[row - 1][column - 1])]

    def place(self, value: str) -> tuple[int, int]:
        return next(
            (row, place)
            for row, cells in enumerate(self.table.rows)
            for place, cell in enumerate(cells)
            if cell == value
        )

    def _row_of(self, ids: Any, value: str) -> int:
        return self.place(value)[0] + 1

    def _heading_of(self, ids: Any, value: str) -> list[str]:
        return [self.header[self.place(value)[1]]]

    def _neighbour(self, ids: Any, value: str, side: str) -> list[str]:
        row, place = self.place(value)
        row += {"up": -1, "down": 1}.get(side, 0)
        place += {"left": -1, "right": 1}.get(side, 0)
        return [str(self.table.rows[row][place])]

    def _find(self, ids: list[int], column: str, value: str) -> list[str]:
        matching = [id_ for id_ in ids if self.texts[id_][self.columns[column]] == value]
        return list(dict.fromkeys(self.label(matching)))  # an entry may occur twice

    def _value_of(self, ids: list[int], column: str) -> list[str]:
        return [self.texts[id_][self.columns[column]] for id_ in ids]

    def _labels(self, ids: list[int], ordered: bool) -> list[str]:
        return self.label(ids)

    def _count(self, ids: list[int]) -> int:
        return len(ids)

    def _distinct(self, ids: list[int], column: str) -> int:
        return len(set(self._value_of(ids, column)))

    def _statistic(self, ids: list[int], column: str, name: str) -> float:
        values = self.values(ids, column)
        ways: dict[str, Callable[[list[float]], float]] = {
            "sum": math.fsum,
            "mean": statistics.fmean,
            "median": statistics.median,
            "min": min,
            "max": max,
            "range": lambda v: max(v) - min(v),
            "std": statistics.stdev,
        }
        return ways[name](values)

    def _extreme(self, ids: list[int], column: str, highest: bool) -> list[str]:
        return self.label(self.narrow(PlanStep("top", (column, 1, highest)), ids))

    def one(self, name: str, column: str) -> float:
        return self.values([self.entry(name)], column)[0]

    def _share(self, ids: list[int], column: str, name: str) -> float:
        return 100 * self.one(name, column) / math.fsum(self.values(ids, column))

    def _change(self, ids: Any, name: str, before: str, after: str) -> float:
        return (self.one(name, after) / self.one(name, before) - 1) * 100

    def _ratio(self, ids: Any, column: str, first: str, second: str) -> float:
        return self.one(first, column) / self.one(second, column)

    def _branch(self, ids: list[int], test: Any, then: Any, other: Any) -> float:
        holds = self._statistic(ids, *test[:2]) > float(test[2])
        return self._statistic(ids, *(then if holds else other))

    def _is_cell(self, ids: Any, name: str, column: str, value: str) -> bool:
        return self._cell(ids, name, column) == [value]

    def _is_more(self, ids: Any, column: str, first: str, second: str) -> bool:
        return self.one(first, column) > self.one(second, column)

    def outside(self, ids: list[int], column: str, rule: str) -> list[int]:
        values = self.values(ids, column)
        if rule == "z":
            scores = stats.zscore(values)
            return [id_ for id_, score in zip(ids, scores, strict=True) if abs(score) > 3]
        low, _, high = statistics.quantiles(values, method="inclusive")
        room = 1.5 * (high - low)
        pairs = zip(ids, values, strict=True)
        return [id_ for id_, value in pairs if not low - room <= value <= high + room]

    def _outliers(self, ids: list[int], column: str, rule: str) -> list[str]:
        return self.label(self.outside(ids, column, rule))

    def _outlier_count(self, ids: list[int], column: str, rule: str) -> int:
        return len(self.outside(ids, column, rule))

    def _is_outlier(self, ids: list[int], column: str, rule: str, name: str) -> bool:
        return self.entry(name) in self.outside(ids, column, rule)

    def _correlation(self, ids: list[int], first: str, second: str, kind: str) -> float:
        columns: list[Any] = [self.values(ids, first), self.values(ids, second)]
        if kind == "spearman":
            columns = [list(stats.rankdata(values)) for values in columns]
        return statistics.correlation(*columns)

    def _partner(self, ids: list[int], column: str, others: Sequence[str]) -> list[str]:
        return [max(others, key=lambda o: abs(self._correlation(ids, column, o, "pearson")))]

    def _is_related(self, ids: list[int], first: str, second: str) -> bool:
        r, n = self._correlation(ids, first, second, "pearson"), len(ids)
        # Without correlation r has a beta distribution on [-1, 1].
        return bool(2 * special.betainc(n / 2 - 1, n / 2 - 1, (1 - abs(r)) / 2) < 0.05)

    def _differ(self, ids: list[int], column: str, by: str, first: str, second: str) -> bool:
        place = self.columns[by]
        groups = [
            self.values([id_ for id_ in ids if self.texts[id_][place] == value], column)
            for value in (first, second)
        ]
        one, two = (statistics.variance(group) / len(group) for group in groups)
        t = (statistics.fmean(groups[0]) - statistics.fmean(groups[1])) / math.sqrt(one + two)
        n1, n2 = map(len, groups)
        freedom = (one + two) ** 2 / (one**2 / (n1 - 1) + two**2 / (n2 - 1))
        return bool(2 * special.stdtr(freedom, -abs(t)) < 0.05)

    def _t_value(self, ids: list[int], column: str, expected: str) -> float:
        values = self.values(ids, column)
        error = statistics.stdev(values) / math.sqrt(len(values))
        return (statistics.fmean(values) - float(expected)) / error

    def _departs(self, ids: list[int], column: str, expected: str) -> bool:
        t = self._t_value(ids, column, expected)
        return bool(2 * special.stdtr(len(ids) - 1, -abs(t)) < 0.05)

    def _groups_differ(self, ids: list[int], column: str, by: str) -> bool:
        groups: dict[str, list[float]] = {}
        for id_ in ids:
            groups.setdefault(self.texts[id_][self.columns[by]], []).extend(
                self.values([id_], column)
            )
        total = statistics.pvariance(self.values(ids, column)) * len(ids)
        within = sum(statistics.pvariance(group) * len(group) for group in groups.values())
        upper, lower = len(groups) - 1, len(ids) - len(groups)
        f = ((total - within) / upper) / (within / lower)
        return bool(special.fdtrc(upper, lower, f) < 0.05)

    def _shape(self, ids: list[int], column: str, name: str) -> float:
        values = self.values(ids, column)
        mean, deviation = statistics.fmean(values), statistics.pstdev(values)
        power = 3 if name == "skewness" else 4
        moment = statistics.fmean([((value - mean) / deviation) ** power for value in values])
        return moment - (3 if power == 4 else 0)

    def _normal(self, ids: list[int], column: str) -> bool:
        return bool(stats.shapiro(self.values(ids, column)).pvalue > 0.05)

    def _even(self, ids: list[int], by: str) -> bool:
        cells = self._value_of(ids, by)
        counts = [cells.count(value) for value in set(cells)]
        square = sum(count**2 for count in counts) * len(counts) / len(cells) - len(cells)
        return bool(special.chdtrc(len(counts) - 1, square) > 0.05)
