"""What ToRR's text generation datasets share: rows of a table, a short text and a long answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from pytest_tablebench.datasets._base import Example, Problem, SourceFacts
from pytest_tablebench.datasets._sources import RowSource, digests
from pytest_tablebench.datasets.torr._common import SOURCE_LIMIT
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import printable

__all__ = ["BadRowError", "Row", "Split", "cells", "collect", "row_source", "text_field"]

Item = TypeVar("Item")


@dataclass(frozen=True)
class Row:
    """A usable row.

    Arguments:
        text: what is asked about the table: its caption, or a query.
        answer: the reference, which a demonstration shows as its answer.
        table: makes the table, which may cost more than the row.
    """

    id: str
    text: str
    answer: str
    table: Callable[[], Table]


@dataclass(frozen=True)
class Split:
    """A split: its files, and what reads their rows and names the unusable ones."""

    files: tuple[str, ...]
    read: Callable[[list[Problem]], list[Row]]


class BadRowError(Exception):
    """A row cannot be used: the field, and what is wrong with it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message


def collect(
    items: Iterable[Item],
    file: str,
    problems: list[Problem],
    build: Callable[[Item], Row | None],
) -> list[Row]:
    """Build the rows of the first 10,000 items; None leaves one out without a word.

    Items that cannot be used, or whose id another row has, become problems.
    """
    rows: dict[str, Row] = {}
    for number, item in enumerate(islice(items, SOURCE_LIMIT), start=1):
        try:
            row = build(item)
            if row is not None and row.id in rows:
                raise BadRowError("id", f"{printable(row.id, 80)!r} occurs a second time")
        except BadRowError as error:
            problems.append(Problem(file, number, error.field, error.message))
        else:
            if row is not None:
                rows[row.id] = row
    return list(rows.values())


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


def _example(row: Row, text_name: str) -> Example:
    return Example(
        id=row.id,
        inputs={"table": row.table(), text_name: row.text},
        question=row.text,
        references=(row.answer,),
        target=row.answer,
    )


def row_source(
    folder: Path, test: Split, pool: Split, *, text_name: str, notes: tuple[str, ...] = ()
) -> RowSource[Row]:
    """Open files of rows; the split of demonstrations is read when first asked for.

    `text_name` is what the row's text is called among the inputs; `notes` goes into the
    facts. Raises `DataError` where the test files cannot be read.
    """
    problems: list[Problem] = []
    return RowSource(
        test.read(problems),
        lambda: pool.read(problems),
        make=lambda row: _example(row, text_name),
        key=lambda row: (row.text,),
        facts=lambda: SourceFacts(digests(folder, (*test.files, *pool.files)), notes),
        problems=problems,
        place=str(folder / test.files[0]),
    )
