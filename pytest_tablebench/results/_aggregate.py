"""Performance, robustness and pass rates (spec: torr_analyses.md sections 0 to 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import fsum
from typing import Any, NamedTuple

from pytest_tablebench.results._intervals import interval
from pytest_tablebench.results._record import Scored
from pytest_tablebench.results._repeats import FoldedCell, fold_repeats, repeat_figures
from pytest_tablebench.results._sampling import sampling_cost

__all__ = ["EQUAL", "Spread", "spread", "summarize", "telling_checks"]

EQUAL = 1e-9
"""Means closer than this are equal: the order of float sums decides no rank."""


@dataclass
class _Values:
    """Example-level values of one scope: what means and intervals are taken over."""

    performance: list[float]
    robustness: list[float]
    pass_rate: list[float]


def summarize(records: Iterable[Scored]) -> dict[str, Any]:
    """Return the content of `summary.json` for the records of one model.

    Means are taken over examples after the mean over an example's answered configurations,
    so the order of records does not matter to the last digit. Cases without an answer are
    counted and left out; measures nobody can tell are None.

    A configuration asked several times counts once, with the mean score of its answered repeats
    and the share of them that passed: robustness is the range over configurations of those
    means, and intervals know examples only. `n_cases`, `no_answer` and `reasons` count every
    repeat; a configuration is missing (`incomplete`) when none of its repeats was answered. What
    repeats say of their own stands under `repeats`, see `repeat_figures`; without repeats there
    is no such entry.
    """
    by_benchmark: dict[str, dict[str, list[FoldedCell]]] = {}
    for cell in fold_repeats(records):
        by_benchmark.setdefault(cell.benchmark, {}).setdefault(cell.dataset, []).append(cell)
    benchmarks = {}
    for name in sorted(by_benchmark):
        datasets = {key: by_benchmark[name][key] for key in sorted(by_benchmark[name])}
        benchmarks[name] = _benchmark(datasets)
    return {"benchmarks": benchmarks}


def _benchmark(datasets: Mapping[str, list[FoldedCell]]) -> dict[str, Any]:
    values = {name: _example_values(cells) for name, cells in datasets.items()}
    everything = [cell for cells in datasets.values() for cell in cells]
    return {
        **_measures(list(values.values()), everything),
        **_repeats(datasets),
        "datasets": {name: _dataset(cells, values[name]) for name, cells in datasets.items()},
    }


def _dataset(cells: list[FoldedCell], values: _Values) -> dict[str, Any]:
    return {
        **_measures([values], cells),
        **_repeats({cells[0].dataset: cells}),
        **_checks(cells),
        "reasons": _reasons(cells),
        "sampled": _sampled(cells),
        "serializers": _scopes(cells, "serializer"),
        "perturbations": _scopes(cells, "perturbation"),
        **_ways(cells),
    }


def _ways(cells: list[FoldedCell]) -> dict[str, Any]:
    """Return the figures of each strategy and each modality, where there are several."""
    found: dict[str, Any] = {}
    for axis, plural in (("strategy", "strategies"), ("modality", "modalities")):
        if len({getattr(cell, axis) for cell in cells}) > 1:
            found[plural] = _scopes(cells, axis)
    return found


def _configuration(cell: FoldedCell) -> tuple[str, ...]:
    return cell.serializer, cell.perturbation, cell.strategy, cell.modality


def _repeats(datasets: Mapping[str, list[FoldedCell]]) -> dict[str, Any]:
    figures = repeat_figures(datasets)
    return {} if figures is None else {"repeats": figures}


def _checks(cells: list[FoldedCell]) -> dict[str, Any]:
    """Return what each test over the cases says, under `checks`; nothing where there is none.

    `pass_rate` is the mean over examples of the mean over their configurations, as that of the
    cases is; `n_cases` counts the configurations the test could tell of, `failed` those of them
    that did not pass, `untold` those where it failed before it could tell.
    """
    found: dict[str, Any] = {}
    for name in sorted({name for cell in cells for name in cell.checks}):
        own = [(cell.example_id, cell.checks[name]) for cell in cells if name in cell.checks]
        examples: dict[str, list[float]] = {}
        for example_id, share in own:
            if share is not None:
                examples.setdefault(example_id, []).append(float(share))
        values = [fsum(examples[key]) / len(examples[key]) for key in sorted(examples)]
        known = [share for shares in examples.values() for share in shares]
        bounds = interval([values]) if values else None
        found[name] = {
            "pass_rate": _mean(values),
            "n_examples": len(examples),
            "n_cases": len(known),
            "failed": sum(share < 1 for share in known),
            "untold": len(own) - len(known),
            "ci95": list(bounds) if bounds else None,
        }
    return {"checks": found} if found else {}


def _sampled(cells: list[FoldedCell]) -> dict[str, Any] | None:
    """Return what drawing configurations for each example costs; None where the grid is whole."""
    asked: dict[str, set[tuple[str, ...]]] = {}
    scores: dict[str, list[float]] = {}
    for cell in cells:
        asked.setdefault(cell.example_id, set()).add(_configuration(cell))
        if cell.score is not None:
            scores.setdefault(cell.example_id, []).append(cell.score)
    sizes = {len(configurations) for configurations in asked.values()}
    alike = len({frozenset(configurations) for configurations in asked.values()}) == 1
    if len(sizes) > 1 or alike:
        return None  # everything, a fixed part of the grid, or a run cut off
    grid = sum(_grid_size(cells).values()) // len(asked)
    cost = sampling_cost([scores[name] for name in sorted(scores)], grid)
    return {
        "drawn": min(sizes),
        "of": grid,
        "width_ratio": cost.width if cost else None,
        "assumed": cost.assumed if cost else False,
    }


def _scopes(cells: list[FoldedCell], axis: str) -> dict[str, Any]:
    groups: dict[str, list[FoldedCell]] = {}
    for cell in cells:
        groups.setdefault(getattr(cell, axis), []).append(cell)
    return {
        name: _measures([_example_values(groups[name])], groups[name]) for name in sorted(groups)
    }


def _measures(datasets: list[_Values], cells: list[FoldedCell]) -> dict[str, Any]:
    """Return the measures of a scope: plain means over its datasets."""
    examples = Counter((cell.dataset, cell.example_id) for cell in cells)
    asked = sum(cell.asked for cell in cells)
    unanswered = sum(len(cell.reasons) for cell in cells)
    present = sum(cell.score is not None for cell in cells)
    flags = ["one configuration"] if max(examples.values()) == 1 else []
    flags += ["incomplete"] if present < sum(_grid_size(cells).values()) else []
    measures: dict[str, Any] = {}
    bounds: dict[str, Any] = {}
    for name in ("performance", "robustness", "pass_rate"):
        values = [getattr(dataset, name) for dataset in datasets]
        measures[name] = _mean([_mean(part) for part in values])
        found = interval(values) if measures[name] is not None else None
        bounds[name] = list(found) if found else None
    return {
        **measures,
        "no_answer": unanswered / asked if asked else None,
        "n_examples": len(examples),
        "n_cases": asked,
        "ci95": bounds,
        "flags": flags,
    }


def _grid_size(cells: list[FoldedCell]) -> dict[str, int]:
    """Return how many cases each dataset's full grid would have."""
    sizes = {}
    for dataset in {cell.dataset for cell in cells}:
        own = [cell for cell in cells if cell.dataset == dataset]
        examples = {cell.example_id for cell in own}
        serializers = {cell.serializer for cell in own}
        perturbations = {cell.perturbation for cell in own}
        ways = {(cell.strategy, cell.modality) for cell in own}
        sizes[dataset] = len(examples) * len(serializers) * len(perturbations) * len(ways)
    return sizes


