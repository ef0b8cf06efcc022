"""The sections of a run's page between its top and its cases, as blocks of documents."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from pytest_tablebench.claims.summary import informative_parts, same_meaning, spent_on, spread
from pytest_tablebench.config.axes import GRID
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import table_of
from pytest_tablebench.reports._same_question import setting_charts, setting_lines, setting_tables
from pytest_tablebench.reports.scores import (
    PARTS,
    bounded,
    check_table,
    cluster_lines,
    corrected_blocks,
    scopes,
    score_table,
    strategy_tables,
    tag_table,
)
from pytest_tablebench.results import Record
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.names import counted, tied

_ROWS = 1000
"""The most rows of all tables by tag, so that a page stays small."""

_SCORES = (
    "Performance is the mean score over examples. Robustness is 1 minus the range of an example's "
    "scores over its configurations. The pass rate is the share of answers that reach the "
    "dataset's threshold."
)
_INCOMPLETE = (
    "* Some configurations were not asked, or have no answer. With them the range may be larger "
    "and robustness lower."
)
_SINGLE = "– Robustness needs at least two answers to an example."
_WHOLE = (
    "In a row marked all, performance, robustness and pass rate are means of its datasets. The "
    "other figures count all of its cases."
)
_CORRECTED = "All other figures are by the published gold; the difference is from them."
_CHECKS = (
    "A case has one record, with the score of the dataset's own metric. Each test over the case "
    "adds a check to it."
)
_ABSENT = (
    "Further numbers of the metric, next to its score. Absent: answers without this number; they "
    "do not count as 0."
)
_RISK = (
    "Same answer: the share of an example's configurations that give its most common answer, right "
    "or wrong, for examples with at least three answers. Risk: 1 minus the score of the majority's "
    "answer, if the model answers only when this share of its configurations agrees; next to it "
    "the share of examples that it then answers. A cell is empty if its level answers no further "
    "example."
)
_CHANGED = (
    "After these perturbations a question may have another answer, or none. They are not in the "
    "table of datasets and not in the maps; a comparison with another run has a row for each."
)


Tag = tuple[str, str]
Rank = Literal["", "whole"]


def _hint(text: str) -> doc.Paragraph:
    return doc.Paragraph(text, "hint")


def score_blocks(summary: Mapping[str, Any], run: RunFacts) -> Iterator[doc.Block]:
    """Yield the scores of datasets, by the corrected gold too, their parts and their tests."""
    table = score_table(summary, "dataset", ", all")
    if not table.rows:
        yield doc.Paragraph("No case was recorded.")
        return
    yield table
    yield _hint(_SCORES)
    robust = [row.cells[2] for row in table.rows]
    figures = [cell for cell in robust if isinstance(cell, doc.Figure)]
    if any(figure.unit and figure.value is not None for figure in figures):
        yield _hint(_INCOMPLETE)
    if any(figure.value is None for figure in figures):
        yield _hint(_SINGLE)
    if len(table.rows) > 1 and any(row.rank for row in table.rows):
        yield _hint(_WHOLE)
    yield from (_hint(f"{sentence}.") for sentence in cluster_lines(summary))
    if corrected := corrected_blocks(summary, run, ", all"):
        yield doc.Heading("By corrected gold", 3)
        yield from corrected
        yield _hint(_CORRECTED)
    yield from further_blocks(summary, run)
    checks = check_table(summary)
    if checks.rows:
        yield doc.Heading("Tests", 3)
        yield checks
        yield _hint(_CHECKS)


def further_blocks(summary: Mapping[str, Any], run: RunFacts) -> Iterator[doc.Block]:
    """Yield the tables of parts of the score, of consistency, and of changed meaning."""
    parts, alike, changed = [], [], []
    names, levels = set[str](), set[float]()
    for name, scope, whole, declared in scopes(summary, run):
        label = doc.Code(name, 60), ", all" if whole else ""
        rank: Rank = "whole" if whole else ""
        for part, figures in informative_parts(scope, declared).items():
            names.add(part)
            counts = (
                doc.Figure(figures[key], "count") for key in ("n_examples", "n_cases", "absent")
            )
            name_cell: doc.Text = (*label, " · ", doc.Code(part, 60))
            mean = bounded(figures["mean"], figures["ci95"])
            parts.append(doc.TableRow((name_cell, mean, *counts), rank))
        if "consistency" in scope:
            points = {point["agreement"]: point for point in scope["consistency"]["risk"]}
            levels |= points.keys()
            alike.append((label, rank, scope["consistency"], points))
        if "changed_meaning" in scope:
            figures = scope["changed_meaning"]
            shares = (doc.Figure(figures[key], "percent") for key in ("pass_rate", "no_answer"))
            counts = (doc.Figure(figures[key], "count") for key in ("n_examples", "n_cases"))
            mean = bounded(figures["value"], figures["ci95"])
            cells: list[doc.Cell] = [label, mean, *shares, *counts]
            changed.append(doc.TableRow((*cells, ", ".join(figures["perturbations"])), rank))
    if parts:
        yield doc.Heading("Parts of the score", 3)
        columns = ("part of the score", doc.Column("mean", "estimate"), "examples", "cases")
        yield table_of((*columns, "absent"), parts)
        meanings = [f" {name}: {text}." for name, text in PARTS.items() if name in names]
        yield _hint(_ABSENT + "".join(meanings))
    if alike:
        yield from _consistency(alike, sorted(levels, reverse=True))
    if changed:
        yield doc.Heading("Changed meaning", 3)
        score = doc.Column("mean score", "estimate")
        named = doc.Column("perturbations", "text")
        shares_and_counts = ("pass rate", "no answer", "examples", "cases")
        yield table_of(("changed meaning", score, *shares_and_counts, named), changed)
        yield _hint(_CHANGED)


def _consistency(rows: Sequence[Any], levels: Sequence[float]) -> Iterator[doc.Block]:
    yield doc.Heading("Consistency", 3)
    same = doc.Column("same answer", "estimate", "percent")
    gain = doc.Column("gain", "estimate", "signed")
    yield table_of(
        ("consistency", same, "majority scores", "mean", gain, "examples"),
        [
            doc.TableRow(
                (
                    label,
                    bounded(figures["value"], figures["ci95"]["value"]),
                    doc.Figure(figures["majority"]),
                    doc.Figure(figures["single"]),
                    bounded(figures["gain"], figures["ci95"]["gain"]),
                    doc.Figure(figures["n_examples"], "count"),
                ),
                rank,
            )
            for label, rank, figures, _ in rows
        ],
    )
    yield doc.Heading("Risk and coverage", 3)
    yield table_of(
        ("risk, by required agreement", *(f"{100 * level:.1f} %" for level in levels)),
        [
            doc.TableRow((label, *(_risk(points.get(level)) for level in levels)), rank)
            for label, rank, _, points in rows
        ],
    )
    yield _hint(_RISK)


def _risk(point: Mapping[str, Any] | None) -> doc.Cell:
    if point is None:
        return None
    return doc.Figure(point["risk"]), " of ", doc.Figure(point["coverage"], "percent")


def numbered_tags(summary: Mapping[str, Any]) -> dict[Tag, int]:
    """Return the numbers of tags and values, in order, for filters."""
    tags = {
        (tag, value)
        for benchmark in summary["benchmarks"].values()
        for tag, by_value in (benchmark.get("tags") or {}).items()
        for value in by_value["values"]
    }
    return {tag: number for number, tag in enumerate(sorted(tags))}


def tag_sections(
    summary: Mapping[str, Any],
    run: RunFacts,
    numbers: Mapping[Tag, int],
    datasets: Sequence[str],
) -> Iterator[doc.Block]:
    """Yield the tables by tag, benchmarks first.

    Their names select cases by the `numbers` of tags and the places in `datasets`.
    """
    by_tag: dict[str, list[doc.Block]] = {}
    room, left_out = _ROWS, 0
    ordered = sorted(scopes(summary, run), key=lambda entry: not entry[2])
    for name, scope, whole, declared in ordered:
        dataset_filter = {} if whole else {"d": datasets.index(name)}
        for tag, figures in (scope.get("tags") or {}).items():
            names = {
                value: doc.Choice(doc.Code(value, 80), {"t": numbers[tag, value], **dataset_filter})
                for value in figures["values"]
                if (tag, value) in numbers
            }
            title = f"{name}, all" if whole else name
            parts = list(informative_parts(scope, declared))
            table = tag_table(figures, parts, title, names, most=max(0, room))
            left_out += max(0, len(table.rows) - max(0, room))
            room -= len(table.rows)
            if table.most:
                by_tag.setdefault(tag, []).append(table)
    for tag, tables in sorted(by_tag.items()):
        yield doc.Fold(doc.Code(tag, 60), tables)
    if left_out:
        rows = counted(left_out, "row")
        yield _hint(f"{rows} did not fit on this page; all are in summary.json.")


def map_blocks(
    summary: Mapping[str, Any], axes: Mapping[str, Sequence[str]]
) -> Iterator[doc.Block]:
    """Yield the maps of serializers and perturbations; their cells select cases.

    `axes` has the names in the order of the page's index. Without cases of perturbation none the
    second map has performance, else its change. Perturbations that change the meaning of the table
    are left out; they have their own table.
    """
    datasets = {
        name: scope
        for benchmark in summary["benchmarks"].values()
        for name, scope in benchmark["datasets"].items()
    }
    names = [name for name in axes["dataset"] if name in datasets]
    by_axis = {
        axis.name: {name: same_meaning(datasets[name], axis.plural) for name in names}
        for axis in GRID
    }
    alike = by_axis["perturbation"]
    changes = [n for n in axes["perturbation"] if n != "none" and any(n in alike[d] for d in names)]
    bases = {name: _performance(alike[name], "none") for name in names}
    has_base = any(
        None not in (bases[name], _performance(alike[name], change))
        for name in names
        for change in changes
    )

    def cells(name: str, axis: str, columns: Sequence[str]) -> Iterator[doc.Cell]:
        base = bases[name] if has_base and axis == "perturbation" else 0.0
        kind: doc.Kind = "signed" if has_base and axis == "perturbation" else "number"
        for column in columns:
            level = _performance(by_axis[axis][name], column)
            value = None if level is None or base is None else level - base
            figure = doc.Figure(value, kind, 2, strength=value)
            places = {"d": axes["dataset"].index(name), axis[0]: axes[axis].index(column)}
            yield figure if level is None else doc.Choice(figure, places, "show cases")

    yield doc.Heading("Performance by serializer", 3)
    rows = [(doc.Code(n, 40), *cells(n, "serializer", axes["serializer"])) for n in names]
    yield table_of(("", *axes["serializer"]), rows, is_heat_map=True)
    title = "Change from perturbation none" if has_base else "Performance by perturbation"
    yield doc.Heading(title, 3)
    if not changes:
        yield doc.Paragraph("The only perturbation of this run is none.")
        return
    rows = [
        (
            doc.Code(name, 40),
            *([doc.Figure(bases[name], digits=2)] if has_base else []),
            *cells(name, "perturbation", changes),
        )
        for name in names
    ]
    yield table_of(("", *(["none"] if has_base else []), *changes), rows, is_heat_map=True)


def _performance(scopes_of_axis: Mapping[str, Mapping[str, Any]], name: str) -> float | None:
    value: float | None = scopes_of_axis.get(name, {}).get("performance")
    return value


def spread_blocks(summary: Mapping[str, Any]) -> list[doc.Block]:
    """Return the best and worst serializer and perturbation of each dataset with several."""
    rows = []
    for benchmark in summary["benchmarks"].values():
        for name, scope in benchmark["datasets"].items():
            cells = [cell for axis in GRID for cell in _spread(scope, axis.name, axis.plural)]
            if any(cell is not None for cell in cells):
                rows.append((doc.Code(name, 60), *cells))
    columns: list[doc.Column | str] = [doc.Column("dataset", "text")]
    for axis in GRID:
        columns += [doc.Column(f"best {axis.name}", "text"), doc.Column("worst", "text"), "spread"]
    return [doc.Heading("Spread", 3), table_of(columns, rows)] if rows else []


def _spread(scope: Mapping[str, Any], axis: str, plural: str) -> tuple[doc.Cell, ...]:
    means = spread(same_meaning(scope, plural))
    if means is None:
        return None, None, None
    high, low = (f" {value:.3f}" for value in (means.high, means.low))
    if means.all_equal:
        return ("all alike", doc.Aside(high)), None, doc.Figure(0.0)
    fewest, most = means.answers
    note = f" over {fewest:,} to {most:,} answers" if fewest < most else ""
    width = doc.Figure(means.high - means.low), doc.Aside(note)
    best, worst = (tied(names, axis) for names in (means.best, means.worst))
    return (best, doc.Aside(high)), (worst, doc.Aside(low)), width


def cost_blocks(records: Iterable[Record], summary: Mapping[str, Any]) -> Iterator[doc.Block]:
    """Yield latency, tokens and cost by dataset, by strategy and by setting, and histograms.

    Requests that cases share count once.
    """
    by_dataset: dict[str, list[Record]] = {}
    for record in records:
        by_dataset.setdefault(record.dataset, []).append(record)
    columns = ("dataset", "median latency", "95th percentile", "prompt tokens")
    rows = [_cost_row(name, by_dataset[name]) for name in sorted(by_dataset)]
    yield table_of((*columns, "completion tokens", "cost", "from the store"), rows)
    strategies, settings = strategy_tables(summary), setting_tables(summary["benchmarks"])
    for title, tables in (("By strategy", strategies), ("By setting", settings)):
        if tables:
            yield doc.Heading(title, 3)
            yield from tables
    yield from map(doc.Paragraph, setting_lines(summary))
    yield from setting_charts(summary)
    yield from _histograms([record for record in records if record.score is not None])


def _cost_row(name: str, records: Sequence[Record]) -> tuple[doc.Cell, ...]:
    spent = spent_on(r for r in records if r.outcome != "no_answer")
    latencies = sorted(r.latency_s for r in records if r.latency_s is not None)
    median = statistics.median(latencies) if latencies else None
    last = latencies[int(0.95 * (len(latencies) - 1))] if latencies else None
    return (
        doc.Code(name, 60),
        doc.Figure(median, unit=" s"),
        doc.Figure(last, unit=" s"),
        doc.Figure(spent["prompt_tokens"], "count"),
        doc.Figure(spent["completion_tokens"], "count"),
        doc.Figure(spent["cost_usd"], "money", unknown="unknown"),
        f"{sum(r.from_store for r in records):,} of {len(records):,}",
    )


def _histograms(answered: Iterable[Record]) -> Iterator[doc.Chart]:
    """Yield the histograms of latency and tokens of answered cases."""
    latency = [record.latency_s for record in answered if record.latency_s]
    tokens = {
        "prompt": [float(r.prompt_tokens) for r in answered if r.prompt_tokens],
        "completion": [float(r.completion_tokens) for r in answered if r.completion_tokens],
    }
    data = {"unit": "seconds a case", "series": {"latency": latency}}
    yield doc.Chart("histogram", "Latency", data)
    yield doc.Chart("histogram", "Tokens", {"unit": "tokens a case", "series": tokens})
