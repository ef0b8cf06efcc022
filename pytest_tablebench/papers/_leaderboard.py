"""Runs with the published rows of ToRR (spec: torr_analyses.md sections 0 and 12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.config.demonstrations import Shots
from pytest_tablebench.config.paper_settings import PAPER_SETTINGS
from pytest_tablebench.documents.formats import percent
from pytest_tablebench.papers._published import beside_published, published, same_model
from pytest_tablebench.papers.entries import SINGLE
from pytest_tablebench.papers.runs import runs_by_mode
from pytest_tablebench.papers.text import PaperTable, Printed, Value
from pytest_tablebench.results.run import Run, RunRow
from pytest_tablebench.tables.perturbations import GRID
from pytest_tablebench.util.names import counted, printable

DATASETS = {
    "FinQA": "finqa",
    "NumericNLG": "numericnlg",
    "QTSumm": "qtsumm",
    "SciGen": "scigen",
    "TabFact": "tabfact",
    "TableBench DA": "tablebench_da",
    "TableBench FC": "tablebench_fc",
    "TableBench NR": "tablebench_nr",
    "TURL CTA": "turl_cta",
    "WikiTQ": "wikitq",
}
"""The paper's ten columns, with our names of the datasets."""

_COLUMNS = ("model", "source", "performance", "robustness", *DATASETS)

_SERIALIZERS = ("html", "csv", "json", "markdown", "indexed_row_major", "df", "concat")
_EXAMPLES = 100
_FEWER = {"tablebench_fc": 79}
"""Datasets of which the paper has fewer examples, as its demonstrations come from the same file."""

_CITATION = (
    'published: "The Mighty ToRR: A Benchmark for Table Reasoning and Robustness", '
    "arXiv 2502.19412, Table 2 (35 configurations, up to 100 examples per dataset, 5 "
    "demonstrations, WikiTQ 1)"
)
_CAVEATS = (
    "the published rows were measured by other code, on their own sample of examples and with "
    "models as served at the time; read differences as rough",
    "gpt-4o-mini: its published performance is printed .48, its ten columns average .43",
)


def leaderboard(runs: Sequence[Run]) -> PaperTable | None:
    """Return the table in the layout of the paper's Table 2; None without any ToRR dataset.

    The given runs come first. Performance and robustness are shown only if a run has all ten
    datasets. A run's note lists its differences from the paper.
    """
    return beside_published(
        "leaderboard",
        "ToRR leaderboard (layout of the paper's Table 2)",
        _COLUMNS,
        own_rows=[
            (_row(run, scope), "; ".join(_notes(run, scope))) for run, scope in _torr_scopes(runs)
        ],
        others=_published_rows(),
        notes=(_CITATION, *_CAVEATS),
        names=model_names(runs),
        headline=_COLUMNS[2:4],
    )


def leaderboard_beside(runs: Sequence[Run]) -> PaperTable | None:
    """Return each figure of a run with the published one of the same model.

    None if no model of the runs has a published row.
    """
    rows: list[tuple[Value, ...]] = []
    for run, scope in _torr_scopes(runs):
        row = _row(run, scope)
        for pair in same_model(model_names(runs), _COLUMNS, row, _published_rows()):
            figures = (pair.published, pair.measured, pair.measured - pair.published)
            rows.append((run.model, pair.model, pair.figure, *figures))
    if not rows:
        return None
    return PaperTable(
        "leaderboard_beside",
        "ToRR: figures of this run and published figures of the same model",
        ("model", "published as", "figure", "published", "here", "difference"),
        tuple(rows),
        notes=(
            "models are matched by name; a version in it (2024-11-20) is not compared, because the "
            "published table names none",
            *_CAVEATS,
        ),
    )


def model_names(runs: Sequence[Run]) -> dict[str, str]:
    """Return the models by the labels of their runs."""
    parts = runs_by_mode(runs, "torr")
    return {run.model: run.facts.model for run in parts}


