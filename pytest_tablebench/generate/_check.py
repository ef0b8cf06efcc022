"""The second way to an answer: data frame operations, sharing only the reading of numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pytest_tablebench.generate._plan import CheckError, Condition, Plan
from pytest_tablebench.generate._values import parse_number
from pytest_tablebench.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd

_HALF_OF_LAST_DIGIT = 0.005


def verify(plan: Plan, table: Table, answers: tuple[str, ...]) -> None:
    """Raise `CheckError` unless the data frame gives the same answer."""
    expected = recompute(plan, table)
    if not _agree(plan, table, answers, expected):
        raise CheckError(
            f"{table.label}: {plan.kind} was answered {answers!r}, the data frame gives "
            f"{expected!r}; plan: {plan!r}"
        )


def recompute(plan: Plan, table: Table) -> tuple[str, ...] | float:
    """Answer a plan by pandas: items, or a number for computed sums, means, differences."""
    frame = _frame(table)
    operation = _OPERATIONS.get(plan.kind)
    if operation is None:
        raise CheckError(f"no second way for questions of kind {plan.kind!r}")
    return operation(plan, frame)


def _agree(
    plan: Plan, table: Table, answers: tuple[str, ...], expected: tuple[str, ...] | float
) -> bool:
    if isinstance(expected, tuple):
        return answers == expected
    given = [parse_number(answer) for answer in answers]
    column = [parse_number(cell) for cell in _frame(table)[plan.column]]
    if len(given) != 1 or given[0] is None or column[0] is None:
        return False
    slack = _HALF_OF_LAST_DIGIT if plan.kind == "mean" else 0.0
    error = abs(float(given[0].value) - expected)
    return given[0].form == column[0].form and error <= slack + 1e-9 * max(1.0, abs(expected))


def _frame(table: Table) -> pd.DataFrame:
    """Return the entries as objects; rows without any content are none."""
    import pandas as pd

    frame = pd.DataFrame(
        [list(row) for row in table.rows], columns=list(table.header), dtype=object
    )
    blank = frame.map(lambda cell: bool(pd.isna(cell)) or str(cell).strip() == "")
    return frame[~blank.all(axis="columns")].reset_index(drop=True)


def _floats(frame: pd.DataFrame, column: str) -> pd.Series[float]:
    def read(cell: Any) -> float:
        number = parse_number(cell)
        return float("nan") if number is None else float(number.value)

    return frame[column].map(read).astype("float64")


def _texts(frame: pd.DataFrame, column: str) -> pd.Series[str]:
    return frame[column].map(str).astype(object)


def _entry(plan: Plan, frame: pd.DataFrame, place: int = 0) -> int:
    """Return the frame index of a named entry."""
    matches = frame.index[_texts(frame, plan.label) == plan.names[place]]
    if len(matches) != 1:
        raise CheckError(f"{plan.names[place]!r} names {len(matches)} entries")
    return int(matches[0])


def _lookup(plan: Plan, frame: pd.DataFrame) -> tuple[str, ...]:
    return (str(frame.set_index(_texts(frame, plan.label))[plan.column].loc[plan.names[0]]),)


def _row(plan: Plan, frame: pd.DataFrame) -> tuple[str, ...]:
    series = frame[list(plan.columns)].iloc[_entry(plan, frame)]
    return tuple(series.map(str))


def _column(plan: Plan, frame: pd.DataFrame) -> tuple[str, ...]:
    series = frame.iloc[_entry(plan, frame)].map(str)
    return tuple(str(name) for name in series.index[series == plan.value])


def _find(plan: Plan, frame: pd.DataFrame) -> tuple[str, ...]:
    return tuple(_texts(frame, plan.label)[_texts(frame, plan.column) == plan.value])


def _sort_values(frame: pd.DataFrame, column: str) -> pd.Series[Any]:
    """Return what orders a column: its numbers, or for ISO dates their own text."""
    numbers = _floats(frame, column)
    return _texts(frame, column) if numbers.isna().all() else numbers


def _neighbour(plan: Plan, frame: pd.DataFrame) -> tuple[str, ...]:
    ordered = frame.assign(**{plan.order: _sort_values(frame, plan.order)}).sort_values(plan.order)
    labels = ordered[plan.label].map(str)
    shifted = labels.shift(-1 if plan.highest else 1)
    return (str(shifted[labels == plan.names[0]].iloc[0]),)


def _mask(condition: Condition, frame: pd.DataFrame) -> pd.Series[bool]:
    numbers = _floats(frame, condition.column)
    texts = _texts(frame, condition.column)
    if numbers.isna().any():
        same = texts == condition.values[0]
        return same if condition.test == "=" else ~same
    bounds = [_bound(text) for text in condition.values]
    match condition.test:
        case "=":
            return numbers.eq(bounds[0])
        case "!=":
            return numbers.ne(bounds[0])
        case "<":
            return numbers.lt(bounds[0])
        case ">":
            return numbers.gt(bounds[0])
        case _:
            return numbers.between(bounds[0], bounds[1], inclusive="both")


def _bound(text: str) -> float:
    number = parse_number(text)
    if number is None:
        raise CheckError(f"bound {text!r} is no number")
    return float(number.value)


def _where(plan: Plan, frame: pd.DataFrame) -> pd.Series[bool]:
    mask = _mask(plan.conditions[0], frame)
    for condition in plan.conditions[1:]:
        other = _mask(condition, frame)
        mask = mask & other if plan.joined == "and" else mask | other
    return mask


def _filter(plan: Plan, frame: pd.DataFrame) -> tuple[str, ...]:
    ordered = frame.assign(__rank__=_sort_values(frame, plan.order))[_where(plan, frame)]
    return tuple(ordered.sort_values("__rank__")[plan.label].map(str))


def _count(plan: Plan, frame: pd.DataFrame) -> tuple[str, ...]:
    return (str(int(_where(plan, frame).sum())),)


def _sum(plan: Plan, frame: pd.DataFrame) -> float:
    return float(_floats(frame, plan.column).sum())


def _mean(plan: Plan, frame: pd.DataFrame) -> float:
    return float(_floats(frame, plan.column).mean())


def _extreme_cell(plan: Plan, frame: pd.DataFrame) -> tuple[str, ...]:
    numbers = _floats(frame, plan.column)
    place = numbers.argmax() if plan.kind == "max" else numbers.argmin()
    return (str(frame[plan.column].iloc[int(place)]),)


def _top(plan: Plan, frame: pd.DataFrame) -> tuple[str, ...]:
    numbers = _floats(frame, plan.column)
    if plan.kind == "topk":
        chosen = numbers.nlargest(plan.k) if plan.highest else numbers.nsmallest(plan.k)
        return tuple(_texts(frame, plan.label).loc[chosen.index])
    place = numbers.argmax() if plan.kind == "argmax" else numbers.argmin()
    return (str(frame[plan.label].iloc[int(place)]),)


def _difference(plan: Plan, frame: pd.DataFrame) -> float:
    numbers = _floats(frame, plan.column)
    return float(numbers[_entry(plan, frame)] - numbers[_entry(plan, frame, 1)])


def _compare(plan: Plan, frame: pd.DataFrame) -> tuple[str, ...] | float:
    difference = _difference(plan, frame)
    if plan.claim == "difference":
        return difference
    first_wins = difference > 0 if plan.highest else difference < 0
    if plan.claim == "which":
        return (plan.names[0] if first_wins else plan.names[1],)
    return ("yes" if first_wins else "no",)


def _statement(plan: Plan, frame: pd.DataFrame) -> tuple[str, ...]:
    if plan.claim == "cell":
        holds = _lookup(plan, frame) == (plan.value,)
    elif plan.claim == "compare":
        difference = _difference(plan, frame)
        holds = difference > 0 if plan.highest else difference < 0
    elif plan.claim == "extreme":
        ranks = _floats(frame, plan.column).rank(ascending=not plan.highest, method="min")
        holds = bool(ranks[_entry(plan, frame)] == 1.0)
    else:
        holds = int(_where(plan, frame).sum()) == plan.k
    return ("true" if holds else "false",)


_OPERATIONS: dict[str, Callable[[Plan, pd.DataFrame], tuple[str, ...] | float]] = {
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
