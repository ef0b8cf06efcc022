"""Win rates averaged over the datasets that have a winner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_tablebench.results.analyses._figures import Figure, plain_mean


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

    A dataset in which all alternatives are equal in every complete example has none: it is left
    out and named in `left_out`, with the reason. A dataset without a complete example leaves the
    mean undefined, as do all datasets without a winner in the means of `analyse` itself.
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
    """Return which datasets a win rate leaves out, and why; "" if none."""
    left_out = entry.get("left_out", {})
    parts = ", ".join(f"{name} ({reason})" for name, reason in left_out.items())
    return f"without {parts}" if parts else ""
