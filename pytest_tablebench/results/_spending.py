"""What the answers of each strategy took, beside its score: calls, tokens, seconds, dollars."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import fsum
from typing import Any

from pytest_tablebench.results._record import Record
from pytest_tablebench.results.figures import mean


def add_spending(summary: dict[str, Any], records: Callable[[], Iterable[Record]]) -> None:
    """Give each benchmark of a run in several strategies their figures, under `strategies`.

    `performance` is the mean over the datasets of the strategy's; `calls`, tokens, `seconds` and
    `cost_usd` are sums over the answers, stored ones too, None where those of one are unknown. A
    question that several cases share counts in each of them: it is what each would take alone.
    Nothing is read where a run has one strategy.
    """
    several = {
        name
        for name, benchmark in summary["benchmarks"].items()
        if any("strategies" in scope for scope in benchmark["datasets"].values())
    }
    if not several:
        return
    spent: dict[str, dict[str, list[Record]]] = {}
    for record in records():
        if record.benchmark in several:
            spent.setdefault(record.benchmark, {}).setdefault(record.strategy, []).append(record)
    for name, by_strategy in spent.items():
        benchmark = summary["benchmarks"][name]
        benchmark["strategies"] = {
            strategy: {
                "performance": _performance(benchmark, strategy, found),
                **_sums([record for record in found if record.raw is not None]),
                "n_cases": len(found),
            }
            for strategy, found in sorted(by_strategy.items())
        }


def _performance(
    benchmark: Mapping[str, Any], strategy: str, records: Iterable[Record]
) -> float | None:
    """Return the mean over the datasets that were asked so."""
    scopes = []
    for dataset in sorted({record.dataset for record in records}):
        scope = benchmark["datasets"].get(dataset, {})
        scopes.append(scope.get("strategies", {strategy: scope}).get(strategy, {}))
    return mean(scope.get("performance") for scope in scopes)


def _sums(records: list[Record]) -> dict[str, Any]:
    return {
        "calls": sum(_calls(record) for record in records),
        "prompt_tokens": _sum(record.prompt_tokens for record in records),
        "completion_tokens": _sum(record.completion_tokens for record in records),
        "seconds": _sum(record.latency_s for record in records),
        "cost_usd": _sum(record.cost_usd for record in records),
    }


def _calls(record: Record) -> int:
    """Return how often the model under test was asked for an answer."""
    own = [one for one in record.steps if one.get("kind") == "ask" and one.get("model") is None]
    return len(own) if record.steps else 1


def _sum(values: Iterable[float | None]) -> float | None:
    """Sum, or None when any part is unknown."""
    found = [*values]
    known = [value for value in found if value is not None]
    if len(known) < len(found) or not found:
        return None
    return sum(known) if all(isinstance(value, int) for value in known) else fsum(known)
