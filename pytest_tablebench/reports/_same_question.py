"""Score, tokens and price of each setting, and the cheapest that is not worse.

Settings are the names on an axis that does not change the question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_tablebench.config.axes import SAME_QUESTION, Axis
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import interval, percent, signed, table_of
from pytest_tablebench.reports.scores import bounded

_COLUMNS = (
    doc.Column("performance", "estimate"),
    *("no answer", "tokens each", "of thinking", "price of 1,000"),
    doc.Column("difference", "estimate", "signed"),
    "verdict",
)
"""The columns after the name; the difference is to the reference, on pairs."""


def setting_tables(
    benchmarks: Mapping[str, Mapping[str, Any]], *, is_named: bool = True
) -> list[doc.TableBlock]:
    """Return score, tokens and price of each setting; no table of an axis without several.

    `is_named`: whether the first column names the benchmark.
    """
    return [
        table_of(
            (f"{name} by {axis.name}" if is_named else axis.name, *_COLUMNS),
            [_model_row(*entry) for entry in figures[axis.plural]["settings"].items()],
        )
        for name, figures in benchmarks.items()
        for axis in SAME_QUESTION
        if axis.plural in figures
    ]


def _model_row(name: str, figures: Mapping[str, Any]) -> tuple[doc.Cell, ...]:
    thinking, total = figures.get("reasoning_tokens"), figures.get("completion_tokens")
    usd, paired = figures.get("usd_per_answer"), figures.get("paired")
    share = thinking / total if thinking is not None and total else None
    bounds = figures["ci95"]["performance"]
    return (
        doc.Code(name, 20),
        bounded(figures["performance"], bounds),
        doc.Figure(figures["no_answer"], "percent"),
        doc.Figure(figures.get("tokens_per_answer"), "count"),
        doc.Figure(share, "percent"),
        doc.Figure(None if usd is None else 1000 * usd, "money"),
        None if paired is None else bounded(paired["difference"], paired["ci95"]),
        "highest" if paired is None else paired["state"],
    )


def setting_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each benchmark and axis with several settings: the cheapest of them."""
    return [
        f"{name}: {_sentence(axis, benchmark[axis.plural])}"
        for name, benchmark in summary["benchmarks"].items()
        for axis in SAME_QUESTION
        if "cheapest" in benchmark.get(axis.plural, {})
    ]


def _sentence(axis: Axis, block: Mapping[str, Any]) -> str:
    cheapest, reference = block["cheapest"], block["reference"]
    margin = f"{block['margin']:g}"
    if cheapest is None:
        return (
            f"undecided whether a cheaper {axis.name} than {reference} is not worse by more than "
            f"{margin}: {', '.join(_missing(block))}"
        )
    start = f"the cheapest {axis.name} that is not worse"
    if cheapest == block["reference"]:
        pairs = [entry["paired"] for entry in block["settings"].values() if "paired" in entry]
        has_cheaper = any(paired["state"] == "worse" for paired in pairs)
        rest = f": every cheaper one is worse by more than {margin}" if has_cheaper else ""
        return f"{start} is {reference}, the highest{rest}"
    paired = block["settings"][cheapest]["paired"]
    share = block["share"]
    price = "" if share is None else f", at {percent(share)} of its {_PRICES[block['by']]}"
    rest = f"; {', '.join(_missing(block))}" if block["undecided"] else ""
    return (
        f"{start} than {reference} is {cheapest} "
        f"(difference {signed(paired['difference'])}, 95 % interval "
        f"{interval(paired['ci95'], 'signed')}, margin {margin}){price}{rest}"
    )


_PRICES = {"cost": "price", "tokens": "tokens"}


def _missing(block: Mapping[str, Any]) -> Iterator[str]:
    """Yield what would decide each undecided setting."""
    for setting in block["undecided"]:
        count = block["settings"][setting]["paired"]["more_examples"]
        needed = "no number of" if count is None else f"about {count:,} more"
        soon = " soon" if count is None else ""
        yield f"{needed} examples would{soon} tell for {setting}"


_UNITS = (
    ("usd_per_answer", 1000.0, "US dollars for 1,000 answers"),
    ("tokens_per_answer", 1.0, "tokens of an answer"),
)
"""Prices of an answer, the first that all settings have counts: field, factor, unit."""


def setting_charts(summary: Mapping[str, Any]) -> Iterator[doc.Chart]:
    """Yield a chart of score and price for each benchmark and axis with several settings."""
    for name, benchmark in summary["benchmarks"].items():
        for axis in SAME_QUESTION:
            settings = benchmark.get(axis.plural, {}).get("settings", {})
            for key, factor, unit in _UNITS:
                places = {
                    setting: (
                        factor * entry[key],
                        bounded(entry["performance"], entry["ci95"]["performance"]),
                    )
                    for setting, entry in settings.items()
                    if entry.get(key) and entry["performance"] is not None
                }
                if len(places) == len(settings) > 1:
                    title = f"Score and price of {name} by {axis.name}"
                    yield doc.Chart("prices", title, {"places": places, "unit": unit})
                    break


def setting_plan(axis: Axis, plans: Iterable[Mapping[str, Any]]) -> doc.TableBlock:
    """Return the table of a plan by setting; without rows if it has one. One entry each."""
    rows: list[Sequence[doc.Cell]] = [
        (
            doc.Code(plan[axis.name], 20),
            *(doc.Figure(plan[name], "count") for name in ("calls", "hits", "completion_tokens")),
            doc.Figure(plan["cost_usd"], "money"),
            doc.Figure(plan["tokens_each"], "count"),
            doc.Figure(plan["expected_usd"], "money"),
        )
        for plan in plans
    ]
    columns = (axis.name, "calls", "stored", "tokens at most", "price at most")
    return table_of((*columns, "tokens of a stored reply", "expected price"), rows)
