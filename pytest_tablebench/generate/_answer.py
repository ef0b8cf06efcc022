"""The first way to an answer: from the table's own cells, with exact decimals.

Everything that makes a question ambiguous is refused here, so that whoever proposes plans
needs no rules of its own. Computed numbers keep the written form of the column they come
from ("36 km", "12.5%", "1,234"): same unit, same separators, same decimals; means have two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction

from pytest_tablebench.generate._plan import AmbiguousError, Condition, Plan
from pytest_tablebench.generate._values import (
    Number,
    answer_text,
    cell_key,
    is_empty,
    parse_number,
    write_like,
)
from pytest_tablebench.generate._view import View, has_summary
from pytest_tablebench.tables.table import Cell, Table

MOST_ITEMS = 6
"""A list of more items is a test of patience, not of reading."""

_OVER_ALL = frozenset(
    {
        "neighbour",
        "filter",
        "filter2",
        "count",
        "sum",
        "mean",
        "min",
        "max",
        "argmax",
        "argmin",
        "topk",
    }
)


def answer(plan: Plan, table: Table) -> tuple[str, ...]:
    """Work out a plan on a table; raises `AmbiguousError` where there is no single answer."""
    view = View.of(table)
    used = {plan.label, plan.column, plan.order, *plan.columns} - {""}
    used |= {condition.column for condition in plan.conditions}
    if missing := sorted(used - set(view.columns)):
        raise AmbiguousError(f"{table.label}: no usable column {missing[0]!r}")
    over_all = plan.kind in _OVER_ALL or plan.claim in {"extreme", "count"}
    if over_all and has_summary(view):
        raise AmbiguousError(f"{table.label}: a row or column sums up others")
    if over_all and view.size < 3:
        raise AmbiguousError(f"{table.label}: fewer than three entries")
    return _ANSWERS[plan.kind](plan, view)


def _text(cell: Cell) -> str:
    text = None if is_empty(cell) else answer_text(cell)
    if text is None:
        raise AmbiguousError(f"cell {cell!r} is empty or cannot stand in an answer")
    return text


def _lookup(plan: Plan, view: View) -> tuple[str, ...]:
    return (_text(view.columns[plan.column][view.index(plan.label, plan.names[0])]),)


def _row(plan: Plan, view: View) -> tuple[str, ...]:
    index = view.index(plan.label, plan.names[0])
    return tuple(_text(view.columns[column][index]) for column in plan.columns)


def _column(plan: Plan, view: View) -> tuple[str, ...]:
    index = view.index(plan.label, plan.names[0])
    wanted = cell_key(plan.value)
    found = [name for name, cells in view.columns.items() if cell_key(cells[index]) == wanted]
    elsewhere = any(cell_key(cells[index]) == wanted for cells in view.hidden)
    if len(found) != 1 or elsewhere or _text(view.columns[found[0]][index]) != plan.value:
        raise AmbiguousError(f"{plan.names[0]!r} has {plan.value!r} under {len(found)} headings")
    return (found[0],)


def _find(plan: Plan, view: View) -> tuple[str, ...]:
    wanted = cell_key(plan.value)
    cells = view.cells(plan.column)
    found = [index for index, cell in enumerate(cells) if cell_key(cell) == wanted]
    if len(found) != 1 or _text(cells[found[0]]) != plan.value:
        raise AmbiguousError(f"{len(found)} entries have {plan.column!r} {plan.value!r}")
    return (view.labels(plan.label)[found[0]],)


def _ordered(view: View, column: str, indices: Sequence[int]) -> list[int]:
    """Sort entries by a column, lowest first; two alike leave the order open."""
    ranks = view.ranks(column)
    if len({ranks[index] for index in indices}) != len(indices):
        raise AmbiguousError(f"two entries are alike in the order of {column!r}")
    return sorted(indices, key=lambda index: _rank(ranks[index]))


def _rank(rank: Decimal | date) -> Decimal:
    return Decimal(rank.toordinal()) if isinstance(rank, date) else rank


def _neighbour(plan: Plan, view: View) -> tuple[str, ...]:
    order = _ordered(view, plan.order, range(view.size))
    place = order.index(view.index(plan.label, plan.names[0])) + (1 if plan.highest else -1)
    if not 0 <= place < view.size:
        raise AmbiguousError(f"{plan.names[0]!r} has no neighbour on this side")
    return (view.labels(plan.label)[order[place]],)


def _meets(condition: Condition, view: View) -> set[int]:
    """Return the entries that meet one condition."""
    cells = view.cells(condition.column)
    # Numbers in several units are no text: `numbers` below refuses them.
    is_text = any(parse_number(cell) is None for cell in cells)
    if is_text and condition.test in {"=", "!="}:
        writings = {(cell_key(cell), _text(cell)) for cell in cells}
        if len({key for key, _ in writings}) != len(writings):
            raise AmbiguousError(f"column {condition.column!r} writes one value in two ways")
        same = {index for index, cell in enumerate(cells) if _text(cell) == condition.values[0]}
        return same if condition.test == "=" else set(range(view.size)) - same
    values = [number.value for number in view.numbers(condition.column)]
    bounds = [_like(view.numbers(condition.column)[0], text) for text in condition.values]
    tests: dict[str, Callable[[Decimal], bool]] = {
        "=": lambda value: value == bounds[0],
        "!=": lambda value: value != bounds[0],
        "<": lambda value: value < bounds[0],
        ">": lambda value: value > bounds[0],
        "between": lambda value: bounds[0] <= value <= bounds[-1],
    }
    return {index for index, value in enumerate(values) if tests[condition.test](value)}


def _like(cell: Number, text: str) -> Decimal:
    """Read a bound written in the form of the column's cells."""
    number = parse_number(text)
    if number is None or number.form != cell.form:
        raise AmbiguousError(f"{text!r} is not written like the cells of its column")
    return number.value


