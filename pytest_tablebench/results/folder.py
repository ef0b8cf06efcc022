"""Write, read and find run folders; one process writes one, and it is readable at any moment."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.results.exit_codes import PENDING_CODE
from pytest_tablebench.results.record import SCHEMA, Record
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import TEXTS
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.files import LineFile, write_whole
from pytest_tablebench.util.leftovers import lock
from pytest_tablebench.util.names import are, out_of
from pytest_tablebench.util.notices import notice
from pytest_tablebench.util.removal import empty

RUN, RECORDS, SUMMARY = "run.json", "records.jsonl", "summary.json"

UNFINISHED = ".unfinished"
"""The file in a folder that a command is writing, with the command's name."""


def check_writable(path: Path) -> list[Path]:
    """Create the folder and check that it is writable and contains no run.

    Returns the folders it created, innermost first. Raises `SettingsError`.
    """
    probe = path / f".write-test-{os.getpid()}"
    with _writing_into(path):
        if (path / RECORDS).exists() or (path / RUN).exists():
            raise _taken(path)
        made = [folder for folder in (path, *path.parents) if not folder.exists()]
        path.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    return made


def run_folders(path: Path) -> list[Path]:
    """Return the run folders in a folder; the path itself if it is a run or contains none."""
    if (path / RUN).exists() or not path.is_dir():
        return [path]
    return [
        child
        for child in sorted(path.iterdir())
        if (child / RUN).is_file() and not (child / UNFINISHED).exists()
    ] or [path]


def clear_pending(path: Path) -> None:
    """Delete the files of a run that waited for batches, since its answers are in the store.

    The folder of any other run is not changed.
    """
    try:
        waited = parsed_json((path / RUN).read_bytes()).get("exit_code") == PENDING_CODE
    except (OSError, ValueError, AttributeError):
        return
    if waited:
        for name in (RUN, RECORDS, SUMMARY, TEXTS):
            (path / name).unlink(missing_ok=True)


def claim_folder(path: Path) -> tuple[Path, list[Path]]:
    """Create a folder of this name, with a number appended if the name is taken.

    Returns the folder and all folders it created, innermost first. Raises `SettingsError`.
    """
    name, number = path.name, 2
    while True:
        made = [folder for folder in (path, *path.parents) if not folder.exists()]
        with _writing_into(path):
            try:
                path.mkdir(parents=True)
            except FileExistsError:
                if not path.exists():
                    raise
                path, number = path.with_name(f"{name}-{number}"), number + 1
            else:
                return path, made


def _taken(path: Path) -> SettingsError:
    return SettingsError(
        f"--bench-results: {path} already contains a run; choose another folder (no file was "
        f"changed)"
    )


def _writing_into(path: Path) -> AbstractContextManager[None]:
    return writing(f"--bench-results: cannot write into {path}", "; choose another folder")


class RunFolder:
    """Writes a run folder: appends and flushes each record, and replaces other files as a whole.

    Raises `SettingsError` if the folder contains a run or cannot be written.
    """

    def __init__(self, path: Path) -> None:
        check_writable(path)
        self.path = path
        with _writing_into(path):
            try:
                # Create this file first and exclusively: it claims the folder, so that a run of
                # another process is never damaged.
                self._records = LineFile(path / RECORDS)
            except FileExistsError:
                raise _taken(path) from None

    def write_run(self, data: Mapping[str, Any]) -> RunFacts:
        """Write `run.json`; return its content as parsed."""
        return rewrite_run(self.path, data)

    def write_summary(self, data: Mapping[str, Any]) -> None:
        """Write `summary.json`."""
        _replaced(self.path / SUMMARY, data)

    def append(self, line: str) -> tuple[int, int]:
        """Append one record line and flush it; return its position and length in the file.

        Raises `OSError` if it cannot be written; then the file is unchanged.
        """
        self.check()
        data = line.encode("ascii")
        return self._records.append(data), len(data)

    def check(self) -> None:
        """Raise `OSError` if the file of records was removed or replaced."""
        if not self._records.still_there:
            raise FileNotFoundError(f"{self._records.path} was removed or replaced during the run")

    def line_at(self, span: tuple[int, int]) -> str:
        """Return an appended line by its position and length."""
        return self._records.read(*span).decode("ascii")

    def keep_only(self, places: Sequence[tuple[int, int]]) -> None:
        """Rewrite the file with only the lines at these places, and close it.

        The complete new file replaces the old one, so that a crash leaves one of them.
        """
        write_whole(self.path / RECORDS, self._kept(places))

    def _kept(self, places: Sequence[tuple[int, int]]) -> Iterator[bytes]:
        for span in places:
            yield self._records.read(*span)
        self._records.close()  # some systems cannot replace an open file

    def close(self) -> None:
        """Close the record file."""
        self._records.close()


def rewrite_run(path: Path, data: Mapping[str, Any]) -> RunFacts:
    """Write the `run.json` of a folder; return its content as parsed."""
    return RunFacts.from_text(_replaced(path / RUN, data))


def _replaced(path: Path, data: Mapping[str, Any]) -> str:
    text = json.dumps({"schema": SCHEMA, **data}, indent=2) + "\n"
    write_whole(path, text)
    return text


def recorded_text(recorded: int, planned: int | None) -> str:
    """Return a text such as `11 of 12 cases are recorded`; `planned` may be missing."""
    return f"{out_of(recorded, planned, 'case')} {are(recorded)} recorded"


