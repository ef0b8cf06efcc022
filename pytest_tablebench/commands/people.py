"""`tablebench audit`, `labels` and `judge-replies`: what people decide about gold and replies."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._asking import cost_lines, open_client, plan_lines
from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.documents.document import Document
from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.results.corrections import read_corrections
from pytest_tablebench.results.judged_cases import judged_cases, unclear_cases
from pytest_tablebench.results.judges import JUDGED
from pytest_tablebench.results.labelled_cases import (
    LabelledCases,
    label_cases,
    labelled_cases,
    propose_sample,
    with_labels,
)
from pytest_tablebench.results.labels import (
    COLUMNS,
    add_sample,
    join_labels,
    read_label_file,
    read_sample,
    write_labels,
)
from pytest_tablebench.results.run import Run, load_run
from pytest_tablebench.util.csv_text import as_csv
from pytest_tablebench.util.names import counted, out_of, split_names

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
    from pytest_tablebench.reports.cases import audit_json, audit_report
    from pytest_tablebench.reports.html.review import write_audit_page

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
        judged, counts = with_verdicts(audit, chosen, outcomes, options.model)
        preference = preference_sentence(options.model, counts)
        return judged, [*lines, preference, *cost_lines(client.spent)]


def import_labels(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.html.review import write_label_page

    if options.label_sample is not None and options.label_sample < 1:
        raise SettingsError("--label-sample takes a number from 1")
    run = load_run(options.run)
    unclear, is_judged = unclear_cases(run.records), bool(judged_cases(run.records))
    if not unclear and not is_judged:
        raise SettingsError(
            f"{options.run}: no answer has a mark by a judge (gpt_eval or llm_score) and no reply "
            f"is unclear, so there is nothing to label"
        )
    lines = _import(run, options) if options.files else []
    labelled = labelled_cases(run.records, run.labels)
    if unclear:
        verdicts = with_labels(unclear, run.labels)
        count = out_of(len(verdicts.labelled), len(unclear), "unclear case")
        lines.append(
            f"{count} decided; `tablebench rejudge {options.run} -o DIR` uses the verdicts"
        )
        labelled = labelled if is_judged else verdicts
    case_ids = [case.case_id for case in labelled.cases]
    document, content = Document("Judge and people", ()), None
    if options.label_sample is not None:
        case_ids, proposed = _propose(run, labelled, options)
        lines += proposed
    elif is_judged:
        document, content, unlabelled = _report(run, labelled)
        lines += unlabelled

    def write_page(path: Path) -> None:
        write_label_page(path, label_cases(run, case_ids), blind=not options.show_marks)

    return CommandAnswer(document, content, lines=lines, write_page=write_page)


def _import(run: Run, options: argparse.Namespace) -> list[str]:

    new = [entry for file in options.files for entry in read_label_file(file)]
    joined = join_labels(
        [*judged_cases(run.records), *unclear_cases(run.records)],
        run.labels,
        new,
        read_sample(run.path),
        replace_labels=options.replace,
    )
    write_labels(run.path, joined.labels)
    run.labels = joined.labels
    line = f"{counted(joined.added, 'label')} added"
    if joined.repeated:
        line += f", {joined.repeated:,} already there"
    if joined.replaced:
        line += f", {joined.replaced:,} replaced"
    return [line]


def _report(run: Run, labelled: LabelledCases) -> tuple[Document, Any, list[str]]:
    """Return the report and its content, or what to do if there are no labels."""
    from pytest_tablebench.claims.calibration import calibrate, summary_entry
    from pytest_tablebench.claims.people import people_agreement
    from pytest_tablebench.reports.judges import labels_report

    calibration = calibrate(labelled, judge=run.facts.judge, model=run.facts.model)
    if calibration is None:
        count = counted(len(labelled.cases), "judged answer")
        hint = "propose a sample with --label-sample N, then import the filled file"
        return Document("Judge and people", ()), None, [f"no labels of the {count}; {hint}"]
    people, judged = people_agreement(labelled.cases), summary_entry(labelled)
    content = {
        "people": None if people is None else asdict(people),
        "calibration": calibration.to_json(),
        "judged": judged,
    }
    return labels_report(calibration, people, {"judged": judged}), content, []


def _propose(
    run: Run, labelled: LabelledCases, options: argparse.Namespace
) -> tuple[list[str], list[str]]:
    """Write a file of answers to label; return their cases, and lines on the file."""
    from pytest_tablebench.claims.calibration import expected_intervals

    sample = propose_sample(labelled.cases, options.label_sample, seed=options.seed)
    if not sample:
        raise SettingsError("every example with a judged answer has a label already")
    text = as_csv([COLUMNS, *((case.case_id, "", "", "") for case, _ in sample)])
    out = options.out or Path("to_label.csv")
    if out.exists():
        raise SettingsError(f"{out} exists; name another file with --out")
    with writing(f"--out: cannot write {out}"):
        out.write_text(text, encoding="utf-8")
    add_sample(run.path, sample)
    lines = [f"{counted(len(sample), 'answer')} to label: {out}"]
    judged = [case for case, _ in sample if case.part in JUDGED]
    for entry in expected_intervals(labelled, judged):
        basis = "from the labels so far" if entry.is_estimated else "at worst, without labels"
        lines.append(
            f"{entry.dataset}: with {counted(entry.n_labels, 'label')} the 95 % "
            f"interval is about {entry.half_width:.3f} on each side ({basis})"
        )
    return [case.case_id for case, _ in sample], lines


def compare_verdicts(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.judges import judged_replies_report, rates_by_kind
    from pytest_tablebench.running.judged_replies import judged_replies

    rates = rates_by_kind(judged_replies(options.file))
    return CommandAnswer(
        judged_replies_report(rates),
        {kind: asdict(counts) for kind, counts in rates.items()},
        int(rates["all"].false_positives > 0),
    )
