"""The paper's analyses as tables (spec: torr_analyses.md sections 1 to 11).

Reads the dictionary that `analyse` returns and computes nothing. A missing value is shown as `-`,
with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_tablebench.papers._further_tables import further_tables
from pytest_tablebench.papers._ranking_tables import (
    configurations_vs_examples,
    dataset_agreement,
    equivalent_examples,
    kendall_w,
    separability,
    w_growth,
)
from pytest_tablebench.papers._realhit_serializers import serializer_tables
from pytest_tablebench.papers._skills import skill_tables
from pytest_tablebench.papers._table_map import map_tables
from pytest_tablebench.papers.analyses import winners
from pytest_tablebench.papers.entries import (
    ALL,
    Tree,
    all_keys,
    by_pair,
    listing,
    matrix,
    ranked,
    reason_of,
    value_of,
    whole_reason,
)
from pytest_tablebench.papers.text import PaperTable, Value, row_note

WIN_RATES = {
    # key of the analysis: file, title, shown in the terminal
    "serializer": ("win_rates_serializer", "Win rates of serializers", True),
    "serializer, all equal = 1/K": (
        "win_rates_serializer_ties_shared",
        "Win rates of serializers, examples without a winner shared out",
        False,
    ),
    "serializer, inside each perturbation": (
        "win_rates_serializer_inside_perturbation",
        "Win rates of serializers, ranked inside each perturbation",
        False,
    ),
    "perturbation": ("win_rates_perturbation", "Win rates of perturbations", True),
}


def paper_tables(analysis: Tree) -> list[PaperTable]:
    """Return every table of one benchmark's analysis, in the order of the paper's questions."""
    tables = [
        _performance(analysis["performance"]),
        *_robustness(analysis["robustness"]),
        _min_max(analysis["min_max"]),
        *_spread(analysis["serializer_spread"]),
        *(_win_rates(key, analysis["win_rates"].get(key, {})) for key in WIN_RATES),
        *_impact(analysis["perturbation_impact"], analysis.get("further") or {}),
        *separability(analysis["separability"]),
        dataset_agreement(analysis["dataset_agreement"], ranked(analysis)),
        kendall_w(analysis["kendall_w"], ranked(analysis)),
        w_growth(analysis["w_growth"]),
        configurations_vs_examples(analysis["configurations_vs_examples"]),
        equivalent_examples(analysis["configurations_vs_examples"]),
        *further_tables(analysis),
        *_difficulty(analysis["difficulty"]),
        _families(analysis["families"]),
        *skill_tables(analysis.get("skills") or {}),
        *map_tables(analysis.get("tables") or {}),
        *serializer_tables(analysis.get("formats") or {}),
    ]
    return [_checked(table) for table in tables]


def _checked(table: PaperTable) -> PaperTable:
    """Return the table; one without any number gets a `reason` instead."""
    if table.reason is not None:
        return table
    if any(isinstance(cell, float) for row in table.rows for cell in row):
        return table
    if any(isinstance(cell, int) for row in table.rows for cell in row) and not table.row_notes:
        return table
    # A mean's "no value in" only repeats the reasons of its parts.
    reasons = list(dict.fromkeys(filter(None, table.reasons or table.row_notes)))
    first = [reason for reason in reasons if not reason.startswith("no value in")]
    why = "; ".join(first or reasons) or "there is nothing to compute it from"
    return replace(table, reason=why)


def _by_model(tree: Tree) -> tuple[dict[str, Tree], list[str]]:
    """Return the entries of each model, over all datasets first, and the columns."""
    by_dataset = tree["by_model_dataset"]
    columns = [ALL, *all_keys(by_dataset.values())]
    return {
        model: {ALL: tree["by_model"].get(model, {}), **by_dataset[model]} for model in by_dataset
    }, columns


def _performance(tree: Tree) -> PaperTable:
    rows, columns = _by_model(tree)
    table = matrix("performance", "Performance (mean score)", ["model"], rows, columns)
    missing = (
        {
            name: f"cases without a score: {entry['n_missing_cells']}"
            for name, entry in entries.items()
            if entry.get("n_missing_cells")
        }
        for entries in rows.values()
    )
    return _noted(table, missing)


def _noted(table: PaperTable, also: Iterable[Mapping[str, str]]) -> PaperTable:
    """Return the table with further notes on each row, by column."""
    notes = zip(table.row_notes, map(row_note, also), strict=True)
    return replace(table, row_notes=tuple("; ".join(filter(None, both)) for both in notes))


def _robustness(tree: Tree) -> list[PaperTable]:
    rows, columns = _by_model(tree)
    title = "Robustness (1 - range of an example's scores)"
    table = matrix("robustness", title, ["model"], rows, columns)
    incomplete = (
        {
            name: f"too high, examples not fully answered: {entry.get('n_incomplete', '?')}"
            for name, entry in entries.items()
            if name != ALL
            and "incomplete" in entry.get("flags", ())
            and value_of(entry) is not None
        }
        for entries in rows.values()
    )
    flagged = any(
        "incomplete" in entry.get("flags", ()) for e in rows.values() for entry in e.values()
    )
    complete = {
        model: {c: _complete(entries.get(c, {})) for c in columns[1:]}
        for model, entries in rows.items()
    }
    return [
        _noted(table, incomplete),
        matrix(
            "robustness_complete_examples",
            "Robustness, only examples with a score in every configuration",
            ["model"],
            complete,
            columns[1:],
            shown=flagged,
        ),
    ]


def _complete(entry: Tree) -> Tree:
    value = entry.get("complete_examples_only")
    return {"value": value, "reason": "no complete example" if value is None else None}


def _min_max(tree: Tree) -> PaperTable:
    rows, columns = _by_model(tree)
    bounds = {
        (model, bound): {c: entries.get(c, {}).get(bound, {}) for c in columns}
        for model, entries in rows.items()
        for bound in ("max", "min")
    }
    title = "Best and worst configuration of each example, averaged"
    return matrix("min_max", title, ("model", "bound"), bounds, columns)


def _spread(tree: Tree) -> list[PaperTable]:
    tables = []
    for key, stem, words in (
        ("perturbations=all", "serializer_spread", "over all perturbations"),
        ("perturbations=none", "serializer_spread_unperturbed", "perturbation none only"),
    ):
        rows = tree[key]
        title = f"Serializer spread (best - worst serializer), {words}"
        tables.append(matrix(stem, title, ["model"], rows, shown=key == "perturbations=all"))
        means = {pair: entry.get("serializers", {}) for pair, entry in by_pair(rows).items()}
        names = all_keys(means.values())
        cells = tuple(
            (*pair, *(values.get(name) for name in names)) for pair, values in means.items()
        )
        tables.append(
            PaperTable(
                stem.replace("spread", "means"),
                f"Performance by serializer, {words}",
                ("model", "dataset", *names),
                cells,
                tuple("" if values else "no scores" for values in means.values()),
                shown=False,
            )
        )
    return tables


def _win_rates(key: str, tree: Tree) -> PaperTable:
    stem, title, shown = WIN_RATES[key]
    counts = ("used", "dropped: all equal", "dropped: incomplete")
    scopes: list[tuple[str, str, Tree]] = []
    if not (why := whole_reason(tree)) and tree:
        scopes.append(("all models", ALL, winners.overall(tree)))
        scopes += [(model, ALL, entry) for model, entry in winners.by_model(tree).items()]
        scopes += [("all models", name, entry) for name, entry in tree["by_dataset"].items()]
        if len(tree["by_model"]) > 1 and len(tree["by_dataset"]) > 1:
            scopes += [(*pair, entry) for pair, entry in by_pair(tree["by_model_dataset"]).items()]
    names = all_keys(entry["value"] for _, _, entry in scopes if entry.get("value"))
    rows = tuple(
        (
            model,
            dataset,
            *((entry.get("value") or {}).get(name) for name in names),
            *(entry.get(count) for count in ("n_used", "n_dropped_equal", "n_dropped_incomplete")),
        )
        for model, dataset, entry in scopes
    )
    reasons = tuple(reason_of(entry) or "" for _, _, entry in scopes)
    notes = tuple(reason_of(entry) or winners.note(entry) for _, _, entry in scopes)
    header = ("model", "dataset", *names, *counts)
    return PaperTable(stem, title, header, rows, notes, shown=shown, reasons=reasons, reason=why)


def _impact(tree: Tree, further: Tree) -> list[PaperTable]:
    titles = {
        "impact_signed": "Signed impact of perturbations (score - score by perturbation none)",
        "impact_signed_by_dataset": "Signed impact of perturbations, by dataset",
        "impact_absolute": "Mean absolute impact of perturbations (mean of |difference|)",
        "impact_absolute_by_perturbation": "Mean absolute impact, by dataset and perturbation",
    }
    if why := whole_reason(tree):
        return [
            PaperTable(name, title, ("model",), (), reason=why) for name, title in titles.items()
        ]
    rows = tree["signed_by_model_perturbation"]
    signed = matrix("impact_signed", titles["impact_signed"], ["model"], rows)
    details = [
        matrix(name, titles[name], ("model", "dataset"), by_pair(tree[key]), shown=False)
        for name, key in (
            ("impact_signed_by_dataset", "signed_by_model_dataset_perturbation"),
            ("impact_absolute_by_perturbation", "absolute_by_model_dataset_perturbation"),
        )
    ]
    by_dataset, by_model = tree["absolute_by_dataset"], tree["absolute_by_model"]
    columns = [ALL, *by_dataset]
    rows = {
        model: {ALL: by_model.get(model, {}), **entries}
        for model, entries in tree["absolute_by_model_dataset"].items()
    }
    rows["all models"] = {ALL: further.get("impact_absolute", {}), **by_dataset}
    margins = matrix("impact_absolute", titles["impact_absolute"], ["model"], rows, columns)
    return [signed, details[0], margins, details[1]]


def _difficulty(tree: Tree) -> list[PaperTable]:
    title = "Difficulty of examples (mean score over models and configurations)"
    header = ("dataset", "example", "mean score", "scores")
    return [
        listing("difficulty", title, header, by_pair(tree["by_example"]), ["n"], shown=False),
        _histogram("difficulty_histogram", "Examples by difficulty", tree["histogram"]),
        _histogram("score_histogram", "Scores by value", tree["score_histogram"]),
    ]


def _histogram(name: str, title: str, counts: Mapping[str, Sequence[int]]) -> PaperTable:
    bins = max((len(model_counts) for model_counts in counts.values()), default=0)
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (
            f"{i / bins:.2f}",
            f"{(i + 1) / bins:.2f}",
            *(int(model_counts[i]) for model_counts in counts.values()),
        )
        for i in range(bins)
    )
    return PaperTable(name, title, ("from", "to", *counts), rows, shown=False)


def _families(tree: Tree) -> PaperTable:
    entries = {name: entry for name, entry in tree.items() if isinstance(entry, Mapping)}
    title = "Mean difference in performance between two models of a family"
    why = whole_reason(tree) or (None if entries else "no families of models were named")
    return listing("families", title, ("family", "difference"), entries, reason=why)
