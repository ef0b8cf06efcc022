"""Reader of a described dataset's rows: JSON, JSON lines, CSV, TSV, Parquet, also in archives."""

from __future__ import annotations

import csv
import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_tablebench.config.extras import require
from pytest_tablebench.datasets._streams import json_items
from pytest_tablebench.datasets.described._fields import Row, rows_at
from pytest_tablebench.datasets.files import delimited_rows, inside
from pytest_tablebench.datasets.pull._upstream import matches
from pytest_tablebench.datasets.rows import BadRowError
from pytest_tablebench.errors import DataError
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.names import counted, shortened

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
KINDS = (".json", ".jsonl", ".csv", ".tsv", ".parquet")

_MOST_BYTES = 1 << 30
"""The largest file that is read from an archive, in bytes."""


def split_archive(name: str) -> tuple[str, str]:
    """Return (archive, path in it) of a name or pattern; ("", name) if it is in no archive."""
    parts = PurePosixPath(name).parts
    for place, part in enumerate(parts[:-1], start=1):
        if part.lower().endswith(ARCHIVES):
            return "/".join(parts[:place]), "/".join(parts[place:])
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
                for name in _members(inside(folder, archive))
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
    data = _member(path, inner) if archive else _whole(path)
    if kind == ".parquet":
        return _parquet_rows(data, label)
    try:
        text = data.decode("utf-8-sig")
        if kind == ".json":
            return parsed_json(text)
        if kind == ".jsonl":
            return [_json_line(line) for line in text.split("\n") if line.strip()]
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


def _json_line(line: str) -> Any:
    try:
        return parsed_json(line)
    except ValueError as error:
        return BadRowError("line", f"is not valid JSON: {error}")


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


def _members(path: Path) -> list[str]:
    """Return the names of an archive's files. Raises `DataError` for an unreadable archive."""
    try:
        if path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive:
                return [name for name in archive.namelist() if not name.endswith("/")]
        with tarfile.open(path) as archive_of_tape:
            return [member.name for member in archive_of_tape if member.isfile()]
    except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read as an archive: {error}") from None


def _member(path: Path, name: str) -> bytes:
    """Return a file of an archive, without unpacking it to disk. Raises `DataError`."""
    try:
        if path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive, archive.open(name) as stream:
                data = stream.read(_MOST_BYTES + 1)
        else:
            with tarfile.open(path) as archive_of_tape:
                extracted = archive_of_tape.extractfile(name)
                if extracted is None:
                    raise KeyError(name)
                data = extracted.read(_MOST_BYTES + 1)
    except KeyError:
        raise DataError(f"{path} has no file {shortened(name, 120)}") from None
    except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read as an archive: {error}") from None
    if len(data) > _MOST_BYTES:
        raise DataError(f"{path}: {shortened(name, 120)} is larger than {_MOST_BYTES >> 20} MB")
    return data
