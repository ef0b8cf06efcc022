"""Questions with answers, and the plans from which their answers are computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.tables.table import Table


class RejectedError(TableBenchError):
    """A plan gives no good question about a table; `reason` is one of the counted reasons."""

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
    """Steps in their order: some narrow the entries, one gives the answer, one may test it.

    Arguments:
        recipe: the name of its recipe.
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
"""An answer computed from a plan; a bool answers yes or no."""


@dataclass(frozen=True)
class Other:
    """A table that was made from another one, and its name relative to that one."""

    name: str
    table: Table


@dataclass(frozen=True)
class Pair:
    """A question with its answer, as a row of a dataset's questions.

    Arguments:
        id: unique within one table; ASCII.
        question: the text.
        answers: the items of the answer.
        tags: skill, subtask, difficulty, language, recipe.
        perturbations: those that keep the answer correct.
        metric: the kind of answer; "" if its text determines the kind.
        tolerance: of a rounded number. unit: of a number.
        plan: the plan that computes the answer; without steps if there is none.
        other: the table of the question, if it was made from the given one.
        threshold: the score from which an answer is right; "" for the dataset's.
        aliases: other correct texts, by answer.
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
