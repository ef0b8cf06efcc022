"""Figures by the corrected gold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.summary._scopes import summarize
from pytest_tablebench.results.corrected import CorrectedCase, corrected_counts

if TYPE_CHECKING:
    from pytest_tablebench.results.score_table import ScoreTable


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
