"""What a question is made of: steps that two paths work out, and what they find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.tables.table import Table


class RejectedError(TableBenchError):
    """A plan makes no good question of this table; `reason` is one of the counted words."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class PlanStep:
    """One operation with its arguments: texts, numbers, and tuples of them."""

    name: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Plan:
    """Steps in their order: some narrow the entries, one gives the answer, one may judge it.

    Arguments:
        recipe: the name of the recipe that it was drawn by.
        steps: the operations with their arguments.
    """

    recipe: str
    steps: tuple[PlanStep, ...]


@dataclass(frozen=True)
class Texts:
    """An answer of cells or names, as the table writes them."""

    items: tuple[str, ...]
    ordered: bool = False


@dataclass(frozen=True)
class Amount:
    """A computed number.

    Arguments:
        value: without rounding.
        decimals: of the written answer.
        exact: whether the written answer is the value itself, not a rounded one.
        unit: of the column it comes from.
    """

    value: Fraction | float
    decimals: int = 0
    exact: bool = True
    unit: str = ""


PlainAnswer = Texts | Amount | bool
"""What the plain path gives; a truth value answers yes or no."""


@dataclass(frozen=True)
class Other:
    """A table that was made of another: what it is called beside that one, and it."""

    name: str
    table: Table


@dataclass(frozen=True)
class Pair:
    """A question with its answer, as a row of a dataset's questions.

    Arguments:
        id: unique for one table; ASCII.
        question: the text.
        answers: the items of the answer.
        tags: skill, subtask, difficulty, language, recipe.
        perturbations: those that leave the answer true.
        metric: the kind of answer, "" where its text tells.
        tolerance: of a rounded number. unit: of a number.
        plan: what the answer can be worked out from again, without steps where nothing can.
        other: a table made of the given one, which the question is asked of.
        threshold: the score from which an answer is right, "" where the dataset says.
        aliases: other texts that are as right as an answer, by that answer.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    tags: Mapping[str, str]
    perturbations: tuple[str, ...]
    metric: str = ""
    tolerance: str = ""
    unit: str = ""
    plan: Plan = Plan("", ())
    other: Other | None = None
    threshold: str = ""
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
