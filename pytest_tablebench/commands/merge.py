"""`tablebench merge RUN... --out DIR`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_tablebench.commands._gates import (
    check_baseline,
    gates_of,
)
from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.util.files import real_path

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates import Gate
    from pytest_tablebench.claims.merge import Merge
    from pytest_tablebench.claims.verdict import RunVerdict
    from pytest_tablebench.results.run import Run


def merge_parts(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.claims.differences import check_alike
    from pytest_tablebench.claims.merge import read_merge
    from pytest_tablebench.results.folder import output_folder
    from pytest_tablebench.results.run import load_run

    merge = read_merge(options.runs)
    gates = gates_of(options.bench_gate, merge.facts, merge.table)
    baseline = None if options.bench_baseline is None else load_run(options.bench_baseline)
    if baseline is None:
        check_baseline(gates)
    elif not options.allow_unlike:
        check_alike(
            baseline.facts,
            merge.facts,
            hint="Compare them anyway with --allow-unlike",
            different_judges=options.different_judges,
        )
    with output_folder(options.out, "merge"):
        return _written(merge, gates, baseline, options)


def _written(
    merge: Merge, gates: Sequence[Gate], baseline: Run | None, options: argparse.Namespace
) -> CommandAnswer:
    """Write the whole run and its reports."""
    from pytest_tablebench.claims.compare import compare_runs
    from pytest_tablebench.claims.summary import summary_of
    from pytest_tablebench.claims.verdict import judge_run
    from pytest_tablebench.reports.judged_run import merged_report
    from pytest_tablebench.reports.junit import write_junit
    from pytest_tablebench.reports.publish import publish

    run = merge.write(options.out)
    comparison = None
    if baseline is not None:
        comparison = compare_runs(
            baseline,
            run,
            allow_unlike=options.allow_unlike,
            different_judges=options.different_judges,
        )
    verdict = judge_run(
        run,
        gates,
        baseline,
        ended=merge.ended,
        point=options.bench_gate_point,
        uncalibrated=options.bench_judge_uncalibrated,
        must_be_whole=True,
        comparison=comparison,
    )
    code = verdict.exit_code or 0
    _conclude(run, verdict, baseline, code)
    problems = publish(
        run,
        page=not options.no_page,
        gates=verdict.gates,
        comparison=verdict.comparison,
        baseline=baseline,
        allure=None if options.allure is None else (options.allure, options.out / "allure"),
        summary=options.summary,
    )
    if options.junitxml is not None:
        write_junit(run, options.junitxml)
    lines = [*(f"note: {problem}" for problem in problems), f"run folder: {options.out}"]
    content = {"summary": summary_of(run), "gates": verdict.gate_entries}
    return CommandAnswer(merged_report(merge, run, verdict.gates), content, code, lines)


def _conclude(run: Run, verdict: RunVerdict, baseline: Run | None, code: int) -> None:
    from pytest_tablebench.results.folder import rewrite_run

    facts = {name: value for name, value in run.facts.entries.items() if name != "schema"}
    facts |= {"gates": verdict.gate_entries, "exit_code": code}
    facts["baseline"] = None if baseline is None else str(real_path(baseline.path))
    run.facts = rewrite_run(run.path, facts)
