"""The figures of each dataset and benchmark over the runs, a line for each model."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pytest_tablebench.claims.differences import (
    Difference,
    differences_between,
    sent_differences,
)
from pytest_tablebench.claims.estimate import Estimate, clopper_pearson
from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.results.run import Run
from pytest_tablebench.util.entries import mapping


def changes_between(before: Run, after: Run, datasets: Collection[str]) -> tuple[Difference, ...]:
    """Return what changed between two runs for some datasets.

    A setting that only one of the runs recorded is no change.
    """
    changes = [
        difference
        for difference in differences_between(before.facts, after.facts)
        if difference.kind != "model"
        and (difference.kind != "data" or difference.name.split(".")[1] in datasets)
    ]
    if not any(change.kind == "parameter" for change in changes):
        changes += sent_differences(before.facts, after.facts)
    old, new = (json.dumps(run.facts.model_file, sort_keys=True) for run in (before, after))
    if old != new:
        changes.append(Difference("model file", "setting", (old, new)))
    return tuple(changes)


def dataset_names(run: Run, benchmark: str) -> tuple[str, ...]:
    """Return the datasets of a benchmark that a run has figures of."""
    return tuple(sorted(mapping(summary_of(run), "benchmarks", benchmark, "datasets")))


HISTORY_MEASURES: Mapping[str, str] = {
    "performance": "performance",
    "pass_rate": "pass rate",
    "no_answer": "no answer",
}
"""The measures of a panel, with their names in words."""


HIGHEST = 1e9
"""The highest plausible price in US dollars, and number of examples."""


@dataclass(frozen=True)
class HistoryPoint:
    """The figures of one run.

    Arguments:
        number: the number of the run in the history, from 0.
        figures: by measure; a figure that the run does not have is missing.
        n_examples: the number of examples; None if it is unknown.
        changes: what changed since the run before of the same line.
    """

    number: int
    figures: Mapping[str, Estimate]
    n_examples: int | None
    changes: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class HistoryPanel:
    """The points of one dataset or benchmark by model, in the order of the runs."""

    kind: Literal["benchmark", "dataset"]
    name: str
    lines: Mapping[str, Sequence[HistoryPoint]]


@dataclass(frozen=True)
class RunHistory:
    """Runs in the order of their start, and their panels: each benchmark before its datasets."""

    runs: tuple[Run, ...]
    panels: tuple[HistoryPanel, ...]

    @property
    def prices(self) -> dict[str, list[tuple[int, float | None]]]:
        """By model, the number of each run and the price of 1,000 of its paid calls in USD.

        The price is None if no call was paid or a price is unknown. It is a sum of bills, so it has
        no interval.
        """
        prices: dict[str, list[tuple[int, float | None]]] = {}
        for number, run in enumerate(self.runs):
            prices.setdefault(run.facts.model, []).append((number, price_of(run)))
        return prices


def price_of(run: Run) -> float | None:
    """Return the price in US dollars of 1,000 paid calls of a run; None if it is unknown."""
    cost, calls = run.facts.cost_usd, run.facts.calls_paid
    if cost is None or calls is None or calls < 1:
        return None
    price = 1000 * cost / calls
    return price if 0 <= price <= HIGHEST else None


def history_of(runs: Sequence[Run]) -> RunHistory:
    """Return the history of runs, which are sorted by their start."""
    panels: list[HistoryPanel] = []
    names: dict[str, dict[str, None]] = {}
    for run in runs:
        for benchmark in mapping(summary_of(run), "benchmarks"):
            datasets = dict.fromkeys(dataset_names(run, benchmark))
            names[benchmark] = {**names.get(benchmark, {}), **datasets}
    for benchmark, datasets in names.items():
        if len(datasets) > 1:
            panels.append(_panel("benchmark", benchmark, benchmark, runs))
        panels += [_panel("dataset", dataset, benchmark, runs) for dataset in datasets]
    return RunHistory(tuple(runs), tuple(panel for panel in panels if panel.lines))


def _panel(
    kind: Literal["benchmark", "dataset"], name: str, benchmark: str, runs: Iterable[Run]
) -> HistoryPanel:
    before: dict[str, Run] = {}
    lines: dict[str, list[HistoryPoint]] = {}
    for number, run in enumerate(runs):
        scope = mapping(summary_of(run), "benchmarks", benchmark)
        if kind == "dataset":
            scope = mapping(scope, "datasets", name)
        figures = _figures(scope)
        if not figures:
            continue
        changes: tuple[Difference, ...] = ()
        model = run.facts.model
        if model in before:
            changes = _changes(before[model], run, kind, name, benchmark)
        before[model] = run
        examples = scope.get("n_examples")
        point = HistoryPoint(number, figures, examples if type(examples) is int else None, changes)
        lines.setdefault(model, []).append(point)
    return HistoryPanel(kind, name, lines)


def _changes(
    before: Run, after: Run, kind: str, name: str, benchmark: str
) -> tuple[Difference, ...]:
    if kind == "dataset":
        return changes_between(before, after, {name})
    old, new = dataset_names(before, benchmark), dataset_names(after, benchmark)
    changes = changes_between(before, after, {*old, *new})
    if old != new:
        joined = ", ".join(old), ", ".join(new)
        changes = (Difference("datasets", "setting", joined), *changes)
    return changes


def _figures(scope: Mapping[str, Any]) -> dict[str, Estimate]:
    """Return the figures of a scope of `summary.json`; values that are no shares are left out."""
    figures = {}
    for measure in HISTORY_MEASURES:
        value = _share(scope.get(measure))
        if value is None:
            continue
        low, high = _bounds(mapping(scope, "ci95").get(measure))
        if measure == "no_answer":
            low, high = _no_answer_bounds(value, scope)
        figures[measure] = Estimate(value, low, high)
    return figures


def _no_answer_bounds(share: float, scope: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Return the Clopper-Pearson interval of the share of cases without an answer.

    Cases of one table fail together, so the interval counts whole tables, or examples if the
    summary does not count tables. That is cautious: as wide as if all cases of a table always
    failed together.
    """
    for name in ("n_clusters", "n_examples"):
        units = scope.get(name)
        if type(units) is int and 1 <= units <= HIGHEST:
            return clopper_pearson(share * units, units)
    return None, None


def _share(value: Any) -> float | None:
    """Return a number from 0 to 1; None for anything else."""
    return value if type(value) in {int, float} and 0 <= value <= 1 else None


def _bounds(value: object) -> tuple[float | None, float | None]:
    if not isinstance(value, list) or len(value) != 2:
        return None, None
    low, high = map(_share, value)
    return (None, None) if low is None or high is None or low > high else (low, high)
