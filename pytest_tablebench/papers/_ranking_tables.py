"""Tables on the ranking of models (spec: torr_analyses.md sections 6 to 9)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pytest_tablebench.papers.analyses import equivalences
from pytest_tablebench.papers.entries import (
    ALL,
    Tree,
    all_keys,
    all_reasons,
    listing,
    matrix,
    whole_reason,
)
from pytest_tablebench.papers.text import PaperTable

_NO_SETS = "fewer than two disjoint sets of configurations can be drawn"


def separability(tree: Tree) -> list[PaperTable]:
    """Return the share of separable model pairs, and their intervals."""
    scopes = {
        **tree["by_dataset"],
        "all, examples pooled": tree["pooled"],
        "all, datasets weighted equally": tree["stratified"],
    }
    title = "Separability (share of model pairs with disjoint 95 % bootstrap intervals)"
    rows = tuple(
        (name, model, float(low), float(high))
        for name, entry in scopes.items()
        for model, (low, high) in entry.get("intervals", {}).items()
    )
    why = None if rows else "; ".join(all_reasons([scopes]))
    return [
        listing("separability", title, ("dataset", "separability"), scopes),
        PaperTable(
            "separability_intervals",
            "Bootstrap intervals behind separability",
            ("dataset", "model", "low", "high"),
            rows,
            shown=False,
            reason=why,
        ),
    ]


def dataset_agreement(tree: Tree, ranked: str) -> PaperTable:
    """Return the matrix of tau-b between datasets."""
    taus: Tree = tree["tau_b"]
    last = "mean of the others"
    rows = {
        name: {**entries, last: tree["mean_off_diagonal"].get(name, {})}
        for name, entries in taus.items()
    }
    title = f"Agreement of datasets on the ranking of {ranked} (Kendall's tau-b)"
    table = matrix("dataset_agreement", title, ["dataset"], rows, [*taus, last])
    # Of one dataset there is only its agreement with itself.
    return replace(table, reason="fewer than two datasets") if len(taus) < 2 else table


def kendall_w(tree: Tree, ranked: str) -> PaperTable:
    """Return the agreement of single configurations."""
    scopes = {**tree["by_dataset"], ALL: tree["benchmark"]}
    header = ("dataset", "W", "configurations", "left out")
    title = f"Agreement of single configurations on the ranking of {ranked} (Kendall's W)"
    return listing("kendall_w", title, header, scopes, ("raters", "raters_left_out"))


def w_growth(tree: Tree) -> PaperTable:
    """Return the agreement of sets of configurations, by size."""
    title = "Kendall's W of sets of q configurations"
    if why := whole_reason(tree):
        return PaperTable("w_growth", title, ("q",), (), reason=why)
    sizes = sorted({int(q) for entries in tree.values() for q in entries if str(q).isdigit()})
    by_size = {q: {name: _at(entries, q) for name, entries in tree.items()} for q in sizes}
    return matrix("w_growth", title, ["q"], by_size, [*tree], reason=None if sizes else _NO_SETS)


def _at(entries: Tree, q: int) -> Tree:
    entry: Tree = entries.get(str(q)) or entries.get(q) or {}  # type: ignore[call-overload]
    return entry


def configurations_vs_examples(points: Any) -> PaperTable:
    """Return the agreement by configurations and examples."""
    title = "Configurations versus examples (Kendall's W of q configurations on e examples)"
    why = whole_reason(points)
    usable = [] if why else list(points)
    over_all = "mean over datasets"
    rows = {
        (int(point["q"]), int(point["e"])): {
            over_all: point["mean_over_datasets"],
            **point["by_dataset"],
        }
        for point in usable
    }
    columns = [over_all, *all_keys(point["by_dataset"] for point in usable)]
    why = why or (None if rows else _NO_SETS)
    name = "configurations_vs_examples"
    return matrix(name, title, ("q", "e"), rows, columns, shown=False, reason=why)


def equivalent_examples(points: Any) -> PaperTable:
    """Return how many examples of one configuration are worth several (paper section 5.3)."""
    title = "Examples that one configuration needs for the same W"
    why = whole_reason(points)
    usable = [] if why else equivalences(points)
    rows = tuple((entry["q"], entry["e"], entry["value"], entry["e_at_one"]) for entry in usable)
    notes = tuple(
        "" if entry["e_at_one"] else "more examples than the runs have" for entry in usable
    )
    if not rows and not why:
        why = "no W of two or more configurations"
    return PaperTable(
        "equivalent_examples",
        title,
        ("q", "e", "W", "e at q = 1"),
        rows,
        notes,
        shown=False,
        reason=why,
    )
