"""A second run on the page: marks of cases, records, and points to plot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.compare import ScopeComparison
from pytest_tablebench.config.axes import GRID
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import table_of
from pytest_tablebench.documents.html import grouped
from pytest_tablebench.reports.comparison import change_row
from pytest_tablebench.reports.html._details import excerpt
from pytest_tablebench.reports.html._pack import (
    BETTER,
    CHANGED,
    GAINED,
    LOST,
    OTHER,
    TURNED,
    WORSE,
)
from pytest_tablebench.results import Record
from pytest_tablebench.results.record import case_key
from pytest_tablebench.results.run import Run, load_run

if TYPE_CHECKING:
    from pytest_tablebench.claims.compare import RunComparison

_MOST_ROWS = 1000
"""Rows of a table of differences."""


def marks_of(
    case_ids: Mapping[str, str],
    comparison: RunComparison | None,
    snapshots: Sequence[Mapping[str, Any]] | None,
) -> dict[str, int]:
    """Return the marks of cases by their id.

    `case_ids` has this run's ids by the ids of the comparison, `snapshots` the changes in
    snapshots.json.
    """
    marks: dict[str, int] = defaultdict(int)
    if comparison is not None:
        for ids, mark in (
            (comparison.better, BETTER),
            (comparison.worse, WORSE),
            (comparison.gained, GAINED),
            (comparison.lost, LOST),
            (comparison.other_answer, OTHER),
        ):
            for key in case_ids.keys() & ids:
                marks[case_ids[key]] |= mark
    for change in snapshots or ():
        marks[change["case_id"]] |= TURNED if change["kind"] == "flipped" else CHANGED
    return marks


def records_before(
    case_ids: Mapping[str, str], comparison: RunComparison | None, baseline: Path | Run | None
) -> dict[str, Record] | None:
    """Return the other run's records by this run's case ids; None without another run."""
    if comparison is None or baseline is None:
        return None
    return {
        case_ids[key]: excerpt(record)
        for record in load_run(baseline).records
        if (key := case_key(record)) in case_ids
    }


def points(
    comparison: RunComparison | None, tags: Mapping[tuple[str, str], int]
) -> list[dict[str, Any]] | None:
    """Return the points of performance before against after; None for a single run.

    A point has a kind (`dataset`, `serializer`, `perturbation`, `tag`), dataset, name (for a tag
    its number in `tags`), label, both performances, their difference, and the numbers of examples
    and of better and worse cases. A scope without a performance in both runs has no point.
    """
    if comparison is None:
        return None
    kinds = {"dataset", *(axis.name for axis in GRID), "tag"}
    numbers = {"=".join(tag): number for tag, number in tags.items()}
    plotted: list[dict[str, Any]] = []
    for scope in comparison.scopes:
        performance = scope.measures["performance"]
        if scope.kind not in kinds or performance.before is None or performance.after is None:
            continue
        name = numbers.get(scope.name) if scope.kind == "tag" else scope.name
        if name is not None:
            plotted.append(
                {
                    "kind": scope.kind,
                    "dataset": scope.dataset,
                    "name": name,
                    "label": scope.name[:80],
                    "before": round(performance.before, 6),
                    "after": round(performance.after, 6),
                    "difference": round(performance.after - performance.before, 6),
                    "examples": performance.examples,
                    "better": scope.better,
                    "worse": scope.worse,
                }
            )
    return plotted


def differences(comparison: RunComparison | None) -> list[Any]:
    """Return the tables of differences: of datasets, by the corrected gold, and of parts."""
    if comparison is None:
        return []
    blocks: list[doc.Block] = [_difference_table(comparison.scopes, is_whole=True)]
    if comparison.corrected:
        blocks.append(doc.Heading("By corrected gold", 3))
        blocks.append(_difference_table(comparison.corrected, is_whole=True))
    parts = _difference_table(comparison.scopes, is_whole=False)
    if parts.rows:
        blocks.append(doc.Fold("By serializer, perturbation and tag", [parts]))
    return grouped(blocks)


def _difference_table(compared: Sequence[ScopeComparison], *, is_whole: bool) -> doc.TableBlock:
    """Return the differences of benchmarks and datasets, or of their parts."""
    rows = []
    for scope in compared:
        if (scope.kind in ("benchmark", "dataset")) != is_whole:
            continue
        difference = scope.measures["performance"]
        left_out = f" {difference.left_out:,} left out" if difference.left_out else ""
        name: doc.Text = doc.Code(scope.name, 60), ", all" if scope.kind == "benchmark" else ""
        if not is_whole:
            name = doc.Aside(f"{scope.dataset} · "), doc.Code(scope.name, 60)
        examples = doc.Figure(difference.examples, "count"), doc.Aside(left_out)
        cells = *change_row(scope, name), examples
        rows.append(doc.TableRow(cells, "whole" if scope.kind == "benchmark" else ""))
    change = doc.Column("difference", "estimate", "signed")
    columns = ("scope", "before", "after", change, "p", "better", "worse", "examples")
    return table_of(columns, rows, most=_MOST_ROWS)
