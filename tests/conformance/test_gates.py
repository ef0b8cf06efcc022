"""Every golden record of gates: verdicts, intervals, bootstrap, flips, plan, Holm, wealth."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache
from types import SimpleNamespace

import pytest

from pytest_tablebench.results.gates import (
    Wealth,
    bootstrap_intervals,
    clopper_pearson,
    flips,
    holm,
    judge_gates,
    mcnemar,
    parse_gate,
    power,
    smallest_drop,
)
from pytest_tablebench.results.gates._judge import scopes
from pytest_tablebench.results.gates._sample import collect
from pytest_tablebench.results.gates._sides import read_side

from . import vectors

FILE = "gates.json"
ELSEWHERE = {"bootstrap", "flips", "t_interval", "other_methods_agree"}


def of_kind(kind, has=None):
    def keep(item):
        return item["kind"] == kind and (has is None or has in item["expected"])

    return vectors.params(FILE, lambda item: item["id"], keep=keep)


@cache
def by_id():
    return {item["id"]: item for item in vectors.load(FILE)}


def with_records(item):
    source = by_id()[item["records_of"]] if "records_of" in item else item
    return source["records"], source["baseline"]


def near(found, expected, tolerance):
    return found is not None and math.isclose(found, expected, rel_tol=0, abs_tol=tolerance)


def same(found, expected):
    if isinstance(expected, list):
        return len(found) == 2 and all(
            near(*pair, 1e-7) for pair in zip(found, expected, strict=True)
        )
    if isinstance(expected, float):
        return near(found, expected, 1e-9)
    return type(found) is type(expected) and found == expected


def test_all_records_are_compared():
    counts = Counter(item["kind"] for item in vectors.load(FILE))
    assert counts == {
        "gate": 49,
        "mcnemar": 8,
        "clopper_pearson": 6,
        "plan": 5,
        "family": 4,
        "wealth": 8,
    }


@pytest.mark.parametrize("shuffled", [False, True], ids=["mappings", "objects-reversed"])
@pytest.mark.parametrize("item", of_kind("gate"))
def test_a_gate_is_judged_as_expected(item, shuffled):
    records, baseline = with_records(item)
    if shuffled:
        records = [SimpleNamespace(**record) for record in reversed(records)]
        baseline = baseline and [SimpleNamespace(**record) for record in reversed(baseline)]
    (result,) = judge_gates(
        records, [item["gate"]], baseline, level=item["level"], benchmarks=item["benchmarks"]
    )
    assert result.gate == item["gate"]
    assert result.reason
    wrong = {
        name: (getattr(result, name), expected)
        for name, expected in item["expected"].items()
        if name not in ELSEWHERE and not same(getattr(result, name), expected)
    }
    assert not wrong
    assert {"estimate", "bound", "state", "state_point"} <= set(item["expected"])


def sample_of(item):
    records, baseline = with_records(item)
    new, old = read_side(records), read_side(baseline) if baseline else None
    return collect(parse_gate(item["gate"]), scopes(new, old, item["benchmarks"]))


@pytest.mark.parametrize("item", of_kind("gate", "bootstrap"))
def test_the_bootstrap_lands_where_it_must(item):
    expected = dict(item["expected"]["bootstrap"])
    resamples = expected.pop("for_at_least_resamples")
    expected.pop("resamples")
    values = [list(row) for row in sample_of(item).values]
    found = bootstrap_intervals(values, item["level"], resamples=resamples, seed=1)
    assert set(expected) >= {"percentile", "expanded"}
    for method, ends in expected.items():
        for end, value in zip(("lower", "upper"), getattr(found, method), strict=True):
            low, high = ends[end]["accept"]
            assert low - 1e-9 <= value <= high + 1e-9, (method, end)


@pytest.mark.parametrize("item", of_kind("gate", "flips"))
def test_flips_are_counted_and_tested(item):
    expected = item["expected"]["flips"]
    # Over the datasets of the gate's scope, whatever serializer or measure it is about.
    scope = item["gate"].partition(".")[0].partition("[")[0]
    datasets = item["benchmarks"].get(scope, [scope])
    found = flips(
        *([row for row in side if row["dataset"] in datasets] for side in with_records(item))
    )
    rows = expected["mcnemar_by_configuration"]
    assert set(found.by_configuration) == set(rows)
    for key, row in rows.items():
        fixed, broken, p = found.by_configuration[key]
        assert (fixed, broken) == (row["fixed"], row["broken"])
        assert near(p, row["p"], 1e-9)
    test = expected["sign_test_over_examples"]
    assert (found.examples.better, found.examples.worse, found.examples.equal) == (
        test["better"],
        test["worse"],
        test["equal"],
    )
    assert near(found.examples.p, test["p"], 1e-9)


@pytest.mark.parametrize("item", of_kind("mcnemar"))
def test_mcnemar_is_exact(item):
    assert near(mcnemar(item["fixed"], item["broken"]), item["expected"]["p"], 1e-9)


@pytest.mark.parametrize("item", of_kind("clopper_pearson"))
def test_clopper_pearson(item):
    found = clopper_pearson(item["x"], item["n"], (1 - item["level"]) / 2)
    assert same(found, item["expected"]["interval"])


@pytest.mark.parametrize("item", of_kind("plan"))
def test_the_plan(item):
    n, sd, level, expected = item["n"], item["sd"], item["level"], item["expected"]
    drop = smallest_drop(n, sd, level=level, power=item["power"])
    assert near(drop, expected["smallest_drop"], 1e-9)
    for points in (5, 10):
        found = power(n, sd, points / 100, level=level)
        assert near(found, expected[f"power_at_{points}_points"], 1e-9)


@pytest.mark.parametrize("item", of_kind("family"))
def test_holm(item):
    assert holm(item["one_sided_p"], item["alpha"]) == item["expected"]["fails"]


@pytest.mark.parametrize("item", of_kind("wealth"))
def test_wealth_step_by_step(item):
    expected = item["expected"]
    wealth = Wealth(item["threshold"], alpha=item["alpha_two_sided"], population=item["population"])
    above, below, after = [], [], None
    for number, value in enumerate(item["values"], start=1):
        if wealth.decision is None:
            wealth.feed(value)
            above.append(wealth.log_above)
            below.append(wealth.log_below)
            after = number if wealth.decision else None
    assert (wealth.decision, after) == (expected["decision"], expected["after"])
    for found, name in (
        (above, "log_wealth_against_mean_at_most"),
        (below, "log_wealth_against_mean_at_least"),
    ):
        wanted = [math.inf if value is None else value for value in expected[name]]
        assert len(found) == len(wanted)
        assert found == pytest.approx(wanted, rel=0, abs=1e-9)
