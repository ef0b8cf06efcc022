"""`tablebench rejudge RUN` and `merge RUN... --out DIR`: a run that is judged again, or joined."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.claims.differences import check_alike
from pytest_tablebench.claims.gate_names import check_corrected, check_gates
from pytest_tablebench.claims.gates import (
    Gate,
    GateResult,
    baseline_needed,
    gate_without_baseline,
    parse_gates,
    recorded_gates,
)
from pytest_tablebench.claims.merge import Merge, read_merge
from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.claims.verdict import RunVerdict, decided_before, judge_run
from pytest_tablebench.commands._asking import settings_of
from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.documents.document import Document
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.reports.gates import merged_report, rejudged_report
from pytest_tablebench.reports.judges import plan_sentence
from pytest_tablebench.reports.junit import write_junit
from pytest_tablebench.reports.publish import publish
from pytest_tablebench.results import ScoreTable, read_records
from pytest_tablebench.results.folder import output_folder, rewrite_run
from pytest_tablebench.results.run import Run, load_run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.running.builtins import command_plugins
from pytest_tablebench.running.rejudge import Rejudged, rejudge, write_rejudged
from pytest_tablebench.util.entries import listing
from pytest_tablebench.util.files import real_path


def rejudge_run(options: argparse.Namespace) -> CommandAnswer:
    settings = settings_of(options)
    judged = _judge(options.run, settings, options, options.judge)
    if judged.plan is not None and judged.plan.calls and not options.yes:
        lines = [plan_sentence(judged.plan), "nothing was asked or written; add --yes to ask"]
        return CommandAnswer(Document("Plan", ()), vars(judged.plan), lines=lines)
    summary = summary_of(judged.run)
    gates = gates_of(options.bench_gate, judged.run.facts, judged.run.table)
    verdict = _decide(judged, gates, settings, options)
    if options.out is not None:
        facts: dict[str, Any] = {"gates": verdict.gate_entries}
        if options.bench_baseline is not None:
            facts["baseline"] = str(real_path(options.bench_baseline))
        with output_folder(options.out, "rejudge"):
            write_rejudged(judged, summary, options.out, **facts)
    return CommandAnswer(
        rejudged_report(judged, verdict.gates),
        {"summary": summary, "gates": verdict.gate_entries},
        verdict.exit_code or 0,
        [f"run folder: {options.out}"] if options.out is not None else [],
    )


def _judge(
    path: Path, settings: Settings, options: argparse.Namespace, judge: str | None = None
) -> Rejudged:
    return rejudge(
        path,
        compat=settings.compat if options.bench_compat else None,
        thresholds=settings.thresholds,
        data=settings.data,
        plugins=command_plugins(options.plugin),
        judge=judge,
        api_base=settings.api_base,
        max_cost=settings.max_cost,
        ask=options.yes,
        corrections=settings.corrections,
    )


def _decide(
    judged: Rejudged, gates: Sequence[Gate], settings: Settings, options: argparse.Namespace
) -> RunVerdict:
    if not gates:
        return RunVerdict()
    baseline = None
    if options.bench_baseline is not None:
        present = {record.dataset for record in read_records(options.bench_baseline)}
        shared = {name: value for name, value in settings.thresholds.items() if name in present}
        baseline = _judge(options.bench_baseline, replace(settings, thresholds=shared), options).run
        if not options.allow_unlike:
            hint = (
                "Give --bench-compat or --bench-threshold to judge both runs by the same rules, or "
                "compare them anyway with --allow-unlike"
            )
            different_judges = options.different_judges
            check_alike(
                baseline.facts, judged.run.facts, hint=hint, different_judges=different_judges
            )
    else:
        check_baseline(gates)
    decided: list[GateResult] = []
    if not (
        options.bench_compat or options.bench_threshold
    ):  # otherwise the answers are judged anew
        decided = decided_before(judged.run.facts, options.bench_baseline)
    return judge_run(
        judged.run,
        gates,
        baseline,
        ended=judged.ended,
        point=options.bench_gate_point,
        uncalibrated=options.bench_judge_uncalibrated,
        decided=decided,
    )


def merge_parts(options: argparse.Namespace) -> CommandAnswer:
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
    facts = {name: value for name, value in run.facts.entries.items() if name != "schema"}
    facts |= {"gates": verdict.gate_entries, "exit_code": code}
    facts["baseline"] = None if baseline is None else str(real_path(baseline.path))
    run.facts = rewrite_run(run.path, facts)


def gates_of(texts: Sequence[str] | None, run: RunFacts, table: ScoreTable) -> list[Gate]:
    """Return the gates of the command, or else of the run.

    The run's own gates and its planned datasets are valid even if it was interrupted before any of
    their cases. Raises `SettingsError` for a gate that names nothing of the run.
    """
    run_gates = parse_gates(recorded_gates(run))
    gates, names = parse_gates(texts) if texts else run_gates, table.names
    check_corrected(gates, has_corrections=run.overlay is not None)
    if not texts:
        return run_gates
    check_gates(
        [gate for gate in gates if gate not in run_gates],
        sorted({*names["dataset"], *run.datasets}),
        names["benchmark"],
        {
            axis.plural: sorted({*names[axis.name], *listing(run.grid.get(axis.plural))} - {""})
            for axis in NAMED
        },
    )
    return gates


def check_baseline(gates: Iterable[Gate]) -> None:
    """Raise `SettingsError` for a gate that compares with a baseline, if none is given."""
    gate = gate_without_baseline(gates)
    if gate is not None:
        raise SettingsError(baseline_needed(gate))
