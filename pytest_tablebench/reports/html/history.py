"""The page of a history of runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.claims.history import (
    HISTORY_MEASURES,
    HistoryPanel,
    RunHistory,
    price_of,
)
from pytest_tablebench.documents.canvas import Plot
from pytest_tablebench.documents.history_chart import PlottedLine, history_plot
from pytest_tablebench.documents.html import save_page
from pytest_tablebench.reports.history_text import started


def write_history(history: RunHistory, out: Path, problems: Sequence[str]) -> None:
    """Write the page: charts and a table for each panel, the prices, and what is not shown.

    Raises `SettingsError` if `out` cannot be written.
    """
    dates = [f"{run.facts.started:%Y-%m-%d}" for run in history.runs]
    columns = _columns(history)
    facts = {
        "runs": [{"start": started(run), "model": run.facts.model} for run in history.runs],
        "models": list(dict.fromkeys(run.facts.model for run in history.runs)),
        "panels": [_panel(panel, history, dates, columns) for panel in history.panels],
        "price": _price_plot(history, dates, columns),
        "bills": [
            {
                "start": started(run),
                "model": run.facts.model,
                "place": str(run.path),
                "calls": run.facts.calls_paid,
                "cost": run.facts.cost_usd,
                "price": price_of(run),
            }
            for run in history.runs
        ],
        "problems": list(problems),
    }
    save_page(out, "history.html", facts)


def _columns(history: RunHistory) -> list[int]:
    """Return the column of each run in charts: a new one for a new day or a model's next run."""
    columns: list[int] = []
    day, models = None, set[str]()
    for run in history.runs:
        started_on, model = run.facts.started.date(), run.facts.model
        if started_on != day or model in models:
            day, models = started_on, set()
            columns.append(columns[-1] + 1 if columns else 0)
        else:
            columns.append(columns[-1])
        models.add(model)
    return columns


def _panel(
    panel: HistoryPanel, history: RunHistory, dates: Sequence[str], columns: Sequence[int]
) -> dict[str, Any]:
    points = [(line.model, point) for line in panel.lines for point in line.points]
    points.sort(key=lambda entry: entry[1].number)
    numbers: dict[int, list[int]] = {}
    changes: dict[tuple[int, str], dict[str, Any]] = {}
    for model, point in points:
        for change in point.changes:
            key = columns[point.number], change.text
            entry = changes.setdefault(
                key,
                {
                    "number": len(changes) + 1,
                    "date": dates[point.number],
                    "models": [],
                    "text": change.text,
                },
            )
            entry["models"].append(model)
            numbers.setdefault(point.number, []).append(entry["number"])
    for entry in changes.values():
        if len(entry["models"]) == len(panel.lines) > 1:
            entry["models"] = ["all"]
    rows = [
        {
            "start": started(history.runs[point.number]),
            "model": model,
            "figures": [point.figures.get(measure) for measure in HISTORY_MEASURES],
            "examples": point.n_examples,
            "numbers": numbers.get(point.number, []),
        }
        for model, point in points
    ]
    plots = [
        history_plot(words, _lines(panel, measure), dates, columns, numbers)
        for measure, words in HISTORY_MEASURES.items()
    ]
    return {
        "name": panel.name,
        "is_whole": panel.kind == "benchmark",
        "plots": [plot for plot in plots if plot is not None],
        "rows": rows,
        "several": len(panel.lines) > 1,
        "changes": list(changes.values()),
    }


def _lines(panel: HistoryPanel, measure: str) -> list[PlottedLine]:
    lines = []
    for line in panel.lines:
        points = {p.number: p.figures[measure] for p in line.points if measure in p.figures}
        if points:
            lines.append(PlottedLine(line.model, points))
    return lines


def _price_plot(history: RunHistory, dates: Sequence[str], columns: Sequence[int]) -> Plot | None:
    lines = []
    for model, prices in history.prices.items():
        figures = {run: Estimate(price) for run, price in prices if price is not None}
        if figures:
            lines.append(PlottedLine(model, figures))
    title = "US dollars per 1,000 paid calls"
    return history_plot(title, lines, dates, columns, {}, is_share=False)
