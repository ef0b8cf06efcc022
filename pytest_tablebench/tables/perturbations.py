"""Perturbations: a table in, a table with the same facts in another arrangement out.

The five of ToRR's grid and the reference's other augmentors, same names and arguments
(spec: torr.md section 6.2). None of them changes its input or draws from global state: every
draw is seeded by the table's content and the given seed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pytest_tablebench.errors import SettingsError, TableError
from pytest_tablebench.tables.hierarchy import rearranged
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.calls import parse_call
from pytest_tablebench.util.names import counted, printable, unknown_name
from pytest_tablebench.util.seeds import seeded_random

__all__ = [
    "GRID",
    "PERTURBATIONS",
    "Perturbation",
    "changes_meaning",
    "parse_perturbation",
    "perturb",
]

Perturbation = Callable[..., Table]


def changes_meaning(function: Perturbation) -> Perturbation:
    """Mark a perturbation after which the same question may have another answer, or none.

    It stays out of performance and robustness, and has a figure of its own.
    """
    function.preserves_meaning = False  # type: ignore[attr-defined]
    return function


def none(table: Table, *, seed: int = 0) -> Table:  # noqa: ARG001 - one shape for all
    """Return the table as it is."""
    return table


def shuffle_rows(table: Table, *, seed: int = 0) -> Table:
    """Put the rows in another order; header and cells stay.

    Where a table has structure, rows stay in their section, and what is merged stays together.
    """
    rows = list(table.rows)
    draw = seeded_random({"table": table.as_mapping(), "seed": seed})
    if table.is_structured:
        return rearranged.shuffled_rows(table, draw)
    draw.shuffle(rows)
    return table.replace(rows=rows)


def shuffle_cols(table: Table, *, seed: int = 0) -> Table:
    """Put the columns in another order, each name with its cells.

    Where a table has structure, columns stay under their common name, and row headers stay.
    """
    _require_full_rows(table, "shuffle_cols")
    order = list(range(len(table.header)))
    draw = seeded_random({"table": table.as_mapping(), "seed": seed})
    if table.is_structured:
        return rearranged.shuffled_columns(table, draw)
    draw.shuffle(order)
    return table.replace(
        header=[table.header[column] for column in order],
        rows=[[row[column] for column in order] for row in table.rows],
    )


def transpose(table: Table, *, seed: int = 0) -> Table:  # noqa: ARG001 - one shape for all
    """Turn columns into rows: names go first, and the header counts the old rows from 0.

    What the table carries beside header and rows is dropped (spec: torr.md section 6.2). Where a
    table has structure, its header lines become row headers and its row headers header lines.
    """
    _require_full_rows(table, "transpose")
    if table.is_structured:
        return rearranged.turned(table)
    return table.replace(
        keep_extra=False,
        header=[" ", *(str(number) for number in range(len(table.rows)))],
        rows=[
            [name, *(row[column] for row in table.rows)] for column, name in enumerate(table.header)
        ],
    )


def insert_empty_rows(table: Table, *, seed: int = 0, times: int = 2) -> Table:
    """Insert rows of empty text, one after the other, each anywhere including both ends.

    The reference draws from the process-wide generator and changes the table in place, so
    its positions depend on everything drawn before (spec: torr.md section 9, row 10). Here
    the draw is seeded by the table. What the table carries beside header and rows is dropped.
    Where a table has structure, no row is inserted between rows that are merged or indented.
    """
    _require_count("times", times)
    draw = seeded_random(
        {"table": table.as_mapping(), "seed": seed, "perturbation": "insert_empty_rows"}
    )
    if table.is_structured:
        return rearranged.with_empty_rows(table, draw, times)
    rows = list(table.rows)
    for _ in range(times):
        rows.insert(draw.randint(0, len(rows)), ("",) * len(table.header))
    return table.replace(rows=rows, keep_extra=False)


def duplicate_rows(
    table: Table,
    *,
    seed: int = 0,  # noqa: ARG001 - one shape for all
    row_indices: Sequence[int] = (),
    times: int = 1,
) -> Table:
    """Show each listed row (0-based) `times` times in its place."""
    _require_count("times", times)
    _require_indices(table, "row_indices", row_indices, len(table.rows))
    chosen = set(row_indices)
    return table.replace(
        rows=[
            row
            for index, row in enumerate(table.rows)
            for _ in range(times if index in chosen else 1)
        ]
    )


def duplicate_columns(
    table: Table,
    *,
    seed: int = 0,  # noqa: ARG001 - one shape for all
    column_indices: Sequence[int] = (),
    times: int = 1,
) -> Table:
    """Show each listed column (0-based) with its name `times` times in its place."""
    _require_full_rows(table, "duplicate_columns")
    _require_count("times", times)
    _require_indices(table, "column_indices", column_indices, len(table.header))
    chosen = set(column_indices)
    order = [
        index for index in range(len(table.header)) for _ in range(times if index in chosen else 1)
    ]
    return table.replace(
        header=[table.header[index] for index in order],
        rows=[[row[index] for index in order] for row in table.rows],
    )


@changes_meaning
def mask_cols_names(table: Table, *, seed: int = 0) -> Table:  # noqa: ARG001 - one shape
    """Rename the columns Col1, Col2, …."""
    return table.replace(header=[f"Col{number}" for number in range(1, len(table.header) + 1)])


@changes_meaning
def shuffle_cols_names(table: Table, *, seed: int = 0) -> Table:
    """Put the column names alone in another order."""
    names = list(table.header)
    seeded_random(
        {"table": table.as_mapping(), "seed": seed, "perturbation": "shuffle_cols_names"}
    ).shuffle(names)
    return table.replace(header=names)


@changes_meaning
def truncate_rows(table: Table, *, seed: int = 0, rows_to_keep: int = 20) -> Table:
    """Keep `rows_to_keep` rows drawn at random, in their order."""
    _require_count("rows_to_keep", rows_to_keep)
    count = len(table.rows)
    if count <= rows_to_keep:
        return table
    draw = seeded_random(
        {"table": table.as_mapping(), "seed": seed, "perturbation": "truncate_rows"}
    )
    return table.replace(
        rows=[table.rows[index] for index in sorted(draw.sample(range(count), rows_to_keep))]
    )


GRID = ("none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows")
"""ToRR's five perturbation settings, in the paper's order."""

PERTURBATIONS: dict[str, Perturbation] = {
    function.__name__: function
    for function in (
        none,
        shuffle_rows,
        shuffle_cols,
        transpose,
        insert_empty_rows,
        duplicate_rows,
        duplicate_columns,
        mask_cols_names,
        shuffle_cols_names,
        truncate_rows,
    )
}


def perturb(table: Table, perturbation: str, *, seed: int = 0, **arguments: Any) -> Table:
    """Return the perturbed table.

    `perturbation` is a name, or a name with arguments as in `truncate_rows[rows_to_keep=2]`.
    Raises `SettingsError` for an unknown name or argument, and `TableError`, naming the
    table and the row, where the perturbation cannot be applied.
    """
    name, written = parse_perturbation(perturbation)
    try:
        function = PERTURBATIONS[name]
    except KeyError:
        raise SettingsError(unknown_name("perturbation", name, PERTURBATIONS)) from None
    return apply_perturbation(function, table, name, seed=seed, arguments=written | arguments)


def apply_perturbation(
    function: Perturbation, table: Table, name: str, *, seed: int, arguments: dict[str, Any]
) -> Table:
    """Call a perturbation, turning arguments it does not know into a `SettingsError`."""
    if arguments:
        allowed = [
            key for key in inspect.signature(function).parameters if key not in {"table", "seed"}
        ]
        for key in arguments:
            if key not in allowed:
                raise SettingsError(
                    f"perturbation {name!r} has no argument {printable(key)!r}; "
                    f"it takes {', '.join(allowed) or 'none'}"
                )
    return function(table, seed=seed, **arguments)


def parse_perturbation(text: str) -> tuple[str, dict[str, Any]]:
    """Split `name[key=literal,…]` into name and arguments. Raises `SettingsError`."""
    try:
        return parse_call("perturbation", text)
    except ValueError as error:
        raise SettingsError(str(error)) from None


def _require_full_rows(table: Table, name: str) -> None:
    # A longer row's surplus cells have no column and are left out, as in the reference.
    width = len(table.header)
    for number, row in enumerate(table.rows, start=1):
        if len(row) < width:
            raise TableError(
                f"{table.label}: row {number} has {counted(len(row), 'cell')}, the header has "
                f"{width}; perturbation {name!r} needs a cell in every column"
            )


def _require_count(argument: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise SettingsError(f"{argument} must be a whole number from 0 on, not {value!r}")


def _require_indices(table: Table, argument: str, indices: Sequence[int], count: int) -> None:
    if not isinstance(indices, list | tuple | range):
        raise SettingsError(f"{argument} must be a list of whole numbers, not {indices!r}")
    for index in indices:
        if not isinstance(index, int) or not 0 <= index < count:
            raise TableError(
                f"{table.label}: {argument} holds {index!r}, "
                f"but only 0 to {count - 1} can be chosen"
            )
