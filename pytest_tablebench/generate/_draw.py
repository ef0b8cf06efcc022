"""Drawing plans: which columns, entries and values a question is about.

A draw may well turn out ambiguous; `_answer` refuses those. What is decided here is only
what makes sense to ask: nobody adds up years, percentages or player numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Literal

from pytest_tablebench.generate._plan import AmbiguousError, Condition, Plan
from pytest_tablebench.generate._values import Number, answer_text, is_empty
from pytest_tablebench.generate._view import View, is_summary

_IDENTIFIERS = frozenset({"bib", "code", "id", "no", "number", "phone", "rank", "reading", "tag"})
_NOT_SUMMED = frozenset(
    {
        "age",
        "change",
        "coldest",
        "density",
        "depth",
        "elevation",
        "height",
        "high",
        "humidity",
        "index",
        "interest",
        "level",
        "low",
        "margin",
        "melting",
        "pace",
        "per",
        "point",
        "price",
        "rate",
        "ratio",
        "score",
        "share",
        "temperature",
        "ticket",
        "waiting",
    }
)
_UNITS_NOT_SUMMED = frozenset({"%", "‰", "°", "℃", "°C", "°F", "dB", "HV"})
_YEARS = range(1500, 2101)


@dataclass(frozen=True)
class Facts:
    """What a table's columns can be used for.

    Arguments:
        view: the table.
        label: the column that names the entries, "" where no column does.
        names: the entries' names that are no summaries.
        measures: numeric columns that measure something.
        summed: those of them whose sum means something.
        orders: columns that can order the entries: measures, years and ISO dates.
        categories: text columns in which a value comes back.
    """

    view: View
    label: str
    names: tuple[str, ...]
    measures: tuple[str, ...]
    summed: tuple[str, ...]
    orders: tuple[str, ...]
    categories: tuple[str, ...]

    @classmethod
    def of(cls, view: View) -> Facts:
        """Sort a table's columns by their use."""
        label = _label(view)
        names = view.labels(label) if label else ()
        numeric = {name: view.numbers(name) for name in view.columns if view.is_numeric(name)}
        useful = [name for name in numeric if not _words(name) & _IDENTIFIERS and name != label]
        measures = tuple(name for name in useful if not _are_years(numeric[name]))
        return cls(
            view,
            label,
            tuple(name for name in names if not is_summary(name)),
            measures,
            tuple(name for name in measures if _is_summed(name, numeric[name][0])),
            (*useful, *(name for name in view.columns if view.is_dated(name) and name != label)),
            tuple(name for name in view.columns if name not in numeric and _repeats(view, name)),
        )


def _label(view: View) -> str:
    """Return the first column with one name for each entry: text if possible."""
    usable = []
    for column in view.columns:
        try:
            view.labels(column)
        except AmbiguousError:
            continue
        usable.append(column)
    texts = [name for name in usable if not view.is_numeric(name) and not view.is_dated(name)]
    return next(iter(texts + usable), "")


def _words(name: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]+", name.casefold()))


def _are_years(numbers: tuple[Number, ...]) -> bool:
    return all(
        not any(number.form) and not number.decimals and int(number.value) in _YEARS
        for number in numbers
    )


def _is_summed(name: str, number: Number) -> bool:
    unit = number.after.strip()
    return not _words(name) & _NOT_SUMMED and unit not in _UNITS_NOT_SUMMED and "/" not in unit


def _repeats(view: View, column: str) -> bool:
    cells = view.columns[column]
    if any(is_empty(cell) or answer_text(cell) is None for cell in cells):
        return False
    return 1 < len(set(cells)) < len(cells) and not view.is_dated(column)


def draw(kind: str, facts: Facts, rng: Random) -> Plan | None:
    """Draw one plan of a kind, or return None where the table has nothing for it."""
    try:
        return _DRAWS[kind](kind, facts, rng)
    except (IndexError, ValueError):  # an empty choice, a sample larger than what there is
        return None


def _cell(facts: Facts, rng: Random, column: str) -> str:
    cells = [answer_text(cell) for cell in facts.view.columns[column]]
    return rng.choice([cell for cell in cells if cell is not None])


def _other_columns(facts: Facts) -> list[str]:
    return [name for name in facts.view.columns if name != facts.label]


def _cell_of_entry(kind: str, facts: Facts, rng: Random) -> Plan:
    column = rng.choice(_other_columns(facts))
    name = rng.choice(facts.view.labels(facts.label) if facts.label else ())
    cell = facts.view.columns[column][facts.view.index(facts.label, name)]
    value = answer_text(cell) or "" if kind == "column" else ""
    return Plan(kind, facts.label, "" if kind == "column" else column, (name,), value=value)


