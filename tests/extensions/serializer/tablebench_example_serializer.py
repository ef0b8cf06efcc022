"""Two table formats of another package: one for the default grid, one only by its name."""

from __future__ import annotations

from pytest_tablebench.extend import Table


def bars(table: Table) -> str:
    """Cells between bars, the header first."""
    return "\n".join("|".join(map(str, row)) for row in (table.header, *table.rows))


def backwards(table: Table) -> str:
    """As `bars`, the last row first."""
    return "\n".join(reversed(bars(table).split("\n")))


def pytest_tablebench_register_serializer(register):
    register("bars", bars)
    register("backwards", backwards, grid=False)
