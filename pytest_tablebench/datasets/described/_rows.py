"""Rows of a described dataset, their fields and tables.

Files are JSON, JSON lines, CSV, TSV and Parquet, also in archives. A field is a path: `table.uid`
is the field `uid` of the field `table`. `questions.*` is each item of a list or each value of an
object, and `answers.0` is the first item of a list. Each leading `^` refers to the next object
around the row: `^table.uid` is a field of the object that directly contains the row.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from operator import is_
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pytest_tablebench.config.extras import require
from pytest_tablebench.datasets.described._description import DatasetDescription, TableSection
from pytest_tablebench.datasets.files import (
    BadRowError,
    archive_files,
    archived,
    cells,
    delimited_rows,
    inside,
    json_items,
    json_lines,
)
from pytest_tablebench.datasets.folder._lines import DelimitedText
from pytest_tablebench.datasets.folder.tables import FolderTables, html_table
from pytest_tablebench.datasets.pull._upstream import matches
from pytest_tablebench.errors import DataError, TableError
from pytest_tablebench.tables.hierarchy.paths import table_of_paths
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.names import counted, shortened


class Row(NamedTuple):
    """A row of a file.

    Arguments:
        number: its number in the file, from 1.
        content: the parsed row, or the `BadRowError` of a row that cannot be parsed.
        around: the objects that contain it, innermost first.
    """

    number: int
    content: Any
    around: tuple[dict[str, Any], ...] = ()


def rows_at(content: Any, path: str) -> Iterator[tuple[Any, tuple[dict[str, Any], ...]]]:
    """Yield (value, objects around it, innermost first) for a path from the top of a file."""
    yield from _walk(content, path.split("."), ())


def _walk(
    content: Any, names: list[str], around: tuple[dict[str, Any], ...]
) -> Iterator[tuple[Any, tuple[dict[str, Any], ...]]]:
    if not names:
        yield content, around
        return
    name, *rest = names
    inner = (content, *around) if isinstance(content, dict) else around
    if name == "*":
        items = content.values() if isinstance(content, dict) else content
        for item in items if isinstance(content, dict | list) else ():
            yield from _walk(item, rest, inner)
    elif isinstance(content, dict) and name in content:
        yield from _walk(content[name], rest, inner)
    elif isinstance(content, list) and name.isdecimal() and int(name) < len(content):
        yield from _walk(content[int(name)], rest, inner)


def value_of(row: Row, path: str) -> Any:
    """Return the field at a path of a row: a list if the path has a `*`, None if it is missing."""
    up = len(path) - len(path.lstrip("^"))
    if up > len(row.around):
        return None
    content = row.around[up - 1] if up else row.content
    values = [value for value, _ in rows_at(content, path[up:])]
    if "*" in path.split("."):
        return values
    return values[0] if values else None


ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
KINDS = (".json", ".jsonl", ".csv", ".tsv", ".parquet")


def split_archive(name: str) -> tuple[str, str]:
    """Return (archive, path in it) of a name or pattern; ("", name) if it is in no archive."""
    parts = PurePosixPath(name).parts
    for index, part in enumerate(parts[:-1], start=1):
        if part.lower().endswith(ARCHIVES):
            return "/".join(parts[:index]), "/".join(parts[index:])
    return "", name


def files_at(folder: Path, patterns: Sequence[str]) -> list[str]:
    """Return the files that match the patterns, sorted within each pattern, without repetition.

    A pattern without `*` is returned unchanged. A file in an archive is `archive.zip/name`. Raises
    `DataError` for a pattern that no file matches.
    """
    names: dict[str, None] = {}
    for pattern in patterns:
        if "*" not in pattern:
            names[pattern] = None
            continue
        archive, inner = split_archive(pattern)
        if archive:
            fitting = [
                f"{archive}/{name}"
                for name in archive_files(inside(folder, archive))
                if matches(name, inner)
            ]
        else:
            if PurePosixPath(pattern).is_absolute() or ".." in PurePosixPath(pattern).parts:
                raise DataError(f"pattern {shortened(pattern, 80)!r} leads out of {folder}")
            paths = (path.relative_to(folder).as_posix() for path in folder.glob(pattern))
            fitting = [name for name in paths if inside(folder, name).is_file()]
        if not fitting:
            raise DataError(f"{folder}: no file matches {shortened(pattern, 120)}")
        names |= dict.fromkeys(sorted(fitting))
    return list(names)


def stored_files(names: Iterable[str]) -> tuple[str, ...]:
    """Return the files that the folder must contain: archives, and files outside of archives."""
    return tuple(dict.fromkeys(split_archive(name)[0] or name for name in names))


def rows_of(folder: Path, name: str, at: str) -> Iterator[Row]:
    """Yield the rows at the path `at` of a file. Raises `DataError`, naming the file.

    The content of an unusable line (invalid JSON, wrong number of cells) is a `BadRowError`. A JSON
    file is read lazily if it is not in an archive and `at` starts with `*`.
    """
    archive, inner = split_archive(name)
    path = inside(folder, archive or name)
    kind = PurePosixPath(name).suffix.lower()
    numbers = count(1)
    is_streamed = kind == ".json" and not archive and at.startswith("*")
    for chunk in _streamed(path) if is_streamed else (_content(path, inner, archive, kind),):
        for content, around in rows_at(chunk, at):
            yield Row(next(numbers), content, around)


def _streamed(path: Path) -> Iterator[list[Any]]:
    return ([item] for item in json_items(path))


def _content(path: Path, inner: str, archive: str, kind: str) -> Any:
    """Return a file's content: any JSON value, or a list of rows for other formats."""
    label = shortened(f"{path}/{inner}" if archive else str(path), 200)
    if kind not in KINDS:
        raise DataError(f"{label} must be a file of {', '.join(KINDS)}")
    data = archived(path, inner) if archive else _whole(path)
    if kind == ".parquet":
        return _parquet_rows(data, label)
    try:
        text = data.decode("utf-8-sig")
        if kind == ".json":
            return parsed_json(text)
        if kind == ".jsonl":
            return [
                BadRowError("line", f"is not valid JSON: {row}")
                if isinstance(row, ValueError)
                else row
                for _, row in json_lines(text)
            ]
        return _records(delimited_rows(text, "\t" if kind == ".tsv" else ","))
    except UnicodeDecodeError as error:
        raise DataError(f"{label}: not UTF-8 text (byte {error.start})") from None
    except (ValueError, csv.Error) as error:
        raise DataError(f"{label}: {shortened(str(error), 200)}") from None


