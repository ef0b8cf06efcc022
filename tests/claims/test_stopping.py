"""Stopping rules: the order of cases, and decisions from records."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from pytest_tablebench.claims.gates import StoppingRule, judge_gates, order
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.run_facts import RunFacts
from tests.support.gate_worlds import Record, World, as_records, cases_of


def key(case):
    return case.dataset, case.example_id, case.serializer, case.perturbation


def both(examples, *, drop=0.0, seed=0, icc=0.5):
    new, old = World(drop=drop, icc=icc).scores(np.random.default_rng(seed), examples)
    return as_records(new), as_records(old)


def run(gates, records, *, shuffle=None, stop=True, **options):
    """Feed records in the rule's order, or all of them in another one."""
    rule = StoppingRule(gates, [key_case(record) for record in records], **options)
    by = {key(record): record for record in records}
    sequence = order(records, options.get("seed", 0))
    if shuffle is not None:
        random.Random(shuffle).shuffle(sequence)
    for case in sequence:
        rule.feed(by[key(case)])
        if stop and rule.all_decided:
            break
    return rule


def key_case(record):
    return Record(*key(record))


CASES = cases_of(6, 10, "d") + cases_of(3, 10, "e")


def test_the_order_depends_only_on_names_and_seed():
    ordered = order(CASES)
    assert Counter(map(key, ordered)) == Counter(map(key, CASES))
    shuffled = random.Random(1).sample(CASES, len(CASES))
    assert order(shuffled) == ordered
    assert order(CASES, seed=1) != ordered
    # The same case of two models is adjacent.
    doubled = order([*CASES, *CASES])
    assert [key(case) for case in doubled[::2]] == [key(case) for case in ordered]


def test_a_pass_asks_every_example_once():
    ordered = order(CASES)
    for number in range(10):
        part = ordered[number * 9 : (number + 1) * 9]
        assert len({(case.dataset, case.example_id) for case in part}) == 9
    # The first pass covers several configurations.
    assert len({(case.serializer, case.perturbation) for case in ordered[:9]}) > 1


def test_a_clear_drop_stops_the_run_early_and_stays_decided():
    new, old = both(100, drop=0.3)
    gate = "d.performance >= baseline - 0.05"
    rule = run([gate], new, baseline=old)
    assert rule.decided == {gate: "fails"}
    assert rule.all_decided
    assert rule.n_asked < rule.planned / 2
    assert "do not count as no answer" in rule.summary()
    (result,) = rule.results()
    assert (result.state, result.gate) == ("fails", gate)
    assert any(note.startswith("Decided") for note in result.notes)
    # Records that arrive after the decision change nothing.
    for record in new:
        rule.feed(record)
    assert rule.decided == {gate: "fails"}
    assert rule.results() == [result]


def test_the_order_of_arrival_changes_nothing():
    new, old = both(40, drop=0.2, seed=3)
    gates = ["d.performance >= baseline", "d.pass_rate >= 0.9", "d.performance >= 0.1"]
    expected = run(gates, new, baseline=old, stop=False).results()
    assert run(gates, new, baseline=old, stop=False, shuffle=1).results() == expected
    doubled = run(gates, [*new], baseline=old, stop=False, shuffle=2)
    for record in [*new, Record("x", "y", "z", "w", 1.0, True)]:
        doubled.feed(record)  # a record twice, or not planned
    assert doubled.results() == expected
    assert doubled.n_asked == len(new)


def test_without_a_decision_the_last_pass_has_the_remaining_error_rate():
    new, old = both(40, seed=1)
    rule = run(["d.performance >= baseline"], new, baseline=old)
    assert rule.n_asked == rule.planned
    (result,) = rule.results()
    assert result.state == "undecided"
    assert result.level == pytest.approx(0.96)  # .05 less five looks of .002
    (plain,) = judge_gates(new, ["d.performance >= baseline"], old, level=0.96)
    assert result.interval == pytest.approx(plain.interval)
    assert "needed" in rule.summary()


def test_with_few_configurations_the_last_pass_has_more_of_the_error_rate():
    records = [record for record in both(40)[0] if record.serializer == "s0"]
    gate = "all.performance >= 0.6"
    for count, level in ((5, 1 - 0.05 + 0.006), (1, 0.95)):
        kept = [record for record in records if int(record.perturbation[1]) < count]
        (result,) = run([gate], kept).results()
        assert result.level == pytest.approx(level)


def test_robustness_and_single_columns_wait_for_the_last_pass():
    new, old = both(60, drop=0.4)
    gates = ["d.robustness >= 0.99", "d[s0].performance >= baseline"]
    rule = run(gates, new, baseline=old)
    assert rule.n_asked == rule.planned
    assert rule.decided == dict.fromkeys(gates, "fails")
    assert all(result.level == pytest.approx(0.95) for result in rule.results())


