"""`tablebench watch`: has the model changed."""

from __future__ import annotations

import argparse
import json
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.drift import (
    FEWEST,
    History,
    HistoryEntry,
    judge_watch,
    look_entry,
    read_history,
    reference_entry,
)
from pytest_tablebench.commands._project_runs import PendingAnswers, Project
from pytest_tablebench.commands.outputs import CommandAnswer, show_answer
from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.reports.plan import plan_table
from pytest_tablebench.reports.watch import watch_json, watch_report
from pytest_tablebench.results import PENDING_CODE
from pytest_tablebench.results.run import load_run
from pytest_tablebench.store.upkeep import fingerprints
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import counted

STORE = "store"
"""The answers of all looks, in the folder of the watch."""

OPEN = ".open.json"
"""The end of the file name of a history's look or reference that was begun and is not in it yet."""

_AGE = timedelta(days=2)


def watch_model(options: argparse.Namespace) -> tuple[list[str], int]:
    if options.canary < 1 or options.repeats < 2:
        raise SettingsError("--canary must be at least 1, and --repeats at least 2")
    project = options.name or Path.cwd().name
    history = read_history(options.history)
    history.check(project)
    if not options.show:
        _project(options, "plan", is_reference=True)  # refuses arguments that a watch sets
        makes_reference = history.reference is None or options.new_reference
        if options.reference is not None and not makes_reference:
            raise SettingsError(
                f"{options.history} has a reference already; add --new-reference to replace it"
            )
        if options.reference is None and not options.yes:
            return _plan(options, is_reference=makes_reference), 0
        try:
            entry = _entry(options, project, None if makes_reference else history)
        except PendingAnswers as error:
            return [str(error)], PENDING_CODE
        history = history.with_entry(entry)
        _open_file(options).unlink(missing_ok=True)
    verdict = judge_watch(history)
    answer = CommandAnswer(watch_report(verdict), watch_json(verdict), verdict.exit_code)
    return [], show_answer(options, answer)


def _entry(options: argparse.Namespace, project: str, history: History | None) -> HistoryEntry:
    """Ask the canary, and return the new entry; without a history it is a reference."""
    now = datetime.now(UTC)
    facts: dict[str, Any] = {"time": now.isoformat(timespec="seconds"), "project": project}
    if options.reference is not None:
        identity = _identity("reference", now)
        loaded = load_run(options.reference)
    else:
        if history is None and options.canary < FEWEST:
            _check_size(options)
        identity = _opened(options, "look" if history else "reference", now)
        folder = options.folder / identity
        _project(options, identity, is_reference=history is None).run(
            options.model, folder, may_stop=True
        )
        loaded = load_run(folder)
        store = options.folder / STORE
        if store.is_dir():
            facts["fingerprints"] = dict(fingerprints(store, identity))
    facts["served"] = loaded.facts.served
    facts["id"] = identity
    if history is None or history.reference is None:
        return reference_entry(loaded.facts, loaded.records, **facts)
    return look_entry(loaded.facts, loaded.records, history.reference, **facts)


def _check_size(options: argparse.Namespace) -> None:
    """Raise `SettingsError` for a canary with fewer questions than a watch needs clusters."""
    models = [] if options.model is None else [options.model]
    plans = _project(options, "plan", is_reference=True).plan(models, None)
    count = max((plan["cases"] for plan in plans.values()), default=0) // options.repeats
    if count < FEWEST:
        raise SettingsError(
            f"the canary has {counted(count, 'question')}, and a watch needs {FEWEST}, about as "
            f"many tables; raise --canary"
        )


def _identity(kind: str, now: datetime) -> str:
    return f"{kind}-{now:%Y%m%d%H%M%S}"


def _open_file(options: argparse.Namespace) -> Path:
    return Path(options.folder, f"{options.history.stem}{OPEN}")


def _opened(options: argparse.Namespace, kind: str, now: datetime) -> str:
    """Return the identity of a new look or reference, or of one that was interrupted.

    The answers of an interrupted one are in the store under its identity, so that they are not
    paid again. After `_AGE` they are too old for a look.
    """
    folder, file = options.folder, _open_file(options)
    try:
        entry = json.loads(file.read_text(encoding="utf-8"))
        identity, begun = str(entry["id"]), datetime.fromisoformat(entry["begun"])
    except (OSError, ValueError, KeyError, TypeError):
        identity, begun = "", now
    is_open = re.fullmatch(rf"{kind}-\d{{14}}", identity) is not None
    if not is_open or now - begun > _AGE:
        identity, begun = _identity(kind, now), now
    with writing(f"--folder: cannot write into {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps({"id": identity, "begun": begun.isoformat()}) + "\n")
        shutil.rmtree(folder / identity, ignore_errors=True)  # its answers are in the store
    return identity


def _plan(options: argparse.Namespace, *, is_reference: bool) -> list[str]:
    models = [] if options.model is None else [options.model]
    plans = _project(options, "plan", is_reference=is_reference).plan(models, None)
    kind = "the reference" if is_reference else "one look"
    table = plan_table(list(plans) or models, plans)
    return [
        f"plan of {kind}:",
        *(f"  {line}" for line in terminal_lines([table])),
        "nothing was asked; add --yes to ask",
    ]


def _project(options: argparse.Namespace, identity: str, *, is_reference: bool) -> Project:
    """Return the project as a look or a reference runs it. Raises `SettingsError`."""
    words = (
        *("-q", "--bench-show=0", "--bench-no-page", "--bench-configs-per-example=1"),
        f"--bench-sample={options.canary}",
        f"--bench-repeats={options.repeats if is_reference else 1}",
        f"--bench-fresh={identity}",
        f"--bench-store={options.folder / STORE}",
    )
    project = Project("watch", tuple(options.pytest_arguments), words)
    project.check()
    return project
