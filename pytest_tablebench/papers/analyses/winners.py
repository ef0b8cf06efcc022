"""Average win rates over the datasets that have a winner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_tablebench.papers.analyses.grid import Figure, plain_mean


def overall(tree: Mapping[str, Any]) -> Figure:
    """Return a win rate over all models and all datasets with a winner.

    `tree` is an entry of `win_rates` in the result of `analyse`.
    """
    return _mean(tree.get("by_dataset", {}))


def by_model(tree: Mapping[str, Any]) -> dict[str, Figure]:
    """Return each model's win rate over its datasets with a winner; see `overall`."""
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


def note(entry: Mapping[str, Any]) -> str:
    """Return which datasets a win rate leaves out, and why; "" if it leaves out none."""
    left_out = entry.get("left_out", {})
    parts = ", ".join(f"{name} ({reason})" for name, reason in left_out.items())
    return f"without {parts}" if parts else ""