def _example_values(cells: list[FoldedCell]) -> _Values:
    """Return one value per answered example, in the order of example ids."""
    examples: dict[str, list[FoldedCell]] = {}
    for cell in cells:
        if cell.score is not None:
            examples.setdefault(cell.example_id, []).append(cell)
    values = _Values([], [], [])
    for example_id in sorted(examples):
        answered = examples[example_id]
        scores = [cell.score for cell in answered if cell.score is not None]
        values.performance.append(fsum(scores) / len(scores))
        values.robustness.append(1 - (max(scores) - min(scores)))
        passes = [cell.passed for cell in answered if cell.passed is not None]
        values.pass_rate.append(fsum(passes) / len(passes))
    return values


def _mean(values: list[float] | list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if not known or len(known) < len(values):
        return None
    return fsum(known) / len(known)


def _reasons(cells: list[FoldedCell]) -> dict[str, int]:
    counts = Counter(reason for cell in cells for reason in cell.reasons)
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


class Spread(NamedTuple):
    """The best and the worst of some scopes by performance (paper Table 5).

    Several names are equal; where all are, best and worst are the same ones.
    """

    best: tuple[str, ...]
    high: float
    worst: tuple[str, ...]
    low: float

    @property
    def all_equal(self) -> bool:
        """Whether there is neither a best nor a worst."""
        return self.best == self.worst


def spread(scopes: Mapping[str, Mapping[str, Any]]) -> Spread | None:
    """Return the best and the worst scopes; None where fewer than two have a value."""
    values = {
        name: scope["performance"]
        for name, scope in sorted(scopes.items())
        if scope["performance"] is not None
    }
    if len(values) < 2:
        return None
    high, low = max(values.values()), min(values.values())
    best, worst = (
        tuple(name for name, value in values.items() if abs(value - end) < EQUAL)
        for end in (high, low)
    )
    return Spread(best, high, worst, low)


def telling_checks(scope: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checks of a dataset in `summary.json` that say more than its cases do.

    A single test that passes just as often as answers are right says nothing of its own.
    """
    checks: dict[str, Any] = scope.get("checks") or {}
    alike = {check["pass_rate"] for check in checks.values()} == {scope["pass_rate"]}
    return {} if len(checks) == 1 and alike else checks
