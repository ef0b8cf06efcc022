"""The run folder: written by one process, readable at any moment."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results._record import SCHEMA, Record, check_schema

__all__ = ["RunFolder", "check_writable", "claim_folder", "read_records", "read_run"]

RUN, RECORDS, SUMMARY = "run.json", "records.jsonl", "summary.json"


def check_writable(path: Path, *, fresh: bool = True) -> list[Path]:
    """Create the folder and try to write into it; a `fresh` one must not hold a run already.

    Returns the folders it had to make, innermost first; they are left behind. Raises
    `SettingsError` saying what to do.
    """
    probe = path / f".write-test-{os.getpid()}"
    try:
        if fresh and ((path / RECORDS).exists() or (path / RUN).exists()):
            raise _taken(path)
        made = [folder for folder in (path, *path.parents) if not folder.exists()]
        path.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise _unwritable(path, error) from None
    return made


def claim_folder(path: Path) -> tuple[Path, list[Path]]:
    """Make a folder that no other run has: of this name, or with a number behind it.

    Returns it, and all folders it had to make, innermost first. Raises `SettingsError`.
    """
    name, number = path.name, 2
    while True:
        try:
            made = [folder for folder in (path, *path.parents) if not folder.exists()]
            path.mkdir(parents=True)
        except OSError as error:
            if not (isinstance(error, FileExistsError) and path.exists()):
                raise _unwritable(path, error) from None
            path, number = path.with_name(f"{name}-{number}"), number + 1
        else:
            return path, made


def _taken(path: Path) -> SettingsError:
    return SettingsError(
        f"--bench-results: {path} already holds a run; choose another folder (nothing in it was "
        f"touched)"
    )


def _unwritable(path: Path, error: OSError) -> SettingsError:
    return SettingsError(
        f"--bench-results: cannot write into {path} ({error.strerror or error}); choose another "
        f"folder"
    )


class RunFolder:
    """The writing side: records are appended and flushed one by one, the rest replaced whole.

    Raises `SettingsError` where the folder holds a run already or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        check_writable(path)
        self.path = path
        try:
            # Exclusive, and first of all: who makes this file owns the folder, and a run that
            # another process began here meanwhile stays whole.
            self._records: IO[bytes] = (path / RECORDS).open("xb", buffering=0)
        except FileExistsError:
            raise _taken(path) from None
        except OSError as error:
            raise _unwritable(path, error) from None

    def write_run(self, data: Mapping[str, Any]) -> None:
        """Write `run.json`."""
        self._replace(RUN, data)

    def write_summary(self, data: Mapping[str, Any]) -> None:
        """Write `summary.json`."""
        self._replace(SUMMARY, data)

    def append(self, line: str) -> None:
        """Append one record line, so that it survives this process from here on."""
        self._records.write(line.encode("ascii"))

    def close(self) -> None:
        """Close the record file."""
        self._records.close()

    def _replace(self, name: str, data: Mapping[str, Any]) -> None:
        text = json.dumps({"schema": SCHEMA, **data}, indent=2, sort_keys=False) + "\n"
        temporary = self.path / f".{name}.new"
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(self.path / name)


def read_run(path: Path) -> dict[str, Any]:
    """Read `run.json`. Raises `SettingsError` for a folder that is no run or is too new."""
    try:
        data = json.loads((path / RUN).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path} is no run folder: it has no {RUN}") from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path / RUN}: cannot be read: {error}") from None
    if not isinstance(data, dict):
        raise SettingsError(f"{path / RUN}: holds no facts about a run")
    check_schema(data, str(path / RUN))
    return dict(data)


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a run folder, whatever became of the run.

    A last line torn by a crash is left out; a case that was run again counts once, with its
    last record. Raises `SettingsError` for a damaged line elsewhere or a newer schema.
    """
    try:
        lines = (path / RECORDS).read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    latest: dict[str, Record] = {}
    for number, line in enumerate(lines, start=1):
        if not line:
            continue
        try:
            record = Record.from_line(line.decode("ascii"))
        except ValueError:
            if number == len(lines):
                continue  # no line end behind it: the run was cut off while writing
            raise SettingsError(f"{path / RECORDS}: line {number} is damaged") from None
        latest[record.case_id] = record
    yield from latest.values()