def test_a_look_ignores_later_passes():
    new, old = both(60, drop=0.5, icc=0.2)
    gate, passes = "d.performance >= baseline", order(new)
    rule = StoppingRule([gate], new, baseline=old)
    # All later passes, all right, arrive before the first is complete.
    for record in passes[60:]:
        rule.feed(replace(record, score=1.0, passed=True, raw=None))
    assert rule.decided == {}
    for record in passes[:60]:
        rule.feed(record)
    keys = {key(record) for record in passes[:60]}
    (first,) = judge_gates(
        passes[:60], [gate], [record for record in old if key(record) in keys], level=0.998
    )
    assert first.state == "fails"
    (result,) = rule.results()
    assert result.interval == pytest.approx(first.interval)
    assert rule.decided == {gate: "fails"}


def test_cases_not_asked_do_not_count_as_without_an_answer():
    new, old = both(100, drop=0.3)
    gates = ["d.performance >= baseline", "all.no_answer <= 0.5 %", "run.cost <= 10"]
    rule = run(gates, new, baseline=old)
    assert rule.all_decided  # gates on counts do not keep a run going
    results = rule.results(run=RunFacts.from_json({"cost_usd": 3.0}))
    assert [result.state for result in results] == ["fails", "holds", "holds"]
    assert (results[1].n_cases, results[1].n_no_answer) == (rule.n_asked, 0)


def test_cases_without_an_answer_complete_a_pass():
    new, old = both(40, drop=0.3)
    silent = [
        Record(*key(record)) if number % 7 == 0 else record for number, record in enumerate(new)
    ]
    rule = run(["d.performance >= baseline"], silent, baseline=old)
    assert rule.decided == {"d.performance >= baseline": "fails"}


@pytest.mark.parametrize(
    ("gate", "score"), [("d.pass_rate >= 1", 1.0), ("d.performance <= 0", 0.0)]
)
def test_rounding_does_not_fail_a_run_at_its_bound(gate, score):
    """The larger benchmark defaults to 100 x 35. In many shapes the weights do not sum to 1."""
    shapes = [(examples, 7) for examples in range(4, 40)] + [(12, 35), (100, 35)]
    states = {
        shape: run([gate], as_records(np.full(shape, score))).results()[0].state for shape in shapes
    }
    assert [shape for shape, state in states.items() if state == "fails"] == []


def test_a_run_cut_off_is_undecided():
    new, old = both(40, seed=1)
    rule = StoppingRule(["d.performance >= baseline"], new, baseline=old)
    for record in order(new)[:100]:
        rule.feed(record)
    (result,) = rule.results()
    assert (result.state, result.interval is not None) == ("undecided", True)
    assert "before all planned cases" in result.reason


def test_equal_answers_decide_only_at_the_end():
    old = [replace(case, score=1.0, passed=True, raw="same") for case in cases_of(20)]
    gate = "d.performance >= baseline - 0.2"
    rule = run([gate], old, baseline=old)
    assert rule.n_asked == rule.planned
    assert rule.decided == {gate: "holds"}
    assert rule.results()[0].identical


def test_gates_without_a_needed_baseline_are_refused():
    with pytest.raises(SettingsError, match="needs a baseline"):
        StoppingRule(["d.performance >= baseline"], CASES)


def test_a_gate_on_a_scope_without_cases_stays_undecided():
    gates = ["torr.performance >= 0.5", "d.performance >= 0.2"]
    rule = run(gates, both(40)[0])
    assert rule.all_decided
    lost, other = rule.results()
    assert (lost.state, other.state) == ("undecided", "holds")
    assert lost.reason == "no case of torr was asked; known: d, all"
    assert not run(gates[:1], both(40)[0]).all_decided


def test_a_scope_whose_files_are_missing_is_never_decided():
    gates = ["all.performance >= 0.2", "d.performance >= 0.2"]
    old = [*both(60)[1], *as_records(np.ones((9, 35)), "e")]
    rule = run(gates, both(60)[0], baseline=old, missing=["e"])
    assert rule.all_decided
    assert rule.decided == {"d.performance >= 0.2": "holds"}
    shrunk, other = rule.results()
    assert (shrunk.state, other.state) == ("undecided", "holds")
    assert "the files of e are missing" in shrunk.reason


def test_gates_on_counts_only_never_stop_a_run():
    rule = run(["all.no_answer <= 0.1"], both(5)[0])
    assert not rule.all_decided
    assert rule.n_asked == rule.planned
