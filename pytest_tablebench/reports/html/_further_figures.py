"""The further figures of a page: parts, consistency, changed meaning, tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.summary import informative_parts
from pytest_tablebench.reports.further_text import PARTS, scopes
from pytest_tablebench.results.run_facts import RunFacts

ROWS = 1000
"""The most rows of all tables by tag, so that a page stays small."""

Tag = tuple[str, str]


def further_figures(summary: Mapping[str, Any], run: RunFacts) -> dict[str, Any]:
    """Return the rows of parts with their meanings, of consistency and of changed meaning."""
    rows: dict[str, list[dict[str, Any]]] = {"parts": [], "consistency": [], "changed": []}
    for name, scope, whole, declared in scopes(summary, run):
        about = {"scope": name, "whole": whole}
        for part, figures in informative_parts(scope, declared).items():
            rows["parts"].append({**about, "name": part, **figures})
        if "consistency" in scope:
            points = {point["agreement"]: point for point in scope["consistency"]["risk"]}
            rows["consistency"].append({**about, **scope["consistency"], "points": points})
        if "changed_meaning" in scope:
            rows["changed"].append({**about, **scope["changed_meaning"]})
    levels = {level for row in rows["consistency"] for level in row["points"]}
    parts = {row["name"] for row in rows["parts"]}
    meanings = [f"{name}: {text}." for name, text in PARTS.items() if name in parts]
    return {**rows, "meanings": meanings, "levels": sorted(levels, reverse=True)}


def numbered_tags(summary: Mapping[str, Any]) -> dict[Tag, int]:
    """Return the numbers of tags and values, in order, for filters."""
    tags = {
        (tag, value)
        for benchmark in summary["benchmarks"].values()
        for tag, by_value in (benchmark.get("tags") or {}).items()
        for value in by_value["values"]
    }
    return {tag: number for number, tag in enumerate(sorted(tags))}


def tag_tables(
    summary: Mapping[str, Any],
    run: RunFacts,
    numbers: Mapping[Tag, int],
    datasets: Sequence[str],
) -> dict[str, Any]:
    """Return the tables by tag, benchmarks first, and the number of rows that did not fit.

    Filters use the `numbers` of tags and the places in `datasets`.
    """
    by_tag: dict[str, list[dict[str, Any]]] = {}
    room, left_out = ROWS, 0
    for name, scope, whole, declared in sorted(
        scopes(summary, run), key=lambda entry: not entry[2]
    ):
        parts = list(informative_parts(scope, declared))
        for tag, by_value in (scope.get("tags") or {}).items():
            rows = list(_rows(tag, by_value, numbers))
            shown_rows = rows[: max(0, room)]
            room -= len(shown_rows)
            left_out += len(rows) - len(shown_rows)
            if shown_rows:
                table = {"scope": name, "whole": whole, "parts": parts, "rows": shown_rows}
                table["dataset"] = None if whole else datasets.index(name)
                table["compared"] = any("consistency" in row for row in shown_rows)
                by_tag.setdefault(tag, []).append(table)
    return {"tables": dict(sorted(by_tag.items())), "left_out": left_out}


def _rows(
    tag: str, by_value: Mapping[str, Any], numbers: Mapping[Tag, int]
) -> Iterator[dict[str, Any]]:
    for value, scope in by_value["values"].items():
        yield {**scope, "name": value, "number": numbers.get((tag, value)), "rest": False}
    for key, name in (("others", f"{by_value.get('n_others')} others"), ("without", "without")):
        if key in by_value:
            yield {**by_value[key], "name": name, "number": None, "rest": True}
