"""Rows of upstream files, and checks of their fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.tables.table import Table


class BadRowError(Exception):
    """A row is unusable because of one field."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class QuestionRow:
    """A usable row with a question about one table.

    Arguments:
        text: the question, statement or caption.
        answer: the reference; a demonstration shows it as its answer.
        table: makes the table, which may be expensive.
        place: the name of the table if several rows share it; a sample is spread over these names.
        number: the number of the row in its file.
    """

    id: str
    text: str
    answer: str
    table: Callable[[], Table]
    place: str | None = None
    number: int | None = None


def text_field(row: Any, name: str, *, may_be_empty: bool = False) -> str:
    """Return a field that must be text. Raises `BadRowError`."""
    if not isinstance(row, dict):
        raise BadRowError("row", f"must be an object, not {type(row).__name__}")
    value = row.get(name)
    if not isinstance(value, str):
        raise BadRowError(name, "is missing" if value is None else "is not text")
    if not may_be_empty and not value.strip():
        raise BadRowError(name, "is empty")
    return value


def cells(
    header: Any, rows: Any, header_name: str, rows_name: str
) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows as lists. Raises `BadRowError` for a header cell that is not text.

    Cells of rows must be single values. Ragged and empty tables are accepted: each serializer
    rejects the tables that it cannot write.
    """
    if not isinstance(header, list) or not all(isinstance(name, str) for name in header):
        raise BadRowError(header_name, "must be a list of texts")
    if not isinstance(rows, list):
        raise BadRowError(rows_name, "must be a list of rows")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, list):
            raise BadRowError(rows_name, f"row {number} must be a list of cells")
        for cell in row:
            if not (cell is None or isinstance(cell, str | int | float)):
                message = f"row {number} contains {type(cell).__name__}, not a single value"
                raise BadRowError(rows_name, message)
    return header, rows
