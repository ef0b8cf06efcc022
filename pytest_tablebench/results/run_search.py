"""Find run folders below a folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pytest_tablebench.results.folder import RECORDS, RUN, SUMMARY
from pytest_tablebench.util.names import printable

DEPTH = 8
"""The number of levels below a folder that are searched."""

MOST_FOLDERS = 20_000
"""The largest number of folders that are searched."""


@dataclass
class RunSearch:
    """The run folders below a folder, sorted by path, and a line on each problem."""

    runs: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    visited: int = 0


def search_runs(path: Path) -> RunSearch:
    """Find the run folders in a folder, which may itself be one.

    Links to folders, hidden folders and the content of run folders are not searched. A folder with
    records or a summary but without `run.json` is a problem, and so is a path without any run.
    """
    search = RunSearch()
    if not path.is_dir():
        kind = "is not a folder" if path.exists() else "does not exist"
        search.problems.append(f"{printable(str(path))}: {kind}")
        return search
    _search(path, DEPTH, search)
    if search.visited > MOST_FOLDERS:
        search.problems.append(
            f"{printable(str(path))}: only the first {MOST_FOLDERS:,} folders were searched; name "
            f"a folder below it"
        )
    elif not search.runs and not search.problems:
        search.problems.append(f"{printable(str(path))}: contains no run folder")
    return search


def _search(folder: Path, depth: int, search: RunSearch) -> None:
    search.visited += 1
    if search.visited > MOST_FOLDERS:
        return
    try:
        entries = sorted(folder.iterdir())
        names = {entry.name for entry in entries if entry.is_file()}
        below = [entry for entry in entries if entry.is_dir() and not entry.is_symlink()]
    except OSError as error:
        search.problems.append(f"{printable(str(folder))}: {error.strerror or error}")
        return
    if RUN in names:
        search.runs.append(folder)
    elif {RECORDS, SUMMARY} & names:
        search.problems.append(f"{printable(str(folder))}: no {RUN}, so it is not shown")
    elif depth:
        for inside in below:
            if not inside.name.startswith("."):
                _search(inside, depth - 1, search)
