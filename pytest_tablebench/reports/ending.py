"""The end of a run in the terminal: the lowest parts, new failures, and what to do next."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.claims.outliers import Outlier
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.tables import table_of
from pytest_tablebench.reports.terminal import short_path
from pytest_tablebench.results.score_columns import CELL
from pytest_tablebench.util.names import counted, shortened
from pytest_tablebench.util.programs import SUITES, program

if TYPE_CHECKING:
    from pytest_tablebench.claims.compare import RunComparison
    from pytest_tablebench.claims.gates import GateResult

__all__ = [
    "fitted",
    "hidden_line",
    "new_failure_blocks",
    "next_lines",
    "no_case_lines",
    "outlier_blocks",
    "rerun_line",
]

SHOWN = 5
"""The number of parts, and of new failures, that are named."""


def fitted(lines: Iterable[str], width: int | None) -> list[str]:
    """Return lines wrapped at a terminal's width; rows of tables stay as they are."""
    if width is None:
        return list(lines)
    fitted_lines = []
    for line in lines:
        prose = "  " not in line.strip() and len(line) > width
        fitted_lines += (
            textwrap.wrap(
                line,
                width,
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            if prose
            else [line]
        )
    return fitted_lines


def outlier_blocks(outliers: Sequence[Outlier]) -> list[doc.Block]:
    """Return the parts of datasets that score lower than the whole by more than chance."""
    low = [outlier for outlier in outliers if outlier.value < outlier.whole]
    if not low:
        return []
    has_several_datasets = len({outlier.dataset for outlier in outliers}) > 1
    rows = [
        doc.TableRow(
            (
                _name(outlier, has_several_datasets),
                doc.Figure(outlier.value),
                doc.Figure(outlier.value - outlier.whole, "signed"),
                ("(", doc.Figure(outlier.difference.interval, "signed"), ")"),
            ),
            "part",
        )
        for outlier in low[:SHOWN]
    ]
    more = [
        text
        for text, count in (
            (f"{len(low) - SHOWN} more below", len(low) - SHOWN),
            (f"{len(outliers) - len(low)} above", len(outliers) - len(low)),
        )
        if count > 0
    ]
    title = "lowest scores, by more than chance; difference from the mean and its 95 % interval:"
    blocks: list[doc.Block] = [doc.Heading(title, 3), table_of(("", "", "", ""), rows)]
    return [*blocks, doc.Listing([f"and {' and '.join(more)} the mean"])] if more else blocks


def _name(outlier: Outlier, with_dataset: bool) -> doc.Text:
    mark = " " if outlier.kind in CELL else "="
    name = doc.Code(outlier.kind, 20), mark, doc.Code(outlier.name, 30)
    return (doc.Code(outlier.dataset, 30), " ", *name) if with_dataset else name


def new_failure_blocks(comparison: RunComparison, show: int | None) -> list[doc.Block]:
    """Return the cases that are wrong here and right in the baseline; `show` limits them."""
    worse, lost = comparison.worse, comparison.answers.lost
    most = SHOWN if show is None else show
    title = (
        f"new failures against the baseline: {counted(len(worse), 'case')}; "
        f"{len(comparison.better):,} right that {'was' if len(comparison.better) == 1 else 'were'} "
        f"wrong" + (f"; {lost:,} without an answer that had one" if lost else "")
    )
    cases = [doc.Code(case, 200) for case in worse] if most else []
    return [doc.Heading(title, 3), doc.Listing(cases, most, "--bench-show=N names N")]


def next_lines(
    folder: Path,
    gates: Sequence[GateResult],
    case_id: str | None = None,
    rerun: str = "",
    *,
    there_are: Callable[[str, int], int | None] | None = None,
    word: str = "wrong",
) -> list[str]:
    """Return what to do next: the report to open, a case to look at, more examples for a gate.

    Without a page the first line names the run folder.

    `rerun` is the line on running that case again. `there_are` counts the examples of a gate's
    datasets up to a number; it returns None if they cannot be counted. `word` says what the case's
    answer is.
    """
    page = folder / "report.html"
    lines = [
        f"open the report: {short_path(page)}"
        if page.is_file()
        else f"run folder: {short_path(folder)}"
    ]
    if case_id is not None:
        where, case = (shortened(shlex.quote(text), 200) for text in (short_path(folder), case_id))
        lines.append(f"see a {word} answer: {program('tablebench')} show {where} {case}")
    if rerun:
        lines.append(rerun)
    for gate in gates:
        if gate.n_needed is not None:
            most = there_are(gate.gate, gate.n_needed) if there_are is not None else None
            few = most is not None and most < gate.n_needed
            source = f"there are only {most:,}" if few else "--bench-limit asks more"
            lines.append(
                f"to decide {shortened(gate.gate, 80)}: about "
                f"{counted(gate.n_needed, 'example')}; {source}"
            )
    return lines


def no_case_lines(options: Sequence[str], *, is_own_folder: bool = False) -> list[str]:
    """Return what to do if no test of a session has a case; `options` are the run's.

    `is_own_folder`: whether the run is over the user's own folders, for which there is one suite.
    """
    suites = f"{SUITES}.test_own" if is_own_folder else SUITES
    command = shlex.join([program("pytest"), "--pyargs", suites, *options])
    return [
        "no case was asked: no test here uses a dataset. The suites of the package do:",
        f"  {shortened(command, 500)}",
    ]


def rerun_line(item: Sequence[str], options: Sequence[str], *, all_failed: bool) -> str:
    """Return the command that runs one item again with the same options.

    `item`: the words that name it. `all_failed`: whether pytest has stored which tests failed.
    """
    line = f"run it again: {shortened(shlex.join([program('pytest'), *item, *options]), 500)}"
    return f"{line} (all failed tests: the same command with --lf)" if all_failed else line


def hidden_line(hidden: Mapping[str, int]) -> str:
    """Return the line with the number of hidden cases of each outcome; "" without any."""
    parts = [
        text
        for outcome, text in (
            ("wrong", counted(hidden.get("wrong", 0), "more wrong answer")),
            ("no_answer", f"{hidden.get('no_answer', 0):,} more without an answer"),
        )
        if hidden.get(outcome)
    ]
    return f"not shown above: {' and '.join(parts)}; all are in records.jsonl" if parts else ""
