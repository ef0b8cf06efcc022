"""Gates on slices and parts that are nowhere, refused before anything is asked."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench.claims.gate_names import check_subjects
from pytest_tablebench.claims.gates import parse_gate
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import TableQuestions, table_question
from pytest_tablebench.datasets.case import Case, cross
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics import Judgement, Score
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.running.builtins import registry_with
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.tables.table import Table

TABLE = Table(["Name", "Age"], [["Ada", "36"], ["Bo", "41"]])


def halves(prediction: str, references: Any, **_: Any) -> Score:
    right = float(prediction == references[0])
    return Score(right, {"whole": right, "half": right / 2}, "whole")


def judged(prediction: str, references: Any, **_: Any) -> Judgement:
    yield Ask(())
    return Score(1.0, {"marks": 1.0})


def fails(prediction: str, references: Any, **_: Any) -> Score:
    raise ValueError("no")


def runner(metric: str = "halves", **settings: Any) -> Runner:
    questions = [
        table_question("ada", TABLE, "How old is Ada?", ["36"], tags={"asks": "age"}),
        table_question("bo", TABLE, "Who is 41?", ["Bo"], tags={"asks": "name", "hard": "yes"}),
    ]
    registry = registry_with(None)
    registry.datasets = {"ages": TableQuestions("ages", questions, metric=metric)}
    registry.metrics |= {"halves": halves, "judged": judged, "fails": fails}
    return Runner(Settings(serializers=("html",), **settings), registry)


def check(gate: str, cases: list[Case] | None = None, **given: Any) -> None:
    if cases is None:
        cases, _ = cross("ages", ["ada", "bo"], ["html"], ["none"], ["m"])
    check_subjects(runner(**given), [parse_gate(gate)], cases)


@pytest.mark.parametrize(
    "gate",
    [
        "ages{asks=name}.performance >= 0.1",
        "own{asks=age}.pass_rate >= 0.1",
        "all{asks=name}{hard=yes}.half >= 0",
        "run.cost <= 1",
        "other{asks=nobody}.whole >= 0",  # of which no case is asked: somebody else says so
    ],
)
def test_what_is_there_is_let_by(gate: str) -> None:
    check(gate)


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        (
            "ages{asks=aeg}.performance >= 0.1",
            "has asks=aeg; did you mean 'age' or",
        ),
        ("all{ask=age}.performance >= 0.1", "has ask=age; no example has that tag"),
        ("ages{asks=age}{hard=yes}.whole >= 0", "has all these tags"),
        ("ages.hlaf >= 0.1", "has a part 'hlaf'; did you mean 'half'? known: whole, half, memory"),
    ],
)
def test_what_is_nowhere_is_named_beside_what_is_there(gate: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        check(gate)
    assert str(caught.value).startswith(f"--bench-gate {gate!r}: no ")
    assert said in str(caught.value)


def test_memory_is_refused_unless_an_answer_is_changed() -> None:
    cases, _ = cross("ages", ["ada", "bo"], ["html"], ["none", "counterfactual"], ["m"])
    check("ages.memory <= 1", cases)
    with pytest.raises(SettingsError, match="add --bench-perturbation=none,counterfactual"):
        check("ages.memory <= 1")


def test_only_selected_examples_count() -> None:
    cases, _ = cross("ages", ["ada"], ["html"], ["none"], ["m"])
    with pytest.raises(SettingsError, match="has asks=name"):
        check("ages{asks=name}.performance >= 0.1", cases)
    check("ages{asks=name}.performance >= 0.1", cases, shard="1/2")  # others may have it


@pytest.mark.parametrize("metric", ["judged", "fails"])
def test_a_part_that_only_the_run_can_tell_is_left_to_its_end(metric: str) -> None:
    check("ages.anything >= 0.1", metric=metric)


def test_parts_of_a_strategy_are_known() -> None:
    check("ages.tree_f1 >= 0.1", strategies=("treethinker",))
    with pytest.raises(SettingsError, match="'tree_f1'"):
        check("ages.tree_f1 >= 0.1")
