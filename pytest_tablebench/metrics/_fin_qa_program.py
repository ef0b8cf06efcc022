"""Reading and executing FinQA programs (spec: torr.md section 8.6).

A program is a line such as `subtract(2500, 2000), divide(#0, 2000)`. The rules are those of FinQA's
evaluation script (czyssrs/FinQA), including how it splits text. No text is evaluated as code:
operators are looked up, and numbers are parsed by `float`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.tables.table import Table

NOT_AVAILABLE = "n/a"
"""The result of a program without any step."""

MAX_CHARACTERS = 10_000
MAX_STEPS = 100
"""Longer programs are not read. Gold programs have at most a dozen steps, and the 512 tokens that
ToRR allows a reply do not suffice for a hundred."""

_MAX_TEXT = 1_000

_PIECE = re.compile(r"[^()]*\(|[^()]+|\)")

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "exp": operator.pow,
    "greater": lambda left, right: "yes" if left > right else "no",
}
_TABLE: dict[str, Callable[[list[float]], float]] = {
    "table_max": max,
    "table_min": min,
    "table_sum": sum,
    "table_average": lambda numbers: sum(numbers) / len(numbers),
}
_OPERATIONS = frozenset((*_ARITHMETIC, *_TABLE))
_UNDERSCORES = {f"{name.replace('_', '-')}(": f"{name}(" for name in _TABLE}


class MalformedProgramError(ValueError):
    """A text that is not a program; the metric catches it."""


def is_reasonable(program: str) -> bool:
    """Return whether a program is short enough to be read."""
    return len(program) <= MAX_CHARACTERS and program.count(")") <= MAX_STEPS


def tokens_of(program: str) -> list[str]:
    """Split a program into the script's tokens: `add(`, `1`, `2`, `)`, ..., `EOF`.

    Arguments are separated by comma and space, so a row's name cannot contain these or a bracket.
    The time is linear in the length of the text.
    """
    return [token for part in program.split(", ") for token in _PIECE.findall(part)] + ["EOF"]


def with_underscores(tokens: Sequence[str]) -> list[str]:
    """Spell table operations as gold programs do: `table-max(` becomes `table_max(`."""
    return [_UNDERSCORES.get(token, token) for token in tokens]


@dataclass(frozen=True, slots=True)
class ProgramStep:
    """One step: its text, its operator and its two arguments."""

    text: str
    operator: str
    arguments: tuple[str, str]


def steps_of(tokens: Sequence[str]) -> Iterator[ProgramStep]:
    """Yield the steps of a program; text after the last closing bracket is ignored.

    Raises `MalformedProgramError` at a step with several opening brackets, or with fewer than two
    arguments. Further arguments are ignored.
    """
    for piece in "|".join(tokens[:-1]).split(")")[:-1]:
        text = piece.strip()
        parts = text.split("(")
        if len(parts) != 2:
            raise MalformedProgramError(f"{len(parts) - 1} opening brackets in a step")
        arguments = parts[1].strip("|").strip().split("|")
        if len(arguments) < 2:
            raise MalformedProgramError("fewer than two arguments")
        name = parts[0].strip("|").strip()
        yield ProgramStep(text, name, (arguments[0].strip(), arguments[1].strip()))


def has_structure(tokens: Sequence[str]) -> bool:
    """Return whether every fourth token opens a known operation and the last of four closes it."""
    opened = all(token.strip("(") in _OPERATIONS for token in tokens[:-1:4])
    return opened and set(tokens[3:-1:4]) <= {")"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of executing a program.

    Arguments:
        invalid: whether the program cannot be executed to its end.
        value: the last step's result: a number rounded to 5 decimals, `"yes"` or `"no"` for a
            comparison, `"n/a"` without a result. Only valid if `invalid` is False.
    """

    invalid: bool
    value: Any


def execute(tokens: Sequence[str], rows: Sequence[Sequence[Any]]) -> Outcome:
    """Execute a program over the rows of a table, whose first cells are their names.

    The work is bounded by the number of tokens and cells: numbers are floats, so a power costs the
    same for every exponent (and fails beyond 1e308).
    """
    if not has_structure(tokens):
        return Outcome(True, NOT_AVAILABLE)
    results: list[Any] = []
    numbers: list[float] | None = None

    @cache
    def by_name() -> dict[Any, Sequence[Any]]:
        if not all(rows):
            raise MalformedProgramError("a row without any cell")
        return {row[0]: row[1:] for row in rows}  # the last of several rows with one name counts

    try:
        for step in steps_of(tokens):
            first, second = step.arguments
            if step.operator in _TABLE:
                if "#" in first:
                    # A result is no row: the script uses the row it read last.
                    _result(first, results)
                else:
                    numbers = [_cell_number(cell) for cell in by_name()[first]]
                if numbers is None:
                    raise MalformedProgramError("no row was read before")
                results.append(_TABLE[step.operator](numbers))
            else:
                left, right = _value(first, results), _value(second, results)
                results.append(_calculate(step.operator, left, right))
        if results and results[-1] not in ("yes", "no"):
            return Outcome(False, round(results[-1], 5))
    except (ArithmeticError, LookupError, ValueError, TypeError):
        return Outcome(True, results[-1] if results else NOT_AVAILABLE)
    return Outcome(False, results[-1] if results else NOT_AVAILABLE)


def script_rows(table: Table | Mapping[str, Any] | None) -> list[Sequence[Any]]:
    """Return the table as FinQA keeps it: a list of rows, the header first.

    Raises `SettingsError` for anything but a table or a mapping of `header` and `rows`.
    """
    if table is None:
        return []
    if isinstance(table, Table):
        return [table.header, *table.rows]
    if not isinstance(table, Mapping) or not {"header", "rows"} <= table.keys():
        raise SettingsError("metric 'fin_qa': table= must be a Table or have 'header' and 'rows'")
    return [table["header"], *table["rows"]]


def _cell_number(cell: Any) -> float:
    """Return the number of a cell such as `$ -45 ( 45 )`."""
    if not isinstance(cell, str):
        raise MalformedProgramError("a cell that is no text")
    return _number(cell.replace("$", "").strip().split("(")[0].strip())


def _number(text: str) -> float:
    """Return the number of `1,410`, `25%`, `const_100` or `const_m1`."""
    plain = text.replace(",", "")
    try:
        return float(plain)
    except ValueError:
        pass
    if "%" in plain:
        return float(plain.replace("%", "")) / 100
    if "const" not in plain:
        raise MalformedProgramError("an argument that is no number")
    name = plain.replace("const_", "")
    return -1.0 if name == "m1" else float(name)


def _value(argument: str, results: Sequence[Any]) -> Any:
    return _result(argument, results) if "#" in argument else _number(argument)


def _result(argument: str, results: Sequence[Any]) -> Any:
    number = int(argument.replace("#", ""))
    if not 0 <= number < len(results):
        raise MalformedProgramError("a result that is not there yet")
    return results[number]


def _calculate(name: str, left: Any, right: Any) -> Any:
    # Adding two results "yes" or "no" joins the texts, which could double at every step.
    if isinstance(left, str) and isinstance(right, str) and len(left) + len(right) > _MAX_TEXT:
        raise MalformedProgramError("texts instead of numbers")
    return _ARITHMETIC[name](left, right)