def _whole(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from None


def _records(lines: list[list[str]]) -> list[Any]:
    """Return the lines after the header as dicts, or as `BadRowError` if their lengths differ."""
    if not lines:
        return []
    header, *rows = lines
    return [
        dict(zip(header, row, strict=True))
        if len(row) == len(header)
        else BadRowError("line", f"has {counted(len(row), 'cell')}, the header {len(header)}")
        for row in rows
    ]


def _parquet_rows(data: bytes, label: str) -> list[Any]:
    require(["pyarrow"], "Parquet", extra="parquet")
    from pyarrow import ArrowException, parquet

    try:
        rows: list[Any] = parquet.read_table(io.BytesIO(data)).to_pylist()
    except (ArrowException, OSError) as error:
        raise DataError(
            f"{label}: cannot be read as Parquet: {shortened(str(error), 120)}"
        ) from None
    return rows


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

    def name(self, row: Row) -> str | None:
        """Return the name of a row's table, without reading the table; None if it has no name."""
        section = self._section
        path = section.named_by or section.file
        return name_of(value_of(row, path), path) if path else None

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
                name_of(value_of(stored, section.key), section.key): stored
                for stored in rows_of(self._folder, section.stored_in, "*")
                if not isinstance(stored.content, BadRowError)
            }
        name = name_of(value_of(row, section.named_by), section.named_by)
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
            columns = _header_paths(value_of(row, section.column_paths), section.column_paths)
            labels = (
                _header_paths(value_of(row, section.row_paths), section.row_paths)
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


def name_of(value: Any, path: str) -> str:
    """Return an id or the name of a table as text. Raises `BadRowError`."""
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise BadRowError(
            path, "is missing" if value is None else "must be a text or a whole number"
        )
    return str(value)


def _header_paths(value: Any, path: str) -> list[list[str]]:
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
