"""`tablebench store sync|stats|verify|compact`: work on stores of answers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands.outputs import CommandAnswer, add_outputs
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.store.upkeep import Survey

_PLACE = "folder of a store, or the address of a shared one, such as s3://bucket/answers"

UNUSED_FOLDER = "translations"
"""A folder in which earlier versions kept how requests look; nothing reads it."""


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "store",
        help="work on stored answers: sync, stats, verify, compact",
        description="Copy, count, verify or compact stored answers.",
    )
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    sync = verbs.add_parser(
        "sync",
        help="copy answers that one store has and another lacks",
        description="Copy the answers that store FROM has and store TO lacks.",
    )
    sync.add_argument("source", metavar="FROM", help=_PLACE)
    sync.add_argument("target", metavar="TO", help=_PLACE)
    sync.set_defaults(lines=_sync)
    for name, does, run in (
        ("stats", "count answers by model", _stats),
        ("verify", "check every line; exit code 1 if one is damaged", _verify),
    ):
        verb = verbs.add_parser(name, help=does, description=f"{does.capitalize()}.")
        verb.add_argument("place", metavar="STORE", help=_PLACE)
        add_outputs(verb)
        verb.set_defaults(answer=run)
    compact = verbs.add_parser(
        "compact",
        help="join many segments into one, with each answer once",
        description="Join the many segment files of a store into one, with each answer once.",
    )
    compact.add_argument("place", metavar="STORE", help=_PLACE)
    compact.add_argument(
        "--idle",
        type=float,
        default=None,
        metavar="S",
        help="skip segments that changed in the last S seconds. Default: 600",
    )
    compact.set_defaults(lines=_compact)


@contextmanager
def _naming_files() -> Iterator[None]:
    """Raise `SettingsError`, naming the file, for an `OSError` inside."""
    try:
        yield
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise SettingsError(f"{where}{error.strerror or error}") from None


def _sync(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.store.shared import Shared
    from pytest_tablebench.store.upkeep import copy_segments

    problems: list[str] = []
    source = _existing_place(options.source, problems.append)
    target = _place(options.target, problems.append)
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


def _stats(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.store import store_content, store_report

    problems: list[str] = []
    survey = _surveyed(options.place, problems.append)
    lines = []
    if survey.damaged or survey.problems or problems:
        lines.append("damaged lines are not counted; `tablebench store verify` lists them")
    if (Path(options.place) / UNUSED_FOLDER).is_dir():
        lines.append(f"{UNUSED_FOLDER}/: not used any more; can be deleted")
    return CommandAnswer(store_report(survey), store_content(survey), lines=lines)


def _verify(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.store import verification_report

    problems: list[str] = []
    survey = _surveyed(options.place, problems.append)
    damages = list(dict.fromkeys([*problems, *survey.problems]))
    return CommandAnswer(
        verification_report(survey.entries, damages),
        {"entries": survey.entries, "problems": damages},
        int(bool(damages)),
    )


def _compact(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.store.upkeep import IDLE, compact

    problems: list[str] = []
    place = _existing_place(options.place, problems.append)
    if not isinstance(place, Path) and options.idle is not None:
        raise SettingsError("--idle is for folders; segments of a shared store never change")
    with _naming_files():
        if isinstance(place, Path):
            done = compact(place, idle=IDLE if options.idle is None else options.idle)
        else:
            done = place.compact()
    lines = [f"note: {problem}" for problem in dict.fromkeys(problems)]
    lines += [f"stopped: {done.stopped}"] if done.stopped else []
    before, after = (
        f"{counted(number, 'segment')}, {size:,} bytes"
        for number, size in (done.before, done.after)
    )
    return [*lines, f"before: {before}", f"after: {after}"], 0


def _place(text: str, warn: Callable[[str], None]) -> Any:
    """Return a folder, or a shared store. Raises `SettingsError`."""
    from pytest_tablebench.config.reading import RawOption, store
    from pytest_tablebench.store.shared import Shared

    place = store(RawOption("store", text, Path.cwd()))
    if place is None:
        raise SettingsError("`none` is not a store")
    return Shared(place, warn) if isinstance(place, str) else place


def _existing_place(text: str, warn: Callable[[str], None]) -> Any:
    """Return a folder that exists, or a shared store. Raises `SettingsError`."""
    place = _place(text, warn)
    if isinstance(place, Path) and not place.is_dir():
        raise SettingsError(f"{place} is not a folder; name the folder of an answer store")
    return place


def _surveyed(text: str, warn: Callable[[str], None]) -> Survey:
    """Read a store; a shared store is read directly.

    The local copy may still have segments that a compaction has joined.
    """
    from pytest_tablebench.store.upkeep import survey

    place = _existing_place(text, warn)
    with _naming_files():
        if isinstance(place, Path):
            return survey(place)
        with TemporaryDirectory(prefix="tablebench-") as folder:
            place.fetch(Path(folder))
            return survey(Path(folder))
