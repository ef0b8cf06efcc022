"""`tablebench labels RUN [FILE ...]`."""

from __future__ import annotations

import argparse
import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import SettingsError, writing
from pytest_tablebench.util.names import counted, out_of, printable

if TYPE_CHECKING:
    from pytest_tablebench.results.labelled_cases import LabelledCases
    from pytest_tablebench.results.run import Run


def add_parser(commands: Any) -> None:
    """Add the command to the `tablebench` parser."""
    parser = commands.add_parser(
        "labels",
        help="import labels by people, and calibrate the judge with them",
        description="Import labels by people from CSV files and "
        "keep them in the run folder. Show how far people agree with each other and with the "
        "judge, and the mean of its marks corrected by the labels.",
    )
    parser.add_argument("run", type=Path, metavar="RUN", help="run folder with scores by a judge")
    parser.add_argument(
        "files", type=Path, nargs="*", metavar="FILE", help="CSV file of labels. Default: none"
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="let a new label of the same person replace a different one",
    )
    parser.add_argument(
        "--label-sample",
        type=int,
        metavar="N",
        help="propose N answers to label, by dataset and mark, and write them into to_label.csv",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=Path,
        metavar="FILE",
        help="the file for --label-sample. Default: to_label.csv",
    )
    parser.add_argument(
        "--page",
        type=Path,
        metavar="FILE",
        help="write a page on which people label the proposed answers, or all judged answers "
        "without --label-sample",
    )
    parser.add_argument(
        "--show-marks", action="store_true", help="show the judge's marks on the page"
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of --label-sample. Default: 0"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.set_defaults(lines=_labels)


def _labels(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.results.judged_cases import judged_cases, unclear_cases
    from pytest_tablebench.results.labelled_cases import labelled_cases, with_labels
    from pytest_tablebench.results.run import load_run

    if options.label_sample is not None and options.label_sample < 1:
        raise SettingsError("--label-sample takes a number from 1")
    run = load_run(options.run)
    unclear, is_judged = unclear_cases(run.records), bool(judged_cases(run.records))
    if not unclear and not is_judged:
        raise SettingsError(
            f"{printable(str(options.run))}: no answer has a mark by a judge (gpt_eval or "
            f"llm_score) and no reply is unclear, so there is nothing to label"
        )
    lines = _import(run, options) if options.files else []
    labelled = labelled_cases(run.records, run.labels)
    if unclear:
        verdicts = with_labels(unclear, run.labels)
        count = out_of(len(verdicts.labelled), len(unclear), "unclear case")
        run_name = printable(str(options.run))
        lines.append(f"{count} decided; `tablebench rejudge {run_name} -o DIR` uses the verdicts")
        labelled = labelled if is_judged else verdicts
    if options.label_sample is not None:
        return [*lines, *_propose(run, labelled, options)], 0
    if options.page is not None:
        case_ids = [case.case_id for case in labelled.cases]
        return [*lines, *_page(run, case_ids, options)], 0
    if not is_judged:
        return lines, 0
    return [*lines, *_shown(run, labelled, options.json)], 0


def _import(run: Run, options: argparse.Namespace) -> list[str]:
    from pytest_tablebench.results.judged_cases import judged_cases, unclear_cases
    from pytest_tablebench.results.labels import (
        join_labels,
        read_label_file,
        read_sample,
        write_labels,
    )

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


def _shown(run: Run, labelled: LabelledCases, out: Path | None) -> list[str]:
    from pytest_tablebench.claims.calibration import calibrate, summary_entry
    from pytest_tablebench.claims.people import people_agreement
    from pytest_tablebench.reports.labels_text import (
        CARRIED_OVER,
        calibration_lines,
        judged_lines,
        people_lines,
    )

    calibration = calibrate(labelled, judge=run.facts.judge, model=run.facts.model)
    if calibration is None:
        return [
            f"no labels of the {counted(len(labelled.cases), 'judged answer')}; propose a sample "
            f"with --label-sample N, then import the filled file"
        ]
    people = people_agreement(labelled.cases)
    figures = summary_entry(labelled)
    if out is not None:
        content = {
            "people": None if people is None else asdict(people),
            "calibration": calibration.to_json(),
            "judged": figures,
        }
        with writing(f"--json: cannot write {printable(str(out))}"):
            out.write_text(json.dumps(content, indent=2) + "\n", encoding="ascii")
    return [
        *calibration_lines(calibration),
        *people_lines(people),
        *judged_lines({"judged": figures}),
        CARRIED_OVER,
    ]


def _propose(run: Run, labelled: LabelledCases, options: argparse.Namespace) -> list[str]:
    from pytest_tablebench.claims.calibration import expected_intervals
    from pytest_tablebench.results.judges import JUDGED
    from pytest_tablebench.results.labelled_cases import propose_sample
    from pytest_tablebench.results.labels import COLUMNS, add_sample

    sample = propose_sample(labelled.cases, options.label_sample, seed=options.seed)
    if not sample:
        raise SettingsError("every example with a judged answer has a label already")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((case.case_id, "", "", "") for case, _ in sample)
    out = options.out or Path("to_label.csv")
    if out.exists():
        raise SettingsError(f"{printable(str(out))} exists; name another file with --out")
    with writing(f"--out: cannot write {printable(str(out))}"):
        out.write_text(text.getvalue(), encoding="utf-8")
    add_sample(run.path, sample)
    lines = [f"{counted(len(sample), 'answer')} to label: {printable(str(out))}"]
    if options.page is not None:
        lines += _page(run, [case.case_id for case, _ in sample], options)
    judged = [case for case, _ in sample if case.part in JUDGED]
    for entry in expected_intervals(labelled, judged):
        basis = "from the labels so far" if entry.is_estimated else "at worst, without labels"
        lines.append(
            f"{printable(entry.dataset, 60)}: with {counted(entry.n_labels, 'label')} the 95 % "
            f"interval is about {entry.half_width:.3f} on each side ({basis})"
        )
    return lines


def _page(run: Run, case_ids: Sequence[str], options: argparse.Namespace) -> list[str]:
    from pytest_tablebench.reports.html.review import write_label_page
    from pytest_tablebench.results.label_cases import label_cases

    write_label_page(options.page, label_cases(run, case_ids), blind=not options.show_marks)
    return [f"page: {printable(str(options.page))}"]
