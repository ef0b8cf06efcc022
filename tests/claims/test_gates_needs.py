"""How many examples or tables decide a gate: before a run, and after an undecided one."""

from __future__ import annotations

from math import ceil
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from pytest_tablebench.claims._claim import Claim, examples_needed
from pytest_tablebench.claims.estimate import Moments, interval
from pytest_tablebench.claims.gates import GateResult, judge_gates, plan_gates, stored_results

Records = list[dict[str, Any]]


def rows(right: int, total: int, per_table: int = 1, dataset: str = "d") -> Records:
    """Return records of which the first are right; each table has `per_table` examples."""
    common = {"model": "m", "benchmark": "b", "dataset": dataset, "serializer": "html"}
    return [
        {
            **common,
            "perturbation": "none",
            "example_id": f"e{place}",
            "score": float(place < right),
            "passed": place < right,
            "cluster": f"t{place // per_table}",
        }
        for place in range(total)
    ]


def judged(gate: str, records: Records, before: Records | None = None, **more: Any) -> GateResult:
    return judge_gates(records, [gate], before, **more)[0]


# The number itself


def test_the_number_agrees_with_the_formula_of_the_specification() -> None:
    # Section 9 with large n: ((1.96 + .8416) * .36 / .05)^2 = 406.9, and t is a little wider.
    differences = Moments(0.04, 0.36**2 / 100, 99.0, 100.0, 100)
    total = examples_needed(differences, Claim(-0.01, at_least=True, paired=True))
    assert total == 409
    reach = [
        (stats.t.ppf(0.975, n - 1) + stats.t.ppf(0.8, n - 1)) * 0.36 / n**0.5 for n in (408, 409)
    ]
    assert reach[1] <= 0.05 < reach[0]


@given(
    units=st.integers(2, 60),
    share=st.floats(0, 1),
    bound=st.integers(1, 99),
    sign=st.sampled_from([">=", "<="]),
    per_table=st.sampled_from([1, 4]),
)
def test_with_so_many_examples_at_the_same_rates_a_gate_is_decided(
    units: int, share: float, bound: int, sign: str, per_table: int
) -> None:
    right = round(share * units)
    gate = f"d.pass_rate {sign} 0.{bound:02}"
    result = judged(gate, rows(right * per_table, units * per_table, per_table))
    assume(result.state == "undecided" and result.n_needed is not None and result.n_needed < 20_000)
    needed = (result.n_needed or 0) // per_table
    noun = "tables" if per_table > 1 else "examples"
    assert f"about {needed:,} {noun} " in result.needs
    assert f"({needed - units:,} more)" in result.needs
    # The nearest number of right answers at the measured rate.
    right_then = round(right * needed / units)
    more = judged(gate, rows(right_then * per_table, needed * per_table, per_table))
    holds = (right / units > bound / 100) == (sign == ">=")
    assert more.state == ("holds" if holds else "fails")
    assert f"make the gate {'hold' if holds else 'fail'}" in result.needs


@pytest.mark.parametrize(("right", "total", "bound"), [(12, 20, 0.5), (27, 30, 0.8), (3, 40, 0.2)])
def test_it_is_decided_in_four_of_five_runs(right: int, total: int, bound: float) -> None:
    """The exact binomial probability of runs that decide, for a true rate as measured."""
    needed = judged(f"d.pass_rate >= {bound}", rows(right, total)).n_needed or 0

    def power(n: int) -> float:
        chances = stats.binom(n, right / total)
        likely = range(int(chances.ppf(1e-4)), int(chances.ppf(1 - 1e-4)) + 1)
        return float(
            sum(
                chances.pmf(count)
                for count in likely
                if judged(f"d.pass_rate >= {bound}", rows(count, n)).state != "undecided"
            )
        )

    assert power(needed) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("rate", [0.9, 0.95])
