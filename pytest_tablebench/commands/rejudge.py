"""`tablebench rejudge RUN`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._asking import settings_of
from pytest_tablebench.commands._gates import (
    check_baseline,
    gates_of,
)
from pytest_tablebench.commands.outputs import CommandAnswer
from pytest_tablebench.util.files import real_path

if TYPE_CHECKING:
    from pytest_tablebench.claims.gates import Gate, GateResult
    from pytest_tablebench.claims.verdict import RunVerdict
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.running.rejudge import Rejudged


def rejudge_run(options: argparse.Namespace) -> CommandAnswer:
    from pytest_tablebench.claims.summary import summary_of
    from pytest_tablebench.documents.document import Document
    from pytest_tablebench.reports.judged_run import rejudged_report
    from pytest_tablebench.reports.judges import plan_sentence
    from pytest_tablebench.results.folder import output_folder
    from pytest_tablebench.running.rejudge import write_rejudged

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
    from pytest_tablebench.running.builtins import command_plugins
    from pytest_tablebench.running.rejudge import rejudge

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
    from pytest_tablebench.claims.differences import check_alike
    from pytest_tablebench.claims.verdict import RunVerdict, decided_before, judge_run
    from pytest_tablebench.results import read_records

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