def read_facts(path: Path) -> RunFacts:
    """Read `run.json`. Raises `SettingsError` for a folder that is no run, or of a newer schema."""
    try:
        text = (path / RUN).read_bytes()
    except FileNotFoundError:
        raise SettingsError(f"{path} is not a run folder: it has no {RUN}") from None
    except OSError as error:
        raise SettingsError(f"{path / RUN} cannot be read: {error}") from None
    return RunFacts.from_text(text, str(path / RUN))


_Kept = TypeVar("_Kept")


def read_records(path: Path) -> Iterator[Record]:
    """Yield the records of a run folder, also of an interrupted run; all are in memory at once.

    Only the last record of each case counts. A last line torn by a crash is left out, other
    damaged lines are left out with a notice. Raises `SettingsError` for a newer schema, and if
    no line can be read.
    """
    return (record for _, record in read_places(path, keep=lambda record: record))


def read_places(
    path: Path, *, keep: Callable[[Record], _Kept]
) -> Iterator[tuple[tuple[int, int], _Kept]]:
    """Yield the position and length of each record's line, and what `keep` returns for it.

    The records are the same as from `read_records`.
    """
    latest: dict[str, tuple[tuple[int, int], _Kept]] = {}
    damaged = []
    thresholds = named_thresholds(path)
    try:
        lines = (path / RECORDS).open("rb")
    except FileNotFoundError:
        return
    with lines:
        start = 0
        for number, line in enumerate(lines, start=1):
            position, start = (start, len(line)), start + len(line)
            if line == b"\n":
                continue
            try:
                record = Record.from_line(line.decode("ascii"), thresholds)
                latest[record.case_id] = position, keep(record)
            except ValueError:
                if line.endswith(b"\n"):  # otherwise the run was interrupted while writing
                    damaged.append(number)
    if damaged:
        _report_damaged(path / RECORDS, damaged, readable=bool(latest))
    yield from latest.values()


def named_thresholds(path: Path) -> dict[str, float]:
    """Return the thresholds in `run.json`, by dataset; empty if it cannot be read."""
    try:
        thresholds = read_facts(path).thresholds
    except SettingsError:
        return {}
    return {name: float(value) for name, value in thresholds.items() if type(value) in {int, float}}


NAMED = 5
"""The number of damaged lines whose numbers a message lists."""


def _report_damaged(path: Path, numbers: list[int], *, readable: bool) -> None:
    listing = ", ".join(map(str, numbers[:NAMED])) + (", ..." if numbers[NAMED:] else "")
    if not readable:
        raise SettingsError(f"{path}: no record can be read (damaged: line {listing})")
    if len(numbers) == 1:
        notice(f"{path}: line {listing} is damaged and left out; its case counts as not recorded")
    else:
        notice(
            f"{path}: {len(numbers):,} lines are damaged and left out ({listing}); "
            f"their cases count as not recorded"
        )


DEPTH = 8
"""The number of levels below a folder that are searched."""

MOST_FOLDERS = 20_000
"""The largest number of folders that are searched."""


class RunSearch(NamedTuple):
    """The run folders below a folder, sorted by path, and a line on each problem."""

    runs: list[Path]
    problems: list[str]


def search_runs(path: Path) -> RunSearch:
    """Find the run folders in a folder, which may itself be one.

    Links to folders, hidden folders and the content of run folders are not searched. A folder with
    records or a summary but without `run.json` is a problem, and so is a path without any run.
    """
    search = RunSearch([], [])
    if not path.is_dir():
        kind = "is not a folder" if path.exists() else "does not exist"
        search.problems.append(f"{path}: {kind}")
        return search

    def report(error: OSError) -> None:
        search.problems.append(f"{error.filename}: {error.strerror or error}")

    for visited, (name, below, files) in enumerate(os.walk(path, onerror=report)):
        if visited == MOST_FOLDERS:
            search.problems.append(
                f"{path}: only the first {MOST_FOLDERS:,} folders were searched; name a folder "
                f"below it"
            )
            break
        folder = Path(name)
        if RUN in files:
            search.runs.append(folder)
        elif {RECORDS, SUMMARY}.intersection(files):
            search.problems.append(f"{folder}: no {RUN}, so it is not shown")
        elif len(folder.relative_to(path).parts) < DEPTH:
            below[:] = sorted(inside for inside in below if not inside.startswith("."))
            continue
        below.clear()
    if not search.runs and not search.problems:
        search.problems.append(f"{path}: contains no run folder")
    return search


@contextlib.contextmanager
def output_folder(out: Path, command: str) -> Iterator[None]:
    """Mark a folder as unfinished until the end of the block, also if an error ends it.

    Content that the same command left unfinished is deleted first. Raises `SettingsError` for any
    other content, and if another process writes the folder.
    """
    mark = out / UNFINISHED
    with writing(f"--out: cannot write {out}", "; choose another folder"):
        out.mkdir(parents=True, exist_ok=True)
        if _left_by(command, mark):
            empty(str(out))
        if any(out.iterdir()):
            raise SettingsError(
                f"--out: {out} already exists; choose another folder (no file was changed)"
            )
        file = os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        os.write(file, command.encode())
        with contextlib.suppress(OSError):  # a file system without locks
            lock(file)
    try:
        yield
    finally:
        os.close(file)
    mark.unlink(missing_ok=True)


def _left_by(command: str, mark: Path) -> bool:
    """Return whether this command left the mark. Raises `SettingsError` if it still runs."""
    if mark.is_symlink() or not mark.is_file() or mark.read_bytes() != command.encode():
        return False
    with mark.open("rb") as file:
        try:
            lock(file.fileno())
        except BlockingIOError:
            raise SettingsError(
                f"--out: another process is writing {mark.parent}; wait for it, or "
                f"choose another folder"
            ) from None
        except OSError:
            return True
    return True
