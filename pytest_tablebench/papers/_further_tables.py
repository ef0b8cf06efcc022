"""Tables of the paper's further analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pytest_tablebench.papers._model_names import has_open_weights
from pytest_tablebench.papers._published import published
from pytest_tablebench.papers.entries import ALL, Tree, all_keys, matrix, reason_of
from pytest_tablebench.papers.text import PaperTable
from pytest_tablebench.results.run import Run

_NO_GROUP = "no model is known to be open or closed; set it for a run with --bench-open=yes or no"
_NO_PERTURBATION = "no perturbation beside an unperturbed baseline"


@cache
def _families() -> Mapping[str, bool]:
    return {line["family"]: line["open"] == "yes" for line in published("open_models")}


def open_groups(runs: Sequence[Run]) -> dict[str, str]:
    """Return `open` or `closed` by the label of a run; unknown models are left out."""
    groups = {}
    for run in runs:
        answer = run.facts.open_weights
        is_open = answer == "yes" if answer in {"yes", "no"} else None
        if is_open is None:
            is_open = has_open_weights(run.facts.model, _families())
        if is_open is not None:
            groups[run.model] = "open" if is_open else "closed"
    return groups


def further_tables(analysis: Tree) -> list[PaperTable]:
    """Return the tables of `further_figures`; none if the analysis has none."""
    figures = analysis.get("further")
    if not figures:
        return []
    return [
        _performance_spread(figures["performance_spread"]),
        _impact_by_perturbation(figures["impact_by_perturbation"]),
        _open_closed(figures["open_closed"]),
    ]


def _performance_spread(tree: Tree) -> PaperTable:
    rows = tuple(
        (model, entry["value"], *(entry.get(name) for name in ("sd", "lowest", "highest")))
        for model, entry in tree.items()
    )
    reasons = tuple(reason_of(entry) or "" for entry in tree.values())
    return PaperTable(
        "performance_spread",
        "Spread of overall performance over the configurations (highest - lowest)",
        ("model", "spread", "standard deviation", "lowest in", "highest in"),
        rows,
        reasons,
    )


def _impact_by_perturbation(tree: Tree) -> PaperTable:
    rows = {name: _with_all(entries) for name, entries in tree.items()}
    title = "Mean absolute impact of each perturbation, all models"
    name, first = "impact_absolute_by_dataset_and_perturbation", ["perturbation"]
    return matrix(name, title, first, rows, reason=None if rows else _NO_PERTURBATION)


def _open_closed(tree: Mapping[str, Tree]) -> PaperTable:
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for measure, groups in tree.items():
        for group, entries in groups.items():
            rows[group, measure] = _with_all(entries)
    columns = all_keys(rows.values())
    title = "Models with open weights against closed ones (mean over models)"
    reason = None if rows else _NO_GROUP
    return matrix("open_closed", title, ("models", "figure"), rows, columns, reason=reason)


def _with_all(entries: Tree) -> dict[str, Any]:
    """Return the entries, the one over all datasets by the name that tables use."""
    return {ALL if name == "all" else name: entry for name, entry in entries.items()}
