"""Complexity of tables against their tokens: RealHiTBench's map, as a table and as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

from pytest_tablebench.papers.canvas import labelled, size
from pytest_tablebench.papers.text import PaperTable, Value
from pytest_tablebench.results.figures import plain_mean
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.table_map import MappedTable, table_map
from pytest_tablebench.results.texts import TEXTS, read_examples
from pytest_tablebench.util.tokens import tokenizer_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BANDS = ((0, 25), (25, 50), (50, 75), (75, 101))
_BUCKETS = {"<10K": (0, 10_000), "10-20K": (10_000, 20_001), ">20K": (20_001, 1 << 62)}
"""By tokens, as the paper's Table 3 has them (spec: realhitbench.md section 6)."""


def mapped_tables(runs: Sequence[Run], benchmark: str) -> dict[str, list[MappedTable]]:
    """Return the tables of a benchmark by model; empty if none of them has structure."""
    by_model = {}
    for run in runs:
        rows = [row for row in run.rows if row.benchmark == benchmark]
        tables = table_map(read_examples(run.path / TEXTS), rows) if rows else []
        if tables:
            by_model[run.model] = tables
    return by_model


def map_tables(by_model: Mapping[str, Sequence[MappedTable]]) -> list[PaperTable]:
    """Return the scores by complexity and tokens, and all tables; none without a map."""
    if not by_model:
        return []
    rows: list[tuple[Value, ...]] = []
    for model, tables in by_model.items():
        for low, high in _BANDS:
            band = [table for table in tables if low <= table.complexity < high]
            means = [
                plain_mean(
                    table.score
                    for table in band
                    if least <= table.tokens < most and table.questions
                )
                for least, most in _BUCKETS.values()
            ]
            if band:
                rows.append((model, f"{low}-{min(high, 100)}", *means, len(band)))
    listed = tuple(
        (
            model,
            table.dataset,
            table.table,
            table.complexity,
            table.tokens,
            table.questions,
            table.score,
        )
        for model, tables in by_model.items()
        for table in tables
    )
    return [
        PaperTable(
            "complexity_tokens",
            "Scores by complexity and tokens of tables (means over tables)",
            ("model", "complexity", *_BUCKETS, "tables"),
            tuple(rows),
            notes=(f"complexity by rule, of 100; tokens of LaTeX, by {tokenizer_name()}",),
        ),
        PaperTable(
            "tables",
            "Tables by complexity and tokens",
            ("model", "dataset", "table", "complexity", "tokens", "questions", "score"),
            listed,
            shown=False,
        ),
    ]


def map_figure(figure: Figure, analysis: Mapping[str, Any]) -> bool:
    """Draw tokens of each table across and complexity upwards, coloured by its score of all models.

    A table without a score is grey. Returns False without a map.
    """
    by_model: Mapping[str, Sequence[MappedTable]] = analysis.get("tables") or {}
    by_table: dict[tuple[str, str], list[MappedTable]] = {}
    for tables in by_model.values():
        for table in tables:
            by_table.setdefault((table.dataset, table.table), []).append(table)
    if not by_table:
        return False
    points = [
        (max(same[0].tokens, 1), same[0].complexity, plain_mean(table.score for table in same))
        for same in by_table.values()
    ]
    size(figure, 7.0, 4.6)
    axes = figure.subplots()
    runs = labelled(list(by_model))
    score = f"mean score of {len(runs)} runs" if len(runs) > 1 else "mean score"
    look: dict[str, Any] = {"s": 26, "linewidths": 0.6, "edgecolors": "black"}
    for is_scored in (False, True):
        group = [point for point in points if (point[2] is not None) is is_scored]
        if not group:
            continue
        across, up, scores = zip(*group, strict=True)
        if is_scored:
            drawn = axes.scatter(across, up, c=scores, cmap="viridis", vmin=0, vmax=1, **look)
            figure.colorbar(drawn, ax=axes, label=score)
        else:
            axes.scatter(across, up, color="#BBBBBB", **look)
    sizes = [point[0] for point in points]
    # Whole decades: there are always two that have a label.
    axes.set_xscale("log")
    axes.set_xlim(10 ** floor(log10(min(sizes))) * 0.9, 10 ** ceil(log10(max(sizes) + 1)) * 1.1)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter("")
    axes.set(xlabel="tokens", ylabel="complexity (of 100)", ylim=(-3, 103))
    pooled = f"\nmean over the runs {', '.join(runs)}" if len(runs) > 1 else f": {runs[0]}"
    axes.set_title(f"Complexity and tokens of tables{pooled}", wrap=True)
    axes.grid(alpha=0.3)
    return True
