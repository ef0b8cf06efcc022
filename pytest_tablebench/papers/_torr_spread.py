"""Runs with the published rows of ToRR's Table 5 (spec: torr_analyses.md section 12)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_tablebench.papers._leaderboard import DATASETS, model_names, torr_rows
from pytest_tablebench.papers._published import Noted, beside_published, published
from pytest_tablebench.papers.analyses import serializer_spread
from pytest_tablebench.papers.entries import reason_of, value_of
from pytest_tablebench.papers.runs import runs_by_mode
from pytest_tablebench.papers.text import PaperTable, Printed, row_note
from pytest_tablebench.results.run import Run

_NOTES = (
    "best serializer less worst, means over examples and perturbations",
    'published: "The Mighty ToRR", arXiv 2502.19412, Table 5. The heads of its columns are not '
    "legible in the copy that was read; they are taken to be in the order of Table 2. The paper's "
    "text contradicts that order for one dataset, so read single columns with care",
)


def torr_spread(runs: Sequence[Run]) -> PaperTable | None:
    """Return the serializer spread of each run, then Table 5 as printed.

    None if no run has two serializers in a dataset of ToRR.
    """
    rows: list[Noted] = []
    for run in runs_by_mode(runs, "torr"):
        for model, spreads in serializer_spread(torr_rows(run)).items():
            by_column = {column: spreads.get(name, {}) for column, name in DATASETS.items()}
            values = [value_of(entry) for entry in by_column.values()]
            if any(value is not None for value in values):
                reasons = {column: reason_of(entry) for column, entry in by_column.items()}
                rows.append(((model, "this run", *values), row_note(reasons)))
    return beside_published(
        "torr_spread",
        "ToRR serializer spread (layout of the paper's Table 5)",
        ("model", "source", *DATASETS),
        own_rows=rows,
        others=(
            (line["model"], "published", *(Printed(line[name]) for name in DATASETS))
            for line in published("torr_table5")
        ),
        notes=_NOTES,
        names=model_names(runs),
    )
