"""The tables of `tablebench history`, and its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.claims.history import (
    HistoryPanel,
    HistoryPoint,
    RunHistory,
    price_of,
)
from pytest_tablebench.documents.formats import aligned, interval, number, percent
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.names import counted, printable

__all__ = ["history_json", "history_lines", "started"]

_HEAD = ("start", "performance", "95 % interval", "pass rate", "95 % interval")
_NO_ANSWER = ("no answer", "95 % interval", "examples")


def history_lines(history: RunHistory) -> list[str]:
    """Return a table for each panel and model, with the changes below their run, and the prices."""
    lines: list[str] = []
    for panel in history.panels:
        lines += _panel_lines(panel, history.runs)
    return [*lines, *_price_lines(history)]


def started(run: Run) -> str:
    """Return the start of a run as date and time in UTC."""
    return f"{run.facts.started:%Y-%m-%d %H:%M}"


def _panel_lines(panel: HistoryPanel, runs: Sequence[Run]) -> list[str]:
    lines = []
    for line in panel.lines:
        title = f"{printable(panel.name, 60)}{', all' if panel.kind == 'benchmark' else ''}"
        lines.append(f"{title}: {printable(line.model, 80)}, {counted(len(line.points), 'run')}")
        rows = aligned([(*_HEAD, *_NO_ANSWER), *(_row(point, runs) for point in line.points)])
        lines.append(f"  {rows[0]}")
        for row, point in zip(rows[1:], line.points, strict=True):
            lines += [f"    changed: {change.text}" for change in point.changes]
            lines.append(f"  {row}")
        lines.append("")
    return lines


def _row(point: HistoryPoint, runs: Sequence[Run]) -> tuple[str, ...]:
    performance, passed, missing = (
        point.figures.get(name, Estimate()) for name in ("performance", "pass_rate", "no_answer")
    )
    return (
        started(runs[point.number]),
        number(performance.value),
        interval(performance.interval),
        percent(passed.value),
        interval(passed.interval),
        percent(missing.value),
        interval(missing.interval),
        "-" if point.n_examples is None else f"{point.n_examples:,}",
    )


def _price_lines(history: RunHistory) -> list[str]:
    rows = [("start", "model", "calls paid", "paid USD", "USD per 1,000 calls")]
    rows += [
        (
            started(run),
            printable(run.facts.model, 60),
            number(run.facts.calls_paid, 0),
            number(run.facts.cost_usd, 4),
            number(price_of(run), 4),
        )
        for run in history.runs
    ]
    return ["price", *(f"  {line}" for line in aligned(rows, left=(0, 1)))]


def history_json(history: RunHistory, problems: Sequence[str]) -> dict[str, Any]:
    """Return the history as JSON: runs in order, panels with their lines, and problems."""
    return {
        "runs": [
            {
                "place": str(run.path),
                "model": run.facts.model,
                "start": run.facts.started.isoformat(),
                "cost_usd": run.facts.cost_usd,
                "calls_paid": run.facts.calls_paid,
                "usd_per_1000_calls": price_of(run),
            }
            for run in history.runs
        ],
        "panels": [_panel_json(panel) for panel in history.panels],
        "problems": list(problems),
    }


def _panel_json(panel: HistoryPanel) -> Mapping[str, Any]:
    return {
        "kind": panel.kind,
        "name": panel.name,
        "lines": [
            {
                "model": line.model,
                "points": [
                    {
                        "run": point.number,
                        "n_examples": point.n_examples,
                        "figures": {
                            name: {"value": figure.value, "low": figure.low, "high": figure.high}
                            for name, figure in point.figures.items()
                        },
                        "changes": [{"kind": c.kind, **vars(c)} for c in point.changes],
                    }
                    for point in line.points
                ],
            }
            for line in panel.lines
        ],
    }
