"""The figures of runs over time, and what changed between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.claims.history import HISTORY_MEASURES, HistoryPanel, RunHistory, price_of
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import table_of
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.names import counted

_HINT = (
    "Prices are bills, so they have no interval. Answers from the store are not paid again. The "
    "intervals of the share without an answer count whole tables, or examples if the tables are "
    "unknown."
)

_MODELS = 8
"""The number of models that the page names below its title."""


def history_report(history: RunHistory, problems: Sequence[str]) -> doc.Document:
    """Return charts and a table for each panel, the prices, and what is not shown."""
    models = list(dict.fromkeys(run.facts.model for run in history.runs))
    names = [piece for model in models[:_MODELS] for piece in (", ", doc.Code(model, 60))][1:]
    more = f" and {len(models) - _MODELS} more models" if len(models) > _MODELS else ""
    ends = f"{more}, {_started(history.runs[0])} to {_started(history.runs[-1])} UTC"
    blocks: list[doc.Block] = []
    columns = _columns(history)
    for panel in history.panels:
        blocks += _panel(panel, history, columns)
    blocks += _prices(history, columns)
    if problems:
        blocks.append(doc.Heading(f"Not shown: {counted(len(problems), 'problem')}", 3))
        blocks.append(doc.Listing(problems, 50))
    lead = (f"{counted(len(history.runs), 'run')} of ", *names, ends)
    return doc.Document("History", blocks, lead)


def _started(run: Run) -> str:
    """Return the start of a run as date and time in UTC."""
    return f"{run.facts.started:%Y-%m-%d %H:%M}"


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


def _dates(history: RunHistory) -> list[str]:
    return [f"{run.facts.started:%Y-%m-%d}" for run in history.runs]


def _panel(panel: HistoryPanel, history: RunHistory, columns: Sequence[int]) -> Iterator[doc.Block]:
    points = [(model, point) for model, points in panel.lines.items() for point in points]
    points.sort(key=lambda entry: entry[1].number)
    dates = _dates(history)
    numbers: dict[int, list[int]] = {}
    changes: dict[tuple[int, str], tuple[int, str, list[str]]] = {}
    """By column and text: the number of a change, its date, and the models that have it."""
    for model, point in points:
        for change in point.changes:
            key = columns[point.number], change.text
            number, _, models = changes.setdefault(key, (len(changes) + 1, dates[point.number], []))
            models.append(model)
            numbers.setdefault(point.number, []).append(number)
    is_whole = panel.kind == "benchmark"
    yield doc.Heading((doc.Code(panel.name, 60), ", all datasets" if is_whole else ""))
    shared = {"dates": dates, "columns": columns, "changes": numbers}
    for measure, title in HISTORY_MEASURES.items():
        lines = {
            model: {p.number: p.figures[measure] for p in line if measure in p.figures}
            for model, line in panel.lines.items()
        }
        lines = {model: figures for model, figures in lines.items() if figures}
        yield doc.Chart("history", title, {"lines": lines, **shared})
    if changes:
        yield doc.Heading("Changed between runs", 3)
        several = len(panel.lines) > 1
        cells = [
            (f"{number}", date, text, _models(models, len(panel.lines)))[: 4 if several else 3]
            for (_, text), (number, date, models) in changes.items()
        ]
        titles = ("#", "run", "change", "model")[: 4 if several else 3]
        yield table_of([doc.Column(title, "text") for title in titles], cells)
    yield doc.Heading("Figures", 3)
    estimates = [
        doc.Column(title, "estimate", "number" if name == "performance" else "percent")
        for name, title in HISTORY_MEASURES.items()
    ]
    rows = [
        (
            _started(history.runs[point.number]),
            doc.Code(model, 60),
            *(point.figures.get(measure) for measure in HISTORY_MEASURES),
            doc.Figure(point.n_examples, "count"),
            ", ".join(map(str, numbers.get(point.number, []))) or doc.Figure(None),
        )
        for model, point in points
    ]
    yield table_of(("start", doc.Column("model", "text"), *estimates, "examples", "changes"), rows)


def _models(names: Sequence[str], lines: int) -> doc.Text:
    listed = ["all"] if len(names) == lines > 1 else names
    return tuple(piece for name in listed for piece in (", ", doc.Code(name, 60)))[1:]


def _prices(history: RunHistory, columns: Sequence[int]) -> Iterator[doc.Block]:
    yield doc.Heading("Price", name="price")
    lines = {
        model: figures
        for model, prices in history.prices.items()
        if (figures := {run: Estimate(price) for run, price in prices if price is not None})
    }
    shared = {"dates": _dates(history), "columns": columns, "changes": {}, "is_share": False}
    yield doc.Chart("history", "US dollars per 1,000 paid calls", {"lines": lines, **shared})
    rows = [
        (
            _started(run),
            doc.Code(run.facts.model, 60),
            doc.Figure(run.facts.calls_paid, "count"),
            doc.Figure(run.facts.cost_usd, "money"),
            doc.Figure(price_of(run), "money"),
            doc.Code(str(run.path), 160),
        )
        for run in history.runs
    ]
    texts = doc.Column("model", "text"), doc.Column("run", "text")
    yield table_of(("start", texts[0], "calls paid", "paid", "per 1,000 calls", texts[1]), rows)
    yield doc.Paragraph(_HINT, "legend")


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
                "model": model,
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
                    for point in points
                ],
            }
            for model, points in panel.lines.items()
        ],
    }
