"""Draw the arguments of steps: the columns, entries and values of a question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import sqrt
from random import Random
from typing import Any, TypeVar

from pytest_tablebench.generate.pair import (
    Amount,
    NothingError,
    PlanStep,
    RejectedError,
    answer_text,
)
from pytest_tablebench.generate.rules._answers import narrow, plain_answer
from pytest_tablebench.generate.rules._basics import MOST_ITEMS, NARROWING
from pytest_tablebench.generate.rules._sheet import ParsedSheet

_T = TypeVar("_T")


def draw_steps(written: Sequence[str], sheet: ParsedSheet, rng: Random) -> tuple[PlanStep, ...]:
    """Draw the steps of a recipe, each written as `name` or `name:variant`.

    Raises `NothingError`, or `RejectedError` if the steps so far leave no entry.
    """
    draw = Draw(sheet, rng)
    for number, text in enumerate(written):
        name, _, variant = text.partition(":")
        draw.few = number + 1 < len(written) and written[number + 1] == "labels"
        step = PlanStep(name, DRAWS[name](draw, variant))
        draw.steps.append(step)
        if name in NARROWING:
            draw.rows = narrow(step, sheet, draw.rows)
    return tuple(draw.steps)


class Draw:
    """A plan being drawn: the steps so far and the entries that they leave.

    `few`: whether the next step must not leave more entries than a list may have.
    """

    def __init__(self, sheet: ParsedSheet, rng: Random) -> None:
        self.sheet, self.rng = sheet, rng
        self.rows: tuple[int, ...] = tuple(range(sheet.size))
        self.steps: list[PlanStep] = []
        self.used: set[str] = set()
        self.few = False

    def pick(self, choices: Sequence[_T]) -> _T:
        """Return one of several. Raises `NothingError` without any."""
        if not choices:
            raise NothingError
        return self.rng.choice(choices)

    def some(self, choices: Sequence[_T], count: int) -> tuple[_T, ...]:
        """Return several different ones. Raises `NothingError` if there are too few."""
        if len(choices) < count:
            raise NothingError
        return tuple(self.rng.sample(choices, count))

    def column(self, choices: Sequence[str]) -> str:
        """Return a column, preferably one that no step uses yet."""
        fresh = [name for name in choices if name not in self.used]
        chosen = self.pick(fresh or choices)
        self.used.add(chosen)
        return chosen

    def pair(self, choices: Sequence[str]) -> tuple[str, str]:
        """Return two columns."""
        fresh = [name for name in choices if name not in self.used]
        first, second = self.some(fresh if len(fresh) > 1 else choices, 2)
        self.used |= {first, second}
        return first, second

    def names(self, count: int) -> tuple[str, ...]:
        """Return the names of several entries."""
        label = self.label()
        return tuple(self.sheet.cells[label][row] for row in self.some(self.rows, count))

    def label(self) -> str:
        """Return the column that names the entries."""
        if not self.sheet.label:
            raise NothingError
        return self.sheet.label

    def others(self) -> list[str]:
        """Return the columns except the one that names the entries."""
        return [name for name in self.sheet.cells if name != self.sheet.label]

    def amount(self, *more: PlanStep) -> Amount:
        """Return the number that results from the steps so far and `more`."""
        answer = plain_answer([*self.steps, *more], self.sheet)
        if not isinstance(answer, Amount):
            raise NothingError
        return answer

    def near(self, value: Fraction | float, decimals: int) -> str:
        """Return a number near another one, above or below it."""
        room = abs(float(value)) or 1.0
        other = float(value) + self.rng.choice((-1, 1)) * room * self.rng.uniform(0.05, 0.4)
        return f"{other:.{decimals}f}"

    def expected(self, column: str) -> str:
        """Return a number for a test against the column's mean, significant or not."""
        values = [float(self.sheet.numbers[column].values[row]) for row in self.rows]
        if len(values) < 5 or len(set(values)) == 1:
            raise RejectedError("trivial")
        mean = sum(values) / len(values)
        error = sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))
        away = mean + self.rng.choice((-1, 1)) * error * self.rng.choice((0.3, 0.9, 3.5, 5))
        return f"{away:.{self.sheet.numbers[column].decimals + 1}f}"


