"""Gates on slices, named parts, consistency and changed meaning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example as example_of
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_tablebench.claims.gates import StoppingRule, judge_gates, order, plan_gates
from pytest_tablebench.results import ScoreRow
from tests.claims.test_slices import cell, example

Records = list[ScoreRow]

MEASURES = ("performance", "robustness", "pass_rate", "no_answer", "em", "consistency")

drawn = st.lists(
    st.tuples(
        st.sampled_from(["flat", "merged", ""]),
        st.sampled_from(["d", "other"]),
        st.text("ab.", min_size=3, max_size=4),
    ),
    min_size=2,
    max_size=9,
)


def run_of(rows: list[tuple[str, str, str]]) -> Records:
    records: Records = []
    for number, (structure, dataset, answers) in enumerate(rows):
        tags = {"structure": structure} if structure else {}
        records += example(f"e{number}", answers, "a", dataset=dataset, tags=tags)
    return [
        replace(record, parts={"em": record.score / 2}) if record.score else record
        for record in records
    ]


@settings(max_examples=25)
@example_of([("merged", "d", "bbb"), ("flat", "d", "aaa")], "em", "all")
@example_of([("merged", "d", "..."), ("flat", "d", "aaa")], "consistency", "d")
@given(drawn, st.sampled_from(MEASURES), st.sampled_from(["all", "b", "d", "d[f0]"]))
def test_a_gate_on_a_slice_equals_the_gate_on_a_run_of_that_slice(rows, measure, scope):
    records = run_of(rows)
    alone = [record for record in records if record.tags.get("structure") == "merged"]
    [result] = judge_gates(records, [f"{scope}{{structure=merged}}.{measure} >= 0.4"])
    if any(record.dataset == "d" for record in alone) or (alone and scope in ("all", "b")):
        [expected] = judge_gates(alone, [f"{scope}.{measure} >= 0.4"])
        assert replace(result, gate="") == replace(expected, gate="")
    else:
        assert result.state == "undecided"
        has_dataset = scope in ("all", "b") or any(record.dataset == "d" for record in records)
        assert ("no example of this scope has structure=merged" in result.reason) == has_dataset


@settings(max_examples=10)
@given(drawn, drawn)
def test_a_gate_on_a_slice_against_a_baseline_equals_the_gate_on_runs_of_that_slice(rows, before):
    records, old = run_of(rows), run_of(before)
    # The tags of an example are from the newer run.
    structures = {(record.dataset, record.example_id): record.tags for record in records}
    old = [
        replace(record, tags=structures.get((record.dataset, record.example_id), record.tags))
        for record in old
    ]
    alone, base = ([r for r in run if r.tags.get("structure") == "flat"] for run in (records, old))
    for measure in ("performance", "consistency"):
        text = f"all@.{measure} >= baseline - 0.1"
        if not alone:
            continue
        [result] = judge_gates(records, [text.replace("@", "{structure=flat}")], old)
        [expected] = judge_gates(alone, [text.replace("@", "")], base)
        assert replace(result, gate="") == replace(expected, gate="")


def judge_one(records: Records, text: str, **more: Any) -> Any:
    [result] = judge_gates(records, [text], **more)
    return result


def test_a_run_without_tags_can_be_the_baseline():
    new = [r for n in range(20) for r in example(f"e{n}", "aab", "a", tags={"k": str(n % 2)})]
    old = [replace(record, tags={}) for record in new]
    result = judge_one(new, "d{k=1}.performance >= baseline - 0.05", baseline=old)
    assert (result.examples, result.n_not_asked, result.value) == (10, 0, 0.0)


def test_an_unknown_tag_value_is_named_with_the_values_of_the_run():
    records = run_of([("flat", "d", "aaa"), ("merged", "d", "aab")])
    result = judge_one(records, "d{structure=mergd}.em >= 0.5")
    assert result.state == "undecided"
    assert "structure=mergd" in result.reason
    assert "'merged'" in result.reason or "merged" in result.reason
    assert "no example has that tag" in judge_one(records, "d{size=big}.em >= 0.5").reason


def test_a_gate_on_a_part_uses_the_examples_that_have_the_part():
    records = [
        cell(f"e{n}", "html", float(n % 2), parts={"ecr": 1.0} if n < 30 else {}) for n in range(40)
    ]
    result = judge_one(records, "d.ecr >= 0.6")
    assert (result.state, result.value, result.examples, result.n_left_out) == (
        *("holds", 1.0, 30, 10),
    )
    assert result.reason.startswith("the 95 % interval of the mean ecr, ")
    assert result.notes == ("10 of 40 examples are left out: they have no answer with ecr.",)


def test_a_part_that_is_unknown_or_no_share_is_undecided():
    records = [cell(f"e{n}", "html", 1.0, parts={"ecr": 0.5, "chars": 7.0}) for n in range(9)]
    unknown, no_share = (judge_one(records, f"d.{name} >= 0.6") for name in ("ecrr", "chars"))
    assert unknown.state == no_share.state == "undecided"
    assert "no case has a part 'ecrr'" in unknown.reason
    assert "ecr" in unknown.reason.split(";")[1]
    assert "values outside of 0 to 1" in no_share.reason


def test_consistency_needs_three_answered_configurations():
    records = [r for n in range(30) for r in example(f"e{n}", "aaa", "a")]
    assert judge_one(records, "d.consistency >= 0.8").state == "holds"
    two = [record for record in records if record.serializer != "f0"]
    assert "needs 3 answered configurations" in judge_one(two, "d.consistency >= 0.8").reason
    silent = [replace(record, answer_mark=None) for record in records]
    assert judge_one(silent, "d.consistency >= 0.8").reason == "no case has an answer to compare"


def test_changed_meaning_is_a_separate_measure():
    plain = [cell(f"e{n}", "html", 1.0) for n in range(30)]
    cut = [cell(f"e{n}", "html/no_table", 0.0, preserves_meaning=False) for n in range(30)]
    both = [*plain, *cut]
    for text in ("d.performance >= 0.5", "d.pass_rate >= 0.5"):
        assert judge_one(both, text) == judge_one(plain, text)
    assert judge_one(both, "d.robustness >= 0.9").reason.startswith(
        "robustness over one configuration"
    )
    result = judge_one(both, "d.changed_meaning <= 0.2")
    assert (result.state, result.value, result.examples) == ("holds", 0.0, 30)
    assert judge_one(both, "d[no_table].performance <= 0.2").value == 0.0
    assert judge_one(both, "all.no_answer <= 0").n_cases == 60
    assert "no case of this scope" in judge_one(plain, "d.changed_meaning <= 0.2").reason


@pytest.mark.parametrize("measure", ["robustness", "performance"])
def test_a_perturbation_that_applies_to_some_examples_leaves_none_out(measure):
    """Half of the examples have no counterfactual, and their grids count as complete."""
    records = [
        cell(f"e{n}", configuration, 1.0)
        for n in range(8)
        for configuration in ("html/none", "csv/none")
    ]
    records += [
        cell(f"e{n}", "html/counterfactual", 0.0, preserves_meaning=False) for n in range(4)
    ]
    [result] = judge_gates(records, [f"d.{measure} >= 0.1"])
    # All eight score 1 in both formats: the lower end of Clopper-Pearson is .025 ** (1 / 8) = .63.
    assert (result.value, result.examples, result.n_left_out) == (1.0, 8, 0)
    assert result.state == "holds"


def test_the_part_memory_is_over_cases_with_a_changed_answer():
    plain = [cell(f"e{n}", "html", 1.0) for n in range(30)]
    changed = [
        replace(cell(f"e{n}", "html/counterfactual", 0.0, preserves_meaning=False), parts=parts)
        for n, parts in enumerate([{"memory": 1.0}] * 3 + [{"memory": 0.0}] * 27)
    ]
    judged = judge_one([*plain, *changed], "d.memory <= 0.4")
    assert (judged.state, judged.value, judged.examples) == ("holds", pytest.approx(0.1), 30)
    assert judge_one([*plain, *changed], "d[counterfactual].memory <= 0.4").value == judged.value


def test_the_stopping_rule_decides_slices_and_parts_only_at_the_end():
    records = [
        replace(r, parts={"em": 1.0}, preserves_meaning=r.serializer != "f2")
        for n in range(24)
        for r in example(f"e{n}", "aaaa", "a", tags={"k": str(n % 2)})
    ]
    records = [replace(r, perturbation="cut") if r.serializer == "f2" else r for r in records]
    texts = ["d{k=1}.em >= 0.5", "d.consistency >= 0.5", "d.changed_meaning >= 0.5"]
    rule = StoppingRule(texts, records, altered=["cut"])
    for record in order(records)[:-1]:
        rule.feed(record)
        assert not rule.decided
    rule.feed(order(records)[-1])
    states = [(result.state, result.examples) for result in rule.results()]
    assert states == [("holds", 12), ("holds", 24), ("holds", 24)]


def test_the_plan_names_what_it_cannot_know():
    cases = [cell(f"e{n}", "html", None) for n in range(30)]
    sliced, compared, part = plan_gates(
        ["d{k=1}.em >= 0.5", "d.consistency >= 0.5", "d.em >= 0.9"], cases
    )
    assert sliced.text == "the number of examples with these tags is known only during the run"
    assert compared.text.startswith("the spread of consistency is unknown")
    assert part.smallest_drop is not None
