"""Read the runs of a history: run folders on disk, or on a branch of a git repository."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.results.folder import RUN, SUMMARY, search_runs
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts, entries_of_file
from pytest_tablebench.util.entries import mapping

LARGEST_FILE = 64 * 1024 * 1024
"""The largest size in bytes of a `run.json` or `summary.json` that is read."""

MOST_RUNS = 5_000
"""The largest number of run folders of a branch that are read."""

LARGEST_LISTING = 64 * 1024 * 1024
"""The largest size in bytes of the list of a branch's files."""

_TIMEOUT_S = 60.0


Files = tuple[str, bytes, bytes]
"""The place of a run in words, its `run.json` and its `summary.json`."""


def files_of_branch(text: str, repository: Path, problems: list[str]) -> Iterator[Files]:
    """Yield place, `run.json` and `summary.json` of each run folder on a branch.

    Only these files are read, with git's own commands and without a shell.

    Arguments:
        text: `BRANCH`, or `BRANCH:PATH` for one folder of it.
        repository: a folder of the repository.
        problems: receives a line on each folder that cannot be shown.

    Raises `SettingsError` if git, the branch or the path is missing.
    """
    branch, _, path = text.partition(":")
    commit = _commit(repository, branch)
    folders = _folders(repository, commit, path.strip("/"))
    if not folders:
        where = f" in {path}" if path else ""
        problems.append(f"git:{branch}: contains no run folder{where}")
    if len(folders) > MOST_RUNS:
        problems.append(
            f"git:{branch}: only the last {MOST_RUNS:,} of {len(folders):,} run folders "
            f"are read; name a folder with git:BRANCH:PATH"
        )
    usable: list[tuple[str, str, str]] = []
    for folder, files in sorted(folders.items())[-MOST_RUNS:]:
        location = f"git:{branch}:{folder}"
        if len(files) < 2:
            missing = SUMMARY if RUN in files else RUN
            problems.append(f"{location}: no {missing}, so it is not shown")
        elif any(size > LARGEST_FILE for _, size in files.values()):
            problems.append(f"{location}: a file has more than {LARGEST_FILE:,} bytes")
        else:
            usable.append((location, files[RUN][0], files[SUMMARY][0]))
    yield from _contents(repository, usable)


def _commit(repository: Path, branch: str) -> str:
    """Return the id of a branch's commit, also of a branch that only `origin` has."""
    if not branch or branch.startswith("-"):
        raise SettingsError(f"git:{branch}: name a branch, as in git:main:runs")
    for name in (branch, f"origin/{branch}"):
        done = _git(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        if done.returncode == 0:
            return done.stdout.decode("ascii", "replace").strip()
    fault = done.stderr.decode("utf-8", "replace").strip().splitlines()
    why = fault[-1] if fault else "the repository here has no such branch"
    raise SettingsError(f"git:{branch}: {why}")


def _folders(repository: Path, commit: str, path: str) -> dict[str, dict[str, tuple[str, int]]]:
    """Return id and size of the two files of each run folder on a commit, by folder and name."""
    tree = f"{commit}:{path}" if path else commit
    done = _git(repository, "ls-tree", "-r", "-z", "--long", "--full-tree", tree)
    if done.returncode:
        raise SettingsError(f"git: the branch has no folder {path}")
    if len(done.stdout) > LARGEST_LISTING:
        raise SettingsError("git: the branch has too many files; name a folder: git:BRANCH:PATH")
    folders: dict[str, dict[str, tuple[str, int]]] = {}
    for entry in done.stdout.split(b"\0"):
        facts, _, name = entry.partition(b"\t")
        file = PurePosixPath(name.decode("utf-8", "replace"))
        words = facts.split()
        # A link, and a commit of another repository, has another mode or no size.
        is_file = len(words) == 4 and words[0].startswith(b"100") and words[3].isdigit()
        if is_file and file.name in {RUN, SUMMARY}:
            folder = str(PurePosixPath(path, file.parent))
            blob = words[2].decode("ascii", "replace"), int(words[3])
            folders.setdefault(folder, {})[file.name] = blob
    return folders


def _contents(repository: Path, runs: Sequence[tuple[str, str, str]]) -> Iterator[Files]:
    """Yield the content of both files of each run, with one process for all."""
    if not runs:
        return
    command = _command(repository, "cat-file", "--batch")
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(),
    ) as process:
        if process.stdin is None or process.stdout is None:
            return
        for source, run, summary in runs:
            try:
                texts = [
                    _content(process.stdin, process.stdout, digest) for digest in (run, summary)
                ]
            except OSError as error:  # git has ended
                raise SettingsError(f"git: {error}") from None
            yield source, texts[0], texts[1]