def _selected(plan: Plan, view: View) -> list[int]:
    """Return the entries that meet the conditions: some, but not all of them."""
    sets = [_meets(condition, view) for condition in plan.conditions]
    found = set.intersection(*sets) if plan.joined == "and" else set.union(*sets)
    if len(sets) > 1 and any(found == one for one in sets):
        raise AmbiguousError("one of the two conditions changes nothing")
    if not found or len(found) == view.size:
        raise AmbiguousError("the conditions select nothing or everything")
    return sorted(found)


def _filter(plan: Plan, view: View) -> tuple[str, ...]:
    found = _selected(plan, view)
    if len(found) > MOST_ITEMS:
        raise AmbiguousError(f"the conditions select more than {MOST_ITEMS} entries")
    labels = view.labels(plan.label)
    return tuple(labels[index] for index in _ordered(view, plan.order, found))


def _count(plan: Plan, view: View) -> tuple[str, ...]:
    return (str(len(_selected(plan, view))),)


def _written(value: Decimal, numbers: Sequence[Number]) -> tuple[str, ...]:
    text = write_like(value, numbers)
    if text is None:
        raise AmbiguousError("the result could be written in several ways")
    return (text,)


def _sum(plan: Plan, view: View) -> tuple[str, ...]:
    numbers = view.numbers(plan.column)
    return _written(sum((number.value for number in numbers), Decimal(0)), numbers)


def _mean(plan: Plan, view: View) -> tuple[str, ...]:
    """Round to two decimals, where these are needed and nobody can round in another way."""
    numbers = view.numbers(plan.column)
    exact = sum((Fraction(number.value) for number in numbers), Fraction(0)) / len(numbers)
    if (exact * 1000).denominator == 1 and exact * 1000 % 10 == 5:
        raise AmbiguousError("the mean lies between two roundings")
    hundredths = round(exact * 100)
    if hundredths % 10 == 0:
        raise AmbiguousError("the rounded mean ends in zero")
    rounded = Decimal(hundredths).scaleb(-2)
    grouping = "," if any(number.grouped for number in numbers) else ""
    return (f"{numbers[0].before}{rounded:{grouping}.2f}{numbers[0].after}",)


