"""Stopping rules: the order of cases, and decisions from records."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.gates import judge_gates, make_rule, order
from pytest_tablebench.results.gates._stopping import ranks
from pytest_tablebench.results.gates._wealth import Wealth, betting_interval
from tests.support.gate_worlds import Record, World, as_records, cases_of
from tests.support.present import present


def key(case):
    return case.dataset, case.example_id, case.serializer, case.perturbation


def both(examples, *, drop=0.0, seed=0, icc=0.5):
    new, old = World(drop=drop, icc=icc).scores(np.random.default_rng(seed), examples)
    return as_records(new), as_records(old)


def run(name, gates, records, *, shuffle=None, stop=True, **options):
    """Feed records in the rule's order, or all of them in another one."""
    rule = make_rule(name, gates, [key_case(record) for record in records], **options)
    by = {key(record): record for record in records}
    sequence = order(records, name, options.get("seed", 0))
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


@pytest.mark.parametrize("rule", ["passes", "anytime", "point"])
def test_the_order_depends_only_on_names_and_seed(rule):
    ordered = order(CASES, rule)
    assert Counter(map(key, ordered)) == Counter(map(key, CASES))
    shuffled = random.Random(1).sample(CASES, len(CASES))
    assert order(shuffled, rule) == ordered
    assert order(CASES, rule, seed=1) != ordered
    # The same case of two models is adjacent.
    doubled = order([*CASES, *CASES], rule)
    assert [key(case) for case in doubled[::2]] == [key(case) for case in ordered]


def test_a_pass_asks_every_example_once():
    ordered = order(CASES, "passes")
    for number in range(10):
        part = ordered[number * 9 : (number + 1) * 9]
        assert len({(case.dataset, case.example_id) for case in part}) == 9
    # The first pass covers several configurations.
    assert len({(case.serializer, case.perturbation) for case in ordered[:9]}) > 1


def test_the_rule_anytime_asks_whole_examples_and_alternates_datasets():
    ordered = order(CASES, "anytime")
    blocks = [ordered[start : start + 10] for start in range(0, 90, 10)]
    assert all(len({key(case)[:2] for case in block}) == 1 for block in blocks)
    assert [block[0].dataset for block in blocks] == list("dedededdd")


def test_the_rule_point_mixes_cases_of_all_examples():
    ordered = order(CASES, "point")
    assert len({case.example_id for case in ordered[:10]}) > 3


def test_an_unknown_rule_is_refused_by_name():
    with pytest.raises(SettingsError, match="did you mean 'passes'"):
        make_rule("passs", ["d.performance >= 0"], CASES)
    with pytest.raises(SettingsError, match="unknown stopping rule"):
        ranks([], "later")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["passes", "anytime", "point"])
def test_a_clear_drop_stops_the_run_early_and_stays_decided(name):
    new, old = both(100, drop=0.3)
    gate = "d.performance >= baseline - 0.05"
    rule = run(name, [gate], new, baseline=old)
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


@pytest.mark.parametrize("name", ["passes", "anytime", "point"])
def test_the_order_of_arrival_changes_nothing(name):
    new, old = both(40, drop=0.2, seed=3)
    gates = ["d.performance >= baseline", "d.pass_rate >= 0.9", "d.performance >= 0.1"]
    expected = run(name, gates, new, baseline=old, stop=False).results()
    assert run(name, gates, new, baseline=old, stop=False, shuffle=1).results() == expected
    doubled = run(name, gates, [*new], baseline=old, stop=False, shuffle=2)
    for record in [*new, Record("x", "y", "z", "w", 1.0, True)]:
        doubled.feed(record)  # a record twice, or not planned
    assert doubled.results() == expected
    assert doubled.n_asked == len(new)


def test_without_a_decision_the_last_pass_has_the_remaining_error_rate():
    new, old = both(40, seed=1)
    rule = run("passes", ["d.performance >= baseline"], new, baseline=old)
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
        (result,) = run("passes", [gate], kept).results()
        assert result.level == pytest.approx(level)


def test_robustness_and_single_columns_wait_for_the_last_pass():
    new, old = both(60, drop=0.4)
    gates = ["d.robustness >= 0.99", "d[s0].performance >= baseline"]
    rule = run("passes", gates, new, baseline=old)
    assert rule.n_asked == rule.planned
    assert rule.decided == dict.fromkeys(gates, "fails")
    assert all(result.level == pytest.approx(0.95) for result in rule.results())


def test_a_look_ignores_later_passes():
    new, old = both(60, drop=0.5, icc=0.2)
    gate, passes = "d.performance >= baseline", order(new, "passes")
    rule = make_rule("passes", [gate], new, baseline=old)
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


