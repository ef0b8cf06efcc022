"""What every reader of upstream files needs: paths that stay inside, digests, clear errors."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import DataError, DataMissing
from pytest_tablebench.util.names import printable
from pytest_tablebench.util.programs import program

# One cell of a stray-quote table may hold the rest of the file; the module's limit is 128 KiB.
csv.field_size_limit(16 * 1024 * 1024)


PULL_RECORD, PULL_BUSY = ".tablebench-pull.json", ".tablebench-pull.busy"
"""What `tablebench pull` keeps in a dataset's folder: its record, and a mark from its start on."""

PULL = "tablebench pull "
"""How the command of a dataset begins that `tablebench pull` fetches: `tablebench pull NAME`."""


def how_to_get(fetch: str, folder: Path) -> str:
    """Return what to do for a dataset's files in `folder`, as the end of a message.

    `fetch` is the dataset's command; to `tablebench pull NAME` the data folder is added.
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
    """Raise `DataMissing` without the folder, and `DataError` for a folder without the files.

    A pull that has not finished has not brought the dataset: that is `DataMissing` as well.
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
            f"{folder} lacks {', '.join(missing)} (it holds {', '.join(present) or 'nothing'}): "
            f"half copied, or another dataset's folder; {remedy}"
        )


def _unfinished_pull(folder: Path) -> bool:
    if not (folder / PULL_BUSY).exists():
        return False
    record = folder / PULL_RECORD
    content = read_json(record) if record.exists() else None
    return not (isinstance(content, dict) and content.get("complete"))


def inside(folder: Path, name: str) -> Path:
    """Return `folder / name`, or raise `DataError` when that leads out of the folder."""
    try:
        path = (folder / name).resolve()
    except ValueError as error:  # a NUL character
        raise DataError(f"path {printable(name, 80)!r}: {error}") from None
    if not path.is_relative_to(folder.resolve()):
        raise DataError(f"path {printable(name, 80)!r} leads out of {folder}")
    return path


def read_text(path: Path) -> str:
    """Read UTF-8 text, a byte order mark dropped; `DataError` names a file that is not."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text (byte {error.start})") from None


def read_json(path: Path) -> Any:
    """Read a JSON file; `DataError` names the file and the place where it breaks off."""
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise DataError(f"{path}: not valid JSON: {error}; fetch the file again") from None
    except RecursionError:
        raise DataError(f"{path}: JSON nested too deeply to be this dataset") from None


def delimited_rows(text: str, delimiter: str) -> list[list[str]]:
    """Split delimited text as Python's csv reader does; blank lines hold no row.

    Raises `csv.Error` for text the reader cannot split.
    """
    source = io.StringIO(text, newline="")
    return [row for row in csv.reader(source, delimiter=delimiter, quotechar='"') if row]


def read_rows(path: Path, delimiter: str, *, quoted: bool = True) -> list[list[str]]:
    """Read a file as `delimited_rows` does. Raises `DataError`, naming the file.

    Without `quoted`, quotes are text: a row is a line, a cell what stands between delimiters.
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
