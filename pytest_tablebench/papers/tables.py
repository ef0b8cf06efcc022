"""The papers' analyses as tables (spec: torr_analyses.md sections 1 to 11).

Reads the dictionary that `analysis_of` returns and computes nothing. A missing value is shown as
`-`, with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_tablebench.papers._realhit import serializer_tables
from pytest_tablebench.papers._skills import skill_tables
from pytest_tablebench.papers.analyses import contrasts
from pytest_tablebench.papers.analyses._agreement import equivalences
from pytest_tablebench.papers.analyses.contrasts import NO_BASELINE
from pytest_tablebench.papers.structure import map_tables
from pytest_tablebench.papers.table import (
    ALL,
    PaperTable,
    Tree,
    all_keys,
    all_reasons,
    by_pair,
    captioned,
    listing,
    matrix,
    reason_of,
    row_note,
    value_of,
    whole_reason,
)

WIN_RATES = {
    "serializer": "win_rates_serializer",
    "serializer, all equal = 1/K": "win_rates_serializer_ties_shared",
    "serializer, inside each perturbation": "win_rates_serializer_inside_perturbation",
    "perturbation": "win_rates_perturbation",
}
"""The names of the tables by the keys of the analysis."""

_NO_SETS = "fewer than two disjoint sets of configurations can be drawn"
_NO_GROUP = "no model is known to be open or closed; set it for a run with --bench-open=yes or no"


def paper_tables(analysis: Tree) -> list[PaperTable]:
    """Return every table of one benchmark's analysis, in the order of the paper's questions."""
    words = {"ranked": ranked(analysis)}
    tables = [
        _performance(analysis["performance"]),
        *_robustness(analysis["robustness"]),
        _min_max(analysis["min_max"]),
        *_spread(analysis["serializer_spread"]),
        *(_win_rates(name, analysis["win_rates"].get(key, {})) for key, name in WIN_RATES.items()),
        *_impact(analysis["perturbation_impact"], analysis.get("further") or {}),
        *_separability(analysis["separability"]),
        _dataset_agreement(analysis["dataset_agreement"], words),
        _kendall_w(analysis["kendall_w"], words),
        _w_growth(analysis["w_growth"]),
        _configurations_vs_examples(analysis["configurations_vs_examples"]),
        _equivalent_examples(analysis["configurations_vs_examples"]),
        *_further(analysis.get("further") or {}),
        *_difficulty(analysis["difficulty"]),
        _families(analysis["families"]),
        *skill_tables(analysis.get("skills") or {}),
        *map_tables(analysis.get("tables") or {}),
        *serializer_tables(analysis.get("formats") or {}),
    ]
    return [_checked(table) for table in tables]


def ranked(analysis: Tree) -> str:
    """Return what the analysis ranks: models, or the strategies of one model."""
    return str(analysis.get("ranked", "models"))


def _checked(table: PaperTable) -> PaperTable:
    """Return the table; one without any number gets a `reason` instead."""
    kinds = {type(cell) for row in table.rows for cell in row}
    is_counted = any(issubclass(kind, int) for kind in kinds) and not table.row_notes
    if table.reason is not None or is_counted or any(issubclass(kind, float) for kind in kinds):
        return table
    # A mean's "no value in" only repeats the reasons of its parts.
    reasons = list(dict.fromkeys(filter(None, table.reasons or table.row_notes)))
    first = [reason for reason in reasons if not reason.startswith("no value in")]
    why = "; ".join(first or reasons) or "there is nothing to compute it from"
    return replace(table, reason=why)


# Levels of scores


def _by_model(tree: Tree) -> dict[str, Tree]:
    """Return the entries of each model, over all datasets first."""
    return {
        model: {ALL: tree["by_model"].get(model, {}), **entries}
        for model, entries in tree["by_model_dataset"].items()
    }


def _performance(tree: Tree) -> PaperTable:
    rows = _by_model(tree)
    missing = (
        {
            name: f"cases without a score: {entry['n_missing_cells']}"
            for name, entry in entries.items()
            if entry.get("n_missing_cells")
        }
        for entries in rows.values()
    )
    return _noted(matrix("performance", rows, _columns(rows)), missing)


def _columns(rows: Mapping[Any, Tree]) -> list[str]:
    return [ALL, *(name for name in all_keys(rows.values()) if name != ALL)]


def _noted(table: PaperTable, also: Iterable[Mapping[str, str]]) -> PaperTable:
    """Return the table with further notes on each row, by column."""
    notes = zip(table.row_notes, map(row_note, also), strict=True)
    return replace(table, row_notes=tuple("; ".join(filter(None, both)) for both in notes))


def _robustness(tree: Tree) -> Iterator[PaperTable]:
    rows = _by_model(tree)
    columns = _columns(rows)
    flagged = {
        model: {
            name: entry for name, entry in entries.items() if "incomplete" in entry.get("flags", ())
        }
        for model, entries in rows.items()
    }
    incomplete = (
        {
            name: f"too high, examples not fully answered: {entry.get('n_incomplete', '?')}"
            for name, entry in entries.items()
            if name != ALL and value_of(entry) is not None
        }
        for entries in flagged.values()
    )
    yield _noted(matrix("robustness", rows, columns), incomplete)
    complete = {
        model: {name: _complete(entries.get(name, {})) for name in columns[1:]}
        for model, entries in rows.items()
    }
    is_shown = any(flagged.values())
    yield matrix("robustness_complete_examples", complete, columns[1:], shown=is_shown)


def _complete(entry: Tree) -> Tree:
    value = entry.get("complete_examples_only")
    return {"value": value, "reason": "no complete example" if value is None else None}


def _min_max(tree: Tree) -> PaperTable:
    rows = _by_model(tree)
    bounds = {
        (model, bound): {name: entry.get(bound, {}) for name, entry in entries.items()}
        for model, entries in rows.items()
        for bound in ("max", "min")
    }
    return matrix("min_max", bounds, _columns(rows))


def _spread(tree: Tree) -> Iterator[PaperTable]:
    for key, suffix in (("perturbations=all", ""), ("perturbations=none", "_unperturbed")):
        yield matrix(f"serializer_spread{suffix}", tree[key])
        means = {pair: entry.get("serializers", {}) for pair, entry in by_pair(tree[key]).items()}
        names = all_keys(means.values())
        cells = ((*pair, *map(values.get, names)) for pair, values in means.items())
        notes = ("" if values else "no scores" for values in means.values())
        yield captioned(f"serializer_means{suffix}", cells, names, notes)


# Serializers and perturbations


def _win_rates(name: str, tree: Tree) -> PaperTable:
    counts = ("used", "dropped: all equal", "dropped: incomplete")
    fields = ("n_used", "n_dropped_equal", "n_dropped_incomplete")
    scopes: dict[tuple[str, str], Tree] = {}
    if not (why := whole_reason(tree)) and tree:
        scopes["all models", ALL] = contrasts.overall_winners(tree)
        scopes |= {(model, ALL): entry for model, entry in contrasts.winners_by_model(tree).items()}
        scopes |= {("all models", name): entry for name, entry in tree["by_dataset"].items()}
        if len(tree["by_model"]) > 1 and len(tree["by_dataset"]) > 1:
            scopes |= by_pair(tree["by_model_dataset"])
    names = all_keys(entry["value"] for entry in scopes.values() if entry.get("value"))
    rows = (
        (*scope, *map((entry.get("value") or {}).get, names), *map(entry.get, fields))
        for scope, entry in scopes.items()
    )
    reasons = tuple(reason_of(entry) or "" for entry in scopes.values())
    notes = (reason_of(entry) or contrasts.winners_note(entry) for entry in scopes.values())
    return captioned(name, rows, [*names, *counts], notes, reasons=reasons, reason=why)


def _impact(tree: Tree, further: Tree) -> list[PaperTable]:
    names = ("signed", "signed_by_dataset", "absolute", "absolute_by_perturbation")
    if why := whole_reason(tree):
        tables = (captioned(f"impact_{name}", (), reason=why) for name in names)
        return [replace(table, columns=("model",)) for table in tables]
    by_dataset = tree["absolute_by_dataset"]
    margins = {
        model: {ALL: tree["absolute_by_model"].get(model, {}), **entries}
        for model, entries in tree["absolute_by_model_dataset"].items()
    }
    margins["all models"] = {ALL: further.get("impact_absolute", {}), **by_dataset}
    signed = by_pair(tree["signed_by_model_dataset_perturbation"])
    absolute = by_pair(tree["absolute_by_model_dataset_perturbation"])
    return [
        matrix("impact_signed", tree["signed_by_model_perturbation"]),
        matrix("impact_signed_by_dataset", signed),
        matrix("impact_absolute", margins, [ALL, *by_dataset]),
        matrix("impact_absolute_by_perturbation", absolute),
    ]


# The ranking of models (sections 6 to 9)


def _separability(tree: Tree) -> list[PaperTable]:
    scopes = {
        **tree["by_dataset"],
        "all, examples pooled": tree["pooled"],
        "all, datasets weighted equally": tree["stratified"],
    }
    rows = [
        (name, model, float(low), float(high))
        for name, entry in scopes.items()
        for model, (low, high) in entry.get("intervals", {}).items()
    ]
    why = None if rows else "; ".join(all_reasons([scopes]))
    return [listing("separability", scopes), captioned("separability_intervals", rows, reason=why)]


def _dataset_agreement(tree: Tree, words: Mapping[str, str]) -> PaperTable:
    taus: Tree = tree["tau_b"]
    last = "mean of the others"
    rows = {
        name: {**entries, last: tree["mean_off_diagonal"].get(name, {})}
        for name, entries in taus.items()
    }
    # Of one dataset there is only its agreement with itself.
    why = "fewer than two datasets" if len(taus) < 2 else None
    return matrix("dataset_agreement", rows, [*taus, last], words=words, reason=why)


def _kendall_w(tree: Tree, words: Mapping[str, str]) -> PaperTable:
    scopes = {**tree["by_dataset"], ALL: tree["benchmark"]}
    return listing("kendall_w", scopes, ("raters", "raters_left_out"), words=words)


def _w_growth(tree: Tree) -> PaperTable:
    if why := whole_reason(tree):
        return captioned("w_growth", (), reason=why)
    sizes = sorted({int(q) for entries in tree.values() for q in entries if str(q).isdigit()})
    by_size = {q: {name: _at(entries, q) for name, entries in tree.items()} for q in sizes}
    return matrix("w_growth", by_size, [*tree], reason=None if sizes else _NO_SETS)


def _at(entries: Tree, q: int) -> Tree:
    entry: Tree = entries.get(str(q)) or entries.get(q) or {}  # type: ignore[call-overload]
    return entry


def _configurations_vs_examples(points: Any) -> PaperTable:
    why, over_all = whole_reason(points), "mean over datasets"
    rows = {
        (int(point["q"]), int(point["e"])): {
            over_all: point["mean_over_datasets"],
            **point["by_dataset"],
        }
        for point in ([] if why else points)
    }
    names = (name for name in all_keys(rows.values()) if name != over_all)
    why = why or (None if rows else _NO_SETS)
    return matrix("configurations_vs_examples", rows, [over_all, *names], reason=why)


def _equivalent_examples(points: Any) -> PaperTable:
    """Return how many examples of one configuration are worth several (paper section 5.3)."""
    why = whole_reason(points)
    entries = [] if why else equivalences(points)
    rows = [(entry["q"], entry["e"], entry["value"], entry["e_at_one"]) for entry in entries]
    notes = ("" if row[-1] else "more examples than the runs have" for row in rows)
    why = why or (None if rows else "no W of two or more configurations")
    return captioned("equivalent_examples", rows, (), notes, reason=why)


# The paper's further analyses


def _further(figures: Tree) -> Iterator[PaperTable]:
    if not figures:
        return
    spreads = figures["performance_spread"]
    yield listing("performance_spread", spreads, ("sd", "lowest", "highest"))
    rows = {name: _with_all(entries) for name, entries in figures["impact_by_perturbation"].items()}
    name, why = "impact_absolute_by_dataset_and_perturbation", None if rows else NO_BASELINE
    yield matrix(name, rows, reason=why)
    groups = {
        (group, measure): _with_all(entries)
        for measure, by_group in figures["open_closed"].items()
        for group, entries in by_group.items()
    }
    yield matrix("open_closed", groups, reason=None if groups else _NO_GROUP)


def _with_all(entries: Tree) -> dict[str, Any]:
    """Return the entries, the one over all datasets by the name that tables use."""
    return {ALL if name == "all" else name: entry for name, entry in entries.items()}


def _difficulty(tree: Tree) -> list[PaperTable]:
    return [
        listing("difficulty", by_pair(tree["by_example"]), ["n"]),
        _histogram("difficulty_histogram", tree["histogram"]),
        _histogram("score_histogram", tree["score_histogram"]),
    ]


def _histogram(name: str, counts: Mapping[str, Sequence[int]]) -> PaperTable:
    bins = max(map(len, counts.values()), default=0)
    edges = [f"{step / bins:.2f}" for step in range(bins + 1)] if bins else []
    rows = zip(edges, edges[1:], *counts.values(), strict=False)
    return captioned(name, rows, counts)


def _families(tree: Tree) -> PaperTable:
    entries = {name: entry for name, entry in tree.items() if isinstance(entry, Mapping)}
    why = whole_reason(tree) or (None if entries else "no families of models were named")
    return listing("families", entries, reason=why)
