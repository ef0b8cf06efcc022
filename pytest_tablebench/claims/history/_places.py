"""Read the runs of a history: run folders on disk, or on a branch of the repository."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_tablebench.claims.history._branch import LARGEST_FILE, files_of_branch
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.results.folder import RUN, SUMMARY
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts, entries_of_file
from pytest_tablebench.results.run_search import search_runs
from pytest_tablebench.util.entries import mapping
from pytest_tablebench.util.names import printable

BRANCH = "git:"
"""The beginning of a place on a branch."""

Files = tuple[str, bytes, bytes]
"""The place of a run in words, its `run.json` and its `summary.json`."""


def read_places_of_runs(places: Iterable[str], *, repository: Path) -> tuple[list[Run], list[str]]:
    """Return the runs of all places, and a line on each folder that cannot be shown.

    Arguments:
        places: run folders, folders that contain some, or `git:BRANCH[:PATH]`.
        repository: a folder of the repository that has the branches.

    A run that several places contain counts once.
    """
    runs: dict[str, Run] = {}
    problems: list[str] = []
    for place in dict.fromkeys(places):
        for name, run_text, summary_text in _files(place, repository, problems):
            digest = hashlib.sha256(run_text + b"\0" + summary_text).hexdigest()
            try:
                runs.setdefault(digest, _run(name, run_text, summary_text))
            except (DataError, SettingsError) as error:
                problems.append(f"{name}: {error}")
    return sorted(runs.values(), key=lambda run: (run.facts.started, run.path)), problems


def _run(place: str, run_text: bytes, summary_text: bytes) -> Run:
    """Return the run with these two files; its summary is the written one."""
    run = Run(Path(place), RunFacts.from_text(run_text, RUN))
    summary = dict(entries_of_file(summary_text, SUMMARY))
    if not mapping(run.once("summary", lambda: summary), "benchmarks"):
        raise DataError(f"{SUMMARY} has no benchmarks, so there is no figure to show")
    _ = run.facts.started  # raises `DataError` without a start
    return run


def _files(place: str, repository: Path, problems: list[str]) -> Iterator[Files]:
    if not place.startswith(BRANCH):
        yield from _files_on_disk(Path(place), problems)
        return
    try:
        yield from files_of_branch(place.removeprefix(BRANCH), repository, problems)
    except SettingsError as error:
        problems.append(str(error))


def _files_on_disk(place: Path, problems: list[str]) -> Iterator[Files]:
    search = search_runs(place)
    problems += search.problems
    for folder in search.runs:
        name = printable(str(folder))
        try:
            texts = [_bounded(folder / file) for file in (RUN, SUMMARY)]
        except FileNotFoundError:
            problems.append(f"{name}: no {SUMMARY}, so the run was interrupted before its end")
        except (OSError, DataError) as error:
            problems.append(f"{name}: {getattr(error, 'strerror', None) or error}")
        else:
            yield name, texts[0], texts[1]


def _bounded(path: Path) -> bytes:
    with path.open("rb") as file:
        text = file.read(LARGEST_FILE + 1)
    if len(text) > LARGEST_FILE:
        raise DataError(f"{path.name} has more than {LARGEST_FILE:,} bytes")
    return text
