"""The tables of `tablebench history`, and its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.history import (
    HistoryFigure,
    HistoryPanel,
    HistoryPoint,
    PastRun,
    RunHistory,
    price_of,
)
from pytest_tablebench.reports.formats import aligned, number, percent
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


def started(run: PastRun) -> str:
    """Return the start of a run as date and time in UTC."""
    return f"{run.start:%Y-%m-%d %H:%M}"


def _panel_lines(panel: HistoryPanel, runs: Sequence[PastRun]) -> list[str]:
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


def _row(point: HistoryPoint, runs: Sequence[PastRun]) -> tuple[str, ...]:
    performance, passed, missing = (
        point.figures.get(name) for name in ("performance", "pass_rate", "no_answer")
    )
    return (
        started(runs[point.number]),
        number(performance.value if performance else None),
        _range(performance),
        percent(passed.value if passed else None),
        _range(passed),
        percent(missing.value if missing else None),
        _range(missing),
        "-" if point.n_examples is None else f"{point.n_examples:,}",
    )


def _range(figure: HistoryFigure | None) -> str:
    if figure is None or figure.low is None or figure.high is None:
        return "-"
    return f"{number(figure.low)} to {number(figure.high)}"


def _price_lines(history: RunHistory) -> list[str]:
    rows = [("start", "model", "calls paid", "paid USD", "USD per 1,000 calls")]
    for run in history.runs:
        calls, cost = run.run.get("calls_paid"), run.run.get("cost_usd")
        rows.append(
            (
                started(run),
                printable(run.model, 60),
                number(calls, 0),
                number(cost, 4),
                number(price_of(run), 4),
            )
        )
    return ["price", *(f"  {line}" for line in aligned(rows, left=(0, 1)))]


def history_json(history: RunHistory, problems: Sequence[str]) -> dict[str, Any]:
    """Return the history as JSON: runs in order, panels with their lines, and problems."""
    return {
        "runs": [
            {
                "place": run.place,
                "model": run.model,
                "start": run.start.isoformat(),
                "cost_usd": run.run.get("cost_usd"),
                "calls_paid": run.run.get("calls_paid"),
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
                        "figures": {name: vars(value) for name, value in point.figures.items()},
                        "changes": [{"kind": c.kind, **vars(c)} for c in point.changes],
                    }
                    for point in line.points
                ],
            }
            for line in panel.lines
        ],
    }
