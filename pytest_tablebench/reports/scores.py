"""Tables and sentences on the scores of a run, for its summaries and its page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.claims.summary import informative_checks, informative_parts
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import interval, number, percent, signed, table_of
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.names import counted, out_of, unknown_name

SHARE = doc.Column("performance", "estimate", scale=(0.0, 1.0))
"""A column of mean scores."""

_MEASURES = (SHARE, "robustness", "pass rate", "no answer", "examples", "cases")


def bounded(value: float | None, bounds: Sequence[float] | None) -> Estimate:
    """Return a figure of `summary.json` with its interval."""
    low, high = bounds or (None, None)
    return Estimate(value, low, high)


def score_row(scope: Mapping[str, Any]) -> tuple[doc.Cell, ...]:
    """Return the measures of a scope of `summary.json`.

    A star marks a robustness that may be too high, because configurations are missing.
    """
    robustness = None if "one configuration" in scope["flags"] else scope["robustness"]
    return (
        bounded(scope["performance"], scope["ci95"]["performance"]),
        doc.Figure(robustness, unit="*" if "incomplete" in scope["flags"] else ""),
        doc.Figure(scope["pass_rate"], "percent"),
        doc.Figure(scope["no_answer"], "percent"),
        doc.Figure(scope["n_examples"], "count"),
        doc.Figure(scope["n_cases"], "count"),
    )


def score_table(
    summary: Mapping[str, Any], title: str = "", whole: str = " (all)"
) -> doc.TableBlock:
    """Return the measures of all datasets, each benchmark after its datasets.

    `whole` follows the name of a benchmark.
    """
    rows = []
    for name, benchmark in summary["benchmarks"].items():
        datasets = benchmark["datasets"]
        rows += [
            doc.TableRow((doc.Code(dataset, 60), *score_row(scope)))
            for dataset, scope in datasets.items()
        ]
        if list(datasets) != [name]:
            cells = ((doc.Code(name, 60), whole), *score_row(benchmark))
            rows.append(doc.TableRow(cells, "whole"))
    return table_of((title, *_MEASURES), rows)


def strategy_tables(summary: Mapping[str, Any]) -> list[doc.TableBlock]:
    """Return score and cost of each strategy; no table of a benchmark with one."""
    counts = ("n_cases", "calls", "prompt_tokens", "completion_tokens")
    columns = ("strategy", "performance", "cases", "calls", "prompt tokens", "completion tokens")
    tables = []
    for benchmark in summary["benchmarks"].values():
        rows: list[Sequence[doc.Cell]] = [
            (
                doc.Code(name, 60),
                doc.Figure(figures["performance"]),
                *(doc.Figure(figures[key], "count") for key in counts),
                doc.Figure(figures["seconds"], digits=1),
                doc.Figure(figures["cost_usd"], digits=4),
            )
            for name, figures in (benchmark.get("strategies") or {}).items()
        ]
        tables += [table_of((*columns, "seconds", "USD"), rows)] if rows else []
    return tables


def check_table(summary: Mapping[str, Any]) -> doc.TableBlock:
    """Return the pass rate of each test of datasets with several."""
    rows = [
        (
            doc.Code(f"{dataset}::{name}", 200),
            bounded(check["pass_rate"], check["ci95"]),
            doc.Figure(check["failed"], "count"),
            doc.Figure(check["n_cases"], "count"),
            doc.Figure(check["untold"], "count"),
        )
        for benchmark in summary["benchmarks"].values()
        for dataset, scope in benchmark["datasets"].items()
        for name, check in informative_checks(scope).items()
    ]
    rate = doc.Column("pass rate", "estimate", "percent")
    return table_of(("test", rate, "failed", "cases", "no verdict"), rows)


# By the corrected gold

MOST_REASONS = 8
"""The number of reasons that a line names, the most common first; summary.json has all."""


def corrected_blocks(
    summary: Mapping[str, Any], run: RunFacts, whole: str = " (all)"
) -> list[doc.Block]:
    """Return the figures by the corrected gold, with their differences from the published ones.

    Empty without corrections.
    """
    line, corrected = corrected_line(summary, run), summary.get("corrected")
    if line is None or not corrected:
        return []
    rows = []
    for name, benchmark in corrected["benchmarks"].items():
        published = summary["benchmarks"][name]
        for dataset, scope in benchmark["datasets"].items():
            cells = _corrected(scope, published["datasets"][dataset])
            rows.append(doc.TableRow((doc.Code(dataset, 60), *cells)))
        if list(benchmark["datasets"]) != [name]:
            cells = _corrected(benchmark, published)
            rows.append(doc.TableRow(((doc.Code(name, 60), whole), *cells), "whole"))
    columns = ("by corrected gold", SHARE, "difference", "pass rate", "examples", "changed")
    return [table_of((*columns, "left out"), rows), doc.Paragraph(line)]


def _corrected(scope: Mapping[str, Any], published: Mapping[str, Any]) -> tuple[doc.Cell, ...]:
    values = scope["performance"], published["performance"]
    difference = None if None in values else values[0] - values[1]
    return (
        bounded(scope["performance"], scope["ci95"]["performance"]),
        doc.Figure(difference, "signed"),
        doc.Figure(scope["pass_rate"], "percent"),
        *(doc.Figure(scope[name], "count") for name in ("n_examples", "changed", "left_out")),
    )


def corrected_line(summary: Mapping[str, Any], run: RunFacts) -> str | None:
    """Return which corrections a run has used, and on how many examples; None without any."""
    corrected, entry = summary.get("corrected"), run.corrections
    if not corrected or not entry:
        return None
    counts = list(corrected["reasons"].items())[:MOST_REASONS]
    reasons = [f"{reason}: {n:,}" for reason, n in counts]
    return (
        f"corrections {entry.get('file')} ({str(entry.get('digest'))[:20]}): gold changed for "
        f"{counted(corrected['changed'], 'example')}, {corrected['left_out']:,} left out"
        + (f" ({'; '.join(reasons)})" if reasons else "")
    )


# Sentences


def declared_parts(run: RunFacts, dataset: str) -> list[str] | None:
    """Return the parts that a dataset declares to be shown; None if it declares none."""
    names = run.by_dataset.get(dataset, {}).get("parts")
    return [str(name) for name in names] if isinstance(names, list) else None


def scopes(
    summary: Mapping[str, Any], run: RunFacts
) -> Iterator[tuple[str, Mapping[str, Any], bool, list[str] | None]]:
    """Yield each dataset, then its benchmark if that has several.

    Each is a tuple: name, measures, whether it is a benchmark, declared parts.
    """
    for name, benchmark in summary["benchmarks"].items():
        for dataset, scope in benchmark["datasets"].items():
            yield dataset, scope, False, declared_parts(run, dataset)
        if len(benchmark["datasets"]) > 1:
            yield name, benchmark, True, None


PARTS = {"partial": "for a list, how much of it is right: F1 over the items"}
"""What the parts of a score mean whose names do not tell it."""

LISTED = 6
"""Datasets whose examples and tables are listed one by one."""


def cluster_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return whether the intervals of a run treat tables or examples as independent."""
    unknown, single, counts = list[str](), list[str](), list[tuple[str, int, int]]()
    for benchmark in summary["benchmarks"].values():
        for name, scope in benchmark["datasets"].items():
            examples, tables = scope["n_examples"], scope.get("n_clusters")
            if scope["performance"] is None:
                continue
            if tables is None:
                unknown.append(name)
            elif tables == 1 < examples:
                single.append(name)
            elif tables < examples:
                counts.append((name, examples, tables))
    lines = [
        f"{name}: {examples:,} examples over {counted(tables, 'table')}; intervals "
        f"take tables as independent, not examples"
        for name, examples, tables in counts[:LISTED]
    ]
    if len(counts) > LISTED:
        lines.append(f"and so in {len(counts) - LISTED} datasets more")
    if single:
        lines.append(
            f"all examples of {_names(single)} are over one table: the interval is for questions "
            f"over this table only"
        )
    if unknown:
        lines.append(
            f"the records do not name the tables of {_names(unknown)}: intervals take every "
            f"example as independent, and are too narrow if examples share a table"
        )
    return lines


