"""Cases whose perturbation changes the table's meaning are left out of all other figures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_tablebench.claims.gates import judge_gates
from pytest_tablebench.claims.summary import summarize
from tests.claims.test_clusters import record
from tests.support.present import present


def cell(number, right, perturbation, repeat=1):
    plain = record(number, float(right), None, perturbation=perturbation)
    kept = perturbation == "none"
    return replace(plain, preserves_meaning=kept, checks={"test_it": right}, repeat=repeat)


# Unchanged tables: 3 of 4 answers are right. Counterfactual tables: none is.
RECORDS = [
    *[cell(number, right, "none", n) for number, n, right in ((0, 1, 1), (0, 2, 1), (1, 1, 1))],
    cell(1, 0, "none", 2),
    *[cell(number, 0, "counterfactual", n) for number in (0, 1) for n in (1, 2)],
]


def test_pass_at_k_counts_unchanged_tables_only():
    for scope in (benchmark := summarize(RECORDS)["benchmarks"]["d"], benchmark["datasets"]["d"]):
        repeats = scope["repeats"]
        # The first example is right twice, the second once: (1 + .5) / 2 and (1 + 0) / 2.
        assert repeats["pass_at_k"] == {"1": 0.75, "2": 1.0}
        assert repeats["pass_hat_k"] == {"1": 0.75, "2": 0.5}
        assert repeats["left_out"] == {"1": 0, "2": 0}
        assert repeats["spread"]["disagree"] == 0.5
    [gate] = judge_gates(RECORDS, ["d.pass_rate >= 0.5"])
    assert gate.value == repeats["pass_at_k"]["1"]


def test_the_pass_rate_of_a_test_and_its_gate_count_unchanged_tables_only():
    [check] = summarize(RECORDS)["benchmarks"]["d"]["datasets"]["d"]["checks"].values()
    [gate] = judge_gates(RECORDS, ["d::test_it.pass_rate >= 0.5"])
    assert check["pass_rate"] == gate.value == pytest.approx(0.75)
    assert (check["n_cases"], check["failed"]) == (2, 1)
    assert check["ci95"] == list(present(gate.interval))


def test_if_all_tables_are_changed_they_count():
    changed = [record for record in RECORDS if record.perturbation == "counterfactual"]
    scope = summarize(changed)["benchmarks"]["d"]["datasets"]["d"]
    assert scope["repeats"]["pass_at_k"] == {"1": 0.0, "2": 0.0}
    assert scope["checks"]["test_it"]["pass_rate"] == 0.0
