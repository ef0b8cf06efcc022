"""Contrasts of configurations: win rates, the impact of perturbations, and winners by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.papers.analyses.grid import (
    Figure,
    ScoreGrid,
    Scores,
    each,
    mean_of_known,
    plain_mean,
)
from pytest_tablebench.results.figures import means
from pytest_tablebench.results.score_table import EQUAL
from pytest_tablebench.util.arrays import np

if TYPE_CHECKING:
    from pytest_tablebench.results.score_columns import Flags, Floats


BASELINE = "none"
NO_BASELINE = "no perturbation beside an unperturbed baseline"


def win_rates(scores: Scores) -> dict[str, Any]:
    """Return how often a serializer or perturbation beats the others (section 4).

    An alternative wins against each other one that scores strictly less on an example; its rate is
    its share of all wins. Only examples with a complete grid count. If all alternatives are equal,
    the example is dropped, or counts 1/K each in the variant of that name.
    """
    return {
        "serializer": _win_rates(scores, "serializers"),
        "serializer, all equal = 1/K": _win_rates(scores, "serializers", share=True),
        "serializer, inside each perturbation": _win_rates(scores, "serializers", inside=True),
        "perturbation": _win_rates(scores, "perturbations"),
    }


def _win_rates(
    scores: Scores, axis: str, *, share: bool = False, inside: bool = False
) -> dict[str, Any]:
    alternatives: set[tuple[str, ...]] = {getattr(grid, axis) for grid in scores.grids}
    if len(alternatives) > 1:
        return {"value": None, "reason": "alternatives differ between datasets"}
    names = next(iter(alternatives), ())
    if len(names) < 2:
        return {"value": None, "reason": "fewer than two alternatives"}
    by_model: dict[str, dict[str, Figure]] = {model: {} for model in scores.models}
    by_dataset = {}
    for grid in scores.grids:
        shares, complete = _wins(grid, axis, share=share, inside=inside), grid.complete
        by_dataset[grid.dataset] = _mean_wins(shares, complete, names)
        for index, model in enumerate(scores.models):
            by_model[model][grid.dataset] = _mean_wins(shares[index], complete[index], names)
    return {
        "by_model_dataset": by_model,
        "by_model": {model: plain_mean(parts) for model, parts in by_model.items()},
        "by_dataset": by_dataset,
        "overall": plain_mean(by_dataset),
    }


def _mean_wins(shares: Floats, complete: Flags, names: Sequence[str]) -> Figure:
    """Return the mean share of each alternative over the used examples, and the dropped ones."""
    used = complete & np.isfinite(shares[..., 0])
    counts = {
        "n_used": int(used.sum()),
        "n_dropped_equal": int((complete & ~used).sum()),
        "n_dropped_incomplete": int((~complete).sum()),
    }
    if not counts["n_used"]:
        return {"value": None, "reason": "no example with a winner", **counts}
    return {"value": dict(zip(names, shares[used].mean(axis=0).tolist(), strict=True)), **counts}


def _wins(grid: ScoreGrid, axis: str, *, share: bool, inside: bool) -> Floats:
    """Return the shares of wins by model, example and alternative.

    They are of means over the other axis, or `inside` each of its names. Shares are NaN for an
    example without a winner, and meaningless for an incomplete one.
    """
    # Move the alternatives to the last axis, after the axis they are averaged over.
    values = np.moveaxis(grid.scores, 2, 3) if axis == "serializers" else grid.scores
    if not inside:
        values = values.mean(axis=2, keepdims=True)
    wins = (values[..., :, None] - values[..., None, :] > EQUAL).sum(axis=-1)
    total = wins.sum(axis=-1, keepdims=True)
    empty = 1 / wins.shape[-1] if share else np.nan
    shares = np.divide(wins, total, out=np.full(wins.shape, empty), where=total > 0)
    return means(shares, axis=2)


def perturbation_impact(scores: Scores) -> dict[str, Any]:
    """Return the differences in score between each perturbation and none (section 5).

    Each (example, serializer) with both cells counts once. Absolute values are taken of these
    differences, before any mean.
    """
    if not any(set(grid.perturbations) > {BASELINE} for grid in scores.grids):
        return {"value": None, "reason": NO_BASELINE}
    signed: dict[str, dict[str, dict[str, Figure]]] = {model: {} for model in scores.models}
    absolute: dict[str, dict[str, dict[str, Figure]]] = {model: {} for model in scores.models}
    whole: dict[str, dict[str, Figure]] = {model: {} for model in scores.models}
    for grid in scores.grids:
        names, changes = _changes(grid)
        pooled = _impacts(scores.models, abs(changes).reshape(len(scores.models), -1))
        for model, change in zip(scores.models, changes, strict=True):
            signed[model][grid.dataset] = _impacts(names, change)
            absolute[model][grid.dataset] = _impacts(names, abs(change))
            whole[model][grid.dataset] = pooled[model]
    return {
        "signed_by_model_dataset_perturbation": signed,
        "signed_by_model_perturbation": {
            model: _over_datasets(datasets) for model, datasets in signed.items()
        },
        "absolute_by_model_dataset_perturbation": absolute,
        "absolute_by_model_dataset": whole,
        "absolute_by_dataset": {
            grid.dataset: plain_mean({model: whole[model][grid.dataset] for model in whole})
            for grid in scores.grids
        },
        "absolute_by_model": {model: plain_mean(parts) for model, parts in whole.items()},
    }


def _changes(grid: ScoreGrid) -> tuple[list[str], Floats]:
    """Return the perturbations, and the differences (models, perturbations, example x serializer).

    A difference is NaN if one of its two cells is missing; in a dataset without baseline all are.
    """
    places = [index for index, name in enumerate(grid.perturbations) if name != BASELINE]
    if BASELINE in grid.perturbations:
        index = grid.perturbations.index(BASELINE)
        changes = grid.scores[..., places] - grid.scores[..., index : index + 1]
    else:
        changes = np.full((*grid.scores.shape[:3], len(places)), np.nan)
    by_perturbation = np.moveaxis(changes, 3, 1)
    shape = (changes.shape[0], len(places), changes.shape[1] * changes.shape[2])
    return [grid.perturbations[index] for index in places], by_perturbation.reshape(shape)


def _impacts(names: Sequence[str], changes: Floats) -> dict[str, Figure]:
    counts = np.isfinite(changes).sum(axis=1)
    return each(names, means(changes), "no pair with its baseline", n=counts)


def _over_datasets(datasets: Mapping[str, Mapping[str, Figure]]) -> dict[str, Figure]:
    by_name: dict[str, dict[str, Figure]] = {}
    for dataset, figures in datasets.items():
        for name, entry in figures.items():
            by_name.setdefault(name, {})[dataset] = entry
    return {name: plain_mean(by_name[name]) for name in sorted(by_name)}


def impact_by_perturbation(
    impact: Mapping[str, Mapping[str, Mapping[str, Any]]],
) -> dict[str, dict[str, Figure]]:
    """Return the mean absolute impact of each perturbation, by dataset and `all`.

    `impact` contains the figures by model, dataset and perturbation. They are averaged over
    models; `all` is the mean over the datasets that have the perturbation.
    """
    parts: dict[str, dict[str, list[Any]]] = {}
    for datasets in impact.values():
        for dataset, entries in datasets.items():
            for name, entry in entries.items():
                parts.setdefault(name, {}).setdefault(dataset, []).append(entry)
    margins: dict[str, dict[str, Figure]] = {}
    for name, by_dataset in parts.items():
        figures = {dataset: mean_of_known(entries) for dataset, entries in by_dataset.items()}
        margins[name] = {"all": plain_mean(figures), **figures}
    return margins


def overall_winners(tree: Mapping[str, Any]) -> Figure:
    """Return a win rate over all models and all datasets with a winner.

    `tree` is an entry of `win_rates` in the result of `analyse`.
    """
    return _mean(tree.get("by_dataset", {}))


def winners_by_model(tree: Mapping[str, Any]) -> dict[str, Figure]:
    """Return each model's win rate over its datasets with a winner."""
    return {model: _mean(parts) for model, parts in tree.get("by_model_dataset", {}).items()}


def _mean(datasets: Mapping[str, Figure]) -> Figure:
    """Return the plain mean over the datasets with a winner.

    A dataset has no winner if all alternatives are equal in every complete example. It is left
    out, with the reason in `left_out`. A dataset without a complete example makes the mean
    undefined. In the means of `analyse` itself, a dataset without a winner does so too.
    """
    left_out = {
        name: f"all alternatives equal in {entry['n_dropped_equal']} of {_examples(entry)} examples"
        for name, entry in datasets.items()
        if entry["value"] is None and entry.get("n_dropped_equal")
    }
    if not left_out or len(left_out) == len(datasets):
        return plain_mean(datasets)
    counted = {name: entry for name, entry in datasets.items() if name not in left_out}
    return {**plain_mean(counted), "left_out": left_out}


def _examples(entry: Figure) -> int:
    return int(entry["n_used"] + entry["n_dropped_equal"] + entry["n_dropped_incomplete"])


def winners_note(entry: Mapping[str, Any]) -> str:
    """Return which datasets a win rate leaves out, and why; "" if it leaves out none."""
    left_out = entry.get("left_out", {})
    parts = ", ".join(f"{name} ({reason})" for name, reason in left_out.items())
    return f"without {parts}" if parts else ""