def test_betting_waits_for_whole_examples_in_order():
    new, old = both(40, drop=0.5, icc=0.2)
    gate = "d.performance >= baseline"
    rule = make_rule("anytime", [gate], new, baseline=old)
    sequence = order(new, "anytime")
    for record in sequence[1:]:
        rule.feed(record)
    assert rule.decided == {}  # the first example still lacks a case
    rule.feed(sequence[0])
    assert rule.decided == {gate: "fails"}
    (result,) = rule.results()
    assert result.method == "betting"
    assert present(result.interval)[1] < 0


def test_betting_on_robustness_leaves_incomplete_examples_out():
    steady = as_records(np.full((60, 35), 0.5))  # no range at all: robustness 1
    gate = "d.robustness >= 0.5"
    rule = run("anytime", [gate], steady)
    assert rule.decided == {gate: "holds"}
    assert rule.n_asked < rule.planned
    # Every third example lacks a cell: more than 20 % are left out, and nothing is decided.
    torn = [
        Record(*key(record)) if number % 105 == 0 else record
        for number, record in enumerate(steady)
    ]
    (result,) = run("anytime", [gate], torn).results()
    assert (result.state, result.n_left_out) == ("undecided", 20)


def test_betting_decides_only_at_the_end_if_examples_share_tables():
    right = as_records(np.ones((40, 35)))
    gate = "d.performance >= 0.3"
    assert run("anytime", [gate], right).n_asked < len(right)
    tables = {"d": {f"e{number:04}": number // 4 for number in range(40)}}
    rule = run("anytime", [gate], right, clusters=tables)
    assert rule.n_asked == rule.planned
    assert rule.decided == {gate: "holds"}


def test_betting_over_several_datasets_bets_in_rounds():
    draw = np.random.default_rng(0)
    rows = {name: World(mean=0.8).scores(draw, n)[0] for name, n in (("d", 60), ("e", 30))}
    records = [record for name in rows for record in as_records(rows[name], name)]
    gate = "b.performance >= 0.3"
    rule = run("anytime", [gate], records, benchmarks={"b": ["d", "e"]})
    assert rule.decided == {gate: "holds"}
    stream = rule._streams[0]
    first = [order(records, "anytime")[place * 35] for place in (0, 1)]
    means = {
        case.dataset: np.mean([r.score for r in records if key(r)[:2] == key(case)[:2]])
        for case in first
    }
    assert stream.rounds[0] == pytest.approx((means["d"] + means["e"]) / 2)
    assert len(stream.rounds) <= 30


def test_cases_not_asked_do_not_count_as_without_an_answer():
    new, old = both(100, drop=0.3)
    gates = ["d.performance >= baseline", "all.no_answer <= 0.5 %", "run.cost <= 10"]
    rule = run("passes", gates, new, baseline=old)
    assert rule.all_decided  # gates on counts do not keep a run going
    results = rule.results(run={"cost_usd": 3.0})
    assert [result.state for result in results] == ["fails", "holds", "holds"]
    assert (results[1].n_cases, results[1].n_no_answer) == (rule.n_asked, 0)


def test_cases_without_an_answer_complete_a_pass():
    new, old = both(40, drop=0.3)
    silent = [
        Record(*key(record)) if number % 7 == 0 else record for number, record in enumerate(new)
    ]
    for name in ("passes", "anytime", "point"):
        rule = run(name, ["d.performance >= baseline"], silent, baseline=old)
        assert rule.decided == {"d.performance >= baseline": "fails"}, name


@pytest.mark.parametrize(
    "gate", ["d.performance >= baseline", "d.robustness >= 0.5", "d.pass_rate <= 0.55"]
)
@pytest.mark.parametrize("silent", [False, True])
def test_the_planned_verdict_is_exact_at_the_end(gate, silent):
    new, old = both(6, seed=2)
    if silent:  # one example lacks some answers
        new = [
            Record(*key(r)) if r.example_id == "e0001" and n % 5 else r for n, r in enumerate(new)
        ]
    (result,) = run("point", [gate], new, baseline=old).results()
    (plain,) = judge_gates(new, [gate], old, point=True)
    assert result.state == plain.state_point != "undecided"


def test_datasets_of_unequal_size_have_equal_weight_in_the_planned_verdict():
    # d has 10 examples all wrong, e 90 all right: the mean over datasets is .5.
    records = as_records(np.zeros((10, 35)), "d") + as_records(np.ones((90, 35)), "e")
    for gate, state in (("all.performance >= 0.6", "fails"), ("all.performance >= 0.4", "holds")):
        rule = run("point", [gate], records)
        assert rule.decided == {gate: state}
        assert rule.n_asked < rule.planned


@pytest.mark.parametrize("name", ["passes", "anytime", "point"])
@pytest.mark.parametrize(
    ("gate", "score"), [("d.pass_rate >= 1", 1.0), ("d.performance <= 0", 0.0)]
)
def test_rounding_does_not_fail_a_run_at_its_bound(name, gate, score):
    """The larger benchmark defaults to 100 x 35. In many shapes the weights do not sum to 1."""
    shapes = [(examples, 7) for examples in range(4, 40)] + [(12, 35), (100, 35)]
    states = {
        shape: run(name, [gate], as_records(np.full(shape, score))).results()[0].state
        for shape in shapes
    }
    assert [shape for shape, state in states.items() if state == "fails"] == []
    if name == "point":
        assert set(states.values()) == {"holds"}


def test_rounding_errors_of_floats_do_not_decide_early():
    """A mean within 1e-9 of its bound holds at the end, so betting must not fail it before."""
    for name in ("anytime", "point"):
        rule = run(name, ["d.performance >= 1"], as_records(np.full((200, 2), 1 - 5e-10)))
        assert rule.decided.get("d.performance >= 1") != "fails", name


def test_a_run_cut_off_is_undecided():
    new, old = both(40, seed=1)
    rule = make_rule("passes", ["d.performance >= baseline"], new, baseline=old)
    for record in order(new, "passes")[:100]:
        rule.feed(record)
    (result,) = rule.results()
    assert (result.state, result.interval is not None) == ("undecided", True)
    assert "before all planned cases" in result.reason


def test_equal_answers_decide_only_at_the_end():
    old = [replace(case, score=1.0, passed=True, raw="same") for case in cases_of(20)]
    gate = "d.performance >= baseline - 0.2"
    rule = run("passes", [gate], old, baseline=old)
    assert rule.n_asked == rule.planned
    assert rule.decided == {gate: "holds"}
    assert rule.results()[0].identical


def test_gates_without_a_needed_baseline_are_refused():
    with pytest.raises(SettingsError, match="needs a baseline"):
        make_rule("passes", ["d.performance >= baseline"], CASES)


@pytest.mark.parametrize("name", ["passes", "anytime", "point"])
def test_a_gate_on_a_scope_without_cases_stays_undecided(name):
    gates = ["torr.performance >= 0.5", "d.performance >= 0.2"]
    rule = run(name, gates, both(40)[0])
    assert rule.all_decided
    lost, other = rule.results()
    assert (lost.state, other.state) == ("undecided", "holds")
    assert lost.reason == "no case of torr was asked; known: d, all"
    assert not run(name, gates[:1], both(40)[0]).all_decided


@pytest.mark.parametrize("name", ["passes", "anytime", "point"])
def test_a_scope_whose_files_are_missing_is_never_decided(name):
    gates = ["all.performance >= 0.2", "d.performance >= 0.2"]
    old = [*both(60)[1], *as_records(np.ones((9, 35)), "e")]
    rule = run(name, gates, both(60)[0], baseline=old, missing=["e"])
    assert rule.all_decided
    assert rule.decided == {"d.performance >= 0.2": "holds"}
    shrunk, other = rule.results()
    assert (shrunk.state, other.state) == ("undecided", "holds")
    assert "the files of e are missing" in shrunk.reason


def test_gates_on_counts_only_never_stop_a_run():
    rule = run("passes", ["all.no_answer <= 0.1"], both(5)[0])
    assert not rule.all_decided
    assert rule.n_asked == rule.planned


def test_wealth_fed_at_once_equals_wealth_fed_step_by_step():
    draw = np.random.default_rng(5)
    for level in (0.2, 0.5, 0.8):
        values = draw.beta(4 * level, 4 * (1 - level), 200)
        wealth, after = Wealth(0.5, population=200), None
        for number, value in enumerate(values, start=1):
            wealth.feed(float(value))
            if wealth.decision and after is None:
                after = number
        at_once = Wealth(0.5, population=200)
        at_once.feed(*values[:after].tolist())
        assert at_once.decision == wealth.decision
        if after is not None:
            early = Wealth(0.5, population=200)
            early.feed(*values[: after - 1].tolist())
            assert early.decision is None


def test_the_betting_interval_agrees_with_the_decisions():
    values = np.random.default_rng(6).beta(3, 2, 80)
    low, high = betting_interval(values)
    assert low < values.mean() < high
    for mean, decision in ((low - 0.01, "above"), (high + 0.01, "below")):
        wealth = Wealth(mean)
        for value in values:
            wealth.feed(float(value))
        assert wealth.decision == decision
    inside = Wealth((low + high) / 2)
    for value in values:
        inside.feed(float(value))
    assert inside.decision is None


def test_wealth_is_defined_for_thresholds_0_and_1():
    for threshold in (0.0, 1.0):
        wealth = Wealth(threshold)
        for value in (0.0, 1.0, 1.0, 0.0, 0.5):
            wealth.feed(value)
        assert wealth.decision == ("above" if threshold == 0.0 else "below")
