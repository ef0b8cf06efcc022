"""FinQA answers that are values instead of programs."""

from __future__ import annotations

import pytest

from pytest_tablebench import score
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.scorer import asked_by


@pytest.mark.parametrize(
    ("said", "value", "right"),
    [
        ("0.25", 0.25, True),
        ("25%", 0.25, True),
        ("25", 0.25, False),
        ("0.3", 0.25, False),
        ("0.14", 0.14378, True),
        ("0.15", 0.14378, False),
        ("14.4%", 0.14378, True),
        ("14%", 0.14378, True),
        ("13%", 0.14378, False),
        ("1,234.5", 1234.5, True),
        ("$ 1,234.50.", 1234.5, True),
        ("-3", -3.0, True),
        ("3", -3.0, False),
        ("-.5", -0.5, True),
        ("1e3", 1000.0, True),
        ("yes", "yes", True),
        ("No.", "yes", False),
        ("about 3", 3.0, False),
        ("", 0.0, False),
        ("9" * 5000, 9.0, False),
    ],
)
def test_a_value_is_right_exactly_or_rounded(said, value, right):
    found = score("fin_qa_value", said, ["add(1, 2)"], exe_ans=value)
    assert (found.value, found.part) == (float(right), "execution_accuracy")


def test_without_a_recorded_result_the_gold_program_is_run():
    assert score("fin_qa_value", "3", ["add(1, 2)"], table={"header": [], "rows": []}).value == 1.0


def test_programs_of_python_are_judged_by_their_value_and_objects_by_the_program():
    registry = builtin_registry()
    metrics = {
        strategy: asked_by(registry, "finqa", strategy).metric
        for strategy in ("direct", "tcot", "pot", "icot[max_exec=2]")
    }
    assert metrics == {
        "direct": "fin_qa",
        "tcot": "fin_qa",
        "pot": "fin_qa_value",
        "icot[max_exec=2]": "fin_qa_value",
    }
    assert "value is judged" in str(asked_by(registry, "finqa", "pot").form.note)
