"""Reading upstream files: paths inside their folder, rows, errors that name the file."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import DataError, DataMissing
from pytest_tablebench.util.entries import mapping, parsed_json
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import shortened
from pytest_tablebench.util.programs import program

# After a stray quote one cell may contain the rest of the file; csv's own limit is 128 KiB.
csv.field_size_limit(16 * 1024 * 1024)


_MOST_BYTES = 1 << 30
"""The largest file that is read from an archive, in bytes."""
_UNREADABLE = (OSError, RuntimeError, zipfile.BadZipFile, tarfile.TarError, EOFError, zlib.error)

PULL_RECORD, PULL_BUSY = ".tablebench-pull.json", ".tablebench-pull.busy"
"""Files of `tablebench pull` in a dataset's folder: its record, and its lock file."""

PULL = "tablebench pull "
"""The start of the command for datasets that `tablebench pull NAME` fetches."""


def how_to_get(fetch: str, folder: Path) -> str:
    """Return how to get a dataset's files into `folder`, as the end of a message.

    `fetch` is the dataset's command. If that is `tablebench pull NAME`, the data folder is added.
    """
    if not fetch:
        return "put its files there: no command fetches them"
    command = fetch.format(folder=folder)
    if command.startswith(PULL):
        data = f'"{folder.parent}"' if " " in str(folder.parent) else str(folder.parent)
        command = command.replace("tablebench", program("tablebench"), 1)
        command = f"{command} --bench-data={data}"
    return f"get it with: {command}"


def require_files(folder: Path, files: Sequence[str], *, fetch: str) -> None:
    """Raise `DataMissing` if the folder is missing, and `DataError` if it lacks one of the files.

    After an unfinished pull, missing files raise `DataMissing` as well.
    """
    remedy = how_to_get(fetch, folder)
    if not folder.is_dir():
        raise DataMissing(f"no data in {folder}; {remedy}")
    missing = [name for name in files if not (folder / name).is_file()]
    if missing and (folder / PULL_BUSY).exists() and not pull_record(folder).get("complete"):
        raise DataMissing(f"the pull into {folder} has not finished; {remedy}")
    if missing:
        names = sorted(entry.name for entry in folder.iterdir())
        present = [name for name in names if not name.startswith(".")][:6]
        raise DataError(
            f"{folder} lacks {', '.join(missing)} (it contains "
            f"{', '.join(present) or 'nothing'}): it is half copied, or another dataset's folder; "
            f"{remedy}"
        )


def pull_record(folder: Path) -> Mapping[str, Any]:
    """Return the record of the pulls into a folder, unchecked; empty without one."""
    path = folder / PULL_RECORD
    return mapping(read_json(path) if path.exists() else None)


def inside(folder: Path, name: str) -> Path:
    """Return `folder / name`. Raises `DataError` if it is outside the folder."""
    try:
        path = real_path(folder / name)
    except ValueError as error:  # a NUL character
        raise DataError(f"path {shortened(name, 80)!r}: {error}") from None
    if not path.is_relative_to(real_path(folder)):
        raise DataError(f"path {shortened(name, 80)!r} leads out of {folder}")
    return path


def read_text(path: Path) -> str:
    """Read UTF-8 text without its byte order mark. Raises `DataError`, naming the file."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path} does not exist") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start})") from None


def read_json(path: Path) -> Any:
    """Read a JSON file. Raises `DataError`, naming the file and the position of the error."""
    try:
        return parsed_json(read_text(path))
    except ValueError as error:
        raise DataError(f"{path}: not valid JSON: {error}; fetch the file again") from None


def json_lines(text: str) -> Iterator[tuple[int, Any]]:
    """Yield (line number, value) of each line that is not blank; a `ValueError` for invalid JSON.

    Text in a line may contain other characters at which `splitlines` would split.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield number, parsed_json(line)
            except ValueError as error:
                yield number, error


def archive_files(path: Path) -> list[str]:
    """Return the names of an archive's files. Raises `DataError` for an unreadable archive."""
    with _reading(path):
        if path.suffix.lower() == ".zip":
            with zipfile.ZipFile(path) as archive:
                return [name for name in archive.namelist() if not name.endswith("/")]
        with tarfile.open(path) as archive_of_tape:
            return [member.name for member in archive_of_tape if member.isfile()]


