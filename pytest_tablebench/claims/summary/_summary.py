"""The content of `summary.json` of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.summary._scopes import summarize
from pytest_tablebench.claims.summary._spending import add_spending
from pytest_tablebench.config.axes import SAME_QUESTION
from pytest_tablebench.results.corrected import CorrectedCase, corrected_counts

if TYPE_CHECKING:
    from pytest_tablebench.results.run import Run
    from pytest_tablebench.results.run_facts import RunFacts
    from pytest_tablebench.results.score_table import ScoreTable


def summary_of(run: Run) -> dict[str, Any]:
    """Return the figures of a run, with its spending and its judged means, computed once.

    The records are read only for figures that need them.
    """
    return run.once("summary", lambda: _summary(run))


def _summary(run: Run) -> dict[str, Any]:
    summary = _figures(run.facts, run.scores)
    add_spending(summary, lambda: run.records)
    if run.labels:
        # Runs without labels need neither.
        from pytest_tablebench.claims.calibration import summary_entry
        from pytest_tablebench.results.labelled_cases import labelled_cases

        summary["judged"] = summary_entry(labelled_cases(run.records, run.labels))
    return summary


def _figures(run: RunFacts, table: ScoreTable) -> dict[str, Any]:
    """Return the figures of a run's records, with the cases that do not apply, by reason.

    A dataset without other missing cases is not flagged as incomplete. If the run has
    corrections, the entry `corrected` has the figures by the corrected gold (see
    `corrected_summary`).
    """
    names = ((axis.name, f"{axis.name}_margin") for axis in SAME_QUESTION)
    margins = {
        axis: float(margin) for axis, name in names if (margin := run.entries.get(name)) is not None
    }
    summary = _with_inapplicable(run, summarize(table, margins=margins))
    if run.overlay is not None:
        summary["corrected"] = _with_inapplicable(run, corrected_summary(table))
    return summary | {name: count for name in THINKING if (count := getattr(run, name))}


def _with_inapplicable(run: RunFacts, summary: dict[str, Any]) -> dict[str, Any]:
    is_complete, inapplicable = run.cases_recorded == run.cases_planned, run.inapplicable
    for benchmark in summary["benchmarks"].values():
        for name, scope in benchmark["datasets"].items():
            counts = inapplicable.get(name)
            if counts:
                scope["does_not_apply"] = counts
                if is_complete and not scope["no_answer"]:
                    scope["flags"] = [flag for flag in scope["flags"] if flag != "incomplete"]
        if not any("incomplete" in scope["flags"] for scope in benchmark["datasets"].values()):
            benchmark["flags"] = [flag for flag in benchmark["flags"] if flag != "incomplete"]
    return summary


THINKING = ("thinking_tokens", "cases_extended")
"""The entries of `run.json` that `summary.json` repeats unless they are 0."""


def corrected_summary(table: ScoreTable) -> dict[str, Any]:
    """Return the figures of a run by the corrected gold, in the form of `summarize`.

    The whole, each benchmark and each dataset also have the entries of `corrected_counts`. A
    dataset that is left out as a whole is missing.
    """
    cases = [_case(table, row, entry) for row, entry in table.corrections.items()]
    summary = summarize(table.corrected)
    for name, benchmark in summary["benchmarks"].items():
        benchmark.update(corrected_counts(case for case in cases if case.benchmark == name))
        for dataset, scope in benchmark["datasets"].items():
            scope.update(corrected_counts(case for case in cases if case.dataset == dataset))
    return {**corrected_counts(cases), **summary}


def _case(table: ScoreTable, row: int, entry: Mapping[str, Any]) -> CorrectedCase:
    benchmark, dataset, example = (
        table.case(row, axis) for axis in ("benchmark", "dataset", "example")
    )
    return CorrectedCase(benchmark, dataset, example, entry)
