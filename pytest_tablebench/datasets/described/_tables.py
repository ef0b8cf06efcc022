"""Tables of a described dataset's rows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from operator import is_
from pathlib import Path
from typing import Any

from pytest_tablebench.datasets.described._description import DatasetDescription, TableSection
from pytest_tablebench.datasets.described._fields import Row, value_of
from pytest_tablebench.datasets.described._files import rows_of
from pytest_tablebench.datasets.folder._delimited import DelimitedText
from pytest_tablebench.datasets.folder.tables import FolderTables, html_table
from pytest_tablebench.datasets.rows import BadRowError, cells
from pytest_tablebench.errors import DataError, TableError
from pytest_tablebench.tables.hierarchy.header_paths import table_of_paths
from pytest_tablebench.tables.table import Table

_FIELD = re.compile(r"\{([^{}]{1,200})\}")


class DescribedTables:
    """Makes the tables of rows.

    Arguments:
        section: the section `[table]` of the description.
        folder: the dataset's folder.
        description: the settings of table files.
    """

    def __init__(
        self, section: TableSection, folder: Path, description: DatasetDescription
    ) -> None:
        self._section = section
        self._folder = folder
        self._files = FolderTables(
            folder / section.folder, encoding=description.encoding, parts=description.tables
        )
        self._stored: Mapping[str, Row] | None = None
        self._latest: tuple[list[Any], str | None, Table] | None = None

    @property
    def notes(self) -> list[str]:
        """Remarks for the user on how table files were read."""
        return self._files.notes

    def place(self, row: Row) -> str | None:
        """Return the name of a row's table, without reading the table; None if it has no name."""
        section = self._section
        path = section.named_by or section.file
        return _name(value_of(row, path), path) if path else None

    def table(self, row: Row) -> Table:
        """Return the table of a row. Raises `BadRowError`, naming the field."""
        section = self._section
        if section.stored_in:
            row = self._stored_row(row)
        title = self._title(row)
        parts = [value_of(row, path) for path in section.parts()]
        # Consecutive questions about one table share its content: parse it once.
        latest = self._latest
        if latest is None or latest[1] != title or not all(map(is_, latest[0], parts)):
            try:
                table = self._made(row)
            except (DataError, TableError) as error:
                raise BadRowError("table", str(error)) from None
            latest = parts, title, replace(table, title=title) if title else table
            self._latest = latest
        return latest[2]

    def _made(self, row: Row) -> Table:
        section = self._section
        path = section.cells or section.records or section.file or section.text
        value = value_of(row, path)
        if section.cells:
            return self._of_cells(row, value)
        if section.records:
            return _of_records(value, path)
        if not isinstance(value, str):
            raise BadRowError(path, "is missing" if value is None else "must be a text")
        if section.file:
            return self._files.table(value)
        if section.reader == "html":
            return html_table(value + "\n")
        return DelimitedText(value, "\t" if section.reader == "tsv" else ",").table(path)

    def _stored_row(self, row: Row) -> Row:
        """Return the table's row, which a question names, from the file `stored_in`."""
        section = self._section
        if self._stored is None:
            self._stored = {
                _name(value_of(stored, section.key), section.key): stored
                for stored in rows_of(self._folder, section.stored_in, "*")
                if not isinstance(stored.content, BadRowError)
            }
        name = _name(value_of(row, section.named_by), section.named_by)
        if name not in self._stored:
            raise BadRowError(section.named_by, f"{section.stored_in} has no table {name!r:.80}")
        return self._stored[name]

    def _title(self, row: Row) -> str | None:
        def text(match: re.Match[str]) -> str:
            value = value_of(row, match[1])
            return str(value) if isinstance(value, str | int | float) else ""

        return _FIELD.sub(text, self._section.title).strip() or None

    def _of_cells(self, row: Row, lines: Any) -> Table:
        section = self._section
        if section.column_paths:
            _, lines = cells([], lines, "", section.cells)
            columns = _paths(value_of(row, section.column_paths), section.column_paths)
            labels = (
                _paths(value_of(row, section.row_paths), section.row_paths)
                if section.row_paths
                else []
            )
            return table_of_paths(lines, Table, columns=columns, rows=labels)
        header = value_of(row, section.header) if section.header else None
        if not section.header and isinstance(lines, list) and lines:
            header, *lines = lines
        name = section.header or section.cells
        header, lines = cells(header, lines, name, section.cells)
        return Table(header, lines)


def _name(value: Any, path: str) -> str:
    if not isinstance(value, str | int) or value == "":
        raise BadRowError(
            path, "is missing" if value is None else "must be a text or a whole number"
        )
    return str(value)


def _paths(value: Any, path: str) -> list[list[str]]:
    """Return header paths. Raises `BadRowError` unless the field is a list of lists of texts."""
    is_paths = isinstance(value, list) and all(
        isinstance(texts, list) and all(isinstance(text, str) for text in texts) for texts in value
    )
    if not is_paths:
        raise BadRowError(path, "must be a list of lists of texts")
    paths: list[list[str]] = value
    return paths


def _of_records(value: Any, path: str) -> Table:
    """Return a list of objects as a table; the header is their keys, in order of first use."""
    if not isinstance(value, list) or not all(isinstance(record, dict) for record in value):
        raise BadRowError(path, "must be a list of objects")
    names = list(dict.fromkeys(name for record in value for name in record))
    _, lines = cells([], [[record.get(name) for name in names] for record in value], "", path)
    return Table(names, lines)