def _content(requests: IO[bytes], replies: IO[bytes], digest: str) -> bytes:
    """Return the content of a file; a missing one is empty."""
    requests.write(f"{digest}\n".encode("ascii"))
    requests.flush()
    words = replies.readline().split()
    if len(words) != 3 or not words[2].isdigit():
        return b""
    text = replies.read(int(words[2]))
    replies.read(1)  # the end of the line
    return text


def _command(repository: Path, *arguments: str) -> list[str]:
    return ["git", "-C", str(repository), *arguments]


def _environment() -> dict[str, str]:
    """Return the environment of git: a clone without some files must not fetch them."""
    return {**os.environ, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}


def _git(repository: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603 - our own command
            _command(repository, *arguments),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=_environment(),
            timeout=_TIMEOUT_S,
            check=False,
        )
    except FileNotFoundError:
        raise SettingsError("git: is not installed, so no branch can be read") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SettingsError(f"git: {error}") from None


BRANCH = "git:"
"""The beginning of a place on a branch."""


def read_places_of_runs(places: Iterable[str], *, repository: Path) -> tuple[list[Run], list[str]]:
    """Return the runs of all places, and a line on each folder that cannot be shown.

    Arguments:
        places: run folders, folders that contain some, or `git:BRANCH[:PATH]`.
        repository: a folder of the repository that has the branches.

    A run that several places contain counts once.
    """
    runs: dict[str, Run] = {}
    problems: list[str] = []
    for source in dict.fromkeys(places):
        for name, run_text, summary_text in _files(source, repository, problems):
            digest = hashlib.sha256(run_text + b"\0" + summary_text).hexdigest()
            try:
                runs.setdefault(digest, _run(name, run_text, summary_text))
            except (DataError, SettingsError) as error:
                problems.append(f"{name}: {error}")
    return sorted(runs.values(), key=lambda run: (run.facts.started, run.path)), problems


def _run(source: str, run_text: bytes, summary_text: bytes) -> Run:
    """Return the run with these two files; its summary is the written one."""
    run = Run(Path(source), RunFacts.from_text(run_text, RUN))
    summary = dict(entries_of_file(summary_text, SUMMARY))
    if not mapping(run.once("summary", lambda: summary), "benchmarks"):
        raise DataError(f"{SUMMARY} has no benchmarks, so there is no figure to show")
    _ = run.facts.started  # raises `DataError` without a start
    return run


def _files(source: str, repository: Path, problems: list[str]) -> Iterator[Files]:
    if not source.startswith(BRANCH):
        yield from _files_on_disk(Path(source), problems)
        return
    try:
        yield from files_of_branch(source.removeprefix(BRANCH), repository, problems)
    except SettingsError as error:
        problems.append(str(error))


def _files_on_disk(searched: Path, problems: list[str]) -> Iterator[Files]:
    search = search_runs(searched)
    problems += search.problems
    for folder in search.runs:
        try:
            texts = [_bounded(folder / file) for file in (RUN, SUMMARY)]
        except FileNotFoundError:
            problems.append(f"{folder}: no {SUMMARY}, so the run was interrupted before its end")
        except (OSError, DataError) as error:
            problems.append(f"{folder}: {getattr(error, 'strerror', None) or error}")
        else:
            yield str(folder), texts[0], texts[1]


def _bounded(path: Path) -> bytes:
    with path.open("rb") as file:
        text = file.read(LARGEST_FILE + 1)
    if len(text) > LARGEST_FILE:
        raise DataError(f"{path.name} has more than {LARGEST_FILE:,} bytes")
    return text