def _condition(draw: Draw, variant: str = "") -> tuple[str, str, tuple[str, ...]]:  # noqa: ARG001
    sheet, rng = draw.sheet, draw.rng
    column = draw.column([*sheet.numbers, *(() if draw.few else sheet.groups)])
    if column not in sheet.numbers:
        cells = [sheet.cells[column][row] for row in draw.rows]
        return column, rng.choice(("=", "=", "!=")), (rng.choice(cells),)
    ordered = sorted(draw.rows, key=lambda row: sheet.numbers[column].values[row])
    written = [sheet.cells[column][row] for row in ordered]
    if len(set(written)) < len(written) * 0.7 and rng.random() < 0.5:
        return column, rng.choice(("=", "!=")), (rng.choice(written),)
    if draw.few and len(written) > MOST_ITEMS:
        size = rng.randint(1, MOST_ITEMS)
        at_start = rng.random() < 0.5
        return column, "<" if at_start else ">", (written[size if at_start else -1 - size],)
    edge = len(written) // 6
    middle = written[edge : len(written) - edge]
    if len(middle) > 3 and rng.random() < 0.25:
        low, high = sorted(rng.sample(range(len(middle)), 2))
        if middle[low] != middle[high]:
            return column, "between", (middle[low], middle[high])
    return column, rng.choice(("<", ">")), (rng.choice(middle),)


def _two(draw: Draw, variant: str) -> tuple[Any, ...]:  # noqa: ARG001
    first, second = _condition(draw), _condition(draw)
    if first[0] == second[0]:
        raise NothingError
    return first, second


def _top(draw: Draw, variant: str) -> tuple[Any, ...]:
    count = int(variant) if variant else draw.rng.choice((2, 3, 3, 5))
    return draw.column(draw.sheet.measures), count, draw.rng.random() < 0.5


def _above(draw: Draw, variant: str) -> tuple[Any, ...]:  # noqa: ARG001
    if draw.few and len(draw.rows) > 2 * MOST_ITEMS:
        raise NothingError
    statistic = draw.rng.choice(("mean", "median"))
    return draw.column(draw.sheet.measures), statistic, draw.rng.random() < 0.6


def _measured(draw: Draw, variant: str) -> tuple[Any, ...]:
    choices = draw.sheet.summed if variant == "sum" else draw.sheet.measures
    return draw.column(choices), variant


def _any_cell(draw: Draw, variant: str) -> tuple[Any, ...]:  # noqa: ARG001
    row, column = draw.pick(draw.rows), draw.rng.randrange(len(draw.sheet.table.header))
    return row + 1, column + 1


def _value(draw: Draw) -> str:
    row, column = _any_cell(draw, "")
    value = answer_text(draw.sheet.table.rows[row - 1][column - 1])
    if value is None:
        raise RejectedError("unwritable")
    return value


def _cells(draw: Draw, variant: str) -> tuple[Any, ...]:  # noqa: ARG001
    others = draw.others()
    count = min(len(others), draw.rng.choice((2, 3, 3)))
    return draw.names(1)[0], draw.some(others, max(2, count))


def _find(draw: Draw, variant: str) -> tuple[Any, ...]:  # noqa: ARG001
    draw.label()
    column = draw.column(draw.others())
    value = answer_text(draw.sheet.cells[column][draw.pick(draw.rows)])
    if value is None:
        raise RejectedError("unwritable")
    return column, value


def _labels(draw: Draw, variant: str) -> tuple[Any, ...]:  # noqa: ARG001
    draw.label()
    return (bool(draw.steps) and draw.steps[-1].name == "top",)


def _change(draw: Draw, variant: str) -> tuple[Any, ...]:  # noqa: ARG001
    by_unit: dict[str, list[str]] = {}
    for name in draw.sheet.measures:
        by_unit.setdefault(draw.sheet.numbers[name].unit, []).append(name)
    alike = draw.pick([names for names in by_unit.values() if len(names) > 1])
    before, after = sorted(draw.some(alike, 2), key=list(draw.sheet.cells).index)
    return draw.names(1)[0], before, after


def _branch(draw: Draw, variant: str) -> tuple[Any, ...]:  # noqa: ARG001
    column = draw.column(draw.sheet.measures)
    statistic = draw.rng.choice(("mean", "max", "median"))
    value = draw.amount(PlanStep("statistic", (column, statistic)))
    then, other = draw.some(("mean", "max", "min", "range", "median"), 2)
    test = (column, statistic, draw.near(value.value, value.decimals))
    return test, (draw.column(draw.sheet.measures), then), (draw.column(draw.sheet.measures), other)


