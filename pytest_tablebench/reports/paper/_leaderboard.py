"""One's runs beside the published rows of ToRR (spec: torr_analyses.md sections 0 and 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.reports.formats import percent
from pytest_tablebench.reports.paper._published import Noted, beside_published, published
from pytest_tablebench.reports.paper._runs import Row, RunData
from pytest_tablebench.reports.paper._text import PaperTable, Printed, Value
from pytest_tablebench.results import summarize
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

_SERIALIZERS = ("html", "csv", "json", "markdown", "indexed_row_major", "df", "concat")
_EXAMPLES, _SHOTS = 100, 5
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


def leaderboard(runs: Sequence[RunData]) -> PaperTable | None:
    """Return the table in the layout of the paper's Table 2; None without any ToRR dataset.

    One's own runs come first. Performance and robustness stand only where a run has all ten
    datasets; what makes a run differ from the paper's is in its note.
    """
    figures = ("performance", "robustness", *DATASETS)
    rows: list[Noted] = []
    for run in runs:
        own = _torr_rows(run)
        if not own:
            continue
        (scope,) = summarize(own)["benchmarks"].values()
        rows.append((_row(run, scope), "; ".join(_notes(run, scope))))
    return beside_published(
        "leaderboard",
        "ToRR leaderboard (layout of the paper's Table 2)",
        ("model", "source", *figures),
        own=rows,
        others=(
            (line["model"], "published", *(Printed(line[name]) for name in figures))
            for line in published("torr_table2")
        ),
        notes=(_CITATION, *_CAVEATS),
    )


def _torr_rows(run: RunData) -> list[Row]:
    names = set(DATASETS.values())
    return [row for row in run.rows if row.benchmark == "torr" and row.dataset in names]


def _row(run: RunData, scope: Mapping[str, Any]) -> tuple[Value, ...]:
    datasets = scope.get("datasets", {})
    whole = set(datasets) == set(DATASETS.values())
    return (
        run.model,
        "this run",
        scope["performance"] if whole else None,
        scope["robustness"] if whole else None,
        *(datasets.get(name, {}).get("performance") for name in DATASETS.values()),
    )


def _notes(run: RunData, scope: Mapping[str, Any]) -> list[str]:
    """Return how a run differs from the paper's, one clause each."""
    datasets = scope.get("datasets", {})
    notes = []
    missing = [name for name in DATASETS.values() if name not in datasets]
    if missing:
        notes.append(
            f"performance and robustness need all ten datasets, missing: {', '.join(missing)}"
        )
    compat = run.run.get("compat")
    if compat != "reference":
        notes.append(
            f"mode {printable(str(compat), 20)}: several metrics differ from the paper's, "
            f"--bench-compat=reference has the published code's"
        )
    notes += _grid_notes(run)
    shots = run.run.get("shots")
    if shots is not None:
        notes.append(f"{printable(str(shots), 20)} demonstrations, paper {_SHOTS} (WikiTQ 1)")
    for key, usual in (("strategy", "direct"), ("modality", "text")):
        value = run.run.get(key, usual)
        if value != usual:
            notes.append(f"{key} {printable(str(value), 40)}, paper {usual}")
    if scope.get("no_answer"):
        notes.append(f"{percent(scope['no_answer'])} of the cases have no answer")
    return notes + _data_notes(run, datasets)


def _grid_notes(run: RunData) -> list[str]:
    paper = {(serializer, perturbation) for serializer in _SERIALIZERS for perturbation in GRID}
    grids: dict[str, list[str]] = {}
    counts: dict[str, list[str]] = {}
    for name in DATASETS.values():
        own = [row for row in _torr_rows(run) if row.dataset == name]
        grid = {(row.serializer, row.perturbation) for row in own}
        if own and grid != paper:
            same = ", other ones" if len(grid) == len(paper) else ""
            grids.setdefault(f"{counted(len(grid), 'configuration')}{same}", []).append(name)
        examples = len({row.example_id for row in own})
        if own and examples != _EXAMPLES:
            counts.setdefault(counted(examples, "example"), []).append(name)
    notes = [f"{what} (paper 35): {', '.join(names)}" for what, names in grids.items()]
    return notes + [f"{what} (paper 100): {', '.join(names)}" for what, names in counts.items()]


def _data_notes(run: RunData, datasets: Mapping[str, Any]) -> list[str]:
    facts = run.run.get("datasets")
    if not isinstance(facts, Mapping):
        return []
    notes = []
    for name in datasets:
        found = facts.get(name)
        said = found.get("notes") if isinstance(found, Mapping) else None
        if isinstance(said, list):
            notes += [f"{name}: {printable(str(note), 200)}" for note in said]
    return notes
