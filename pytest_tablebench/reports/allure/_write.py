"""From records to a folder of Allure results, in a size that stays usable."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from pytest_tablebench.errors import SettingsError
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
    reason_of,
    stands,
)
from pytest_tablebench.results import Record
from pytest_tablebench.results._texts import Text
from pytest_tablebench.util.names import unknown_name

Mode = Literal["all", "wrong", "summary"]
MODES: tuple[Mode, ...] = get_args(Mode)

ALL_UP_TO = 5_000
"""Cases up to which every one gets a result of its own by default."""

WRONG_UP_TO = 10_000
"""Cases that are not right, up to which these get one each by default."""


@dataclass(frozen=True)
class AllureCount:
    """What was written. `left_out` attachments did not fit; their texts are in the run folder."""

    mode: Mode
    results: int
    attachments: int
    left_out: int
    files: int
    bytes: int


def choose_mode(cases: int, not_right: int) -> Mode:
    """Return how much to write where nothing was asked for, by what the report can carry.

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
    texts: Iterable[Text] | None = None,
    snapshots: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
) -> AllureCount:
    """Write the results of one model's run; both are read once, in order, and not kept.

    Arguments:
        records: the records of a run, whole or cut off.
        out: the results folder; made if need be. Other files in it stay, and the same run
            written again replaces its own.
        run: the content of `run.json`.
        mode: how much, see `choose_mode`.
        texts: questions, tables and prompts, as `read_texts` yields them.
        snapshots: by case id, what became of a stored answer, as a tag.
        environ: environment variables; this process's own by default.

    Raises `SettingsError` for an unknown mode and for a folder that cannot be written.
    """
    if mode not in MODES:
        raise SettingsError(f"--bench-allure: {unknown_name('mode', mode, MODES)}")
    try:
        return _write(
            records,
            Folder(out),
            run,
            mode,
            texts=texts or (),
            snapshots=snapshots or {},
            environ=os.environ if environ is None else environ,
        )
    except OSError as error:
        raise SettingsError(
            f"--bench-allure: cannot write into {out} ({error.strerror or error}); choose another "
            f"folder with --alluredir"
        ) from None


def _write(
    records: Iterable[Record],
    folder: Folder,
    run: Mapping[str, Any],
    mode: Mode,
    *,
    texts: Iterable[Text],
    snapshots: Mapping[str, str],
    environ: Mapping[str, str],
) -> AllureCount:
    stamp = Stamp(f"{run.get('start')}\n{run.get('model')}", _milliseconds(run.get("start")))
    attachments = Attachments(folder, stamp)
    groups: dict[tuple[str, ...], Group] = {}
    reasons: set[str] = set()
    checks: dict[str, list[bool]] = {}
    results = 0
    for record in records:
        key = (record.benchmark, record.dataset, record.serializer, record.perturbation)
        groups.setdefault(key, Group(record)).add(record)
        for name, passed in record.checks.items():
            if passed is not None:
                checks.setdefault(f"{record.dataset}::{name}", []).append(passed)
        if record.outcome == "no_answer":
            reasons.add(reason_of(record))
        if mode == "all" or (mode == "wrong" and not stands(record)):
            _write_case(record, stamp, folder, attachments, snapshots.get(record.case_id))
            results += 1
    if mode != "all":
        for group in groups.values():
            if mode == "summary" or group.right:
                result = group_result(group, stamp, right_only=mode == "wrong")
                folder.write_json(f"{result.uuid}-result.json", result)
                results += 1
    if mode != "summary":
        attachments.add(texts)
    _write_facts(folder, run, mode, reasons, checks, environ=environ)
    folder.drop_stale(f"{stamp.uuid('written')}.written")
    return AllureCount(
        mode, results, attachments.written, attachments.left_out, len(folder.names), folder.bytes
    )


def _write_case(
    record: Record, stamp: Stamp, folder: Folder, attachments: Attachments, change: str | None
) -> None:
    attached = []
    uuid = stamp.uuid(record.case_id)
    if not stands(record):
        if record.raw and len(record.raw) > REPLY_SHOWN:
            attached = attachments.reply(record.case_id, record.raw)
        attachments.want(uuid, record.dataset, record.example_id, record.perturbation)
        attachments.want_prompt(uuid, record.prompt_digest)
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
    found = executor(environ)
    if found is not None:
        folder.write_json("executor.json", found)


def _milliseconds(start: Any) -> int:
    try:
        moment = datetime.fromisoformat(str(start))
    except ValueError:
        moment = datetime.now(UTC)
    return round(moment.timestamp() * 1000)