def _row(kind: str, facts: Facts, rng: Random) -> Plan:
    columns = rng.sample(_other_columns(facts), rng.choice((2, 3, 3)))
    return Plan(kind, facts.label, names=(rng.choice(facts.names),), columns=tuple(columns))


def _find(kind: str, facts: Facts, rng: Random) -> Plan:
    column = rng.choice(_other_columns(facts))
    return Plan(kind, _needed(facts), column, value=_cell(facts, rng, column))


def _needed(facts: Facts) -> str:
    if not facts.label:
        raise ValueError("no column names the entries")
    return facts.label


def _neighbour(kind: str, facts: Facts, rng: Random) -> Plan:
    name = rng.choice(facts.names)
    order = rng.choice(facts.orders)
    return Plan(kind, facts.label, names=(name,), order=order, highest=rng.random() < 0.5)


def _condition(facts: Facts, rng: Random) -> Condition:
    numeric = [name for name in facts.orders if not facts.view.is_dated(name)]
    column = rng.choice(numeric + list(facts.categories))
    if column in facts.categories:
        test: Literal["=", "!="] = rng.choice(("=", "=", "!="))
        return Condition(column, test, (_cell(facts, rng, column),))
    bounds = sorted(rng.sample(range(facts.view.size), 2), key=facts.view.ranks(column).__getitem__)
    written = tuple(answer_text(facts.view.columns[column][index]) or "" for index in bounds)
    if rng.random() < 0.3:
        return Condition(column, "between", written)
    return Condition(column, rng.choice(("<", ">")), written[:1])


def _selection(kind: str, facts: Facts, rng: Random) -> Plan:
    two = kind == "filter2" or (kind == "count" and rng.random() < 0.3)
    conditions = tuple(_condition(facts, rng) for _ in range(2 if two else 1))
    if two and conditions[0].column == conditions[1].column:
        raise ValueError("two conditions on one column are one")
    joined: Literal["and", "or"] = rng.choice(("and", "and", "or")) if two else "and"
    if kind == "count":
        return Plan(kind, facts.label, conditions=conditions, joined=joined)
    order = rng.choice(facts.orders)
    return Plan(kind, _needed(facts), conditions=conditions, joined=joined, order=order)


def _over_column(kind: str, facts: Facts, rng: Random) -> Plan:
    column = rng.choice(facts.summed if kind == "sum" else facts.measures)
    return Plan(kind, facts.label, column)


def _extreme(kind: str, facts: Facts, rng: Random) -> Plan:
    column = rng.choice(facts.measures)
    if kind != "topk":
        return Plan(kind, _needed(facts), column)
    count = rng.choice((2, 3)) if facts.view.size > 4 else 2
    return Plan(kind, _needed(facts), column, highest=rng.random() < 0.5, k=count)


def _compare(kind: str, facts: Facts, rng: Random) -> Plan:
    claim = rng.choice(("which", "whether", "difference"))
    column = rng.choice(facts.summed if claim == "difference" else facts.measures)
    names = tuple(rng.sample(facts.names, 2))
    highest = claim == "difference" or rng.random() < 0.5
    return Plan(kind, facts.label, column, names, highest=highest, claim=claim)


def _statement(kind: str, facts: Facts, rng: Random) -> Plan:
    claim = rng.choice(("cell", "compare", "extreme", "count"))
    highest = rng.random() < 0.5
    if claim == "cell":
        column = rng.choice(_other_columns(facts))
        name = rng.choice(facts.names)
        own = answer_text(facts.view.columns[column][facts.view.index(facts.label, name)])
        value = _cell(facts, rng, column) if rng.random() < 0.6 else own
        return Plan(kind, facts.label, column, (name,), value=value or "", claim=claim)
    if claim == "count":
        conditions = (_condition(facts, rng),)
        number = rng.randint(1, min(6, facts.view.size - 1))
        return Plan(kind, facts.label, conditions=conditions, k=number, claim=claim)
    column = rng.choice(facts.measures)
    names = tuple(rng.sample(facts.names, 2 if claim == "compare" else 1))
    if claim == "extreme" and rng.random() < 0.6:
        ranks = facts.view.ranks(column)
        best = (max if highest else min)(range(facts.view.size), key=ranks.__getitem__)
        names = (facts.view.labels(facts.label)[best],)
    return Plan(kind, facts.label, column, names, highest=highest, claim=claim)


_DRAWS: dict[str, Callable[[str, Facts, Random], Plan]] = {
    "lookup": _cell_of_entry,
    "row": _row,
    "column": _cell_of_entry,
    "find": _find,
    "neighbour": _neighbour,
    "filter": _selection,
    "filter2": _selection,
    "count": _selection,
    "sum": _over_column,
    "mean": _over_column,
    "min": _over_column,
    "max": _over_column,
    "argmax": _extreme,
    "argmin": _extreme,
    "topk": _extreme,
    "compare": _compare,
    "statement": _statement,
}
