"""Tables of documents: from names and cells, and with figures in place of estimates."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.documents.document import Cell, Column, Figure, TableBlock, TableRow, Text


def table_of(
    columns: Sequence[Column | str],
    rows: Sequence[Sequence[Cell] | TableRow],
    *,
    most: int = 500,
    fewest: int = 5,
    is_heat_map: bool = False,
) -> TableBlock:
    """Return a table; a name is a column of figures, the first a column of texts."""
    return TableBlock(
        [
            Column(column, "figure" if place else "text") if isinstance(column, str) else column
            for place, column in enumerate(columns)
        ],
        [row if isinstance(row, TableRow) else TableRow(row) for row in rows],
        most,
        fewest,
        is_heat_map,
    )


def flat(table: TableBlock) -> tuple[list[Column], list[list[Text]]]:
    """Return columns and shown rows with two figures for each estimate: value and interval."""
    columns = [part for column in table.columns for part in _parts(column)]
    rows = [
        [
            text
            for column, cell in zip(table.columns, row.cells, strict=True)
            for text in _texts(column, cell)
        ]
        for row in table.rows[: table.most]
    ]
    return columns, rows


def _parts(column: Column) -> list[Column]:
    is_estimate = column.kind == "estimate"
    return [Column(column.title), Column("95 % interval")] if is_estimate else [column]


def _texts(column: Column, cell: Cell) -> list[Text]:
    if column.kind != "estimate" and not isinstance(cell, Estimate):
        return ["" if cell is None else cell]
    estimate = cell if isinstance(cell, Estimate) else Estimate()
    value = Figure(estimate.value, column.estimates)
    if column.kind != "estimate":
        return [value]
    return [value, Figure(estimate.interval, column.estimates)]
