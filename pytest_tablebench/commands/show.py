"""`tablebench show RUN CASE`: one case with its prompt and reply."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.errors import SettingsError

if TYPE_CHECKING:
    from pytest_tablebench.results import Record

MOST = 5
"""The number of cases that are listed if a name is ambiguous."""


def show_case(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.case import case_report, unclear_report
    from pytest_tablebench.results.record import UNCLEAR
    from pytest_tablebench.results.run import load_run

    run = load_run(options.run)
    if options.case is None:
        unclear = [asdict(record) for record in run.records if UNCLEAR in record.flags]
        return CommandAnswer(unclear_report(run), unclear)
    record = _find(run.records, options.case)
    return CommandAnswer(case_report(run, record), asdict(record))


def _find(records: tuple[Record, ...], case: str) -> Record:
    """Return the record of a case; of its repeats the first."""
    exact = [record for record in records if record.case_id == case]
    if exact:
        return exact[0]
    inside = case.rpartition("[")[2].removesuffix("]") if case.endswith("]") else ""
    matches = [
        record
        for record in records
        if record.case_id.startswith(case)
        or (inside and record.case_id.partition("/")[2].replace("/", "-").lower() == inside.lower())
    ]
    if len({record.case_id for record in matches}) == 1:
        return matches[0]
    if not matches:
        raise SettingsError(
            f"unknown case {case!r}; case ids look like "
            f"{records[0].case_id if records else 'DATASET/EXAMPLE/html/none'}"
        )
    names = [record.case_id for record in matches[:MOST]]
    raise SettingsError(
        f"{len(matches)} cases begin with {case}: {', '.join(names)}"
        + (", ..." if len(matches) > MOST else "")
    )
