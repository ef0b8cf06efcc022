"""The content of `summary.json` of a run, with what it spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims._cheapest import choose
from pytest_tablebench.claims.summary._scopes import summarize
from pytest_tablebench.config.axes import SAME_QUESTION, Axis
from pytest_tablebench.results.corrected import CorrectedCase, corrected_counts
from pytest_tablebench.results.figures import mean, sum_of_all, sum_of_known
from pytest_tablebench.results.record import Record

if TYPE_CHECKING:
    from pytest_tablebench.results.run import Run
    from pytest_tablebench.results.run_facts import RunFacts
    from pytest_tablebench.results.score_table import ScoreTable


def summary_of(run: Run) -> dict[str, Any]:
    """Return the figures of a run, with its spending and its judged means, computed once.

    The records are read only for figures that need them.
    """
    return run.once("summary", lambda: _summary(run))


def _summary(run: Run) -> dict[str, Any]:
    summary = _figures(run.facts, run.scores)
    add_spending(summary, lambda: run.records)
    if run.labels:
        # Runs without labels need neither.
        from pytest_tablebench.claims.calibration import summary_entry
        from pytest_tablebench.results.labelled_cases import labelled_cases

        summary["judged"] = summary_entry(labelled_cases(run.records, run.labels))
    return summary


def _figures(run: RunFacts, table: ScoreTable) -> dict[str, Any]:
    """Return the figures of a run's records, with the cases that do not apply, by reason.

    A dataset without other missing cases is not flagged as incomplete. If the run has
    corrections, the entry `corrected` has the figures by the corrected gold (see
    `corrected_summary`).
    """
    names = ((axis.name, f"{axis.name}_margin") for axis in SAME_QUESTION)
    margins = {
        axis: float(margin) for axis, name in names if (margin := run.entries.get(name)) is not None
    }
    summary = _with_inapplicable(run, summarize(table, margins=margins))
    if run.overlay is not None:
        summary["corrected"] = _with_inapplicable(run, corrected_summary(table))
    return summary | {name: count for name in THINKING if (count := getattr(run, name))}


def _with_inapplicable(run: RunFacts, summary: dict[str, Any]) -> dict[str, Any]:
    is_complete, inapplicable = run.cases_recorded == run.cases_planned, run.inapplicable
    for benchmark in summary["benchmarks"].values():
        for name, scope in benchmark["datasets"].items():
            counts = inapplicable.get(name)
            if counts:
                scope["does_not_apply"] = counts
                if is_complete and not scope["no_answer"]:
                    scope["flags"] = [flag for flag in scope["flags"] if flag != "incomplete"]
        if not any("incomplete" in scope["flags"] for scope in benchmark["datasets"].values()):
            benchmark["flags"] = [flag for flag in benchmark["flags"] if flag != "incomplete"]
    return summary


THINKING = ("thinking_tokens", "cases_extended")
"""The entries of `run.json` that `summary.json` repeats unless they are 0."""


def corrected_summary(table: ScoreTable) -> dict[str, Any]:
    """Return the figures of a run by the corrected gold, in the form of `summarize`.

    The whole, each benchmark and each dataset also have the entries of `corrected_counts`. A
    dataset that is left out as a whole is missing.
    """
    cases = [_case(table, row, entry) for row, entry in table.corrections.items()]
    summary = summarize(table.corrected)
    for name, benchmark in summary["benchmarks"].items():
        benchmark.update(corrected_counts(case for case in cases if case.benchmark == name))
        for dataset, scope in benchmark["datasets"].items():
            scope.update(corrected_counts(case for case in cases if case.dataset == dataset))
    return {**corrected_counts(cases), **summary}


def _case(table: ScoreTable, row: int, entry: Mapping[str, Any]) -> CorrectedCase:
    benchmark, dataset, example = (
        table.case(row, axis) for axis in ("benchmark", "dataset", "example")
    )
    return CorrectedCase(benchmark, dataset, example, entry)


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
    seconds = sum_of_all(part["latency_s"] for part in parts.values())
    if seconds is None:  # a step has no time, but the cases have
        seconds = sum_of_all(record.latency_s for record in all_records)
    thinking = sum_of_known(part["reasoning_tokens"] for part in requested)
    return {
        "calls": sum(part["calls"] for part in requested),
        "prompt_tokens": sum_of_all(part["prompt_tokens"] for part in requested),
        "completion_tokens": sum_of_all(part["completion_tokens"] for part in requested),
        **({} if thinking is None else {"reasoning_tokens": thinking}),
        "seconds": seconds,
        "cost_usd": sum_of_all(part["cost_usd"] for part in requested),
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
