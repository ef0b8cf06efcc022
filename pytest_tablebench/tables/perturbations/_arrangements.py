"""ToRR's five grid perturbations and the reference's other augmentors (torr.md section 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from pytest_tablebench.errors import SettingsError, TableError
from pytest_tablebench.tables.hierarchy import rearranged
from pytest_tablebench.tables.perturbations._base import (
    changes_meaning,
    draw_for,
    require_count,
    require_flat,
    require_full_rows,
)
from pytest_tablebench.tables.table import Table


def none(table: Table, *, seed: int = 0) -> Table:  # noqa: ARG001 - all share one signature
    """Return the table unchanged."""
    return table


def shuffle_rows(table: Table, *, seed: int = 0) -> Table:
    """Shuffle the rows; header and cells stay.

    In a table with structure, rows stay in their section, and merged rows stay together.
    """
    return rearranged.shuffled_rows(table, draw_for(table, seed))


def shuffle_cols(table: Table, *, seed: int = 0) -> Table:
    """Shuffle the columns, each name with its cells.

    In a table with structure, columns stay under their common name, and row headers stay in place.
    """
    require_full_rows(table, "shuffle_cols")
    return rearranged.shuffled_columns(table, draw_for(table, seed))


def transpose(table: Table, *, seed: int = 0) -> Table:  # noqa: ARG001 - all share one signature
    """Turn columns into rows: each begins with its name, and the header counts the old rows from 0.

    Only header and rows of the table are kept (spec: torr.md section 6.2). In a table with
    structure, header lines become row headers and vice versa.
    """
    require_full_rows(table, "transpose")
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
    """Insert rows of empty text one after the other, each at any position including both ends.

    The reference draws from the process-wide generator and changes the table in place, so its
    positions depend on all earlier draws (spec: torr.md section 9, row 10). Here the draw is seeded
    by the table. Only header and rows of the table are kept. In a table with structure, no row is
    inserted between merged rows or before an indented one.
    """
    require_count("times", times)
    draw = draw_for(table, seed, "insert_empty_rows")
    changed = rearranged.with_empty_rows(table, draw, times)
    return changed if table.is_structured else changed.replace(keep_extra=False)


def duplicate_rows(
    table: Table,
    *,
    seed: int = 0,  # noqa: ARG001 - all share one signature
    row_indices: Sequence[int] = (),
    times: int = 1,
) -> Table:
    """Repeat each listed row (0-based) in its place, so that it appears `times` times."""
    require_flat(table, "duplicate_rows")
    order = _repeated(table, "row_indices", row_indices, len(table.rows), times)
    return table.replace(rows=[table.rows[index] for index in order])


def duplicate_columns(
    table: Table,
    *,
    seed: int = 0,  # noqa: ARG001 - all share one signature
    column_indices: Sequence[int] = (),
    times: int = 1,
) -> Table:
    """Repeat each listed column (0-based) in its place, so that it appears `times` times."""
    require_flat(table, "duplicate_columns")
    require_full_rows(table, "duplicate_columns")
    order = _repeated(table, "column_indices", column_indices, len(table.header), times)
    return table.replace(
        header=[table.header[column] for column in order],
        rows=[[row[column] for column in order] for row in table.rows],
    )


@changes_meaning
def mask_cols_names(table: Table, *, seed: int = 0) -> Table:  # noqa: ARG001 - all share one signature
    """Rename the columns Col1, Col2, …, and the names above them Group1, Group2, …."""
    header = [f"Col{number}" for number in range(1, len(table.header) + 1)]
    groups = count(1)
    above = [
        [f"Group{next(groups)}" if cell not in ("", None) else cell for cell in line]
        for line in table.header_rows
    ]
    return replace(table, header=tuple(header), header_rows=tuple(map(tuple, above)))


@changes_meaning
def shuffle_cols_names(table: Table, *, seed: int = 0) -> Table:
    """Shuffle only the column names."""
    names = list(table.header)
    draw_for(table, seed, "shuffle_cols_names").shuffle(names)
    return replace(table, header=tuple(names))


@changes_meaning
def truncate_rows(table: Table, *, seed: int = 0, rows_to_keep: int = 20) -> Table:
    """Keep `rows_to_keep` randomly drawn rows, in their order."""
    require_count("rows_to_keep", rows_to_keep)
    rows = len(table.rows)
    if rows <= rows_to_keep:
        return table
    require_flat(table, "truncate_rows")
    draw = draw_for(table, seed, "truncate_rows")
    return table.replace(
        rows=[table.rows[index] for index in sorted(draw.sample(range(rows), rows_to_keep))]
    )


GRID = ("none", "shuffle_rows", "shuffle_cols", "transpose", "insert_empty_rows")
"""ToRR's five perturbation settings, in the paper's order."""

ARRANGEMENTS = (
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


def _repeated(
    table: Table, argument: str, indices: Sequence[int], count: int, times: int
) -> list[int]:
    """Return the numbers below `count`, the ones in `indices` repeated."""
    require_count("times", times)
    if not isinstance(indices, list | tuple | range):
        raise SettingsError(f"{argument} must be a list of whole numbers, not {indices!r}")
    for index in indices:
        if not isinstance(index, int) or not 0 <= index < count:
            raise TableError(
                f"{table.label}: {argument} contains {index!r}, "
                f"but only 0 to {count - 1} can be chosen"
            )
    chosen = set(indices)
    return [index for index in range(count) for _ in range(times if index in chosen else 1)]
