"""The second path: it notices wrong answers, and shares no code with the first but parsing."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_tablebench.generate import (
    KINDS,
    CheckError,
    Plan,
    Question,
    _check,
    _rules,
    generate_questions,
    recompute,
    verify,
)
from pytest_tablebench.tables.table import Table

BATCHES = Table(
    ["Batch", "Kind", "Mass", "Share", "Made"],
    [
        ["B1", "raw", "1,250 kg", "12.5%", "2024-01-05"],
        ["B2", "pure", "840 kg", "7.1%", "2024-02-11"],
        ["B3", "raw", "2,015 kg", "3.3%", "2024-02-27"],
        ["B4", "mixed", "990 kg", "21.9%", "2024-03-19"],
        ["B5", "pure", "310 kg", "9.8%", "2024-04-02"],
    ],
    name="batches",
)
QUESTIONS = generate_questions(BATCHES, seed=5, per_table=60)


def wrong(question: Question) -> tuple[str, ...]:
    """Return another answer of the same form."""
    (first, *rest) = question.answers
    swapped = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
    if first in swapped:
        return (swapped[first],)
    if first[0].isdigit():
        return (f"{(int(first[0]) + 1) % 10}{first[1:]}", *rest)
    return (f"{first}x", *rest)


def test_all_kinds_are_looked_at():
    assert {question.kind for question in QUESTIONS} == set(KINDS)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
def test_right_answers_pass_and_wrong_ones_do_not(question):
    verify(question.plan, BATCHES, question.answers)
    with pytest.raises(CheckError, match=f"table 'batches': {question.kind} was answered"):
        verify(question.plan, BATCHES, wrong(question))


def test_missing_added_and_reordered_items_are_noticed():
    lists = [question for question in QUESTIONS if len(question.answers) > 1]
    assert lists
    for question in lists:
        for answers in (
            question.answers[1:],
            (*question.answers, "B9"),
            question.answers[::-1],
        ):
            with pytest.raises(CheckError):
                verify(question.plan, BATCHES, answers)


@pytest.mark.parametrize("answers", [("5,405",), ("5,405 g",), ("5,405 kg", "x"), ("many",), ()])
def test_a_computed_number_needs_its_unit(answers):
    plan = Plan("sum", "Batch", "Mass")
    verify(plan, BATCHES, ("5,405 kg",))
    with pytest.raises(CheckError):
        verify(plan, BATCHES, answers)


def test_a_mean_must_be_rounded_well():
    plan = Plan("mean", "Batch", "Share")
    assert recompute(plan, BATCHES) == pytest.approx(10.92)
    with pytest.raises(CheckError):
        verify(plan, BATCHES, ("10.91%",))


def test_an_order_other_than_the_plan_s_is_noticed():
    question = next(q for q in QUESTIONS if q.kind == "topk")
    with pytest.raises(CheckError):
        verify(replace(question.plan, highest=not question.plan.highest), BATCHES, question.answers)


def test_unknown_kinds_have_no_second_way():
    with pytest.raises(CheckError, match="no second way"):
        recompute(Plan("median", "Batch", "Mass"), BATCHES)


def test_a_bug_in_the_first_path_stops_the_generation(monkeypatch):
    monkeypatch.setattr(_rules, "answer", lambda plan, table: ("B2",))
    with pytest.raises(CheckError):
        generate_questions(BATCHES, per_table=20)


def test_only_the_reading_of_numbers_is_shared():
    tree = ast.parse(Path(_check.__file__).read_text(encoding="utf-8"))
    shared = {
        (node.module, name.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pytest_tablebench")
        for name in node.names
    }
    assert shared == {
        ("pytest_tablebench.generate._plan", "CheckError"),
        ("pytest_tablebench.generate._plan", "Condition"),
        ("pytest_tablebench.generate._plan", "Plan"),
        ("pytest_tablebench.generate._values", "parse_number"),
        ("pytest_tablebench.tables.table", "Table"),
    }
