"""A perturbation of another package, with an argument of its own."""

from __future__ import annotations

from pytest_tablebench.extend import Table


def repeat_header(table: Table, *, seed: int = 0, times: int = 1) -> Table:
    """Show the header again below the rows."""
    return table.replace(rows=[*table.rows, *[list(table.header)] * times])


def pytest_tablebench_register_perturbation(register):
    register("repeat_header", repeat_header)
