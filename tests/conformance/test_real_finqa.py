"""FinQA over real slices of the upstream files (found as in test_real_data.py)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench import score_answer
from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import Example
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.datasets.torr.finqa import FinQA
from pytest_tablebench.errors import TableError
from pytest_tablebench.serializers import SERIALIZERS, serialize
from pytest_tablebench.tables.perturbations import GRID
from tests.support.slices import ROOT, needs_slices, runner

pytestmark = needs_slices("finqa")


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> list[Example]:
    """All 210 rows of the three files, read as if they were one test file."""
    folder: Path = tmp_path_factory.mktemp("finqa")
    rows: list[Any] = []
    for name in ("test", "dev", "train"):
        rows += json.loads((ROOT / f"finqa/dataset/{name}.json").read_text(encoding="utf-8"))
    (folder / "dataset").mkdir()
    (folder / "dataset/test.json").write_text(json.dumps(rows), encoding="utf-8")
    (folder / "dataset/train.json").write_text("[]", encoding="utf-8")
    source = FinQA().open(folder)
    found = [source.example(example_id) for example_id in source.example_ids(None)]
    assert not source.problems
    return found


# Counts and first rows, read off the files by hand.


def test_50_questions_and_60_demonstrations() -> None:
    source = runner().source("finqa")
    ids = source.example_ids(None)
    assert len(ids) == 50
    assert len(source.pool) == 60
    assert not source.problems
    assert list(ids[:2]) == ["CMCSA/2015/page_67.pdf-1", "GPN/2008/page_78.pdf-3"]
    example = source.example(ids[0])
    assert example.references == ("divide(2424, 7034)",)
    assert example.context["answer"] == "34%"
    assert example.context["exe_ans"] == 0.34461


def test_no_row_of_the_slices_is_bad(examples: list[Example]) -> None:
    assert len(examples) == 210
    assert sum(isinstance(example.context["exe_ans"], str) for example in examples) == 7
    assert sum(example.inputs["table"].header[0] == "" for example in examples) == 76


def test_every_example_renders_in_all_35_configurations() -> None:
    source = runner().source("finqa")
    refused: Counter[tuple[str, str]] = Counter()
    done = 0
    for example_id in source.example_ids(None):
        question = source.example(example_id).question
        for perturbation in GRID:
            for serializer in SERIALIZERS:
                case = Case("finqa", example_id, serializer, perturbation, "m", "id")
                try:
                    prompt = runner().renderer.task(case).prompt
                except TableError:
                    refused[example_id, perturbation] += 1
                else:
                    assert f"Question: {question}\n" in prompt
                    done += 1
    assert (done, refused) == (50 * 35, {})


@pytest.mark.parametrize("compat", ["fixed", "reference"])
@pytest.mark.parametrize("number", [0, 25, 49])
def test_parts_of_a_prompt(number: int, compat: Compat) -> None:
    source = runner(compat).source("finqa")
    example_id = source.example_ids(None)[number]
    example = source.example(example_id)
    case = Case("finqa", example_id, "markdown", "none", "m", "id")
    prompt = runner(compat).renderer.task(case).prompt
    indent = "\n" + " " * 16
    asked = (
        f"Pre-table text: {example.inputs['pre_text']}"
        f"{indent}Table: {serialize(example.inputs['table'], 'markdown')}"
        f"{indent}Post-table text: {example.inputs['post_text']}"
        f"{indent}Question: {example.question}{indent}Program:\n{' ' * 20}\n"
    )
    assert isinstance(prompt, str)
    assert prompt.endswith(asked)
    assert prompt.count(f"{indent}Program:\n{' ' * 20}\n") == 6
    assert prompt.count("Pre-table text: ") == 6
    assert ("table-max" in prompt, "| number |" in prompt) == (compat == "reference", True)


# Gold programs as replies


def scores(example: Example, reply: str, compat: Compat) -> tuple[float, float]:
    parts = score_answer("finqa", reply, example.references, compat=compat, **example.context).parts
    return parts["program_accuracy"], parts["execution_accuracy"]


def test_every_gold_program_is_right_in_both_modes(examples: list[Example]) -> None:
    for example in examples:
        assert scores(example, example.target, "fixed") == (1.0, 1.0), example.id
        assert scores(example, example.target, "reference")[0] == 1.0, example.id


def test_execution_of_gold_programs_in_reference_mode(examples: list[Example]) -> None:
    # Without table operations, and against the printed answer: 36 of 210 gold programs fail.
    wrong: Counter[str] = Counter()
    for example in examples:
        if scores(example, example.target, "reference")[1] == 0.0:
            wrong["table" if "table_" in example.target else "printed answer"] += 1
    assert wrong == {"table": 13, "printed answer": 23}


def test_gold_programs_with_hyphens_count_only_in_fixed_mode(examples: list[Example]) -> None:
    told = [example for example in examples if "table_" in example.target]
    assert len(told) == 13
    for example in told:
        reply = example.target.replace("table_", "table-")
        assert scores(example, reply, "fixed") == (1.0, 1.0)
        assert scores(example, reply, "reference") == (0.0, 0.0)
