"""`tablebench audit RUN...`: the gold answers that are most likely wrong."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.commands._asking import cost_lines, open_client, plan_lines
from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import split_names

if TYPE_CHECKING:
    from pytest_tablebench.audit.ranking import Audit


def audit_gold(options: argparse.Namespace) -> CommandAnswer:
    reports: Path | None = options.to
    is_export = str(options.runs[0]) == "export" and not options.runs[0].is_dir()
    if is_export:
        options.runs = options.runs[1:]
        if reports is None:
            raise SettingsError("audit export needs --to DIR, the folder for the reports")
    elif reports is not None:
        raise SettingsError("--to is for `tablebench audit export RUN... --to DIR`")
    from pytest_tablebench.reports.audit import audit_json, audit_report
    from pytest_tablebench.reports.html.review import write_audit_page
    from pytest_tablebench.results.corrections import read_corrections

    corrections = None if options.corrections is None else read_corrections(options.corrections)
    audit, lines = audited(options)
    if reports is not None:
        from pytest_tablebench.audit.export import write_reports

        exported = write_reports(
            reports, audit.suspects, corrections, top=options.top, force=options.force
        )
        lines += [*(f"written: {path}" for path in exported.paths), *exported.notes]
    return CommandAnswer(
        audit_report(audit, options.top),
        audit_json(audit),
        lines=lines,
        write_page=partial(
            write_audit_page,
            suspects=audit.suspects,
            corrections=corrections,
            blind=options.blind,
        ),
    )


def audited(options: argparse.Namespace) -> tuple[Audit, list[str]]:
    """Audit the runs of the options, and ask the judge if they name one.

    Returns the audit, and lines on the judge's calls.
    """
    from pytest_tablebench.audit.ranking import audit_runs

    if not options.runs:
        raise SettingsError("name at least one run folder to audit")
    audit = audit_runs(
        options.runs,
        data=None if options.bench_data is None else Path(options.bench_data),
        datasets=None if options.dataset is None else split_names(options.dataset),
        prior=options.prior,
    )
    return (audit, []) if options.model is None else _asked(audit, options)


def _asked(audit: Audit, options: argparse.Namespace) -> tuple[Audit, list[str]]:
    """Show the price of the judge's calls; with `--yes` make them and rank again."""
    from pytest_tablebench.audit.asking import questions, with_verdicts
    from pytest_tablebench.reports.judges import preference_sentence

    chosen = list(questions(audit, top=options.ask_top))
    with open_client(options, []) as client:
        lines, calls = plan_lines(client, (question.converse() for question in chosen), "--ask")
        if calls and not options.yes:
            return audit, [*lines, "nothing was asked; add --yes to ask"]
        outcomes = client.converse(question.converse() for question in chosen)
        judged = with_verdicts(audit, chosen, outcomes, options.model)
        counts = preference_sentence(options.model, judged.counts)
        return judged.audit, [*lines, counts, *cost_lines(client.spent)]
