"""Score, tokens and price of each setting, and the cheapest that is not worse, as text.

Settings are the names on an axis that does not change the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pytest_tablebench.config.axes import SAME_QUESTION, Axis
from pytest_tablebench.documents.formats import aligned, interval, money, number, percent, signed
from pytest_tablebench.util.names import printable

_COLUMNS = (
    "performance",
    "95 % interval",
    "no answer",
    "tokens each",
    "of thinking",
    "price of 1,000",
    "difference",
    "95 % interval",
    "verdict",
)
"""The columns behind the name; the difference is to the reference, on pairs."""


class SettingTable(NamedTuple):
    """The settings of a benchmark on one axis. `columns` begins with the name of the axis."""

    benchmark: str
    axis: Axis
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def setting_tables(benchmarks: Mapping[str, Mapping[str, Any]]) -> list[SettingTable]:
    """Return score, tokens and price of each setting; no table of an axis without several."""
    return [
        SettingTable(
            name,
            axis,
            (axis.name, *_COLUMNS),
            [_row(*entry) for entry in figures[axis.plural]["settings"].items()],
        )
        for name, figures in benchmarks.items()
        for axis in SAME_QUESTION
        if axis.plural in figures
    ]


def _row(name: str, figures: Mapping[str, Any]) -> tuple[str, ...]:
    paired, thinking = figures.get("paired"), figures.get("reasoning_tokens")
    tokens, total = figures.get("tokens_per_answer"), figures.get("completion_tokens")
    usd = figures.get("usd_per_answer")
    return (
        printable(name, 20),
        number(figures["performance"]),
        interval(figures["ci95"]["performance"]),
        percent(figures["no_answer"]),
        "-" if tokens is None else f"{tokens:,.0f}",
        percent(thinking / total) if thinking is not None and total else "-",
        "-" if usd is None else money(1000 * usd),
        *_paired(paired),
    )


def _paired(paired: Mapping[str, Any] | None) -> tuple[str, str, str]:
    if paired is None:
        return "", "", "highest"
    return signed(paired["difference"]), interval(paired["ci95"], sign=True), paired["state"]


def setting_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each benchmark and axis with several settings: the cheapest of them."""
    return [
        f"{printable(name, 60)}: {_sentence(axis, benchmark[axis.plural])}"
        for name, benchmark in summary["benchmarks"].items()
        for axis in SAME_QUESTION
        if "cheapest" in benchmark.get(axis.plural, {})
    ]


def _sentence(axis: Axis, block: Mapping[str, Any]) -> str:
    cheapest, reference = block["cheapest"], printable(block["reference"], 20)
    margin = f"{block['margin']:g}"
    if cheapest is None:
        return (
            f"undecided whether a cheaper {axis.name} than {reference} is not worse by more than "
            f"{margin}: {', '.join(_missing(block))}"
        )
    start = f"the cheapest {axis.name} that is not worse"
    if cheapest == block["reference"]:
        rest = f": every cheaper one is worse by more than {margin}" if _has_cheaper(block) else ""
        return f"{start} is {reference}, the highest{rest}"
    paired = block["settings"][cheapest]["paired"]
    share = block["share"]
    price = "" if share is None else f", at {percent(share)} of its {_PRICES[block['by']]}"
    rest = f"; {', '.join(_missing(block))}" if block["undecided"] else ""
    return (
        f"{start} than {reference} is {printable(cheapest, 20)} "
        f"(difference {signed(paired['difference'])}, 95 % interval "
        f"{interval(paired['ci95'], sign=True)}, margin {margin}){price}{rest}"
    )


_PRICES = {"cost": "price", "tokens": "tokens"}


def _has_cheaper(block: Mapping[str, Any]) -> bool:
    return any(
        entry["paired"]["state"] == "worse"
        for entry in block["settings"].values()
        if "paired" in entry
    )


def _missing(block: Mapping[str, Any]) -> Iterator[str]:
    """Yield what would decide each undecided setting."""
    for setting in block["undecided"]:
        name, count = printable(setting, 20), block["settings"][setting]["paired"]["more_examples"]
        if count is None:
            yield f"no number of examples would soon tell for {name}"
        else:
            yield f"about {count:,} more examples would tell for {name}"


def setting_plan_lines(axis: Axis, plans: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the table of a plan by setting; empty without several. One entry each."""
    rows = [
        (
            printable(plan[axis.name], 20),
            f"{plan['calls']:,}",
            f"{plan['hits']:,}",
            _or_dash(plan["completion_tokens"], "{:,}".format),
            _or_dash(plan["cost_usd"], money),
            _or_dash(plan["tokens_each"], "{:,.0f}".format),
            _or_dash(plan["expected_usd"], money),
        )
        for plan in plans
    ]
    if not rows:
        return []
    header = (axis.name, "calls", "stored", "tokens at most", "price at most")
    table = [(*header, "tokens of a stored reply", "expected price"), *rows]
    return [f"  {line}" for line in aligned(table)]


def _or_dash(value: Any, shown: Callable[[Any], str]) -> str:
    return "-" if value is None else shown(value)
