"""What changed between two runs of a model in addition to its answers."""

from __future__ import annotations

import json
from collections.abc import Collection

from pytest_tablebench.claims.differences import (
    Difference,
    differences_between,
    sent_differences,
)
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
