"""A table as the key of a cache."""

from __future__ import annotations

from pytest_tablebench.tables.table import Table


class SameTable:
    """A table as a cache key, compared by identity because comparing cells is slow."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __hash__(self) -> int:
        return id(self.table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameTable) and other.table is self.table