def _is_cell(draw: Draw, variant: str) -> tuple[Any, ...]:  # noqa: ARG001
    (name,), column = draw.names(1), draw.column(draw.others())
    cells = draw.sheet.cells[column]
    cell = cells[draw.sheet.rows_by_name[name]]
    value = answer_text(cell if draw.rng.random() < 0.5 else draw.rng.choice(cells))
    if value is None:
        raise RejectedError("unwritable")
    return name, column, value


def _exceeds(draw: Draw, variant: str) -> tuple[Any, ...]:  # noqa: ARG001
    current = draw.amount()
    decimals = current.decimals
    return (draw.near(current.value, decimals if current.exact else max(1, decimals - 1)),)


def _outlier_rule(draw: Draw, variant: str) -> tuple[Any, ...]:
    draw.label()
    return draw.column(draw.sheet.measures), variant


def _is_outlier(draw: Draw, variant: str) -> tuple[Any, ...]:
    column, rule = _outlier_rule(draw, variant)
    values = draw.sheet.numbers[column].values
    ordered = sorted(draw.rows, key=lambda row: values[row])
    row = draw.rng.choice((ordered[0], ordered[-1], draw.rng.choice(ordered)))
    return column, rule, draw.sheet.cells[draw.label()][row]


def _partner(draw: Draw, variant: str) -> tuple[Any, ...]:  # noqa: ARG001
    column = draw.column(draw.sheet.measures)
    others = tuple(name for name in draw.sheet.numbers if name != column)
    if len(others) < 2:
        raise NothingError
    return column, others


def _differ(draw: Draw, variant: str) -> tuple[Any, ...]:  # noqa: ARG001
    by = draw.pick(draw.sheet.groups)
    groups = sorted({draw.sheet.cells[by][row] for row in draw.rows})
    return draw.column(draw.sheet.measures), by, *draw.some(groups, 2)


def _departs(draw: Draw, variant: str) -> tuple[Any, ...]:  # noqa: ARG001
    column = draw.column(draw.sheet.measures)
    return column, draw.expected(column)


DRAWS: dict[str, Callable[[Draw, str], tuple[Any, ...]]] = {
    "where": _condition,
    "both": _two,
    "either": _two,
    "top": _top,
    "above": _above,
    "cell": lambda draw, _: (draw.names(1)[0], draw.column(draw.others())),
    "cells": _cells,
    "cell_at": _any_cell,
    "row_of": lambda draw, _: (_value(draw),),
    "heading_of": lambda draw, _: (_value(draw),),
    "neighbour": lambda draw, _: (_value(draw), draw.rng.choice(("up", "down", "left", "right"))),
    "find": _find,
    "value_of": lambda draw, _: (draw.column(list(draw.sheet.cells)),),
    "labels": _labels,
    "count": lambda _draw, _: (),
    "distinct": lambda draw, _: (draw.column(draw.sheet.groups),),
    "statistic": _measured,
    "extreme": lambda draw, variant: (
        draw.label() and draw.column(draw.sheet.measures),
        variant == "highest",
    ),
    "share": lambda draw, _: (draw.column(draw.sheet.summed), draw.names(1)[0]),
    "change": _change,
    "ratio": lambda draw, _: (draw.column(draw.sheet.measures), *draw.names(2)),
    "branch": _branch,
    "is_cell": _is_cell,
    "is_more": lambda draw, _: (draw.column(draw.sheet.measures), *draw.names(2)),
    "exceeds": _exceeds,
    "outliers": _outlier_rule,
    "outlier_count": _outlier_rule,
    "is_outlier": _is_outlier,
    "correlation": lambda draw, variant: (*draw.pair(draw.sheet.measures), variant),
    "partner": _partner,
    "is_related": lambda draw, _: draw.pair(draw.sheet.measures),
    "differ": _differ,
    "departs": _departs,
    "t_value": _departs,
    "groups_differ": lambda draw, _: (
        draw.column(draw.sheet.measures),
        draw.pick(draw.sheet.groups),
    ),
    "shape": lambda draw, variant: (draw.column(draw.sheet.measures), variant),
    "normal": lambda draw, _: (draw.column(draw.sheet.measures),),
    "even": lambda draw, _: (draw.pick(draw.sheet.groups),),
}
