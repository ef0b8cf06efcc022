"""How complex the structure of a table is, by rule.

RealHiTBench had a model judge it in dimensions of 1 to 10 (spec: realhitbench.md section 8); four
of them are counted here from the structure itself. How many rows there are counts for nothing: the
paper sets complexity against size.
"""

from __future__ import annotations

from typing import NamedTuple

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
        """The mean of the dimensions from 0 (a flat table) to 100, rounded half up."""
        return int((sum(self) - len(self)) / (9 * len(self)) * 100 + 0.5)

    @property
    def band(self) -> str:
        """The quarter of the scale that the score lies in, as `25-50`."""
        low = min(self.score // 25, 3) * 25
        return f"{low}-{low + 25}"

    def __str__(self) -> str:
        parts = ", ".join(
            f"{name.replace('_', ' ')} {getattr(self, name)}" for name in self._fields
        )
        return f"complexity {self.score} of 100 ({parts})"


def complexity(table: Table) -> Complexity:
    """Return a table's complexity.

    A header of columns or rows: 1, 2 more for each further level, 1 more for each doubling of its
    names that stand over others (1, 2 or 3, 4 to 7 and so on). Partition: 1, 2 more for each
    doubling of the sections, 1 more for captions, for notes, and for values that are merged.
    Compound: 1, 3 more where there are two tables in the sheet (`Table.parts`) and for each
    doubling of them. None goes beyond 10.
    """
    tree = true_tree(table)
    sections = set(table.sections)
    levels = [level for row, level in enumerate(table.row_levels) if row not in sections] or [0]
    over = _over_others(tree)
    columns = max((header.level for header in tree.headers if header.kind == "C"), default=0)
    rows = max(table.row_headers - 1, 0) + max(levels) - min(levels)
    more = sum(map(bool, (table.captions, table.notes, _merged_values(table))))
    parts = len(table.parts())
    return Complexity(
        _dimension(2 * columns + over["C"].bit_length()),
        _dimension(2 * rows + (over["R"].bit_length() if rows else 0)),
        _dimension(2 * len(sections).bit_length() + more),
        _dimension(3 * (parts - 1).bit_length()),
    )


def _dimension(more: int) -> int:
    return min(10, 1 + more)


def _over_others(tree: HeaderTree) -> dict[str, int]:
    """Return how many headers of each kind have others below them."""
    over = {place for place in tree.parents if place is not None}
    return {kind: sum(tree.headers[place].kind == kind for place in over) for kind in "CR"}


def _merged_values(table: Table) -> list[Span]:
    """Return the merged cells below the header that are neither names of rows nor of sections."""
    first = len(table.captions) + len(table.header_rows) + 1
    names = {first + row for row in table.sections}
    return [
        span
        for span in table.spans
        if first <= span.row < first + len(table.rows)
        and span.column >= table.row_headers
        and span.row not in names
    ]
