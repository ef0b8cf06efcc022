"""Reading upstream files: paths inside their folder, digests, errors that name the file."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import DataError, DataMissing
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import shortened
from pytest_tablebench.util.programs import program

# After a stray quote one cell may contain the rest of the file; csv's own limit is 128 KiB.
csv.field_size_limit(16 * 1024 * 1024)


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
    if missing and _unfinished_pull(folder):
        raise DataMissing(f"the pull into {folder} has not finished; {remedy}")
    if missing:
        names = sorted(entry.name for entry in folder.iterdir())
        present = [name for name in names if not name.startswith(".")][:6]
        raise DataError(
            f"{folder} lacks {', '.join(missing)} (it contains "
            f"{', '.join(present) or 'nothing'}): it is half copied, or another dataset's folder; "
            f"{remedy}"
        )


def _unfinished_pull(folder: Path) -> bool:
    if not (folder / PULL_BUSY).exists():
        return False
    record = folder / PULL_RECORD
    content = read_json(record) if record.exists() else None
    return not (isinstance(content, dict) and content.get("complete"))


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
