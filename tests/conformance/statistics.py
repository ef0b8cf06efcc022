"""Replays of the statistics: gates, exact tests, plans, families, betting (spec: statistics.md)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from pytest_tablebench.claims.estimate import clopper_pearson, holm
from pytest_tablebench.claims.gates import judge_gates, mcnemar
from pytest_tablebench.claims.gates._power import power, smallest_drop

from .betting import Wealth
from .replay import Record, differences, replays

ELSEWHERE = ("bootstrap", "flips", "t_interval", "other_methods_agree")
"""Other methods the reference was checked against, and figures of comparisons."""


@replays("gate")
def replay_gate(record: Record) -> Iterator[str]:
    source = record.get("of", record)
    (result,) = judge_gates(
        source["records"],
        [record["gate"]],
        source.get("baseline"),
        level=record["level"],
        benchmarks=record["benchmarks"],
    )
    entry = result.entry()
    for name, expected in record["expected"].items():
        if name not in ELSEWHERE:
            # Ends of intervals are roots of an equation: the reference's are good to 1e-7.
            tolerance = 1e-7 if name == "interval" else 1e-9
            yield from differences(entry[name], expected, name, tolerance)


@replays("mcnemar")
def replay_mcnemar(record: Record) -> list[str]:
    return differences(mcnemar(record["fixed"], record["broken"]), record["expected"]["p"])


@replays("clopper_pearson")
def replay_clopper_pearson(record: Record) -> list[str]:
    found = clopper_pearson(record["x"], record["n"], (1 - record["level"]) / 2)
    return differences(found, record["expected"]["interval"], tolerance=1e-7)


@replays("plan")
def replay_plan(record: Record) -> Iterator[str]:
    n, sd, level, expected = record["n"], record["sd"], record["level"], record["expected"]
    drop = smallest_drop(n, sd, level=level, power=record["power"])
    yield from differences(drop, expected["smallest_drop"], "smallest_drop")
    for points in (5, 10):
        name = f"power_at_{points}_points"
        yield from differences(power(n, sd, points / 100, level=level), expected[name], name)


@replays("family")
def replay_family(record: Record) -> list[str]:
    return differences(holm(record["one_sided_p"], record["alpha"]), record["expected"]["fails"])


@replays("wealth")
def replay_wealth(record: Record) -> Iterator[str]:
    expected = record["expected"]
    wealth = Wealth(
        record["threshold"], alpha=record["alpha_two_sided"], population=record["population"]
    )
    above, below, after = [], [], None
    for number, value in enumerate(record["values"], start=1):
        if wealth.decision is None:
            wealth.feed(value)
            above.append(wealth.log_above)
            below.append(wealth.log_below)
            after = number if wealth.decision else None
    yield from differences(wealth.decision, expected["decision"], "decision")
    yield from differences(after, expected["after"], "after")
    for found, name in (
        (above, "log_wealth_against_mean_at_most"),
        (below, "log_wealth_against_mean_at_least"),
    ):
        wanted = [math.inf if value is None else value for value in expected[name]]
        if len(found) != len(wanted):
            yield f"{name}: {len(found)} steps instead of {len(wanted)}"
        for one, other in zip(found, wanted, strict=False):
            if one != other and not math.isclose(one, other, rel_tol=0, abs_tol=1e-9):
                yield f"{name}: {one} instead of {other}"
