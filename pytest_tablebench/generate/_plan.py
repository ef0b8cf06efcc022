"""What a generated question is: a plan that two independent paths can work out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pytest_tablebench.errors import TableBenchError

KINDS = (
    "lookup",
    "row",
    "column",
    "find",
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
    "compare",
    "statement",
)
"""The kinds of questions, in the order of the documentation.

lookup: the cell of an entry. row: several cells of an entry. column: the heading under which
an entry has a value. find: the entry that has a value. neighbour: the next entry by the
order of a column. filter, filter2: the entries that meet one or two conditions. count: their
number. sum, mean, min, max: over a column. argmax, argmin, topk: the entries with extreme
values. compare: two entries. statement: true or false.
"""


class AmbiguousError(TableBenchError):
    """A plan has no single answer on this table, or none that can be written in one way."""


class CheckError(TableBenchError):
    """The two ways of computing an answer disagree: a bug of the generator, never of a table."""


@dataclass(frozen=True)
class Condition:
    """A test on one column; numeric columns compare numbers, others their text."""

    column: str
    test: Literal["=", "!=", "<", ">", "between"]
    values: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A question before it is put into words; nothing in it names a position in the table.

    Arguments:
        kind: one of `KINDS`.
        label: the column that names the entries.
        column: the column asked about.
        names: entries the question names, by their cell in `label`.
        columns: the columns of a `row` question, in the order of the answer.
        conditions: one or two tests; `joined` says how two belong together.
        order: the column that orders a list of entries or decides who is next to whom.
        highest: direction of extremes and comparisons; for neighbours, after or before.
        k: number of entries of a `topk` question, or the number a statement claims.
        value: a cell's text that the question states.
        claim: variant of `compare` (which, whether, difference) and of `statement`
            (cell, compare, extreme, count).
    """

    kind: str
    label: str
    column: str = ""
    names: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()
    joined: Literal["and", "or"] = "and"
    order: str = ""
    highest: bool = True
    k: int = 0
    value: str = ""
    claim: str = ""


@dataclass(frozen=True)
class Question:
    """A question with its checked answer.

    Arguments:
        id: unique within one table's questions: table, kind, running number.
        kind: one of `KINDS`.
        text: the question in words.
        answers: the answer's items; a question with several asks for them in this order.
        table_id: the table it is about.
        plan: what the answer can be computed from again, on any reordering of the table.
    """

    id: str
    kind: str
    text: str
    answers: tuple[str, ...]
    table_id: str
    plan: Plan

    @property
    def ordered(self) -> bool:
        """Whether the answer's items have an order: all lists do, as their wording says."""
        return len(self.answers) > 1
