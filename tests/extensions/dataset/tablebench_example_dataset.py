"""A benchmark of another package: one dataset of files, and a serializer for its own tables."""

from __future__ import annotations

from pytest_tablebench.extend import Benchmark, Table, TableQuestions, table_question

PORTS = Table(["Port", "Berths"], [["Hallin", "12"], ["Ostwick", "7"]], title="Ports")


def questions():
    """Two questions about one table."""
    yield table_question("most", PORTS, "Which port has most berths?", ["Hallin"])
    yield table_question("count", PORTS, "How many berths has Ostwick?", ["7"])


def lines(table: Table) -> str:
    """One line for each row, the name of the column before each cell."""
    rows = (zip(table.header, row, strict=True) for row in table.rows)
    return "\n".join("; ".join(f"{name} {cell}" for name, cell in row) for row in rows)


def pytest_tablebench_register_benchmark(register):
    register(Benchmark("harbours"))


def pytest_tablebench_register_dataset(register):
    register(TableQuestions("ports", questions, benchmark="harbours"))


def pytest_tablebench_register_serializer(register):
    register("lines", lines)