def _names(names: Sequence[str]) -> str:
    text = ", ".join(name for name in names[:LISTED])
    return text + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")


def further_lines(
    name: str,
    scope: Mapping[str, Any],
    declared: Sequence[str] | None = None,
    *,
    is_verbose: bool = True,
) -> list[str]:
    """Return a line for each further kind of figure of a scope; consistency only if verbose."""
    return [f"{name}: {text}" for text in _scope_texts(scope, declared, is_verbose)]


def _scope_texts(
    scope: Mapping[str, Any], declared: Sequence[str] | None, is_verbose: bool
) -> Iterator[str]:
    parts = informative_parts(scope, declared)
    if parts:
        yield "other scores: " + ", ".join(_part(*item) for item in parts.items())
    consistency = scope.get("consistency")
    if consistency and is_verbose:
        yield from _consistency(consistency)
    changed = scope.get("changed_meaning")
    if changed:
        names = ", ".join(perturbation for perturbation in changed["perturbations"])
        yield (
            f"score after a change of meaning ({names}): {number(changed['value'])}"
            f"{_bounds(changed['ci95'])}, not in the table above"
        )


def _part(name: str, part: Mapping[str, Any]) -> str:
    absent, cases = part["absent"], part["n_cases"]
    lacking = f", absent in {out_of(absent, absent + cases, 'case')}" if absent else ""
    return f"{name} {number(part['mean'])}{_bounds(part['ci95'])}{lacking}"


