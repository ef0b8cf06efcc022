"""What the answers of each strategy took, beside its score: calls, tokens, seconds, dollars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from math import fsum
from typing import Any

from pytest_tablebench.results.figures import mean, sum_of_known
from pytest_tablebench.results.record import Record


def add_spending(summary: dict[str, Any], records: Callable[[], Iterable[Record]]) -> None:
    """Give each benchmark of a run in several strategies their figures, under `strategies`.

    `performance` is the mean over the datasets of the strategy's. `calls`, tokens, `seconds` and
    `cost_usd` are sums over the answers, stored ones too, None if that of one is unknown. A request
    that several cases share counts once, as it was made once. Nothing is read if the run has one
    strategy.
    """
    benchmarks = {
        name
        for name, benchmark in summary["benchmarks"].items()
        if any("strategies" in scope for scope in benchmark["datasets"].values())
    }
    if not benchmarks:
        return
    spent: dict[str, dict[str, list[Record]]] = {}
    for record in records():
        if record.benchmark in benchmarks:
            spent.setdefault(record.benchmark, {}).setdefault(record.strategy, []).append(record)
    for name, by_strategy in spent.items():
        benchmark = summary["benchmarks"][name]
        benchmark["strategies"] = {
            strategy: {
                "performance": _performance(benchmark, strategy, answers),
                **spent_on(record for record in answers if record.raw is not None),
                "n_cases": len(answers),
            }
            for strategy, answers in sorted(by_strategy.items())
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


def spent_on(records: Iterable[Record]) -> dict[str, Any]:
    """Return calls, tokens, `seconds` and `cost_usd` of answers, each shared request once.

    A sum is None where a part of it is unknown. Requests of judges are not among them. Records of
    earlier versions do not tell which requests they share: they count in each of them.
    """
    parts: dict[Hashable, Mapping[str, Any]] = {}
    all_records = list(records)
    for number, record in enumerate(all_records):
        for key, part in _parts(record, number):
            parts.setdefault(key, part)
    requested = [part for part in parts.values() if part["calls"]]
    seconds = _sum(part["latency_s"] for part in parts.values())
    if seconds is None:  # a step without a time of its own: cases have theirs
        seconds = _sum(record.latency_s for record in all_records)
    thinking = sum_of_known(part["reasoning_tokens"] for part in requested)
    return {
        "calls": sum(part["calls"] for part in requested),
        "prompt_tokens": _sum(part["prompt_tokens"] for part in requested),
        "completion_tokens": _sum(part["completion_tokens"] for part in requested),
        **({} if thinking is None else {"reasoning_tokens": thinking}),
        "seconds": seconds,
        "cost_usd": _sum(part["cost_usd"] for part in requested),
    }


_TAKEN = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cost_usd", "latency_s")


def _parts(record: Record, number: int) -> Iterator[tuple[Hashable, Mapping[str, Any]]]:
    """Yield what an answer took, by what tells it from that of another record."""
    # A judge's steps are no part of the answer.
    steps = [step for step in record.steps if step.get("model") is None]
    whole = {name: getattr(record, name) for name in _TAKEN}
    if steps and all("key" in step for step in steps):
        times = Counter[str]()  # the same messages again are another call
        for step in steps:
            times[step["key"]] += 1
            taken = {name: step.get(name) for name in _TAKEN}
            key = step["kind"], step["key"], times[step["key"]], record.repeat
            yield key, {**taken, "calls": int(step["kind"] == "ask")}
    elif steps:
        yield number, {**whole, "calls": sum(step.get("kind") == "ask" for step in steps)}
    elif record.prompt_digest is None:
        yield number, {**whole, "calls": 1}
    else:
        yield (record.prompt_digest, record.repeat), {**whole, "calls": 1}


def _sum(values: Iterable[float | None]) -> float | None:
    """Sum, or None when any part is unknown."""
    parts = [*values]
    numbers = [value for value in parts if value is not None]
    if len(numbers) < len(parts) or not parts:
        return None
    return sum(numbers) if all(isinstance(value, int) for value in numbers) else fsum(numbers)