def test_so_many_tables_decide_in_four_of_five_runs(rate: float) -> None:
    """Simulated tables of ten questions, correlated by .15 (a beta-binomial distribution)."""
    n, draw = 1000, np.random.default_rng(1)
    variance = rate * (1 - rate) / n
    sample = Moments(rate, variance * 2.35, n / 10 - 1, n / 10, n, True, 0.0, variance)
    claim = Claim(0.8, at_least=True, paired=False)
    tables = ceil((examples_needed(sample, claim, fewest=2) or 0) / 10)
    clusters = [place // 10 for place in range(10 * tables)]
    held = 0
    for _ in range(800):
        rates = draw.beta(rate * (1 / 0.15 - 1), (1 - rate) * (1 / 0.15 - 1), tables)
        answers = draw.random(10 * tables) < np.repeat(rates, 10)
        low, _ = interval([answers.astype(float).tolist()], clusters=[clusters]) or (0, 0)
        held += low >= 0.8
    assert held / 800 == pytest.approx(0.8, abs=0.06)


def test_two_equal_models_need_72_examples_for_a_margin_of_5_points() -> None:
    # 1 - .025^(1/n) <= .05 from n = log(.025) / log(.95) = 71.9; for .01 from 367.04.
    for margin, needed in ((0.05, 72), (0.01, 368)):
        gate = f"d.performance >= baseline - {margin}"
        result = judged(gate, rows(15, 20), rows(15, 20))
        assert (result.state, result.n_needed) == ("undecided", needed)
        assert judged(gate, rows(15, needed), rows(15, needed)).state == "holds"
        assert judged(gate, rows(15, needed - 1), rows(15, needed - 1)).state == "undecided"


# The sentence


def test_tables_are_what_is_missing_where_examples_share_them() -> None:
    result = judged("d.performance >= 0.5", rows(24, 36, per_table=4))
    tables = (result.n_needed or 0) // 4
    assert f"{tables} tables with {4 * tables} examples ({tables - 9} more) would" in result.needs
    assert "independent of each other can each have a `group`" in result.needs
    # Whole tables are right or wrong, so nine tables tell hardly more than nine examples.
    assert tables > 60
    assert "table" not in judged("d.performance >= 0.5", rows(6, 9)).needs


@pytest.mark.parametrize(
    ("gate", "records", "words"),
    [
        ("d.performance >= 0.5", rows(10, 20), "the estimate 0.5 is too near to the bound 0.5"),
        ("d.performance >= 1", rows(20, 20), "the estimate 1 is too near to the bound 1"),
        ("d.performance >= 0.5", rows(1, 1), "about 6 examples (5 more) would make the gate hold"),
        ("d.performance >= 0.4", rows(20, 20), ""),
    ],
)
def test_the_sentence_of_other_gates(gate: str, records: Records, words: str) -> None:
    needs = judged(gate, records).needs
    assert words in needs if words else needs == ""


def test_a_slice_over_one_of_several_tables_needs_others() -> None:
    records = rows(3, 8, per_table=4)
    records = [{**record, "tags": {"kind": record["cluster"]}} for record in records]
    result = judged("d{kind=t0}.performance >= 0.5", records)
    assert "use one table" in result.reason
    assert result.needs.startswith("examples over other tables")
    assert result.n_needed is None


def test_a_failure_that_several_gates_share_needs_more() -> None:
    records = rows(9, 40) + rows(40, 40, dataset="e")
    gates = ["d.performance >= 0.4", "e.performance >= 0.5"]
    shared, alone = (judge_gates(records, gates[:count])[0] for count in (2, 1))
    assert (alone.state, alone.needs) == ("fails", "")
    assert shared.holm_marked
    assert "would make the gate fail in 80 %" in shared.needs
    needed = shared.n_needed or 0
    more = rows(round(9 / 40 * needed), needed) + rows(40, 40, dataset="e")
    assert [result.state for result in judge_gates(more, gates)] == ["fails", "holds"]


def test_the_number_is_kept_in_the_run_folder() -> None:
    result = judged("d.performance >= 0.5", rows(12, 20))
    [stored] = stored_results([vars(result)])
    assert (stored.needs, stored.n_needed) == (result.needs, result.n_needed)
    [former] = stored_results([{"gate": "x", "state": "undecided", "bound": 0.5}])
    assert (former.needs, former.further) == ("", None)


# Before a run


def planned(gate: str, n: int, tables: int | None = None) -> str:
    common = {"dataset": "d", "serializer": "html", "perturbation": "none", "benchmark": "b"}
    cases = [SimpleNamespace(**common, example_id=f"e{place}") for place in range(n)]
    clusters = {"d": {f"e{place}": f"t{place % tables}" for place in range(n)}} if tables else None
    return plan_gates([gate], cases, clusters=clusters)[0].needs


@pytest.mark.parametrize(
    ("gate", "n", "tables", "words"),
    [
        # 1 - .025^(1/n) <= .2 from n = 16.5.
        ("d.pass_rate >= 0.8", 20, None, "right in every question from 17 examples on; 20 are"),
        ("d.pass_rate >= 0.8", 12, None, "from 17 examples on; only 12 are planned"),
        ("d.pass_rate <= 0.2", 12, None, "wrong in every question from 17 examples on; only 12"),
        (
            "d.pass_rate >= 0.8",
            48,
            12,
            "from 17 tables with 68 examples on; only 12 tables with 48 are planned",
        ),
        ("d{kind=sum}.pass_rate >= 0.8", 12, None, "from 17 examples on"),
        (
            "d.pass_rate >= baseline - 0.05",
            80,
            None,
            "same scores as the baseline from 72 examples",
        ),
        ("d.pass_rate >= baseline", 80, None, "cannot hold for a model with the same scores"),
        ("d.pass_rate >= 1", 80, None, "cannot hold for a model that is right in every question"),
        ("d.no_answer <= 0.1", 80, None, ""),
    ],
)
def test_the_plan_says_from_how_many_examples_a_gate_can_hold(
    gate: str, n: int, tables: int | None, words: str
) -> None:
    needs = planned(gate, n, tables)
    assert words in needs if words else needs == ""
