"""Rows of upstream files: what can be used of them, and what is said of the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.tables.table import Table


class BadRowError(Exception):
    """A row cannot be used: the field, and what is wrong with it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True)
class QuestionRow:
    """A usable row: something is asked about one table.

    Arguments:
        text: what is asked about the table: a question, a statement, its caption.
        answer: the reference, which a demonstration shows as its answer.
        table: makes the table, which may cost more than the row.
        place: names the table where other rows ask about it too; a sample is spread over them.
        number: of the row in its file.
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
        raise BadRowError(name, "is missing" if value is None else "is no text")
    if not may_be_empty and not value.strip():
        raise BadRowError(name, "is empty")
    return value


def cells(
    header: Any, rows: Any, header_name: str, rows_name: str
) -> tuple[list[str], list[list[Any]]]:
    """Return header and rows as lists; a header must hold text, rows single values.

    Ragged and empty tables pass: each format says itself what it cannot hold. Raises
    `BadRowError` naming the field.
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
                raise BadRowError(rows_name, f"row {number} holds a {type(cell).__name__}")
    return header, rows
