"""`tablebench store sync|stats|verify|compact`: work on stores of answers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.config.reading import RawOption, store
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.reports.project import store_content, store_report, verification_report
from pytest_tablebench.store.shared import Shared
from pytest_tablebench.store.upkeep import IDLE, Survey, compact, copy_segments, survey
from pytest_tablebench.util.names import counted

UNUSED_FOLDER = "translations"
"""A folder in which earlier versions kept how requests look; nothing reads it."""


@contextmanager
def _naming_files() -> Iterator[None]:
    """Raise `SettingsError`, naming the file, for an `OSError` inside."""
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise SettingsError(f"{where}{error.strerror or error}") from None


def sync_stores(options: argparse.Namespace) -> tuple[list[str], int]:

    problems: list[str] = []
    source = _existing_place(options.source, problems.append)
    target = _store_or_folder(options.target, problems.append)
    with _naming_files():
        if isinstance(source, Shared):
            synced = source.copy_to(target) if isinstance(target, Shared) else source.fetch(target)
            count, size = synced.files, synced.bytes
        elif isinstance(target, Shared):
            synced = target.push(source)
            count, size = synced.files, synced.bytes
        else:
            count, size = copy_segments(source, target)
    lines = [f"note: {problem}" for problem in dict.fromkeys(problems)]
    return [*lines, f"copied {counted(count, 'segment')}, {size:,} bytes"], 0


def count_answers(options: argparse.Namespace) -> CommandAnswer:
    problems: list[str] = []
    survey = _surveyed(options.place, problems.append)
    lines = []
    if survey.damaged or survey.problems or problems:
        lines.append("damaged lines are not counted; `tablebench store verify` lists them")
    if (Path(options.place) / UNUSED_FOLDER).is_dir():
        lines.append(f"{UNUSED_FOLDER}/: not used any more; can be deleted")
    return CommandAnswer(store_report(survey), store_content(survey), lines=lines)


def verify_store(options: argparse.Namespace) -> CommandAnswer:
    problems: list[str] = []
    survey = _surveyed(options.place, problems.append)
    damages = list(dict.fromkeys([*problems, *survey.problems]))
    return CommandAnswer(
        verification_report(survey.entries, damages),
        {"entries": survey.entries, "problems": damages},
        int(bool(damages)),
    )


def compact_store(options: argparse.Namespace) -> tuple[list[str], int]:
    problems: list[str] = []
    opened = _existing_place(options.place, problems.append)
    if not isinstance(opened, Path) and options.idle is not None:
        raise SettingsError("--idle is for folders; segments of a shared store never change")
    with _naming_files():
        if isinstance(opened, Path):
            done = compact(opened, idle=IDLE if options.idle is None else options.idle)
        else:
            done = opened.compact()
    lines = [f"note: {problem}" for problem in dict.fromkeys(problems)]
    lines += [f"stopped: {done.stopped}"] if done.stopped else []
    before, after = (
        f"{counted(number, 'segment')}, {size:,} bytes"
        for number, size in (done.before, done.after)
    )
    return [*lines, f"before: {before}", f"after: {after}"], 0


def _store_or_folder(text: str, warn: Callable[[str], None]) -> Any:
    """Return a folder, or a shared store. Raises `SettingsError`."""
    address = store(RawOption("store", text, Path.cwd()))
    if address is None:
        raise SettingsError("`none` is not a store")
    return Shared(address, warn) if isinstance(address, str) else address


def _existing_place(text: str, warn: Callable[[str], None]) -> Any:
    """Return a folder that exists, or a shared store. Raises `SettingsError`."""
    opened = _store_or_folder(text, warn)
    if isinstance(opened, Path) and not opened.is_dir():
        raise SettingsError(f"{opened} is not a folder; name the folder of an answer store")
    return opened


def _surveyed(text: str, warn: Callable[[str], None]) -> Survey:
    """Read a store; a shared store is read directly.

    The local copy may still have segments that a compaction has joined.
    """
    opened = _existing_place(text, warn)
    with _naming_files():
        if isinstance(opened, Path):
            return survey(opened)
        with TemporaryDirectory(prefix="tablebench-") as folder:
            opened.fetch(Path(folder))
            return survey(Path(folder))