def _torr_scopes(runs: Sequence[Run]) -> Iterator[tuple[Run, Mapping[str, Any]]]:
    """Yield the runs that have a dataset of ToRR, one for each mode, with their figures."""
    for run in runs_by_mode(runs, "torr"):
        rows = torr_rows(run)
        if rows:
            (scope,) = summarize(rows)["benchmarks"].values()
            yield run, scope


def _published_rows() -> list[tuple[Value, ...]]:
    return [
        (line["model"], "published", *(Printed(line[name]) for name in _COLUMNS[2:]))
        for line in published("torr_table2")
    ]


def torr_rows(run: Run) -> list[RunRow]:
    """Return the rows of a run about the ten datasets of ToRR."""
    names = set(DATASETS.values())
    return [row for row in run.rows if row.benchmark == "torr" and row.dataset in names]


def _row(run: Run, scope: Mapping[str, Any]) -> tuple[Value, ...]:
    datasets = scope.get("datasets", {})
    whole = set(datasets) == set(DATASETS.values())
    return (
        run.model,
        "this run",
        scope["performance"] if whole else None,
        scope["robustness"] if whole and SINGLE not in scope["flags"] else None,
        *(datasets.get(name, {}).get("performance") for name in DATASETS.values()),
    )


def _notes(run: Run, scope: Mapping[str, Any]) -> list[str]:
    """Return how a run differs from the paper's, one clause each."""
    datasets = scope.get("datasets", {})
    notes = []
    missing = [name for name in DATASETS.values() if name not in datasets]
    if missing:
        notes.append(
            f"performance and robustness need all ten datasets, missing: {', '.join(missing)}"
        )
    compat = run.facts.compat
    if compat != "reference":
        notes.append(
            f"mode {printable(str(compat), 20)}: several metrics differ from the paper's, "
            f"--bench-compat=reference has the published code's"
        )
    notes += _grid_notes(run)
    notes += _shot_notes(run, datasets)
    for key, usual in (("strategy", "direct"), ("modality", "text")):
        others = sorted({getattr(row, key) for row in torr_rows(run)} - {usual})
        if others:
            notes.append(f"{key} {printable(', '.join(others), 40)}, paper {usual}")
    if scope.get("no_answer"):
        notes.append(f"{percent(scope['no_answer'])} of the cases have no answer")
    return notes + _data_notes(run, datasets)


def _grid_notes(run: Run) -> list[str]:
    paper = {(serializer, perturbation) for serializer in _SERIALIZERS for perturbation in GRID}
    grids: dict[str, list[str]] = {}
    counts: dict[str, list[str]] = {}
    for name in DATASETS.values():
        rows = [row for row in torr_rows(run) if row.dataset == name]
        grid = {(row.serializer, row.perturbation) for row in rows}
        if rows and grid != paper:
            same = ", other ones" if len(grid) == len(paper) else ""
            grids.setdefault(f"{counted(len(grid), 'configuration')}{same}", []).append(name)
        examples = len({row.example_id for row in rows})
        if rows and examples not in {_EXAMPLES, _FEWER.get(name)}:
            counts.setdefault(counted(examples, "example"), []).append(name)
    notes = [f"{difference} (paper 35): {', '.join(names)}" for difference, names in grids.items()]
    return notes + [
        f"{difference} (paper 100, TableBench FC 79): {', '.join(names)}"
        for difference, names in counts.items()
    ]


def _shot_notes(run: Run, datasets: Iterable[str]) -> list[str]:
    """Return which datasets were shown another number of demonstrations than in the paper."""
    paper = PAPER_SETTINGS["torr"].shots or Shots()
    others: dict[str, list[str]] = {}
    for name in datasets:
        # Earlier versions recorded the option alone.
        shots = run.facts.by_dataset.get(name, {"shots": run.facts.shots}).get("shots")
        if shots is not None and shots != paper.of(name):
            others.setdefault(printable(str(shots), 20), []).append(name)
    return [
        f"{shots} demonstrations, paper 5 (WikiTQ 1): {', '.join(names)}"
        for shots, names in others.items()
    ]


def _data_notes(run: Run, datasets: Mapping[str, Any]) -> list[str]:
    return [
        f"{name}: {printable(str(note), 200)}"
        for name in datasets
        for note in run.facts.notes(name)
    ]