def _extreme_cell(plan: Plan, view: View) -> tuple[str, ...]:
    """Return the extreme cell as written; equal values may tie, unequal writings may not."""
    numbers = view.numbers(plan.column)
    values = [number.value for number in numbers]
    extreme = max(values) if plan.kind == "max" else min(values)
    cells = view.cells(plan.column)
    texts = {_text(cells[index]) for index, value in enumerate(values) if value == extreme}
    if len(texts) > 1 or len(set(values)) == 1:
        raise AmbiguousError(
            f"the extreme of {plan.column!r} is written in two ways, or all are alike"
        )
    return (texts.pop(),)


def _top(plan: Plan, view: View) -> tuple[str, ...]:
    """Return the first entries by a column; a tie inside or at the border leaves them open."""
    count = plan.k if plan.kind == "topk" else 1
    highest = plan.highest if plan.kind == "topk" else plan.kind == "argmax"
    if not 1 <= count < view.size:
        raise AmbiguousError(f"{count} of {view.size} entries is no choice")
    values = [number.value for number in view.numbers(plan.column)]
    order = sorted(range(view.size), key=lambda index: values[index], reverse=highest)
    border = [values[index] for index in order[: count + 1]]
    if len(set(border)) != len(border):
        raise AmbiguousError(f"entries tie in {plan.column!r}")
    labels = view.labels(plan.label)
    return tuple(labels[index] for index in order[:count])


def _pair(plan: Plan, view: View) -> tuple[Number, Number]:
    """Return the numbers of the two entries a comparison names, which must differ."""
    first, second = (view.index(plan.label, name) for name in plan.names)
    numbers = view.numbers(plan.column)
    if numbers[first].value == numbers[second].value:
        raise AmbiguousError(f"the two entries are alike in {plan.column!r}")
    return numbers[first], numbers[second]


def _compare(plan: Plan, view: View) -> tuple[str, ...]:
    first, second = _pair(plan, view)
    is_more = first.value > second.value
    if plan.claim == "which":
        return (plan.names[0] if is_more == plan.highest else plan.names[1],)
    if plan.claim == "whether":
        return ("yes" if is_more == plan.highest else "no",)
    if not is_more:
        raise AmbiguousError("a difference is asked from the higher to the lower")
    return _written(first.value - second.value, (first, second))


def _statement(plan: Plan, view: View) -> tuple[str, ...]:
    if plan.claim == "cell":
        holds = _cell_claim(plan, view)
    elif plan.claim == "compare":
        first, second = _pair(plan, view)
        holds = (first.value > second.value) == plan.highest
    elif plan.claim == "extreme":
        kind = "argmax" if plan.highest else "argmin"
        holds = _top(Plan(kind, plan.label, plan.column), view) == plan.names
        view.index(plan.label, plan.names[0])
    else:
        holds = len(_selected(plan, view)) == plan.k
    return ("true" if holds else "false",)


def _cell_claim(plan: Plan, view: View) -> bool:
    cell = view.columns[plan.column][view.index(plan.label, plan.names[0])]
    holds = cell_key(_text(cell)) == cell_key(plan.value)
    if holds and _text(cell) != plan.value:
        raise AmbiguousError(f"{plan.value!r} is {cell!r} in another writing")
    return holds


_ANSWERS: dict[str, Callable[[Plan, View], tuple[str, ...]]] = {
    "lookup": _lookup,
    "row": _row,
    "column": _column,
    "find": _find,
    "neighbour": _neighbour,
    "filter": _filter,
    "filter2": _filter,
    "count": _count,
    "sum": _sum,
    "mean": _mean,
    "min": _extreme_cell,
    "max": _extreme_cell,
    "argmax": _top,
    "argmin": _top,
    "topk": _top,
    "compare": _compare,
    "statement": _statement,
}
