"""Putting plans into words.

No wording speaks of rows, columns or places in the table: the same question has to make
sense, with the same answer, when rows or columns are reordered or the table is transposed.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from pytest_tablebench.generate._plan import Condition, Plan
from pytest_tablebench.generate._view import View

_NUMBERS = {2: "two", 3: "three"}


def word(plan: Plan, view: View, rng: Random) -> str:
    """Return the question's text, in one of the wordings of its kind."""
    return _WORDINGS[plan.kind](plan, view, rng)


def _heading(name: str) -> str:
    """Return a heading as it reads in a sentence: quoted unless it looks like a name."""
    plain = name[:1].isupper() or (name[:1].isalpha() and not name[:1].isascii())
    return name if plain else f'"{name}"'


def _entry(plan: Plan, view: View, name: str) -> str:
    if view.is_numeric(plan.label) or view.is_dated(plan.label):
        return f"the entry with {_heading(plan.label)} {name}"
    return name


def _parts(plan: Plan, view: View) -> dict[str, str]:
    """Return the pieces most wordings are made of."""
    names = [_entry(plan, view, name) for name in plan.names] + ["", ""]
    return {
        "label": _heading(plan.label),
        "column": _heading(plan.column),
        "first": names[0],
        "second": names[1],
        "value": plan.value,
        "order": _heading(plan.order),
        "number": _NUMBERS.get(plan.k, str(plan.k)),
        "most": "highest" if plan.highest else "lowest",
        "least": "lowest" if plan.highest else "highest",
        "more": "higher" if plan.highest else "lower",
    }


def _unit(plan: Plan, view: View) -> str:
    unit = view.numbers(plan.column)[0].unit
    return f" Give the number with its unit ({unit}), written as in the table." if unit else ""


def _choose(rng: Random, wordings: tuple[str, ...], plan: Plan, view: View) -> str:
    return rng.choice(wordings).format_map(_parts(plan, view))


def _simple(*wordings: str) -> Callable[[Plan, View, Random], str]:
    return lambda plan, view, rng: _choose(rng, wordings, plan, view)


def _with_unit(*wordings: str) -> Callable[[Plan, View, Random], str]:
    return lambda plan, view, rng: _choose(rng, wordings, plan, view) + _unit(plan, view)


def _row(plan: Plan, view: View, rng: Random) -> str:
    headings = [_heading(column) for column in plan.columns]
    listed = f"{', '.join(headings[:-1])} and {headings[-1]}"
    entry = _entry(plan, view, plan.names[0])
    return rng.choice(
        (
            f"List the {listed} of {entry}, in this order.",
            f"What are the {listed} of {entry}? Give them in this order.",
            f"For {entry}, give the {listed}, in this order.",
        )
    )


def _neighbour(plan: Plan, view: View, rng: Random) -> str:
    low, high = ("earliest", "latest") if view.is_dated(plan.order) else ("lowest", "highest")
    side = "after" if plan.highest else "before"
    label, order, entry = (
        _heading(plan.label),
        _heading(plan.order),
        _entry(plan, view, plan.names[0]),
    )
    return rng.choice(
        (
            f"When the entries are ordered by {order} from {low} to {high}, which {label} comes "
            f"directly {side} {entry}?",
            f"Sort the entries by {order}, {low} to {high}. What is the {label} of the one "
            f"directly {side} {entry}?",
        )
    )


def _test(condition: Condition) -> str:
    name, values = _heading(condition.column), condition.values
    phrases = {
        "=": "is {0}",
        "!=": "is not {0}",
        "<": "is less than {0}",
        ">": "is greater than {0}",
        "between": "is from {0} to {1} (both included)",
    }
    return f"{name} {phrases[condition.test].format(*values)}"


def _tests(plan: Plan) -> str:
    texts = [_test(condition) for condition in plan.conditions]
    if len(texts) == 1:
        return f"whose {texts[0]}"
    either = " (or both)" if plan.joined == "or" else ""
    return f"whose {texts[0]} {plan.joined} whose {texts[1]}{either}"


