"""Perturbations that change or remove facts, to see what a model takes from the table."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

from pytest_tablebench.errors import SettingsError, TableError
from pytest_tablebench.tables.perturbations._base import (
    Question,
    changes_meaning,
    draw_for,
    of_questions,
)
from pytest_tablebench.tables.perturbations._invented import invented
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.seeds import seeded_random

_LOOKED_UP = ("lookup", "row")
"""Kinds of generated questions whose answer is a cell that they do not compare."""


@changes_meaning
def missing_values(table: Table, *, seed: int = 0, share: float = 0.1) -> Table:
    """Empty a random share of the cells with content."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise SettingsError(f"share must be a number from 0 to 1, not {share!r}")
    places = [
        (number, column)
        for number, row in enumerate(table.rows)
        for column, cell in enumerate(row)
        if cell not in ("", None)
    ]
    draw = draw_for(table, seed, "missing_values")
    exact = Decimal(str(share)) * len(places)
    emptied = set(draw.sample(places, round(exact)))
    return replace(
        table,
        rows=tuple(
            tuple("" if (number, column) in emptied else cell for column, cell in enumerate(row))
            for number, row in enumerate(table.rows)
        ),
    )


@changes_meaning
def no_table(table: Table, *, seed: int = 0) -> Table:  # noqa: ARG001 - all share one signature
    """Remove the table's content: a model that still answers knows the answer, or guesses."""
    return table.replace(header=(), rows=())


no_table.hides_tables = True  # type: ignore[attr-defined]


@changes_meaning
@of_questions
def counterfactual(question: Question, *, seed: int = 0) -> Question:
    """Replace the cell with the answer by an invented text, and expect that text.

    Each answer must be the text of exactly one cell, and must not occur in another cell, a name,
    the question or the metric's context. An answer with a digit must also belong to a generated
    question that looks it up, because other questions may compare it. Aliases of the old answer are
    dropped. Raises `TableError` for every other question.
    """
    answers, tables = [], question.tables
    for answer in question.answers:
        _require_known(question, answer)
        draw = seeded_random({"answer": answer, "seed": seed, "perturbation": "counterfactual"})
        taken = {str(cell) for table in tables for line in table.lines for cell in line}
        new = invented(answer, draw, taken)
        if new in taken or new == answer:
            raise TableError(f"{_label(question)}: nothing else looks like the answer {answer!r}")
        tables = tuple(_with_cell(table, answer, new) for table in tables)
        answers.append(new)
    if not answers:
        raise TableError(f"{_label(question)}: counterfactual needs a question with an answer")
    aliases = {
        text: names for text, names in question.aliases.items() if text not in question.answers
    }
    return replace(question, tables=tables, answers=tuple(answers), aliases=aliases)


def _label(question: Question) -> str:
    return question.tables[0].label if question.tables else "a question without tables"


def _require_known(question: Question, answer: str) -> None:
    """Raise a `TableError` unless exactly one cell is certainly the answer."""
    cells = [str(cell) for table in question.tables for line in table.lines for cell in line]
    bodies = [str(cell) for table in question.tables for row in table.rows for cell in row]
    problem = None
    if bodies.count(answer) != 1:
        problem = "is not the text of one cell"
    elif sum(answer in cell for cell in cells) != 1:
        problem = "is in other cells too"
    elif answer in question.text or answer in question.more:
        problem = "is in the question too"
    elif any(alias in cell for alias in question.aliases.get(answer, ()) for cell in cells):
        problem = "has an alias in the table"
    elif not re.search(r"\w", answer):
        problem = "has no letter or digit"
    elif re.search(r"\d", answer) and question.kind not in _LOOKED_UP:
        problem = "contains a number, which may be compared"
    if problem is not None:
        raise TableError(f"{_label(question)}: the answer {answer!r} {problem}")


def _with_cell(table: Table, old: str, new: str) -> Table:
    rows = tuple(tuple(new if str(cell) == old else cell for cell in row) for row in table.rows)
    return replace(table, rows=rows)
