"""The paper's analyses as tables (spec: torr_analyses.md sections 1 to 11).

Reads the dictionary that `analyse` returns and computes nothing. A value that `analyse` could
not tell is shown as `-`, with the reason it gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_tablebench.reports.paper._entries import (
    ALL,
    Tree,
    all_keys,
    all_reasons,
    matrix,
    reason_of,
    value_of,
    whole_reason,
)
from pytest_tablebench.reports.paper._ranking_tables import (
    configurations_vs_examples,
    dataset_agreement,
    equivalent_examples,
    kendall_w,
    separability,
    w_growth,
)
from pytest_tablebench.reports.paper._skills import skill_tables
from pytest_tablebench.reports.paper._table_map import map_tables
from pytest_tablebench.reports.paper._text import PaperTable, Value, row_note

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
        *_impact(analysis["perturbation_impact"]),
        *separability(analysis["separability"]),
        dataset_agreement(analysis["dataset_agreement"]),
        kendall_w(analysis["kendall_w"]),
        w_growth(analysis["w_growth"]),
        configurations_vs_examples(analysis["configurations_vs_examples"]),
        equivalent_examples(analysis["configurations_vs_examples"]),
        *_difficulty(analysis["difficulty"]),
        _families(analysis["families"]),
        *skill_tables(analysis.get("skills") or {}),
        *map_tables(analysis.get("tables") or {}),
    ]
    return [_checked(table) for table in tables]


def _checked(table: PaperTable) -> PaperTable:
    """Return the table; one without any number says why in one line instead."""
    if table.reason is not None:
        return table
    if any(isinstance(cell, float) for row in table.rows for cell in row):
        return table
    if any(isinstance(cell, int) for row in table.rows for cell in row) and not table.row_notes:
        return table
    # A mean's "no value in" only repeats what its parts say.
    reasons = list(dict.fromkeys(filter(None, table.reasons or table.row_notes)))
    first = [reason for reason in reasons if not reason.startswith("no value in")]
    why = "; ".join(first or reasons) or "there is nothing to compute it from"
    return replace(table, reason=why)


def _by_model(tree: Tree) -> tuple[dict[str, Tree], list[str]]:
    """Return for each model its entries, the one over all datasets first; and the columns."""
    by_dataset = tree["by_model_dataset"]
    columns = [ALL, *all_keys(by_dataset.values())]
    return {
        model: {ALL: tree["by_model"].get(model, {}), **by_dataset[model]} for model in by_dataset
    }, columns


def _performance(tree: Tree) -> PaperTable:
    rows, columns = _by_model(tree)
    table = matrix("performance", "Performance (mean score)", "model", rows, columns)
    extra = []
    for note, entries in zip(table.row_notes, rows.values(), strict=True):
        missing = {
            name: f"cases without a score: {entry['n_missing_cells']}"
            for name, entry in entries.items()
            if entry.get("n_missing_cells")
        }
        extra.append("; ".join(part for part in (note, row_note(missing)) if part))
    return replace(table, row_notes=tuple(extra))


def _robustness(tree: Tree) -> list[PaperTable]:
    rows, columns = _by_model(tree)
    title = "Robustness (1 - range of an example's scores)"
    table = matrix("robustness", title, "model", rows, columns)
    notes = []
    for note, entries in zip(table.row_notes, rows.values(), strict=True):
        incomplete = {
            name: f"too high, examples not fully answered: {entry.get('n_incomplete', '?')}"
            for name, entry in entries.items()
            if name != ALL
            and "incomplete" in entry.get("flags", ())
            and value_of(entry) is not None
        }
        notes.append("; ".join(part for part in (note, row_note(incomplete)) if part))
    flagged = any(
        "incomplete" in entry.get("flags", ()) for e in rows.values() for entry in e.values()
    )
    complete = tuple(
        (model, *(entries.get(c, {}).get("complete_examples_only") for c in columns[1:]))
        for model, entries in rows.items()
    )
    return [
        replace(table, row_notes=tuple(notes)),
        PaperTable(
            "robustness_complete_examples",
            "Robustness, only examples with a score in every configuration",
            ("model", *columns[1:]),
            complete,
            tuple(
                row_note(
                    dict.fromkeys(
                        (c for c, v in zip(columns[1:], row[1:], strict=True) if v is None),
                        "no complete example",
                    )
                )
                for row in complete
            ),
            shown=flagged,
            reasons=("no complete example",),
        ),
    ]


def _min_max(tree: Tree) -> PaperTable:
    rows, columns = _by_model(tree)
    cells: list[tuple[Value, ...]] = []
    notes = []
    for model, entries in rows.items():
        for bound in ("max", "min"):
            found = {c: entries.get(c, {}).get(bound, {}) for c in columns}
            cells.append((model, bound, *(value_of(entry) for entry in found.values())))
            notes.append(row_note({c: reason_of(entry) for c, entry in found.items()}))
    title = "Best and worst configuration of each example, averaged"
    header = ("model", "bound", *columns)
    reasons = all_reasons(pair for entries in rows.values() for pair in entries.values())
    return PaperTable("min_max", title, header, tuple(cells), tuple(notes), reasons=reasons)


def _spread(tree: Tree) -> list[PaperTable]:
    tables = []
    for key, stem, words in (
        ("perturbations=all", "serializer_spread", "over all perturbations"),
        ("perturbations=none", "serializer_spread_unperturbed", "unperturbed tables only"),
    ):
        rows = tree[key]
        columns = all_keys(rows.values())
        title = f"Serializer spread (best - worst serializer), {words}"
        shown = key == "perturbations=all"
        tables.append(matrix(stem, title, "model", rows, columns, shown=shown))
        means = {
            (model, dataset): entry.get("serializers", {})
            for model, entries in rows.items()
            for dataset, entry in entries.items()
        }
        names = all_keys(means.values())
        cells = tuple(
            (*pair, *(found.get(name) for name in names)) for pair, found in means.items()
        )
        tables.append(
            PaperTable(
                stem.replace("spread", "means"),
                f"Performance by serializer, {words}",
                ("model", "dataset", *names),
                cells,
                tuple("" if found else "no scores" for found in means.values()),
                shown=False,
            )
        )
    return tables


def _win_rates(key: str, tree: Tree) -> PaperTable:
    stem, title, shown = WIN_RATES[key]
    counts = ("used", "dropped: all equal", "dropped: incomplete")
    scopes: list[tuple[str, str, Tree]] = []
    if not (why := whole_reason(tree)) and tree:
        scopes.append(("all models", ALL, tree["overall"]))
        scopes += [(model, ALL, entry) for model, entry in tree["by_model"].items()]
        scopes += [("all models", name, entry) for name, entry in tree["by_dataset"].items()]
        if len(tree["by_model"]) > 1 and len(tree["by_dataset"]) > 1:
            scopes += [
                (model, dataset, entry)
                for model, entries in tree["by_model_dataset"].items()
                for dataset, entry in entries.items()
            ]
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
    notes = tuple(reason_of(entry) or "" for _, _, entry in scopes)
    header = ("model", "dataset", *names, *counts)
    return PaperTable(stem, title, header, rows, notes, shown=shown, reason=why)


def _impact(tree: Tree) -> list[PaperTable]:
    titles = {
        "impact_signed": "Signed impact of perturbations (score - score unperturbed)",
        "impact_signed_by_dataset": "Signed impact of perturbations, by dataset",
        "impact_absolute": "Mean absolute impact of perturbations (mean of |difference|)",
        "impact_absolute_by_perturbation": "Mean absolute impact, by dataset and perturbation",
    }
    if why := whole_reason(tree):
        return [
            PaperTable(name, title, ("model",), (), reason=why) for name, title in titles.items()
        ]
    signed_by_model = tree["signed_by_model_perturbation"]
    columns = all_keys(signed_by_model.values())
    signed = matrix("impact_signed", titles["impact_signed"], "model", signed_by_model, columns)
    details = [
        _impact_by_dataset(name, titles[name], tree[key])
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
    rows["all models"] = dict(by_dataset)
    margins = matrix("impact_absolute", titles["impact_absolute"], "model", rows, columns)
    return [signed, details[0], margins, details[1]]


def _impact_by_dataset(name: str, title: str, tree: Mapping[str, Tree]) -> PaperTable:
    columns = all_keys(entry for entries in tree.values() for entry in entries.values())
    pairs: dict[tuple[str, str], Tree] = {
        (model, dataset): entry
        for model, entries in tree.items()
        for dataset, entry in entries.items()
    }
    rows = tuple(
        (*pair, *(value_of(entry.get(c)) for c in columns)) for pair, entry in pairs.items()
    )
    notes = tuple(
        row_note({c: reason_of(entry.get(c)) for c in columns}) for entry in pairs.values()
    )
    header = ("model", "dataset", *columns)
    reasons = all_reasons(pairs.values())
    return PaperTable(name, title, header, rows, notes, shown=False, reasons=reasons)


def _difficulty(tree: Tree) -> list[PaperTable]:
    examples = tuple(
        (dataset, example, value_of(entry), entry.get("n"))
        for dataset, entries in tree["by_example"].items()
        for example, entry in entries.items()
    )
    notes = tuple(
        reason_of(entry) or ""
        for entries in tree["by_example"].values()
        for entry in entries.values()
    )
    return [
        PaperTable(
            "difficulty",
            "Difficulty of examples (mean score over models and configurations)",
            ("dataset", "example", "mean score", "scores"),
            examples,
            notes,
            shown=False,
        ),
        _histogram("difficulty_histogram", "Examples by difficulty", tree["histogram"]),
        _histogram("score_histogram", "Scores by value", tree["score_histogram"]),
    ]


def _histogram(name: str, title: str, counts: Mapping[str, Sequence[int]]) -> PaperTable:
    bins = max((len(found) for found in counts.values()), default=0)
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (f"{i / bins:.2f}", f"{(i + 1) / bins:.2f}", *(int(found[i]) for found in counts.values()))
        for i in range(bins)
    )
    return PaperTable(name, title, ("from", "to", *counts), rows, shown=False)


def _families(tree: Tree) -> PaperTable:
    rows = tuple(
        (name, value_of(entry)) for name, entry in tree.items() if isinstance(entry, Mapping)
    )
    notes = tuple(reason_of(entry) or "" for entry in tree.values() if isinstance(entry, Mapping))
    title = "Mean difference in performance between two models of a family"
    why = whole_reason(tree) or (None if rows else "no families of models were named")
    return PaperTable("families", title, ("family", "difference"), rows, notes, reason=why)