def _filter(plan: Plan, view: View, rng: Random) -> str:
    low, high = ("earliest", "latest") if view.is_dated(plan.order) else ("lowest", "highest")
    label, order, tests = _heading(plan.label), _heading(plan.order), _tests(plan)
    return rng.choice(
        (
            f"List the {label} of every entry {tests}, ordered by {order} from {low} to {high}.",
            f"Which entries are there {tests}? Give the {label} of each, from the {low} {order} "
            f"to the {high}.",
            f"Find all entries {tests}. Name their {label}, sorted by {order} from {low} to "
            f"{high}.",
        )
    )


def _count(plan: Plan, _: View, rng: Random) -> str:
    tests = _tests(plan)
    return rng.choice(
        (
            f"How many entries are there {tests}?",
            f"Count the entries {tests}.",
            f"What is the number of entries {tests}?",
        )
    )


def _compare(plan: Plan, view: View, rng: Random) -> str:
    wordings = {
        "which": (
            "Which has the {more} value for {column}: {first} or {second}?",
            "Of {first} and {second}, which one has the {more} value for {column}?",
        ),
        "whether": (
            "Is the {column} of {first} {more} than that of {second}? Answer yes or no.",
            "Does {first} have a {more} value for {column} than {second}? Answer yes or no.",
        ),
        "difference": (
            "By how much is the {column} of {first} higher than that of {second}?",
            "How much higher is the {column} of {first} compared with {second}?",
        ),
    }
    text = _choose(rng, wordings[plan.claim], plan, view)
    return text + _unit(plan, view) if plan.claim == "difference" else text


def _statement(plan: Plan, view: View, rng: Random) -> str:
    if plan.claim == "count":
        are = "is exactly 1 entry" if plan.k == 1 else f"are exactly {plan.k} entries"
        return f"True or false: there {are} {_tests(plan)}."
    wordings = {
        "cell": (
            "True or false: the {column} of {first} is {value}.",
            "True or false: {first} is listed with {value} as its {column}.",
        ),
        "compare": (
            "True or false: the {column} of {first} is {more} than that of {second}.",
            "True or false: {first} has a {more} value for {column} than {second}.",
        ),
        "extreme": (
            "True or false: of all entries, {first} has the {most} value for {column}.",
            "True or false: no entry has a {more} value for {column} than {first}.",
        ),
    }
    return _choose(rng, wordings[plan.claim], plan, view)


_WORDINGS: dict[str, Callable[[Plan, View, Random], str]] = {
    "lookup": _simple(
        "What is given as {column} for {first}?",
        "Give the entry under {column} for {first}.",
        "What does the table state as the {column} of {first}?",
    ),
    "row": _row,
    "column": _simple(
        "Under which heading does the table give {value} for {first}?",
        "For {first}, which heading has the value {value}?",
    ),
    "find": _simple(
        "Which {label} has {value} as its {column}?",
        "What is the {label} of the entry whose {column} is {value}?",
        "Find the entry with {column} {value} and give its {label}.",
    ),
    "neighbour": _neighbour,
    "filter": _filter,
    "filter2": _filter,
    "count": _count,
    "sum": _with_unit(
        "What is the sum of {column} over all entries?",
        "Add up the {column} of all entries. What do you get?",
    ),
    "mean": _with_unit(
        "What is the mean of {column} over all entries, rounded to two decimals?",
        "Take the average of {column} over all entries. What is it, rounded to two decimals?",
    ),
    "min": _simple(
        "What is the lowest value for {column}?",
        "Give the smallest value that the table holds for {column}.",
    ),
    "max": _simple(
        "What is the highest value for {column}?",
        "Give the largest value that the table holds for {column}.",
    ),
    "argmax": _simple(
        "Which {label} has the highest value for {column}?",
        "What is the {label} of the entry with the largest {column}?",
    ),
    "argmin": _simple(
        "Which {label} has the lowest value for {column}?",
        "What is the {label} of the entry with the smallest {column}?",
    ),
    "topk": _simple(
        "Give the {label} of the {number} entries with the {most} {column}, starting with the "
        "{most}.",
        "Which {number} entries have the {most} values for {column}? List their {label}, from the "
        "{most} to the {least} of these.",
    ),
    "compare": _compare,
    "statement": _statement,
}
