"""The smallest drop that a gate can detect, planned before a run."""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.claims.gates import plan_gates
from pytest_tablebench.claims.gates._power import assumed_sd, power, smallest_drop
from tests.support.gate_worlds import as_records, cases_of


def test_smallest_drops_agree_with_the_table_of_the_specification():
    for s_d, n, points in ((0.17, 12, 15.1), (0.25, 50, 10.1), (0.37, 200, 7.4), (0.49, 1000, 4.3)):
        assert 100 * smallest_drop(n, s_d) == pytest.approx(points, abs=0.06)
    assert smallest_drop(1, 0.3) == math.inf
    assert power(1, 0.3, 0.5) == 0.0
    # Approximately 80 %: the formula shifts a central t, the power is of the noncentral t.
    assert power(50, 0.36, smallest_drop(50, 0.36)) == pytest.approx(0.80, abs=0.01)


def test_assumed_spreads_agree_with_the_specification():
    assert assumed_sd(35) == pytest.approx(0.36, abs=0.005)
    assert assumed_sd(1) == pytest.approx(0.61, abs=0.005)
    seen = [assumed_sd(35, variance=0.24, correlation=icc) for icc in (0.2, 0.5, 0.8)]
    assert seen == pytest.approx([0.24, 0.36, 0.44], abs=0.01)
    # Infinitely many configurations instead of 35 would lower it by 3 %.
    assert 1 - assumed_sd(10**9) / assumed_sd(35) == pytest.approx(0.03, abs=0.005)


def plan(gate, planned, *history, **options):
    (planned_gate,) = plan_gates([gate], planned, history, **options)
    return planned_gate


def test_without_earlier_runs_the_spread_is_assumed_and_marked():
    planned = plan("d.performance >= baseline - 0.05", cases_of(200))
    assert (planned.n_examples, planned.configurations, planned.assumed) == (200, 35, True)
    assert planned.smallest_drop == pytest.approx(smallest_drop(200, assumed_sd(35)))
    assert "7.2" in planned.text
    assert "assumed" in planned.text
    single = plan("d.performance >= baseline", cases_of(200, 1))
    assert single.smallest_drop == pytest.approx(smallest_drop(200, assumed_sd(1)))


@pytest.mark.parametrize(
    ("gate", "examples", "drop", "room"),
    [
        # (t_.975 + t_.80) * s_d / sqrt(n) with s_d of one run, sqrt(.25 * (.5 + .5 / 35)) = .3586:
        # n = 5, (2.7764 + .9410) * .3586 / sqrt(5); n = 2, (12.7062 + 1.3764) * .3586 / sqrt(2).
        ("d.performance >= 0.3", 5, "59.6", "30.0"),
        ("d.pass_rate <= 0.8", 5, "59.6", "20.0"),
        ("d.performance >= 0.9", 2, "357.1", "90.0"),
        # Of two runs, sqrt(2 * .25 * (.5 * .5 + .5 / 35)) = .3635, and differences go down to -1.
        ("d.performance >= baseline - 0.05", 2, "362.0", "95.0"),
        ("d.performance <= baseline + 0.05", 2, "362.0", "95.0"),
    ],
)
def test_an_impossible_drop_is_not_planned(gate, examples, drop, room):
    planned = plan(gate, cases_of(examples))
    assert planned.smallest_drop is None
    assert "too few examples to fail" in planned.text
    assert f"{drop} points" in planned.text
    assert f"only {room} are possible" in planned.text
    assert "--bench-limit" in planned.text


@given(
    bound=st.floats(0, 1),
    sign=st.sampled_from([">=", "<="]),
    against=st.sampled_from(["", "baseline - ", "baseline + "]),
    examples=st.integers(2, 60),
)
def test_a_planned_drop_ends_at_a_possible_value(bound, sign, against, examples):
    planned = plan(f"d.performance {sign} {against}{bound:.4f}", cases_of(examples, 1))
    if planned.smallest_drop is not None:
        start = -float(f"{bound:.4f}") if against == "baseline - " else float(f"{bound:.4f}")
        reached = start + (planned.smallest_drop if sign == "<=" else -planned.smallest_drop)
        assert (-1 if against else 0) <= reached <= 1


