"""Steps that choose entries, look up cells, count, compute and compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from statistics import median, stdev
from typing import Any

from pytest_tablebench.generate.pair import (
    Amount,
    PlainAnswer,
    RejectedError,
    Texts,
    answer_text,
    cell_key,
    parse_number,
)
from pytest_tablebench.generate.rules._sheet import ParsedSheet

MOST_ITEMS = 8
"""Items of the longest list; longer ones test patience instead of reading."""

Rows = tuple[int, ...]
"""Entries by their row in the table, in the order of the step that chose them."""


# Steps that narrow the entries


def _where(sheet: ParsedSheet, rows: Rows, column: str, test: str, values: Sequence[str]) -> Rows:
    if column not in sheet.numbers:
        key, cells = cell_key(values[0]), sheet.cells[column]
        return tuple(row for row in rows if (cell_key(cells[row]) == key) == (test == "="))
    numbers = sheet.numbers[column].values
    bounds = [number(value) for value in values]
    tests: dict[str, Callable[[Decimal], bool]] = {
        "=": lambda value: value == bounds[0],
        "!=": lambda value: value != bounds[0],
        "<": lambda value: value < bounds[0],
        ">": lambda value: value > bounds[0],
        "between": lambda value: bounds[0] <= value <= bounds[-1],
    }
    return tuple(row for row in rows if tests[test](numbers[row]))


def number(text: str) -> Decimal:
    """Return the number in a text of a question."""
    parsed = parse_number(text)
    if parsed is None:
        raise RejectedError("ambiguous")
    return parsed.value


def _joined(
    join: Callable[[set[int], set[int]], set[int]], sheet: ParsedSheet, rows: Rows, *conditions: Any
) -> Rows:
    first, second = (set(_where(sheet, rows, *condition)) for condition in conditions)
    if first <= second or second <= first:
        raise RejectedError("trivial")
    kept = join(first, second)
    return tuple(row for row in rows if row in kept)


def _top(sheet: ParsedSheet, rows: Rows, column: str, count: int, highest: bool) -> Rows:
    values = sheet.numbers[column].values
    order = sorted(rows, key=lambda row: values[row], reverse=highest)
    border = [values[row] for row in order[: count + 1]]
    if len(set(border)) < len(border):
        raise RejectedError("ambiguous")  # a tie at the border
    return tuple(order[:count])


def _above(sheet: ParsedSheet, rows: Rows, column: str, statistic: str, higher: bool) -> Rows:
    values = {row: sheet.numbers[column].values[row] for row in rows}
    bound = _STATISTICS[statistic](list(values.values()))
    if statistic == "mean" and any(Fraction(value) == bound for value in values.values()):
        raise RejectedError("borderline")
    return tuple(row for row in rows if (values[row] > bound if higher else values[row] < bound))


NARROWING: dict[str, Callable[..., Rows]] = {
    "where": _where,
    "both": partial(_joined, set.intersection),
    "either": partial(_joined, set.union),
    "top": _top,
    "above": _above,
}

# Looking up


def _writable(cell: str) -> str:
    if answer_text(cell) is None:
        raise RejectedError("unwritable")
    return cell


def _cell(sheet: ParsedSheet, rows: Rows, name: str, column: str) -> Texts:  # noqa: ARG001
    return Texts((_writable(sheet.cells[column][sheet.rows_by_name[name]]),))


def _cells(sheet: ParsedSheet, rows: Rows, name: str, columns: Sequence[str]) -> Texts:  # noqa: ARG001
    row = sheet.rows_by_name[name]
    return Texts(tuple(_writable(sheet.cells[column][row]) for column in columns), ordered=True)


def _cell_at(sheet: ParsedSheet, rows: Rows, row: int, column: int) -> Texts:  # noqa: ARG001
    return Texts((_writable(sheet.table.rows[row - 1][column - 1]),))


def _only_position(sheet: ParsedSheet, value: str) -> tuple[int, int]:
    """Return row and column of a value that occurs once in the table."""
    if sheet.counts[cell_key(value)] != 1:
        raise RejectedError("ambiguous")
    for row, cells in enumerate(sheet.table.rows):
        for column, cell in enumerate(cells):
            if cell == value:
                return row, column
    raise RejectedError("ambiguous")


def _row_of(sheet: ParsedSheet, rows: Rows, value: str) -> Amount:  # noqa: ARG001
    return Amount(Fraction(_only_position(sheet, value)[0] + 1))


def _heading_of(sheet: ParsedSheet, rows: Rows, value: str) -> Texts:  # noqa: ARG001
    return Texts((_writable(sheet.table.header[_only_position(sheet, value)[1]]),))


def _neighbour(sheet: ParsedSheet, rows: Rows, value: str, side: str) -> Texts:  # noqa: ARG001
    down, right = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}[side]
    row, column = _only_position(sheet, value)
    row, column = row + down, column + right
    if not (0 <= row < sheet.size and 0 <= column < len(sheet.table.header)):
        raise RejectedError("empty")
    return Texts((_writable(sheet.table.rows[row][column]),))


def _find(sheet: ParsedSheet, rows: Rows, column: str, value: str) -> Texts:
    key = cell_key(value)
    matching = [row for row in rows if cell_key(sheet.cells[column][row]) == key]
    if len(matching) != 1:
        raise RejectedError("ambiguous" if matching else "empty")
    return Texts((sheet.cells[sheet.label][matching[0]],))


def _value_of(sheet: ParsedSheet, rows: Rows, column: str) -> Texts:
    if len(rows) != 1:
        raise RejectedError("ambiguous")
    return Texts((_writable(sheet.cells[column][rows[0]]),))


# Choosing


def labels(sheet: ParsedSheet, rows: Rows, ordered: bool) -> Texts:
    """Return the names of entries."""
    if len(rows) > MOST_ITEMS:
        raise RejectedError("too many items")
    return Texts(tuple(sheet.cells[sheet.label][row] for row in rows), ordered=ordered)


def _count(sheet: ParsedSheet, rows: Rows) -> Amount:  # noqa: ARG001
    return Amount(Fraction(len(rows)))


def _distinct(sheet: ParsedSheet, rows: Rows, column: str) -> Amount:
    count = len({cell_key(sheet.cells[column][row]) for row in rows})
    if count in {1, len(rows)}:
        raise RejectedError("trivial")
    return Amount(Fraction(count))


# Computing


def column_values(sheet: ParsedSheet, rows: Rows, column: str, least: int = 2) -> list[Decimal]:
    """Return the numbers of several entries. Raises `RejectedError` if all are equal."""
    values = [sheet.numbers[column].values[row] for row in rows]
    if len(values) < least or len(set(values)) == 1:
        raise RejectedError("trivial")
    return values


def _exact_mean(values: Sequence[Decimal]) -> Fraction:
    return Fraction(sum(values, Decimal(0))) / len(values)


_STATISTICS: dict[str, Callable[[Sequence[Decimal]], Any]] = {
    "sum": lambda values: sum(values, Decimal(0)),
    "mean": _exact_mean,
    "median": lambda values: Fraction(median(values)),
    "min": min,
    "max": max,
    "range": lambda values: max(values) - min(values),
    "std": lambda values: stdev(map(float, values)),
}
_EXACT = {"sum", "min", "max", "range"}


def _statistic(sheet: ParsedSheet, rows: Rows, column: str, name: str) -> Amount:
    value = _STATISTICS[name](column_values(sheet, rows, column))
    numbers = sheet.numbers[column]
    if name in _EXACT:
        return Amount(Fraction(value), numbers.decimals, unit=numbers.unit)
    return Amount(value, max(2, numbers.decimals + 1), exact=False, unit=numbers.unit)


def _extreme(sheet: ParsedSheet, rows: Rows, column: str, highest: bool) -> Texts:
    if len(rows) < 2:
        raise RejectedError("trivial")
    return Texts((sheet.cells[sheet.label][_top(sheet, rows, column, 1, highest)[0]],))


def _share(sheet: ParsedSheet, rows: Rows, column: str, name: str) -> Amount:
    values = column_values(sheet, rows, column)
    if min(values) < 0:
        raise RejectedError("ambiguous")
    part = sheet.numbers[column].values[sheet.rows_by_name[name]]
    return Amount(Fraction(part) * 100 / Fraction(sum(values)), 2, exact=False, unit="%")


def _change(sheet: ParsedSheet, rows: Rows, name: str, before: str, after: str) -> Amount:  # noqa: ARG001
    row = sheet.rows_by_name[name]
    old, new = (Fraction(sheet.numbers[column].values[row]) for column in (before, after))
    if sheet.numbers[before].unit != sheet.numbers[after].unit or old <= 0 or new == old:
        raise RejectedError("ambiguous")
    return Amount((new - old) * 100 / old, 2, exact=False, unit="%")


def _ratio(sheet: ParsedSheet, rows: Rows, column: str, first: str, second: str) -> Amount:  # noqa: ARG001
    values = sheet.numbers[column].values
    dividend, divisor = (Fraction(values[sheet.rows_by_name[name]]) for name in (first, second))
    if divisor <= 0 or dividend == divisor:
        raise RejectedError("ambiguous")
    return Amount(dividend / divisor, 2, exact=False)


def _branch(
    sheet: ParsedSheet,
    rows: Rows,
    test: tuple[str, str, str],
    then: tuple[str, str],
    other: tuple[str, str],
) -> Amount:
    column, statistic, bound = test
    value, limit = _statistic(sheet, rows, column, statistic).value, Fraction(number(bound))
    if value == limit:
        raise RejectedError("borderline")
    chosen = then if value > limit else other
    return _statistic(sheet, rows, *chosen)


# Claims


def _is_cell(sheet: ParsedSheet, rows: Rows, name: str, column: str, value: str) -> bool:  # noqa: ARG001
    cell = sheet.cells[column][sheet.rows_by_name[name]]
    if cell_key(cell) != cell_key(value):
        return False
    if cell != value:
        raise RejectedError("ambiguous")  # two spellings of one value
    return True


def _is_more(sheet: ParsedSheet, rows: Rows, column: str, first: str, second: str) -> bool:  # noqa: ARG001
    left, right = (
        sheet.numbers[column].values[sheet.rows_by_name[name]] for name in (first, second)
    )
    if left == right:
        raise RejectedError("ambiguous")
    return left > right


def _exceeds(amount: Amount, bound: str) -> bool:
    value, limit = Fraction(amount.value), Fraction(number(bound))
    if abs(value - limit) <= abs(limit) / 1000:
        raise RejectedError("borderline")
    return value > limit


JUDGEMENTS: dict[str, Callable[..., bool]] = {"exceeds": _exceeds}

BASICS: dict[str, Callable[..., PlainAnswer]] = {
    "cell": _cell,
    "cells": _cells,
    "cell_at": _cell_at,
    "row_of": _row_of,
    "heading_of": _heading_of,
    "neighbour": _neighbour,
    "find": _find,
    "value_of": _value_of,
    "labels": labels,
    "count": _count,
    "distinct": _distinct,
    "statistic": _statistic,
    "extreme": _extreme,
    "share": _share,
    "change": _change,
    "ratio": _ratio,
    "branch": _branch,
    "is_cell": _is_cell,
    "is_more": _is_more,
}
