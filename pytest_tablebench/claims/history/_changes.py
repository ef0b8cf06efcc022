"""What changed between two runs of a model in addition to its answers."""

from __future__ import annotations

import json
from collections.abc import Collection

from pytest_tablebench.claims.differences import (
    Difference,
    differences_between,
    sent_differences,
)
from pytest_tablebench.claims.history._past_runs import PastRun
from pytest_tablebench.util.entries import mapping


def changes_between(
    before: PastRun, after: PastRun, datasets: Collection[str]
) -> tuple[Difference, ...]:
    """Return what changed between two runs for some datasets.

    A setting that only one of the runs recorded is no change.
    """
    changes = [
        difference
        for difference in differences_between(before.run, after.run)
        if difference.kind != "model"
        and (difference.kind != "data" or difference.name.split(".")[1] in datasets)
    ]
    if not any(change.kind == "parameter" for change in changes):
        changes += sent_differences(before.run, after.run)
    old, new = (json.dumps(run.run.get("model_file"), sort_keys=True) for run in (before, after))
    if old != new:
        changes.append(Difference("model file", "setting", (old, new)))
    return tuple(changes)


def dataset_names(run: PastRun, benchmark: str) -> tuple[str, ...]:
    """Return the datasets of a benchmark that a run has figures of."""
    return tuple(sorted(mapping(run.benchmarks, benchmark, "datasets")))