def test_two_earlier_runs_give_the_spread_of_differences():
    import numpy as np

    differences = np.array([0.1, -0.1, 0.3, -0.3, 0.0])
    new, old = (0.5 + differences / 2)[:, None], (0.5 - differences / 2)[:, None]
    result = plan("d.performance >= baseline", cases_of(100, 1), as_records(new), as_records(old))
    s_d = math.sqrt((0.01 + 0.01 + 0.09 + 0.09) / 4)
    assert result.s_d == pytest.approx(s_d)
    assert result.smallest_drop == pytest.approx(smallest_drop(100, s_d))
    assert not result.assumed
    # A dataset that the two runs lack gets the spread of the datasets they have.
    planned = cases_of(100, 1) + cases_of(100, 1, "e")
    wider = plan("all.performance >= baseline", planned, as_records(new), as_records(old))
    assert wider.smallest_drop == pytest.approx(smallest_drop(200, s_d), rel=0.01)
    elsewhere = plan(
        "e.performance >= baseline",
        cases_of(100, 1, "e"),
        as_records(new),
        as_records(old),
    )
    assert elsewhere.assumed


def test_one_earlier_run_gives_the_spread_of_values_only():
    import numpy as np

    scores = np.array([[0.2, 0.4], [0.4, 0.8], [0.6, 0.6], [0.8, 1.0]])
    # Example means .3 .6 .6 .9: variance .06. Robustness .8 .6 1 .8: variance .08 / 3.
    for measure, s_d in (("performance", 0.06**0.5), ("robustness", (0.08 / 3) ** 0.5)):
        planned = plan(f"d.{measure} >= 0.5", cases_of(100, 2), as_records(scores))
        assert planned.s_d == pytest.approx(s_d)
        assert planned.smallest_drop == pytest.approx(smallest_drop(100, s_d))
        assert "spread of the latest run" in planned.text
    # One run has no differences.
    assert plan("d.performance >= baseline", cases_of(100, 2), as_records(scores)).assumed
    robust = plan("d.robustness >= baseline", cases_of(100, 2), as_records(scores))
    assert robust.smallest_drop is None


def test_earlier_runs_without_variance_are_not_used():
    import numpy as np

    same = as_records(np.full((5, 2), 1.0))
    for gate in ("d.performance >= 0.5", "d.performance >= baseline"):
        planned = plan(gate, cases_of(100, 2), same, same)
        assert planned.assumed
        assert planned.smallest_drop == plan(gate, cases_of(100, 2)).smallest_drop


def test_a_benchmark_sums_the_errors_of_its_datasets():
    planned = cases_of(100, dataset="d") + cases_of(100, dataset="e")
    both = plan("b.performance >= baseline", planned, benchmarks={"b": ["d", "e"]})
    # The mean of two independent means with the same error: as one of 200 examples.
    assert both.smallest_drop == pytest.approx(smallest_drop(200, assumed_sd(35)), rel=0.01)
    assert both.n_examples == 200


@pytest.mark.parametrize(
    ("gate", "planned", "words"),
    [
        ("all.no_answer <= 0.01", cases_of(20), "a count"),
        ("run.cost <= 5", cases_of(20), "a count"),
        ("d.robustness >= 0.5", cases_of(20), "--bench-baseline"),
        ("d.robustness >= baseline", cases_of(20), "a finished run of this model"),
        ("d.performance >= 0.5", cases_of(1), "fewer than two examples"),
        ("x.performance >= 0.5", cases_of(20), "no case of x was asked; known: d, all"),
    ],
)
def test_a_gate_without_a_smallest_drop_has_a_reason(gate, planned, words):
    planned_gate = plan(gate, planned)
    assert planned_gate.smallest_drop is None
    assert words in planned_gate.text


def test_cases_without_a_benchmark_can_be_planned():
    case = {"example_id": "e", "serializer": "s", "perturbation": "p"}
    planned = [
        SimpleNamespace(dataset="d", **(case | {"example_id": str(number)})) for number in range(5)
    ]
    assert plan("d[s].performance >= 0.5", planned).n_examples == 5
