"""The figures by the corrected gold as text, next to the published ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_tablebench.documents.formats import interval, number, percent, signed
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.util.names import counted, printable

__all__ = [
    "CORRECTED_COLUMNS",
    "corrected_line",
    "corrected_row",
    "corrected_scopes",
    "difference_of",
]

CORRECTED_COLUMNS = (
    "by corrected gold",
    "performance",
    "95 % interval",
    "difference",
    "pass rate",
    "examples",
    "changed",
    "left out",
)
"""`difference` is the corrected performance minus the published one."""


MOST_REASONS = 8
"""The number of reasons that a line names, the most common first; summary.json has all."""


def corrected_scopes(
    summary: Mapping[str, Any],
) -> Iterator[tuple[str, bool, Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each dataset, then its benchmark, by the corrected gold; none without corrections.

    Each is a tuple: name, whether it is a benchmark with other or several datasets, corrected
    measures, published measures.
    """
    corrected = summary.get("corrected")
    for name, benchmark in corrected["benchmarks"].items() if corrected else ():
        published = summary["benchmarks"][name]
        for dataset, scope in benchmark["datasets"].items():
            yield dataset, False, scope, published["datasets"][dataset]
        if list(benchmark["datasets"]) != [name]:
            yield name, True, benchmark, published


def corrected_row(
    name: str, scope: Mapping[str, Any], published: Mapping[str, Any]
) -> tuple[str, ...]:
    """Return the measures of a scope, a cell for each of `CORRECTED_COLUMNS`."""
    return (
        name,
        number(scope["performance"]),
        interval(scope["ci95"]["performance"]),
        signed(difference_of(scope, published)),
        percent(scope["pass_rate"]),
        f"{scope['n_examples']:,}",
        f"{scope['changed']:,}",
        f"{scope['left_out']:,}",
    )


def difference_of(scope: Mapping[str, Any], published: Mapping[str, Any]) -> float | None:
    """Return the corrected performance minus the published one; None if one is unknown."""
    values = scope["performance"], published["performance"]
    return None if None in values else float(values[0] - values[1])


def corrected_line(summary: Mapping[str, Any], run: RunFacts) -> str | None:
    """Return which corrections a run has used, and on how many examples; None without any."""
    corrected, entry = summary.get("corrected"), run.corrections
    if not corrected or not entry:
        return None
    counts = list(corrected["reasons"].items())[:MOST_REASONS]
    reasons = [f"{printable(reason, 100)}: {n:,}" for reason, n in counts]
    return (
        f"corrections {printable(str(entry.get('file')), 60)} "
        f"({printable(str(entry.get('digest')), 20)}): gold changed for "
        f"{counted(corrected['changed'], 'example')}, {corrected['left_out']:,} left out"
        + (f" ({'; '.join(reasons)})" if reasons else "")
    )
