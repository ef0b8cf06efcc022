"""The types of perturbations, the parsing of their names and arguments, and their application."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from random import Random
from typing import Any, TypeVar

from pytest_tablebench.errors import SettingsError, TableError
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import counted, unknown_name
from pytest_tablebench.util.seeds import seeded_random
from pytest_tablebench.util.signatures import parse_call

Perturbation = Callable[..., Any]
"""`function(table, *, seed, **arguments)` returns a table; see also `of_questions`."""


@dataclass(frozen=True)
class Question:
    """A question with its tables, for perturbations that change the answer along with a table.

    Arguments:
        tables: in the order of the example's inputs.
        text: the question, and every other input that is not a table.
        answers: the accepted answers, as in the dataset.
        kind: the kind of question that a generator recorded; "" if unknown.
        more: the other context of the metric, as one text.
        aliases: for an answer, other texts that are equally right.
        unit: of an answer that is a number, if its text has none.
        tolerance: of an answer that is a number: `0.5`, or `2%` of it.
    """

    tables: tuple[Table, ...]
    text: str = ""
    answers: tuple[str, ...] = ()
    kind: str = ""
    more: str = ""
    aliases: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unit: str = ""
    tolerance: str = ""

    def with_answers(self, answers: Mapping[str, str]) -> Question:
        """Return the question with its answers replaced, along with the keys of their aliases."""
        return replace(
            self,
            answers=tuple(answers.get(text, text) for text in self.answers),
            aliases={answers.get(text, text): names for text, names in self.aliases.items()},
        )


Subject = TypeVar("Subject", Table, Question)


def changes_meaning(function: Perturbation) -> Perturbation:
    """Mark a perturbation after which the question may have another answer, or none.

    It is excluded from performance and robustness, and reported separately.
    """
    function.preserves_meaning = False  # type: ignore[attr-defined]
    return function


def of_questions(function: Perturbation) -> Perturbation:
    """Mark a perturbation that takes a `Question` and returns a changed one.

    The numbers of tables and answers and their order must stay the same.
    """
    function.takes_questions = True  # type: ignore[attr-defined]
    return function


def takes_questions(function: Perturbation) -> bool:
    """Return whether a perturbation takes a whole question."""
    return bool(getattr(function, "takes_questions", False))


def apply_perturbation(
    function: Perturbation, subject: Subject, name: str, *, seed: int, arguments: Mapping[str, Any]
) -> Subject:
    """Perturb a table, or a question by a perturbation that takes one.

    Raises `SettingsError` for an unknown argument.
    """
    _check_arguments(function, name, arguments)
    if takes_questions(function) and isinstance(subject, Table):
        changed: Subject = function(Question((subject,)), seed=seed, **arguments).tables[0]
    else:
        changed = function(subject, seed=seed, **arguments)
    return changed


def _check_arguments(function: Perturbation, name: str, arguments: Mapping[str, Any]) -> None:
    if not arguments:
        return
    _, *names = inspect.signature(function).parameters
    allowed = [key for key in names if key != "seed"]
    for key in arguments:
        if key not in allowed:
            problem = (
                unknown_name("argument", key, allowed)
                if allowed
                else f"it takes no arguments; remove {key!r}"
            )
            raise SettingsError(f"perturbation {name!r}: {problem}")


def parse_perturbation(text: str) -> tuple[str, dict[str, Any]]:
    """Split `name[key=literal,…]` into name and arguments. Raises `SettingsError`."""
    name, arguments = _parsed(text)
    return name, dict(arguments)


@lru_cache(maxsize=256)
def _parsed(text: str) -> tuple[str, dict[str, Any]]:
    try:
        return parse_call("perturbation", text)
    except ValueError as error:
        raise SettingsError(str(error)) from None


def draw_for(table: Table, seed: int, name: str | None = None) -> Random:
    """Return a random generator, seeded by table, seed and optionally a perturbation's name."""
    named = {} if name is None else {"perturbation": name}
    return seeded_random({"table": table.as_mapping(), "seed": seed, **named})


def require_full_rows(table: Table, name: str) -> None:
    """Raise a `TableError` for the first row that is shorter than the header."""
    # Surplus cells of a longer row have no column and are dropped, as in the reference.
    width = len(table.header)
    for number, row in enumerate(table.rows, start=1):
        if len(row) < width:
            raise TableError(
                f"{table.label}: row {number} has {counted(len(row), 'cell')}, the header has "
                f"{width}; perturbation {name!r} needs a cell in every column"
            )


def require_flat(table: Table, name: str) -> None:
    """Raise a `TableError` for a table with structure, which additional rows would break."""
    if table.is_structured:
        raise TableError(f"{table.label}: has structure; perturbation {name!r} needs a flat table")


def require_count(argument: str, value: object) -> None:
    """Raise a `SettingsError` for anything but a whole number from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise SettingsError(f"{argument} must be a whole number from 0, not {value!r}")
