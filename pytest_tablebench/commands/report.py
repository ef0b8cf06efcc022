"""`tablebench report RUN ...`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.papers.report import PaperReport
    from pytest_tablebench.papers.structure import Marks
    from pytest_tablebench.results import ScoreRow


_WIDTH = 10_000
"""Tables are printed whole, however many columns they have."""


def report_runs(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.claims.summary import summary_of
    from pytest_tablebench.documents.terminal import terminal_lines
    from pytest_tablebench.papers.report import report_blocks, write_report
    from pytest_tablebench.papers.runs import load_runs, paths_without_runs
    from pytest_tablebench.papers.structure import read_marks
    from pytest_tablebench.reports.scores import tag_blocks
    from pytest_tablebench.reports.summary import closing_blocks
    from pytest_tablebench.results.folder import recorded_text
    from pytest_tablebench.results.run import load_run

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
        lines.append(
            f"skipped, not a run folder: {', '.join(printable(str(path)) for path in others)}"
        )
    runs = load_runs(paths)
    for run in runs:
        lines.append(f"{printable(run.model)}  ({printable(str(run.path))})")
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
    return [*(f"note: {problem}" for problem in problems), f"page: {printable(str(page))}"]


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
            f"{name}: {printable(side.model)}  ({printable(str(side.path))})"
            for name, side in (("before", comparison.before), ("after", comparison.after))
        ),
        *(f"note: {printable(text)}" for text in (*comparison.remarks, *problems)),
        f"page: {printable(str(options.page))}",
    ]
