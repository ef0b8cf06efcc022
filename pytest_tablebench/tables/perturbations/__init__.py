"""Perturbations: functions from a table to a changed table.

They are the five of ToRR's grid, the reference's other augmentors (`_arrangements`), and our own,
which change names, numbers and facts or add distractors. A perturbation never changes its input,
and never uses global random state: each draw is seeded by the content and the given seed. A
perturbation that can change the answer to the question is marked with `changes_meaning`.
"""

from __future__ import annotations

from typing import Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.tables.perturbations._arrangements import ARRANGEMENTS, GRID
from pytest_tablebench.tables.perturbations._base import (
    Perturbation,
    Question,
    apply_perturbation,
    changes_meaning,
    parse_perturbation,
    takes_questions,
)
from pytest_tablebench.tables.perturbations._changes import (
    abbreviate_names,
    counterfactual,
    distractor_columns,
    distractor_rows,
    missing_values,
    no_table,
    repeat_rows,
    synonym_names,
)
from pytest_tablebench.tables.perturbations._numbers import change_units, number_format
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import unknown_name

__all__ = [
    "GRID",
    "PERTURBATIONS",
    "Perturbation",
    "Question",
    "apply_perturbation",
    "changes_meaning",
    "parse_perturbation",
    "perturb",
    "takes_questions",
]

PERTURBATIONS: dict[str, Perturbation] = {
    function.__name__: function
    for function in (
        *ARRANGEMENTS,
        synonym_names,
        abbreviate_names,
        repeat_rows,
        distractor_rows,
        distractor_columns,
        missing_values,
        number_format,
        change_units,
        counterfactual,
        no_table,
    )
}


def perturb(table: Table, perturbation: str, *, seed: int = 0, **arguments: Any) -> Table:
    """Return the perturbed table.

    `perturbation` is a name, or a name with arguments as in `truncate_rows[rows_to_keep=2]`. Raises
    `SettingsError` for an unknown name or argument, and `TableError`, with the table and the row,
    if the perturbation cannot be applied.
    """
    name, written = parse_perturbation(perturbation)
    try:
        function = PERTURBATIONS[name]
    except KeyError:
        raise SettingsError(unknown_name("perturbation", name, PERTURBATIONS)) from None
    return apply_perturbation(function, table, name, seed=seed, arguments=written | arguments)