def _bounds(bounds: Sequence[float] | None) -> str:
    return f" ({interval(bounds)})" if bounds else ""


def _consistency(figures: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{percent(figures['value'])} of an example's configurations give the same answer; the "
        f"most common answer scores {number(figures['majority'])}, {signed(figures['gain'])} "
        f"against the mean"
    )
    points: Sequence[Any] = figures.get("risk") or ()
    *thresholds, everything = points or [None]
    # A threshold that leaves a dataset without an example has no risk.
    stricter = [point for point in thresholds if point["risk"] is not None]
    if stricter:
        # The strictest threshold that is of use: it keeps half of the examples.
        half = [point for point in stricter if point["coverage"] >= 0.5] or stricter[-1:]
        risks = half[0]["risk"], everything["risk"]
        if None in risks or risks[0] >= risks[1]:
            return  # abstaining leaves no answer, or saves nothing
        yield (
            f"answering only if at least {percent(half[0]['agreement'])} agree: "
            f"{percent(half[0]['coverage'])} of the examples have an answer, at risk "
            f"{number(half[0]['risk'])} instead of {number(everything['risk'])} for all"
        )


def tag_blocks(
    summary: Mapping[str, Any], tag: str, run: RunFacts | None = None
) -> list[doc.Block]:
    """Return a table of all measures by the values of a tag, for each dataset that has it.

    Raises `SettingsError` for a tag that no example of the run has.
    """
    tag_names: set[str] = set()
    blocks: list[doc.Block] = []
    all_scopes = list(scopes(summary, run or RunFacts()))
    in_benchmark = any(
        whole and tag in (scope.get("tags") or {}) for _, scope, whole, _ in all_scopes
    )
    for name, scope, whole, declared in all_scopes:
        tags = scope.get("tags") or {}
        tag_names |= tags.keys()
        # A dataset with one value is a row in the table of its benchmark.
        is_row = in_benchmark and not whole and len(tags.get(tag, {}).get("values", ())) == 1
        if tag in tags and not is_row:
            title = doc.Code(f"{name} (all)" if whole else name, 60), " by ", doc.Code(tag, 60)
            blocks.append(doc.Heading(title, 3))
            blocks.append(tag_table(tags[tag], list(informative_parts(scope, declared))))
    if tag not in tag_names:
        raise SettingsError(
            f"--by: {unknown_name('tag', tag, sorted(tag_names))}"
            if tag_names
            else "--by: no example of this run has a tag"
        )
    return blocks


def tag_table(
    figures: Mapping[str, Any],
    parts: Sequence[str],
    title: str = "",
    names: Mapping[str, doc.Piece] | None = None,
    *,
    most: int = 500,
) -> doc.TableBlock:
    """Return all measures by the values of a tag; `names` are the shown values, if others."""
    named: list[tuple[doc.Text, Mapping[str, Any]]] = [
        ((names or {}).get(value) or doc.Code(value, 60), scope)
        for value, scope in figures["values"].items()
    ]
    if "others" in figures:
        named.append((f"({figures['n_others']} others)", figures["others"]))
    if "without" in figures:
        named.append(("(without)", figures["without"]))
    compared = any("consistency" in scope for _, scope in named)
    rows = []
    for name, scope in named:
        shares = [(scope.get("consistency") or {}).get("value")] if compared else []
        means = [((scope.get("parts") or {}).get(part) or {}).get("mean") for part in parts]
        same = [doc.Figure(share, "percent") for share in shares]
        rows.append((name, *score_row(scope), *same, *map(doc.Figure, means)))
    same_answer = ["consistency"] if compared else []
    columns: list[doc.Column | str] = [title, *_MEASURES, *same_answer, *parts]
    return table_of(columns, rows, most=most)
