"""Read the rows of files by people: CSV from a spreadsheet, and JSON lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.record import check_schema
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.names import counted

LARGEST = 64 * 2**20
"""The largest size of a file in bytes."""


def _content(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            raise SettingsError(f"{path}: is larger than {LARGEST:,} bytes")
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read: {error}") from None


def csv_rows(
    path: Path, columns: Sequence[str], required: int
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the cells of each row of a CSV file by column, with its place for messages.

    The first `required` of the known `columns` must be there. Raises `SettingsError` that names
    the file and the row.
    """
    try:
        lines = list(csv.reader(io.StringIO(_content(path)), strict=True))
    except csv.Error as error:
        raise SettingsError(f"{path}: is not CSV: {error}") from None
    rows = [(number, row) for number, row in enumerate(lines, 1) if row]
    if not rows:
        raise SettingsError(f"{path}: is empty; its first row is {','.join(columns)}")
    header = [name.strip() for name in rows[0][1]]
    missing = next((name for name in columns[:required] if name not in header), None)
    if missing is not None:
        raise SettingsError(
            f"{path}: the first row lacks the column {missing}; the columns are "
            f"{', '.join(columns)}"
        )
    for number, row in rows[1:]:
        location = f"{path}, row {number}"
        if len(row) != len(header):
            raise SettingsError(f"{location}: has {counted(len(row), 'cell')}, not {len(header)}")
        yield location, dict(zip(header, row, strict=True))


def json_rows(path: Path, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the object on each line of a file, with its place for messages.

    Raises `SettingsError` that names the line, and for a newer schema. `kind` is what a line is.
    """
    for number, line in enumerate(_content(path).splitlines(), 1):
        location = f"{path}, line {number}"
        try:
            data = parsed_json(line)
        except ValueError:
            raise SettingsError(f"{location}: is not JSON") from None
        if not isinstance(data, dict):
            raise SettingsError(f"{location}: is not {kind}")
        check_schema(data, path.name)
        yield location, data
