"""The leaderboard page of several runs, with figures and with the published rows of papers."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from math import fsum
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.documents.canvas import Plot
from pytest_tablebench.documents.html import save_page
from pytest_tablebench.documents.inline_svg import read_plots
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
from pytest_tablebench.papers.table import (
    PaperTable,
    all_keys,
    labelled_notes,
    shown,
    text_columns,
    value_of,
)
from pytest_tablebench.papers.tables import ranked
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.score_table import EQUAL, ScoreTable
from pytest_tablebench.util.names import printable

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
    names = sorted({row.benchmark for run in loaded for row in run.rows})
    facts = {
        "runs": loaded,
        "benchmarks": [_benchmark(name, loaded, out, analyses.get(name)) for name in names],
        "boards": [_table(table) for table in boards],
        "remarks": [
            remark for run in loaded for remark in (*run_remarks(run), *_unnamed_tables(run))
        ],
        "differences": differences(loaded),
    }
    save_page(out, "board.html", facts)


def _unnamed_tables(run: Run) -> list[str]:
    """Return the remark on a run of an earlier version, without the tables of its examples."""
    if any(row.cluster for row in run.rows) or not run.rows:
        return []
    return [
        f"{printable(run.model, 80)}: the records do not name the tables of examples: intervals "
        f"take every example as independent"
    ]


def _benchmark(
    name: str, runs: Sequence[Run], out: Path, analysis: Mapping[str, Any] | None
) -> dict[str, Any]:
    parts = runs_by_mode(runs, name)
    rows = [row for run in parts for row in run.rows]
    datasets = sorted({row.dataset for row in rows})
    plots, maps, problem = _plots(runs, name, analysis)
    return {
        "name": name,
        "datasets": datasets,
        "is_corrected": shared_overlay(parts) is not None,
        "rows": _ranking(name, parts, datasets, _costs(runs, parts), out),
        "plots": plots,
        "maps": maps,
        "problem": problem,
    }


def _plots(
    runs: Sequence[Run], benchmark: str, analysis: Mapping[str, Any] | None
) -> tuple[list[Plot], list[dict[str, Any]], str | None]:
    try:
        analysis = analysis or analysis_of(runs, benchmark)
    except DataError as error:
        return [], [], printable(str(error), 400)
    names = [name for name in PLOTS if name not in _MAPS]
    with tempfile.TemporaryDirectory() as folder:
        plots = read_plots(write_plots(analysis, Path(folder), names), _WIDE)
    return plots, _maps(analysis), None


def _maps(analysis: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the signed figures by row and column; a figure that could not be made is left out."""
    maps = []
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
        rows = [(name, [value_of(row.get(c)) for c in columns]) for name, row in tree.items()]
        if any(value is not None for _, values in rows for value in values):
            maps.append({"title": title, "columns": columns, "rows": rows, "reach": reach})
    return maps


def _link(run: Run, out: Path) -> str | None:
    """Return the address of a run's page, relative to the page `out`; None without a page."""
    page = run.path / "report.html"
    try:
        return quote(Path(os.path.relpath(page, out.parent)).as_posix()) if page.exists() else None
    except (OSError, ValueError):  # on another drive, or not readable
        return None


def _costs(runs: Sequence[Run], parts: Sequence[Run]) -> list[float | None]:
    """Return the cost of each part of a run in US dollars, None where it is unknown.

    The cost of a part that is a whole run includes calls to judges. Any other part costs as much as
    the calls of its cases.
    """
    cases = {run.path: len(run.rows) for run in runs}
    costs: list[float | None] = []
    for part in parts:
        whole = part.facts.cost_usd
        prices = [row.cost_usd for row in part.rows if row.cost_usd is not None]
        if len(part.rows) == cases[part.path]:
            costs.append(whole)
        else:
            costs.append(fsum(prices) if len(prices) == len(part.rows) else None)
    return costs


def _ranking(
    name: str,
    runs: Sequence[Run],
    datasets: Sequence[str],
    costs: Sequence[float | None],
    out: Path,
) -> list[dict[str, Any]]:
    """Return a row for each run, best first; runs without all datasets come last."""
    rows, is_corrected = [], shared_overlay(runs) is not None
    for run, cost in zip(runs, costs, strict=True):
        table = ScoreTable.from_records(run.rows)
        scope = summarize(table)["benchmarks"][name]
        whole = len(scope["datasets"]) == len(datasets)
        rows.append(
            {
                "model": run.model,
                "link": _link(run, out),
                "scope": scope,
                "performance": scope["performance"] if whole else None,
                "interval": scope["ci95"]["performance"] if whole else None,
                "robustness": None
                if not whole or "one configuration" in scope["flags"]
                else scope["robustness"],
                "by_dataset": [
                    scope["datasets"].get(dataset, {}).get("performance") for dataset in datasets
                ],
                "cost": cost,
                "corrected": _corrected(table, name, datasets) if is_corrected else None,
            }
        )
    rows.sort(
        key=lambda row: (row["performance"] is None, -(row["performance"] or 0), row["model"])
    )
    performances = [row["performance"] for row in rows if row["performance"] is not None]
    for row in rows:
        row["place"] = _place(row["performance"], performances)
    if is_corrected:
        _add_moves(rows)
    return rows


def _corrected(table: ScoreTable, benchmark: str, datasets: Sequence[str]) -> float | None:
    """Return the performance by the corrected gold; None without all datasets."""
    scope = summarize(table.corrected)["benchmarks"].get(benchmark)
    if scope is None or len(scope["datasets"]) < len(datasets):
        return None
    performance: float | None = scope["performance"]
    return performance


def _add_moves(rows: Sequence[dict[str, Any]]) -> None:
    """Add the rank by the corrected gold, and how many places it is above the published one."""
    published = [row["performance"] for row in rows if row["performance"] is not None]
    corrected = [row["corrected"] for row in rows if row["corrected"] is not None]
    for row in rows:
        row["corrected_place"] = _place(row["corrected"], corrected)
        before, after = _rank(row["performance"], published), _rank(row["corrected"], corrected)
        row["moved"] = None if before is None or after is None else before - after


def _rank(value: float | None, values: Sequence[float]) -> int | None:
    return None if value is None else 1 + sum(other > value + EQUAL for other in values)


def _place(value: float | None, values: Sequence[float]) -> str:
    """Return the rank of a value among all; `2 =` if several share it."""
    if value is None:
        return "–"
    equal = sum(abs(other - value) <= EQUAL for other in values)
    return f"{_rank(value, values)}{' =' if equal > 1 else ''}"


def _table(table: PaperTable) -> dict[str, Any]:
    texts = text_columns(table)
    return {
        "title": table.title,
        "columns": [(name, place not in texts) for place, name in enumerate(table.columns)],
        "rows": [
            (
                number < table.own_rows,
                [
                    ("–" if cell is None else shown(cell, 120), place not in texts)
                    for place, cell in enumerate(row)
                ],
            )
            for number, row in enumerate(table.rows)
        ],
        "notes": [*labelled_notes(table), *table.notes],
    }
