"""Sum up the calls, tokens, seconds and dollars of answers, by strategy and by setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from math import fsum
from typing import Any

from pytest_tablebench.claims._cheapest import choose
from pytest_tablebench.config.axes import SAME_QUESTION, Axis
from pytest_tablebench.results.figures import mean, sum_of_known
from pytest_tablebench.results.record import Record


def add_spending(summary: dict[str, Any], records: Callable[[], Iterable[Record]]) -> None:
    """Add the figures of each strategy to each benchmark with several, under `strategies`.

    Each name on an axis that does not change the question gets
    the same figures, and the axis gets the cheapest name that is not worse (see `choose`).

    `performance` is the mean over the strategy's datasets. `calls`, tokens, `seconds` and
    `cost_usd` are sums over all answers, stored ones too; a sum with an unknown part is None. A
    request that several cases share counts once. The records are not read if the run has only one
    strategy and no such axis.
    """
    benchmarks = {
        name
        for name, benchmark in summary["benchmarks"].items()
        if any("strategies" in scope for scope in benchmark["datasets"].values())
    }
    for axis in SAME_QUESTION:
        several = {name for name, entry in summary["benchmarks"].items() if axis.plural in entry}
        if several:
            _add_settings(summary, several, axis, records())
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


def _add_settings(
    summary: Mapping[str, Any], benchmarks: Collection[str], axis: Axis, records: Iterable[Record]
) -> None:
    answers: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        name = getattr(record, axis.name)
        if record.benchmark in benchmarks and name is not None and record.raw is not None:
            answers.setdefault((record.benchmark, name), []).append(record)
    for benchmark in benchmarks:
        block = summary["benchmarks"][benchmark][axis.plural]
        for name, figures in block["settings"].items():
            members = answers.get((benchmark, name), [])
            spent, count = spent_on(members), len(members)
            figures.update(
                spent,
                usd_per_answer=_each(spent["cost_usd"], count),
                tokens_per_answer=_each(spent["completion_tokens"], count),
            )
        block |= choose(block["settings"], block["reference"], axis)


def _each(total: float | None, count: int) -> float | None:
    return total / count if total is not None and count else None


def _performance(
    benchmark: Mapping[str, Any], strategy: str, records: Iterable[Record]
) -> float | None:
    scopes = []
    for dataset in sorted({record.dataset for record in records}):
        scope = benchmark["datasets"].get(dataset, {})
        scopes.append(scope.get("strategies", {strategy: scope}).get(strategy, {}))
    return mean(scope.get("performance") for scope in scopes)


def spent_on(records: Iterable[Record]) -> dict[str, Any]:
    """Return calls, tokens, `seconds` and `cost_usd` of answers, with shared requests counted once.

    A sum with an unknown part is None. Requests of judges are not included. Records of earlier
    versions do not show which requests they share, so these count in each record.
    """
    parts: dict[Hashable, Mapping[str, Any]] = {}
    all_records = list(records)
    for number, record in enumerate(all_records):
        for key, part in _parts(record, number):
            parts.setdefault(key, part)
    requested = [part for part in parts.values() if part["calls"]]
    seconds = _sum(part["latency_s"] for part in parts.values())
    if seconds is None:  # a step has no time, but the cases have
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


_COSTS = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cost_usd", "latency_s")


def _parts(record: Record, number: int) -> Iterator[tuple[Hashable, Mapping[str, Any]]]:
    """Yield the costs of an answer's requests, by a key that is equal for shared requests."""
    # Steps with a model belong to a judge.
    steps = [step for step in record.steps if step.get("model") is None]
    whole = {name: getattr(record, name) for name in _COSTS}
    if steps and all("key" in step for step in steps):
        times = Counter[str]()  # repeated messages are another call
        for step in steps:
            times[step["key"]] += 1
            costs = {name: step.get(name) for name in _COSTS}
            key = step["kind"], step["key"], times[step["key"]], record.repeat
            yield key, {**costs, "calls": int(step["kind"] == "ask")}
    elif steps:
        yield number, {**whole, "calls": sum(step.get("kind") == "ask" for step in steps)}
    elif record.prompt_digest is None:
        yield number, {**whole, "calls": 1}
    else:
        yield (record.prompt_digest, record.repeat), {**whole, "calls": 1}


def _sum(values: Iterable[float | None]) -> float | None:
    parts = [*values]
    numbers = [value for value in parts if value is not None]
    if len(numbers) < len(parts) or not parts:
        return None
    return sum(numbers) if all(isinstance(value, int) for value in numbers) else fsum(numbers)
