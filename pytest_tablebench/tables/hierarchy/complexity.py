"""How complex the structure of a table is, by rule, and its size and structure as in Table 8.

In RealHiTBench a model judged it in dimensions of 1 to 10 (spec: realhitbench.md section 8). Four
of them are computed here from the structure. The number of rows does not count, because the paper
contrasts complexity with size. `marks_of_dimensions` converts a model's marks to the columns of the
paper's Table 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.hierarchy.tree import HeaderTree, true_tree
from pytest_tablebench.tables.table import Table


class Complexity(NamedTuple):
    """Four dimensions, each from 1 (none) to 10."""

    column_header: int
    row_header: int
    partition: int
    compound: int

    @property
    def score(self) -> int:
        """The mean of the dimensions, from 0 (a flat table) to 100, rounded half up."""
        return int((sum(self) - len(self)) / (9 * len(self)) * 100 + 0.5)

    @property
    def band(self) -> str:
        """The quarter of the scale that contains the score, as `25-50`."""
        low = min(self.score // 25, 3) * 25
        return f"{low}-{low + 25}"

    def __str__(self) -> str:
        parts = ", ".join(
            f"{name.replace('_', ' ')} {getattr(self, name)}" for name in self._fields
        )
        return f"complexity {self.score} of 100 ({parts})"


def complexity(table: Table) -> Complexity:
    """Return a table's complexity.

    Each dimension starts at 1 and is at most 10. Column header and row header: plus 2 for each
    additional level, plus 1 each time the number of parent headers doubles (1, 2 or 3, 4 to 7 and
    so on). Partition: plus 2 each time the number of sections doubles, plus 1 each for captions,
    notes and merged values. Compound: plus 3 for two tables in the sheet (`Table.parts`), and each
    time their number doubles.
    """
    tree = true_tree(table)
    sections = set(table.sections)
    levels = [level for row, level in enumerate(table.row_levels) if row not in sections] or [0]
    parents = _count_parents(tree)
    columns = max((header.level for header in tree.headers if header.kind == "C"), default=0)
    rows = max(table.row_headers - 1, 0) + max(levels) - min(levels)
    more = sum(map(bool, (table.captions, table.notes, _merged_values(table))))
    parts = len(table.parts())
    return Complexity(
        _dimension(2 * columns + parents["C"].bit_length()),
        _dimension(2 * rows + (parents["R"].bit_length() if rows else 0)),
        _dimension(2 * len(sections).bit_length() + more),
        _dimension(3 * (parts - 1).bit_length()),
    )


def _dimension(more: int) -> int:
    return min(10, 1 + more)


def _count_parents(tree: HeaderTree) -> dict[str, int]:
    parents = {index for index in tree.parents if index is not None}
    return {kind: sum(tree.headers[index].kind == kind for index in parents) for kind in "CR"}


def _merged_values(table: Table) -> list[Span]:
    """Return the merged cells below the header, except names of rows and of sections."""
    first = len(table.captions) + len(table.header_rows) + 1
    names = {first + row for row in table.sections}
    return [
        span
        for span in table.spans
        if first <= span.row < first + len(table.rows)
        and span.column >= table.row_headers
        and span.row not in names
    ]


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
