"""Writing of records as a folder of Allure results, small enough for its reports."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.reports.allure._attach import Attachments, Folder
from pytest_tablebench.reports.allure._facts import (
    categories,
    config_text,
    environment_text,
    executor,
    merged,
)
from pytest_tablebench.reports.allure._shape import (
    Group,
    Stamp,
    case_result,
    group_result,
    passed_all,
)
from pytest_tablebench.results import Record
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import Text
from pytest_tablebench.util.names import unknown_name

Mode = Literal["all", "wrong", "summary"]
MODES: tuple[Mode, ...] = get_args(Mode)

ALL_UP_TO = 5_000
"""The number of cases up to which each has its own result by default."""

WRONG_UP_TO = 10_000
"""The number of cases that are not right up to which each of them has one by default."""


def choose_mode(cases: int, not_right: int) -> Mode:
    """Return the default mode, by the number of results that a report can show.

    `all`: one result for each case. `wrong`: one for each case that is not right, and one for
    each configuration's right ones. `summary`: one for each configuration.
    """
    if cases <= ALL_UP_TO:
        return "all"
    return "wrong" if not_right <= WRONG_UP_TO else "summary"


def write_allure(
    records: Iterable[Record],
    out: Path,
    *,
    run: RunFacts,
    mode: Mode,
    texts: Iterable[Text] = (),
    snapshots: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    figures: Mapping[str, str] | None = None,
) -> None:
    """Write the results of one model's run; records and texts are read once, in order.

    Arguments:
        records: the records of a run, finished or interrupted.
        out: the results folder; created if missing. Other files in it stay; writing the same
            run again replaces its files.
        run: the facts of the run.
        mode: see `choose_mode`.
        texts: questions, tables and prompts, as `read_texts` yields them.
        snapshots: by case id, the change of a stored answer, as a tag.
        environ: environment variables; this process's own by default.
        figures: pass rate and robustness of each dataset, as `dataset_figures` returns them.

    Raises `SettingsError` for an unknown mode and for a folder that cannot be written.
    """
    if mode not in MODES:
        raise SettingsError(f"--bench-allure: {unknown_name('mode', mode, MODES)}")
    changes = snapshots or {}
    where = f"--bench-allure: cannot write into {out}"
    with writing(where, "; choose another folder with --alluredir"):
        stamp = Stamp(f"{run.start}\n{run.model}", _milliseconds(run.start))
        folder = Folder(out)
        attachments = Attachments(folder, stamp)
        groups: dict[tuple[str, ...], Group] = {}
        for record in records:
            key = (record.benchmark, record.dataset, record.serializer, record.perturbation)
            groups.setdefault(key, Group(record)).add(record)
            is_right = passed_all(record)
            if mode == "all" or (mode == "wrong" and not is_right):
                uuid = stamp.uuid(record.case_id)
                attached = [] if is_right else attachments.attach(uuid, record)
                change = changes.get(record.case_id)
                result = case_result(record, stamp, attachments=attached, change=change)
                folder.write(f"{uuid}-result.json", result)
        for group in groups.values():
            if mode == "summary" or (mode == "wrong" and group.right):
                result = group_result(group, stamp, right_only=mode == "wrong")
                result.description = (figures or {}).get(group.record.dataset)
                folder.write(f"{result.uuid}-result.json", result)
        if mode != "summary":
            attachments.add(texts)
        environ = os.environ if environ is None else environ
        _write_facts(folder, run, mode, groups.values(), environ=environ, figures=figures)
        folder.drop_stale(f"{stamp.uuid('written')}.written")


def _write_facts(
    folder: Folder,
    run: RunFacts,
    mode: Mode,
    groups: Collection[Group],
    *,
    environ: Mapping[str, str],
    figures: Mapping[str, str] | None,
) -> None:
    rules = categories(reason for group in groups for reason in group.reasons)
    folder.write("categories.json", merged(folder.read("categories.json"), rules))
    folder.write("allurerc.json", config_text(rules, f"tablebench: {run.model}"))
    checks: defaultdict[str, Counter[bool]] = defaultdict(Counter)
    for group in groups:
        for name, passed in group.checks.items():
            checks[f"{group.record.dataset}::{name}"] += passed
    before = folder.read("environment.properties")
    folder.write("environment.properties", environment_text(run, mode, before, checks, figures))
    facts = executor(environ)
    if facts is not None:
        folder.write("executor.json", facts)


def _milliseconds(start: Any) -> int:
    try:
        moment = datetime.fromisoformat(str(start))
    except ValueError:
        moment = datetime.now(UTC)
    return round(moment.timestamp() * 1000)
