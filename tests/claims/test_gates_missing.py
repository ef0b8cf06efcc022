"""Gates on scores over runs with missing answers: they never help a gate."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from pytest_tablebench.claims.gates import StoppingRule, judge_gates, order
from tests.claims.test_judged_gates import World, judged, world
from tests.support.gate_rows import cell, judge, rows
from tests.support.gate_worlds import Record

__all__ = ["world"]

ANSWERED = [1.0] * 35 + [0.0]
SOME_MISSING = rows([*ANSWERED, None, None, None, None])
GATE = "d.pass_rate >= 0.85"


def states(records, *gates, baseline=None, **options):
    return [result.state for result in judge_gates(records, gates, baseline, **options)]


def test_a_gate_that_holds_only_without_its_missing_answers_is_undecided():
    assert states(rows(ANSWERED), GATE) == ["holds"]
    result = judge(GATE, SOME_MISSING)
    # 35 of 40 are right if the four are wrong.
    assert result.state == "undecided"
    assert "only because missing answers are left out; if they were wrong" in result.reason
    assert "the estimate would be 0.875 (0.7" in result.reason
    assert "a gate on `d.no_answer` names how many are allowed" in result.reason
    assert (result.needs, result.n_needed) == ("", None)  # more examples are no remedy
    # Enough answers hold with the missing ones as wrong too.
    assert states(rows([1.0] * 100 + [None] * 4), GATE) == ["holds"]


@pytest.mark.parametrize(
    ("allowance", "state"),
    [
        ("d.no_answer <= 0.2", "holds"),
        ("all.no_answer <= 0.2", "holds"),
        ("all.no_answer <= baseline + 0.2", "holds"),
        ("all.no_answer >= 0.1", "undecided"),
        ("e.no_answer <= 0.2", "undecided"),
        ("d[s].no_answer <= 0.2", "undecided"),
        ("d{kind=sum}.no_answer <= 0.2", "undecided"),
        ("d.cut_off <= 0.2", "undecided"),
    ],
)
def test_a_gate_on_no_answer_over_the_scope_or_a_wider_one_allows_them(allowance, state):
    records = [row | {"tags": {"kind": "sum"}} for row in SOME_MISSING] + rows([1.0], dataset="e")
    assert states(records, GATE, allowance, baseline=records)[0] == state
    for part in ("d[s]", "d{kind=sum}"):
        gates = (GATE.replace("d", part, 1), allowance)
        is_allowed = state == "holds" or part in allowance
        assert (states(records, *gates, baseline=records)[0] == "holds") == is_allowed


def test_the_estimate_alone_must_hold_too():
    records = rows([*ANSWERED, *[None] * 6])
    assert states(records[:36], GATE, point=True) == ["holds"]
    assert states(records[:41], GATE, point=True) == ["holds"]  # 35 of 41 are .854
    result = judge(GATE, records, point=True)  # 35 of 42 are .833
    assert (result.state, result.state_point) == ("undecided", "holds")
    assert "the estimate would be 0.8333. The same" in result.reason


@pytest.mark.parametrize(
    ("gate", "answered"),
    [
        ("d.performance >= 0.85", {}),
        ("d.em >= 0.85", {"parts": {"em": 1.0}}),
        ("d::test_tone.pass_rate >= 0.85", {"checks": {"test_tone": True}}),
        ("d.performance <= 0.15", {"score": 0.0}),
        ("d.performance >= baseline - 0.15", {}),
    ],
)
def test_every_measure_of_a_score_counts_them(gate, answered):
    records = [row | answered for row in rows([1.0] * 30)]
    before = rows([1.0] * 36)
    assert states(records, gate, baseline=before) == ["holds"]
    records += rows([None] * 36)[30:]
    result = judge(gate, records, before)
    assert result.state == "undecided"
    assert ("if they were right" in result.reason) == ("<=" in gate)


@pytest.mark.parametrize("measure", ["robustness", "consistency"])
def test_a_missing_answer_is_another_answer_to_the_same_question(measure):
    forms = [f"{letter}/p" for letter in "vwxyz"]
    records = [cell(n, 1.0, cell=form, answer_mark=7) for n in range(30) for form in forms]
    gate = f"d.{measure} >= 0.85"
    assert states(records, gate) == ["holds"]
    for row in records[::5][:5]:
        row |= {"score": None, "passed": None}
    assert states(records, gate) == ["undecided"]


def test_missing_repeats_lower_the_mean_of_their_case():
    records = [row | {"repeat": repeat} for row in rows([1.0] * 30) for repeat in (1, 2)]
    assert states(records, GATE) == ["holds"]
    for row in records[:16:2]:
        row |= {"score": None, "passed": None}
    # Eight of 30 means are one half: the estimate would be 26 of 30.
    assert "the estimate would be 0.8667" in judge(GATE, records).reason


def test_answers_that_the_baseline_lacks_change_nothing():
    before = rows([1.0] * 30 + [None] * 6)
    assert states(rows([1.0] * 36), "d.performance >= baseline - 0.15", baseline=before) == [
        "holds"
    ]


def test_marks_that_labels_correct_fall_by_the_missing_ones(world: World):
    gate = "d.performance >= 0.45"
    [complete] = judged(world.write(labels=100), gate)
    assert complete.state == "holds"
    for place, row in enumerate(world.records[:50]):
        lost = replace(row, score=None, passed=None, threshold=None, raw=None, parts={})
        world.records[place] = replace(lost, outcome="no_answer", reason="timeout")
    [partial] = judged(world.write("partial", labels=100), gate)
    assert "only because missing answers are left out" in partial.reason


def test_a_run_does_not_stop_at_a_gate_that_its_missing_answers_leave_open():
    def follow(records, *gates):
        cases = [Record(row["dataset"], row["example_id"], "s", "p") for row in records]
        by_name = {row["example_id"]: SimpleNamespace(**row) for row in records}
        stopping = StoppingRule(gates, cases)
        for case in order(cases):
            stopping.feed(by_name[case.example_id])
        return stopping

    records = rows([None if number % 4 == 0 else 1.0 for number in range(400)])
    stopping = follow(records, GATE)
    assert not stopping.decided
    assert stopping.results()[0].state == "undecided"
    allowed = follow(records, GATE, "all.no_answer <= 0.3")
    assert allowed.decided == {GATE: "holds"}
    assert allowed.results()[0].state == "holds"
