"""Further figures as text: parts of the score, consistency, memory, tags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.summary import informative_parts
from pytest_tablebench.documents.formats import aligned, interval, number, percent, signed
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.names import counted, out_of, printable, unknown_name

__all__ = [
    "COLUMNS",
    "PARTS",
    "STRATEGIES",
    "cluster_lines",
    "declared_parts",
    "further_lines",
    "scope_row",
    "scopes",
    "strategy_rows",
    "tag_lines",
]

COLUMNS = (
    "",
    "performance",
    "95 % interval",
    "robustness",
    "pass rate",
    "no answer",
    "examples",
    "cases",
)


def scope_row(
    name: str, scope: Mapping[str, Any], *, flag: str = "*", count: str = "{}"
) -> tuple[str, ...]:
    """Return the measures of a scope of `summary.json`, a cell for each of `COLUMNS`.

    `flag` marks a robustness that may be too high, because configurations are missing. `count` is
    the format of counts.
    """
    robustness = None if "one configuration" in scope["flags"] else scope["robustness"]
    flag = flag if "incomplete" in scope["flags"] and robustness is not None else ""
    return (
        name,
        number(scope["performance"]),
        interval(scope["ci95"]["performance"]),
        number(robustness) + flag,
        percent(scope["pass_rate"]),
        percent(scope["no_answer"]),
        count.format(scope["n_examples"]),
        count.format(scope["n_cases"]),
    )


STRATEGIES = (
    "strategy",
    "performance",
    "cases",
    "calls",
    "prompt tokens",
    "completion tokens",
    "seconds",
    "USD",
)


def strategy_rows(benchmark: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return score and cost of each strategy, a cell for each of `STRATEGIES`."""
    return [
        (
            printable(name, 60),
            number(figures["performance"]),
            f"{figures['n_cases']:,}",
            f"{figures['calls']:,}",
            *(
                "-" if figures[key] is None else f"{figures[key]:,.{digits}f}"
                for key, digits in (
                    ("prompt_tokens", 0),
                    ("completion_tokens", 0),
                    ("seconds", 1),
                    ("cost_usd", 4),
                )
            ),
        )
        for name, figures in benchmark.get("strategies", {}).items()
    ]


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
    answered = [
        (name, scope)
        for benchmark in summary["benchmarks"].values()
        for name, scope in benchmark["datasets"].items()
        if scope["performance"] is not None
    ]
    unknown = [name for name, scope in answered if scope.get("n_clusters") is None]
    counts = [
        (name, scope["n_examples"], scope["n_clusters"])
        for name, scope in answered
        if scope.get("n_clusters") is not None and scope["n_clusters"] < scope["n_examples"]
    ]
    single = [name for name, _, tables in counts if tables == 1]
    counts = [(name, examples, tables) for name, examples, tables in counts if tables > 1]
    lines = [
        f"{printable(name, 60)}: {examples:,} examples over {counted(tables, 'table')}; intervals "
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
    shown = ", ".join(printable(name, 60) for name in names[:LISTED])
    return shown + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")


def further_lines(
    name: str,
    scope: Mapping[str, Any],
    declared: Sequence[str] | None = None,
    *,
    is_verbose: bool = True,
) -> list[str]:
    """Return a line for each further kind of figure of a scope; consistency only if verbose."""
    return [f"{name}: {text}" for text in _texts(scope, declared, is_verbose)]


def _texts(
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
        names = ", ".join(printable(perturbation, 40) for perturbation in changed["perturbations"])
        yield (
            f"score after a change of meaning ({names}): {number(changed['value'])}"
            f"{_bounds(changed['ci95'])}, not in the table above"
        )


def _part(name: str, part: Mapping[str, Any]) -> str:
    absent, cases = part["absent"], part["n_cases"]
    lacking = f", absent in {out_of(absent, absent + cases, 'case')}" if absent else ""
    return f"{printable(name, 40)} {number(part['mean'])}{_bounds(part['ci95'])}{lacking}"


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


def tag_lines(summary: Mapping[str, Any], tag: str, run: RunFacts | None = None) -> list[str]:
    """Return a table of all measures by the values of a tag, for each dataset that has it.

    Raises `SettingsError` for a tag that no example of the run has.
    """
    tag_names: set[str] = set()
    lines: list[str] = []
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
            shown = printable(f"{name} (all)" if whole else name, 60)
            lines += [f"{shown} by {printable(tag, 60)}"]
            lines += _tag_table(tags[tag], informative_parts(scope, declared))
    if tag not in tag_names:
        raise SettingsError(
            f"--by: {unknown_name('tag', tag, sorted(tag_names))}"
            if tag_names
            else "--by: no example of this run has a tag"
        )
    return lines


def _tag_table(figures: Mapping[str, Any], parts: Mapping[str, Any]) -> list[str]:
    scopes = [(printable(value, 60), scope) for value, scope in figures["values"].items()]
    if "others" in figures:
        scopes.append((f"({figures['n_others']} others)", figures["others"]))
    if "without" in figures:
        scopes.append(("(without)", figures["without"]))
    compared = any("consistency" in scope for _, scope in scopes)
    header = [*COLUMNS, *(["consistency"] if compared else []), *(printable(p, 30) for p in parts)]
    rows = []
    for name, scope in scopes:
        values = scope.get("parts") or {}
        row = [*scope_row(name, scope)]
        row += [percent((scope.get("consistency") or {}).get("value"))] if compared else []
        rows.append([*row, *(number((values.get(part) or {}).get("mean")) for part in parts)])
    return [*aligned([header, *rows]), ""]
