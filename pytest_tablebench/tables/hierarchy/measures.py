"""Size and structure of a table, in the columns of RealHiTBench's Table 8.

In the paper a model marked the structure (spec: realhitbench.md section 8). Here the marks are
computed from the complexity. `marks_of_dimensions` converts a model's marks to the same columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.hierarchy.complexity import complexity
from pytest_tablebench.tables.table import Table


class StructureMarks(NamedTuple):
    """Four marks for a table's structure, each from 0 (none) to 100."""

    header_hierarchy: float
    content_partition: float
    implicit_multi_table: float
    supplement_information: float


@dataclass(frozen=True)
class TableMeasure:
    """The size of a table and the marks for its structure.

    Arguments:
        rows: the number of rows below the header.
        columns: the number of columns in the longest line.
        cell_length: the mean number of characters of non-empty cells.
        marks: None for a table with lines of different lengths, whose structure cannot be read.
    """

    rows: int
    columns: int
    cell_length: float
    marks: StructureMarks | None


def measure_table(table: Table) -> TableMeasure:
    """Return the size of a table and its marks by rule.

    Supplementary information is 50 for captions plus 50 for notes.
    """
    lengths = [
        len(text) for row in table.rows for cell in row if cell is not None and (text := str(cell))
    ]
    try:
        columns, rows, partition, compound = complexity(table)
    except (TableError, IndexError):
        marks = None
    else:
        supplement = 50.0 * bool(table.captions) + 50.0 * bool(table.notes)
        marks = StructureMarks(
            (_share(columns) + _share(rows)) / 2, _share(partition), _share(compound), supplement
        )
    return TableMeasure(
        rows=len(table.rows),
        columns=max(map(len, (table.header, *table.rows))),
        cell_length=sum(lengths) / max(1, len(lengths)),
        marks=marks,
    )


def marks_of_dimensions(dimensions: Sequence[int]) -> StructureMarks:
    """Return the marks from a model's five dimensions of complexity, each from 1 to 10.

    Their order is column header, row header, partition, compound, visual. The paper does not define
    which of its four columns includes the fifth dimension; here it is supplementary information.
    """
    columns, rows, partition, compound, visual = map(_share, dimensions)
    return StructureMarks((columns + rows) / 2, partition, compound, visual)


def _share(dimension: int) -> float:
    """Convert a dimension of 1 to 10 to a mark of 0 to 100."""
    return (dimension - 1) / 9 * 100
