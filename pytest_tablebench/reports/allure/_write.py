"""Writing of records as a folder of Allure results, small enough for its reports."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.reports.allure._attach import Attachments
from pytest_tablebench.reports.allure._facts import (
    categories,
    config_text,
    environment_text,
    executor,
    merged,
)
from pytest_tablebench.reports.allure._files import Folder
from pytest_tablebench.reports.allure._shape import (
    REPLY_SHOWN,
    Group,
    Stamp,
    case_result,
    group_result,
    passed_all,
)
from pytest_tablebench.results import Record
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
    run: Mapping[str, Any],
    mode: Mode,
    texts: Iterable[Text] = (),
    snapshots: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Write the results of one model's run; records and texts are read once, in order.

    Arguments:
        records: the records of a run, finished or interrupted.
        out: the results folder; created if missing. Other files in it stay; writing the same
            run again replaces its files.
        run: the content of `run.json`.
        mode: see `choose_mode`.
        texts: questions, tables and prompts, as `read_texts` yields them.
        snapshots: by case id, the change of a stored answer, as a tag.
        environ: environment variables; this process's own by default.

    Raises `SettingsError` for an unknown mode and for a folder that cannot be written.
    """
    if mode not in MODES:
        raise SettingsError(f"--bench-allure: {unknown_name('mode', mode, MODES)}")
    changes, environ = snapshots or {}, os.environ if environ is None else environ
    where = f"--bench-allure: cannot write into {out}"
    with writing(where, "; choose another folder with --alluredir"):
        stamp = Stamp(f"{run.get('start')}\n{run.get('model')}", _milliseconds(run.get("start")))
        folder = Folder(out)
        attachments = Attachments(folder, stamp)
        groups: dict[tuple[str, ...], Group] = {}
        checks: dict[str, list[bool]] = {}
        for record in records:
            key = (record.benchmark, record.dataset, record.serializer, record.perturbation)
            groups.setdefault(key, Group(record)).add(record)
            for name, passed in record.checks.items():
                if passed is not None:
                    checks.setdefault(f"{record.dataset}::{name}", []).append(passed)
            if mode == "all" or (mode == "wrong" and not passed_all(record)):
                _write_case(record, stamp, folder, attachments, changes.get(record.case_id))
        if mode != "all":
            for group in groups.values():
                if mode == "summary" or group.right:
                    result = group_result(group, stamp, right_only=mode == "wrong")
                    folder.write_json(f"{result.uuid}-result.json", result)
        if mode != "summary":
            attachments.add(texts)
        reasons = {reason for group in groups.values() for reason in group.reasons}
        _write_facts(folder, run, mode, reasons, checks, environ=environ)
        folder.drop_stale(f"{stamp.uuid('written')}.written")


def _write_case(
    record: Record, stamp: Stamp, folder: Folder, attachments: Attachments, change: str | None
) -> None:
    attached = []
    uuid = stamp.uuid(record.case_id)
    if not passed_all(record):
        if record.raw and len(record.raw) > REPLY_SHOWN:
            attached = attachments.reply(record.case_id, record.raw)
        attachments.attach_example(uuid, record.dataset, record.example_id, record.perturbation)
        attachments.attach_prompt(uuid, record.prompt_digest)
    result = case_result(record, stamp, attachments=attached, change=change)
    folder.write_json(f"{uuid}-result.json", result)


def _write_facts(
    folder: Folder,
    run: Mapping[str, Any],
    mode: Mode,
    reasons: set[str],
    checks: Mapping[str, Sequence[bool]],
    *,
    environ: Mapping[str, str],
) -> None:
    rules = categories(reasons)
    folder.write_json("categories.json", merged(folder.path / "categories.json", rules))
    folder.write(
        "allurerc.json", config_text(rules, f"tablebench: {run.get('model')}").encode("ascii")
    )
    text = environment_text(run, mode, folder.read("environment.properties"), checks)
    folder.write("environment.properties", text.encode("ascii", "backslashreplace"))
    facts = executor(environ)
    if facts is not None:
        folder.write_json("executor.json", facts)


def _milliseconds(start: Any) -> int:
    try:
        moment = datetime.fromisoformat(str(start))
    except ValueError:
        moment = datetime.now(UTC)
    return round(moment.timestamp() * 1000)
