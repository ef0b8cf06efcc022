"""Runs with the published rows of ToRR (spec: torr_analyses.md sections 0 and 12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.config.demonstrations import Shots
from pytest_tablebench.config.papers import PAPER_SETTINGS
from pytest_tablebench.documents.formats import percent
from pytest_tablebench.papers._published import (
    Noted,
    beside_published,
    caveat,
    paper,
    published,
    same_model,
)
from pytest_tablebench.papers.analyses._levels import serializer_spread
from pytest_tablebench.papers.analyses.grid import read_scores
from pytest_tablebench.papers.runs import runs_by_mode
from pytest_tablebench.papers.table import (
    PaperTable,
    Printed,
    Row,
    captioned,
    reason_of,
    row_note,
    value_of,
)
from pytest_tablebench.results.run import Run, RunRow
from pytest_tablebench.tables.perturbations import GRID
from pytest_tablebench.util.names import counted

_PAPER = paper("torr")

DATASETS: Mapping[str, str] = _PAPER["datasets"]
"""The paper's ten columns, with our names of the datasets."""

SINGLE = "one configuration"
"""The flag of figures over one configuration, in which robustness is not defined."""

_HEADLINE = ("performance", "robustness")
_COLUMNS = ("model", "source", *_HEADLINE, *DATASETS)


def leaderboard(runs: Sequence[Run]) -> PaperTable | None:
    """Return the table in the layout of the paper's Table 2; None without any ToRR dataset.

    The given runs come first. Performance and robustness are shown only if a run has all ten
    datasets. A run's note lists its differences from the paper.
    """
    rows = [(_row(run, scope), "; ".join(_notes(run, scope))) for run, scope in _torr_scopes(runs)]
    others = _published_rows("torr_table2", _COLUMNS[2:])
    names = _model_names(runs)
    return beside_published(
        "leaderboard", [*DATASETS], rows, others, names=names, headline=_HEADLINE
    )


def leaderboard_beside(runs: Sequence[Run]) -> PaperTable | None:
    """Return each figure of a run with the published one of the same model.

    None if no model of the runs has a published row.
    """
    names, others = _model_names(runs), _published_rows("torr_table2", _COLUMNS[2:])
    rows: list[Row] = [
        (run.model, pair.model, pair.figure, *figures)
        for run, scope in _torr_scopes(runs)
        for pair in same_model(names, _COLUMNS, _row(run, scope), others)
        for figures in [(pair.published, pair.measured, pair.measured - pair.published)]
    ]
    return captioned("leaderboard_beside", rows) if rows else None


def torr_spread(runs: Sequence[Run]) -> PaperTable | None:
    """Return the serializer spread of each run, then the paper's Table 5 as printed.

    None if no run has two serializers in a dataset of ToRR.
    """
    rows: list[Noted] = []
    for run in runs_by_mode(runs, "torr"):
        all_spreads = serializer_spread(read_scores(_torr_rows(run)))["perturbations=all"]
        for model, spreads in all_spreads.items():
            by_column = {column: spreads.get(name, {}) for column, name in DATASETS.items()}
            values = [value_of(entry) for entry in by_column.values()]
            if any(value is not None for value in values):
                reasons = {column: reason_of(entry) for column, entry in by_column.items()}
                rows.append(((model, "this run", *values), row_note(reasons)))
    others = _published_rows("torr_table5", [*DATASETS])
    return beside_published("torr_spread", [*DATASETS], rows, others, names=_model_names(runs))


def _published_rows(name: str, columns: Sequence[str]) -> list[Row]:
    return [
        (line["model"], "published", *(Printed(line[column]) for column in columns))
        for line in published(name)
    ]


def _model_names(runs: Sequence[Run]) -> dict[str, str]:
    """Return the models by the labels of their runs."""
    return {run.model: run.facts.model for run in runs_by_mode(runs, "torr")}


def _torr_scopes(runs: Sequence[Run]) -> Iterator[tuple[Run, Mapping[str, Any]]]:
    """Yield the runs that have a dataset of ToRR, one for each mode, with their figures."""
    for run in runs_by_mode(runs, "torr"):
        rows = _torr_rows(run)
        if rows:
            (scope,) = summarize(rows)["benchmarks"].values()
            yield run, scope


def _torr_rows(run: Run) -> list[RunRow]:
    """Return the rows of a run about the ten datasets of ToRR."""
    names = set(DATASETS.values())
    return [row for row in run.rows if row.benchmark == "torr" and row.dataset in names]


def _row(run: Run, scope: Mapping[str, Any]) -> Row:
    datasets = scope.get("datasets", {})
    whole = set(datasets) == set(DATASETS.values())
    return (
        run.model,
        "this run",
        scope["performance"] if whole else None,
        scope["robustness"] if whole and SINGLE not in scope["flags"] else None,
        *(datasets.get(name, {}).get("performance") for name in DATASETS.values()),
    )


def _notes(run: Run, scope: Mapping[str, Any]) -> Iterator[str]:
    """Yield how a run differs from the paper's, one clause each."""
    datasets = scope.get("datasets", {})
    missing = [name for name in DATASETS.values() if name not in datasets]
    if missing:
        yield caveat("torr", "missing", names=", ".join(missing))
    compat = run.facts.compat
    if compat != "reference":
        yield caveat("torr", "compat", compat=compat)
    yield from _grid_notes(run)
    usual_shots = PAPER_SETTINGS["torr"].shots or Shots()
    shots_of = {}
    for name in datasets:
        # Earlier versions recorded the option alone.
        shots = run.facts.by_dataset.get(name, {"shots": run.facts.shots}).get("shots")
        if shots is not None and shots != usual_shots.of(name):
            shots_of[name] = caveat("torr", "shots", shots=shots)
    yield from _by_text(shots_of)
    for key, usual in _PAPER["usual"].items():
        others = sorted({getattr(row, key) for row in _torr_rows(run)} - {usual})
        if others:
            yield caveat("torr", "mode", axis=key, names=", ".join(others), usual=usual)
    if scope.get("no_answer"):
        yield caveat("torr", "no_answer", share=percent(scope["no_answer"]))
    for name in datasets:
        yield from (f"{name}: {note}" for note in run.facts.notes(name))


def _by_text(texts: Mapping[str, str]) -> Iterator[str]:
    """Yield each text once, with the names that have it."""
    for text in dict.fromkeys(texts.values()):
        yield f"{text}: {', '.join(name for name in texts if texts[name] == text)}"


def _grid_notes(run: Run) -> Iterator[str]:
    """Yield which datasets have other configurations, or other numbers of examples."""
    usual = {*product(_PAPER["serializers"], GRID)}
    grids, counts = {}, {}
    for name in DATASETS.values():
        rows = [row for row in _torr_rows(run) if row.dataset == name]
        grid = {(row.serializer, row.perturbation) for row in rows}
        if rows and grid != usual:
            key = "other_grid" if len(grid) == len(usual) else "grid"
            grids[name] = caveat("torr", key, configurations=counted(len(grid), "configuration"))
        examples = len({row.example_id for row in rows})
        if rows and examples not in {_PAPER["examples"], _PAPER["fewer"].get(name)}:
            counts[name] = caveat("torr", "examples", examples=counted(examples, "example"))
    yield from _by_text(grids)
    yield from _by_text(counts)
