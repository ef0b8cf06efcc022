"""Score, tokens and price of each effort, and the cheapest that is not worse, as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pytest_tablebench.reports.formats import aligned, interval, money, number, percent, signed
from pytest_tablebench.util.names import printable

EFFORTS = (
    "effort",
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
"""The columns of `effort_rows`; the difference is to the highest effort, on pairs."""


def effort_rows(benchmark: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return score, tokens and price of each effort, a cell for each of `EFFORTS`."""
    block = benchmark.get("efforts")
    return [] if block is None else [_row(*entry) for entry in block["settings"].items()]


def _row(effort: str, figures: Mapping[str, Any]) -> tuple[str, ...]:
    paired, thinking = figures.get("paired"), figures.get("reasoning_tokens")
    tokens, total = figures.get("tokens_per_answer"), figures.get("completion_tokens")
    usd = figures.get("usd_per_answer")
    return (
        printable(effort, 20),
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


def effort_lines(summary: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each benchmark with several efforts: the cheapest not worse."""
    return [
        f"{printable(name, 60)}: {_sentence(benchmark['efforts'])}"
        for name, benchmark in summary["benchmarks"].items()
        if "cheapest" in benchmark.get("efforts", {})
    ]


def _sentence(block: Mapping[str, Any]) -> str:
    cheapest, reference = block["cheapest"], printable(block["reference"], 20)
    margin = f"{block['margin']:g}"
    if cheapest is None:
        return (
            f"undecided whether a cheaper effort than {reference} is not worse by more than "
            f"{margin}: {', '.join(_missing(block))}"
        )
    if cheapest == block["reference"]:
        return (
            f"the cheapest effort that is not worse is {reference}, the highest: every cheaper one "
            f"is worse by more than {margin}"
            if _has_cheaper(block)
            else f"the cheapest effort that is not worse is {reference}, the highest"
        )
    paired = block["settings"][cheapest]["paired"]
    share = block["share"]
    price = "" if share is None else f", at {percent(share)} of its {_PRICES[block['by']]}"
    rest = f"; {', '.join(_missing(block))}" if block["undecided"] else ""
    return (
        f"the cheapest effort that is not worse than {reference} is {printable(cheapest, 20)} "
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
    """Yield what would decide each undecided effort."""
    for effort in block["undecided"]:
        name, count = printable(effort, 20), block["settings"][effort]["paired"]["more_examples"]
        if count is None:
            yield f"no number of examples would soon tell for {name}"
        else:
            yield f"about {count:,} more examples would tell for {name}"


def effort_plan_lines(plans: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the table of a plan by effort; empty without several. Entries are as `EffortPlan`."""
    rows = [
        (
            printable(plan["effort"], 20),
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
    header = ("effort", "calls", "stored", "tokens at most", "price at most")
    table = [(*header, "tokens of a stored reply", "expected price"), *rows]
    return [f"  {line}" for line in aligned(table)]


def _or_dash(value: Any, shown: Callable[[Any], str]) -> str:
    return "-" if value is None else shown(value)