def archived(path: Path, name: str, most: int = _MOST_BYTES) -> bytes:
    """Return a file of at most `most` bytes of an archive, in memory. Raises `DataError`."""
    try:
        with _reading(path), ExitStack() as stack:
            if path.suffix.lower() == ".zip":
                stream = stack.enter_context(zipfile.ZipFile(path)).open(name)
            else:
                extracted = stack.enter_context(tarfile.open(path)).extractfile(name)
                if extracted is None:
                    raise KeyError(name)
                stream = extracted
            data = stack.enter_context(stream).read(most + 1)
    except KeyError:
        raise DataError(f"{path} has no file {shortened(name, 120)}") from None
    if len(data) > most:
        raise DataError(f"{path}: {shortened(name, 120)} is larger than {most >> 20} MB")
    return data


@contextmanager
def _reading(archive: Path) -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise DataError(f"{archive} cannot be read as an archive: {error}") from None


def delimited_rows(text: str, delimiter: str) -> list[list[str]]:
    """Split delimited text as Python's csv reader does, without blank lines.

    Raises `csv.Error`.
    """
    source = io.StringIO(text, newline="")
    return [row for row in csv.reader(source, delimiter=delimiter, quotechar='"') if row]


def read_rows(path: Path, delimiter: str, *, quoted: bool = True) -> list[list[str]]:
    """Read a file as `delimited_rows` does. Raises `DataError`, naming the file.

    Without `quoted`, quotes are text: each line is a row, split at the delimiters.
    """
    text = read_text(path)
    if not quoted:
        lines = (line.removesuffix("\r") for line in text.split("\n"))
        return [line.split(delimiter) for line in lines if line]
    try:
        return delimited_rows(text, delimiter)
    except csv.Error as error:
        raise DataError(f"{path}: {error}") from None


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file, as hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


class BadRowError(Exception):
    """A row is unusable because of one field."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


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


_CHUNK = 1 << 18
_LONGEST = 1 << 25
"""The most characters of an item, so that a broken file is not read into memory as a whole."""

_MARK = re.compile(r"[ \t\r\n]*([\[,\]])[ \t\r\n]*")
"""The mark before an item or at the end of a list."""
_DECODER = json.JSONDecoder()


def json_items(path: Path) -> Iterator[Any]:
    """Yield the items of the JSON list in a file, reading only as far as needed.

    Raises `DataError`, naming file and item, if the file cannot be read, is not a list, or is cut
    off. The items before the error are yielded first.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            text = stream.read(_CHUNK)
            opening = _MARK.match(text)
            if opening is None or opening[1] != "[":
                raise DataError(f"{path}: must contain a JSON list")
            position, number, step = 0, 0, _CHUNK
            while True:
                try:
                    end_and_item = _next(text, position, first=number == 0)
                except ValueError as error:
                    more = stream.read(step) if len(text) - position < _LONGEST else ""
                    if not more:
                        reason = getattr(error, "msg", error)  # a `JSONDecodeError` has a `msg`
                        raise DataError(
                            f"{path}: item {number + 1} is not valid JSON or incomplete "
                            f"({reason}); fetch the file again"
                        ) from None
                    text, position, step = text[position:] + more, 0, step * 2
                    continue
                if end_and_item is None:
                    return
                position, item = end_and_item
                number, step = number + 1, _CHUNK
                yield item
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: not UTF-8 text") from None
    except RecursionError:
        raise DataError(f"{path}: JSON nested too deeply to be a dataset") from None


def _next(text: str, position: int, *, first: bool) -> tuple[int, Any] | None:
    """Return the end of the next item and the item; None at the end of the list.

    Raises `ValueError` if the item is not valid, or may continue after the text.
    """
    mark = _MARK.match(text, position)
    if mark is None or mark[1] not in ("[" if first else ",", "]"):
        raise ValueError("no end of the list")
    if mark[1] == "]" or (first and text.startswith("]", mark.end())):
        return None
    item, end = _DECODER.raw_decode(text, mark.end())
    if end == len(text):
        raise ValueError("no end of the list")
    return end, item
