"""The leaderboard of several runs, with figures and with the published rows of papers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import linked, table_of
from pytest_tablebench.documents.html import save_document
from pytest_tablebench.documents.svg import read_plots
from pytest_tablebench.errors import DataError
from pytest_tablebench.papers.boards import boards_of
from pytest_tablebench.papers.plots import PLOTS, write_plots
from pytest_tablebench.papers.report import PaperReport, analysis_of
from pytest_tablebench.papers.runs import (
    differences,
    load_runs,
    run_remarks,
    runs_by_mode,
    shared_overlay,
)
from pytest_tablebench.papers.structure import Marks
from pytest_tablebench.papers.table import all_keys, table_blocks, value_of
from pytest_tablebench.papers.tables import ranked
from pytest_tablebench.reports.scores import SHARE, bounded
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.score_table import EQUAL, ScoreTable
from pytest_tablebench.util.names import counted

_MAPS = ("impact_signed", "dataset_agreement")
"""Figures that are tables on the page, because an image could not follow a dark theme."""

_WIDE = ("score_histogram", "difficulty_histogram", "formats_by_task")


def write_leaderboard(
    runs: Sequence[Path],
    out: Path,
    marks: Marks | None = None,
    report: PaperReport | None = None,
) -> None:
    """Write one page that ranks runs: run folders, or folders that contain some.

    `marks` are a model's marks of the structure of tables. `report`, of the same runs and marks,
    spares computing the figures again. Raises `SettingsError` if a folder is not a run or `out`
    cannot be written.
    """
    loaded = load_runs(runs) if report is None else report.runs
    boards = boards_of(loaded, marks) if report is None else report.boards
    analyses = {} if report is None else report.analyses
    remarks = [remark for run in loaded for remark in (*run_remarks(run), *_unnamed_tables(run))]
    blocks: list[doc.Block] = [
        doc.Paragraph(text, "warning") for text in (*remarks, *differences(loaded))
    ]
    names = sorted({row.benchmark for run in loaded for row in run.rows})
    for name in names:
        blocks += _benchmark(name, loaded, out, analyses.get(name))
    if not names:
        blocks.append(doc.Paragraph("No case was recorded."))
    for board in boards:
        blocks += table_blocks(board, 2)
    save_document(doc.Document("Leaderboard", blocks, counted(len(loaded), "run")), out)


def _unnamed_tables(run: Run) -> list[str]:
    """Return the remark on a run of an earlier version, without the tables of its examples."""
    if any(row.cluster for row in run.rows) or not run.rows:
        return []
    return [
        f"{run.model}: the records do not name the tables of examples: intervals "
        f"take every example as independent"
    ]


def _benchmark(
    name: str, runs: Sequence[Run], out: Path, analysis: Mapping[str, Any] | None
) -> Iterator[doc.Block]:
    parts = runs_by_mode(runs, name)
    datasets = sorted({row.dataset for run in parts for row in run.rows})
    is_corrected = shared_overlay(parts) is not None
    ranking = _ranking(name, runs, datasets, is_corrected=is_corrected)
    yield doc.Heading(doc.Code(name, 60))
    columns = doc.Column("#"), doc.Column("model", "text"), SHARE
    more = ["by corrected gold", "# by it", "moved"] if is_corrected else []
    rows: list[Sequence[doc.Cell]] = [
        row.cells(ranking, out, is_corrected=is_corrected) for row in ranking
    ]
    yield doc.Heading("Ranking", 3)
    yield table_of([*columns, "robustness", "pass rate", "no answer", "cost", *more], rows)
    if len(datasets) > 1:
        yield doc.Heading("Performance by dataset", 3)
        rows = [
            (cells[1], *(doc.Figure(value, digits=2, strength=value) for value in row.values))
            for row, cells in zip(ranking, rows, strict=True)
        ]
        yield table_of(("", *datasets), rows, is_heat_map=True)
    try:
        analysis = analysis or analysis_of(runs, name)
    except DataError as error:
        yield doc.Paragraph(f"No figures: {error}", "hint")
        return
    yield from _maps(analysis)
    plot_names = [plot for plot in PLOTS if plot not in _MAPS]
    with tempfile.TemporaryDirectory() as folder:
        plots = read_plots(write_plots(analysis, Path(folder), plot_names), _WIDE)
    for plot in plots:
        yield doc.Chart("drawn", plot.title, {"plot": plot})


def _maps(analysis: Mapping[str, Any]) -> Iterator[doc.Block]:
    """Yield the signed figures by row and column; a figure that could not be made is left out."""
    for title, tree, reach in (
        (
            "Impact of perturbations (change from perturbation none)",
            analysis["perturbation_impact"].get("signed_by_model_perturbation", {}),
            0.3,
        ),
        (
            f"Agreement of datasets on the ranking of {ranked(analysis)} (Kendall's tau-b)",
            analysis["dataset_agreement"].get("tau_b", {}),
            1.0,
        ),
    ):
        columns = all_keys(tree.values())
        named = [(name, [value_of(row.get(c)) for c in columns]) for name, row in tree.items()]
        if any(value is not None for _, values in named for value in values):
            rows: list[Sequence[doc.Cell]] = [
                (
                    doc.Code(name, 60),
                    *(
                        # The colour is full at `reach`.
                        doc.Figure(v, "signed", 2, strength=None if v is None else 0.3 * v / reach)
                        for v in values
                    ),
                )
                for name, values in named
            ]
            yield doc.Heading(title, 3)
            yield table_of(("", *columns), rows, is_heat_map=True)


def _cost(part: Run, runs: Sequence[Run]) -> float | None:
    """Return the cost of a part of a run in US dollars, None if it is unknown.

    The cost of a whole run includes calls to judges. A part costs as much as the calls of its
    cases.
    """
    if any(len(part.rows) == len(run.rows) for run in runs if run.path == part.path):
        return part.facts.cost_usd
    prices = [row.cost_usd for row in part.rows if row.cost_usd is not None]
    return fsum(prices) if len(prices) == len(part.rows) else None


@dataclass(frozen=True)
class _RankedRun:
    """A run in a ranking; `values` are its performances by dataset."""

    run: Run
    scope: Mapping[str, Any]
    performance: float | None
    corrected: float | None
    values: Sequence[float | None]
    cost: float | None

    def cells(
        self, ranking: Sequence[_RankedRun], out: Path, *, is_corrected: bool
    ) -> Sequence[doc.Cell]:
        """Return the row in the table of a ranking."""
        is_whole = self.performance is not None
        rank, label = _rank(self.performance, [row.performance for row in ranking])
        single = not is_whole or "one configuration" in self.scope["flags"]
        cells: list[doc.Cell] = [
            label,
            linked(self.run.model, self.run.path / "report.html", out.parent),
            bounded(self.performance, self.scope["ci95"]["performance"] if is_whole else None),
            doc.Figure(None if single else self.scope["robustness"]),
            doc.Figure(self.scope["pass_rate"], "percent"),
            doc.Figure(self.scope["no_answer"], "percent"),
            doc.Figure(self.cost, "money", unknown="unknown"),
        ]
        if is_corrected:
            new_rank, label = _rank(self.corrected, [row.corrected for row in ranking])
            moved = None if rank is None or new_rank is None else rank - new_rank
            arrow = "–" if moved is None else "=" if not moved else "↑" if moved > 0 else "↓"
            cells += [
                doc.Figure(self.corrected),
                label,
                f"{arrow} {abs(moved)}" if moved else arrow,
            ]
        return cells


def _ranking(
    name: str, runs: Sequence[Run], datasets: Sequence[str], *, is_corrected: bool
) -> list[_RankedRun]:
    """Return the runs, best first; runs without all datasets come last."""
    rows = []
    for run in runs_by_mode(runs, name):
        table = ScoreTable.from_records(run.rows)
        scope = summarize(table)["benchmarks"][name]
        is_whole = len(scope["datasets"]) == len(datasets)
        values = [scope["datasets"].get(dataset, {}).get("performance") for dataset in datasets]
        performance = scope["performance"] if is_whole else None
        corrected: Mapping[str, Any] = {}
        if is_corrected:
            corrected = summarize(table.corrected)["benchmarks"].get(name, {})
        is_known = len(corrected.get("datasets", ())) == len(datasets)
        by_gold = corrected["performance"] if is_known else None
        rows.append(_RankedRun(run, scope, performance, by_gold, values, _cost(run, runs)))
    return sorted(
        rows, key=lambda row: (row.performance is None, -(row.performance or 0), row.run.model)
    )


def _rank(value: float | None, values: Sequence[float | None]) -> tuple[int | None, str]:
    """Return the rank of a value among all, and its text: `2 =` if several share it."""
    if value is None:
        return None, "–"
    others = [other for other in values if other is not None]
    rank = 1 + sum(other > value + EQUAL for other in others)
    equal = sum(abs(other - value) <= EQUAL for other in others)
    return rank, f"{rank}{' =' if equal > 1 else ''}"
