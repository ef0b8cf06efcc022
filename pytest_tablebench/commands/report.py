"""`tablebench report`, `show`, `compare` and `history`: reports of finished runs."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.documents.terminal import terminal_lines
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.results import Record, ScoreRow
from pytest_tablebench.results.folder import recorded_text
from pytest_tablebench.results.record import UNCLEAR
from pytest_tablebench.results.run import load_run
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.programs import program

if TYPE_CHECKING:
    from pytest_tablebench.papers.report import PaperReport
    from pytest_tablebench.papers.structure import Marks


_WIDTH = 10_000
"""Tables are printed whole, however many columns they have."""


def report_runs(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.claims.summary import summary_of
    from pytest_tablebench.papers.report import report_blocks, write_report
    from pytest_tablebench.papers.runs import load_runs, paths_without_runs
    from pytest_tablebench.papers.structure import read_marks
    from pytest_tablebench.reports.scores import tag_blocks
    from pytest_tablebench.reports.summary import closing_blocks

    if options.page is not None:
        return _two_runs(options), 0
    if options.allow_unlike or options.different_judges:
        option = "--allow-unlike" if options.allow_unlike else "--different-judges"
        raise SettingsError(
            f"{option} needs --page; a report of several runs lists their differences anyway"
        )
    marks = None if options.marks is None else read_marks(options.marks)
    lines: list[str] = []
    paths = options.runs
    others = paths_without_runs(paths)
    if others and len(others) < len(paths):  # `runs/*` may match other folders
        paths = [path for path in paths if path not in others]
        lines.append(f"skipped, not a run folder: {', '.join(map(str, others))}")
    runs = load_runs(paths)
    for run in runs:
        lines.append(f"{run.model}  ({run.path})")
        planned = run.facts.cases_planned
        if planned is None or len(run.rows) < planned:
            lines.append(f"interrupted: {recorded_text(len(run.rows), planned)}")
        lines += [line for line in (run.facts.imported_text, run.facts.selection_text) if line]
        summary = summary_of(load_run(run.path))
        lines += terminal_lines(closing_blocks(summary, run.facts))
        for tag in options.by:
            for name in _tag_names(tag, run.rows):
                lines += ["", *terminal_lines(tag_blocks(summary, name, run.facts))]
    report = write_report(runs, options.out, plots=not options.no_plots, marks=marks)
    lines += ["", *terminal_lines(report_blocks(report), width=_WIDTH)]
    run_page = runs[0].path / "report.html" if len(runs) == 1 and options.out is None else None
    page = run_page or _beside(report.folder)
    return [*lines, *_page(report, page, marks)], 0


def _tag_names(tag: str, rows: Iterable[ScoreRow]) -> list[str]:
    """Return the tags that `--by` means: `skill` also means the skills of ToRR's Table 1."""
    from pytest_tablebench.datasets.torr import SKILLS

    names = {name for row in rows for name in row.tags}
    skills = [name for name in SKILLS if name in names] if tag == "skill" else []
    return [*([tag] if tag in names or not skills else []), *skills]


def _beside(folder: Path) -> Path:
    """Return the page next to a folder; `.` must be resolved to have a name."""
    folder = folder if folder.name else real_path(folder)
    return folder.with_name(f"{folder.name}.html")


def _page(report: PaperReport, page: Path, marks: Marks | None) -> list[str]:
    from pytest_tablebench.reports.leaderboard import write_leaderboard
    from pytest_tablebench.reports.publish import republish_page

    problems: list[str] = []
    runs = [run.path for run in report.runs]
    if len(runs) == 1:
        problems = republish_page(runs[0], page)
    else:
        write_leaderboard(runs, page, marks, report)
    return [*(f"note: {problem}" for problem in problems), f"page: {page}"]


def _two_runs(options: argparse.Namespace) -> list[str]:
    """Write the page of two runs. Raises `SettingsError` unless there are two alike."""
    from pytest_tablebench.reports.publish import publish_pair

    if len(options.runs) != 2:
        raise SettingsError(f"--page: name two runs, A and B; {len(options.runs)} given")
    if options.out is not None or options.by or options.no_plots or options.marks is not None:
        raise SettingsError(
            "--page writes only one page: leave out --out, --by, --no-plots and --marks"
        )
    before, after = options.runs
    comparison, problems = publish_pair(
        before,
        after,
        options.page,
        allow_unlike=options.allow_unlike,
        different_judges=options.different_judges,
    )
    return [
        *(
            f"{name}: {side.model}  ({side.path})"
            for name, side in (("before", comparison.before), ("after", comparison.after))
        ),
        *(f"note: {text}" for text in (*comparison.remarks, *problems)),
        f"page: {options.page}",
    ]


MOST = 5
"""The number of cases that are listed if a name is ambiguous."""


def show_case(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.reports.cases import case_report, unclear_report

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


def compare_two(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.claims.compare import compare_runs
    from pytest_tablebench.reports.comparison import comparison_report

    comparison = compare_runs(
        options.before,
        options.after,
        allow_unlike=options.allow_unlike,
        corrected=options.corrected,
        different_judges=options.different_judges,
    )
    both = [program("tablebench"), "report", str(options.before), str(options.after)]
    both += ["--page", "both.html"]
    both += ["--allow-unlike"] if options.allow_unlike else []
    both += ["--different-judges"] if options.different_judges else []
    return CommandAnswer(
        comparison_report(comparison),
        comparison.to_json(),
        lines=[f"each case with both answers: {shlex.join(both)}"],
    )


def show_history(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.claims.history import history_of, read_places_of_runs
    from pytest_tablebench.reports.history import history_json, history_report

    runs, problems = read_places_of_runs(options.runs, repository=Path.cwd())
    if not runs:
        more = f"; and {len(problems) - 5:,} more" if len(problems) > 5 else ""
        raise DataError(f"no run can be shown: {'; '.join(problems[:5])}{more}")
    history = history_of(runs)
    return CommandAnswer(history_report(history, problems), history_json(history, problems))
