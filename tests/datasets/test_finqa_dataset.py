"""Reading FinQA, its prompts, and damaged upstream files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import PromptParts, Source
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.datasets.torr.finqa import FinQA
from pytest_tablebench.errors import DataError
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.runner import Runner
from pytest_tablebench.serializers.content import text_of
from pytest_tablebench.tables.table import Table
from tests.support import upstream

TEST = "dataset/test.json"
TRAIN = "dataset/train.json"


def row(number: int, **changes: Any) -> dict[str, Any]:
    """Return a made-up row in the upstream layout; a change to None removes the field."""
    qa = {
        "question": f"what is the growth of tea {number}?",
        "answer": "25%",
        "program": f"subtract({number}, 8), divide(#0, 8)",
        "exe_ans": 0.25,
        "explanation": "",
        "steps": [],
    }
    upstream: dict[str, Any] = {
        "pre_text": [f"tea grew {number} times .", "a second sentence ."],
        "post_text": ["coffee did not .", "."],
        "filename": "TEA/2019/page_1.pdf",
        "id": f"TEA/2019/page_{number}.pdf-1",
        "table": [["", "2019", "2018"], ["tea", "$ 10", "$ 8"], ["coffee", "5", "5"]],
        "table_ori": [["", "2019"]],
        "qa": qa,
    }
    for name, value in changes.items():
        place, key = (qa, name[3:]) if name.startswith("qa_") else (upstream, name)
        if value is None:
            del place[key]
        else:
            place[key] = value
    return upstream


def write(folder: Path, test: Any, train: Any = None) -> Path:
    shown = [row(number) for number in range(100, 107)] if train is None else train
    return upstream.write(folder, {TEST: test, TRAIN: shown})


def opened(folder: Path, test: Any, train: Any = None) -> Source:
    return FinQA().open(write(folder, test, train))


def ids(numbers: Sequence[int]) -> list[str]:
    return [f"TEA/2019/page_{number}.pdf-1" for number in numbers]


def test_an_example_has_the_content_of_the_files(tmp_path: Path) -> None:
    source = opened(tmp_path, [row(1), row(2)])
    assert list(source.example_ids(None)) == ids([1, 2])
    assert list(source.example_ids(1)) == ids([1])
    example = source.example(ids([2])[0])
    table = Table(["", "2019", "2018"], [["tea", "$ 10", "$ 8"], ["coffee", "5", "5"]])
    assert example.inputs == {
        "pre_text": "tea grew 2 times .",
        "table": table,
        "post_text": "coffee did not .",
        "question": "what is the growth of tea 2?",
    }
    assert list(example.inputs) == ["pre_text", "table", "post_text", "question"]
    assert example.question == "what is the growth of tea 2?"
    assert example.references == ("subtract(2, 8), divide(#0, 8)",)
    assert example.target == "subtract(2, 8), divide(#0, 8)"
    assert example.context == {"table": table, "answer": "25%", "exe_ans": 0.25}
    assert len(source.pool) == 7
    assert source.pool.key(0) == (
        "tea grew 100 times .",
        "coffee did not .",
        source.pool[0].question,
    )
    assert not source.problems
    assert set(source.facts.files) == {TEST, TRAIN}
    assert not source.facts.notes


def test_the_dataset_has_its_published_properties() -> None:
    dataset = FinQA()
    assert (dataset.name, dataset.folder, dataset.benchmark) == ("finqa", "finqa", "torr")
    assert (dataset.metric, dataset.shots, dataset.limit) == ("fin_qa", 5, 100)
    assert dataset.threshold == 1.0
    assert dataset.chain("reference") == ("take_first_non_empty_line",)
    assert dataset.chain("fixed") == ("take_first_non_empty_line", "strip_answer_marker")


def test_the_full_text_of_a_report_is_a_separate_dataset(tmp_path: Path) -> None:
    dataset = FinQA(whole=True)
    assert (dataset.name, dataset.folder, dataset.benchmark) == (
        "finqa_text",
        "finqa",
        "finqa_text",
    )
    assert builtin_registry().datasets["finqa_text"].benchmark == "finqa_text"
    rows = [row(1, post_text=[]), row(2, pre_text=["a", 7]), row(3, pre_text="a"), row(4)]
    source = dataset.open(write(tmp_path, rows))
    assert list(source.example_ids(None)) == ids([1, 4])
    assert [problem.field for problem in source.problems] == ["pre_text", "pre_text"]
    example = source.example(ids([4])[0])
    assert example.inputs["pre_text"] == "tea grew 4 times . a second sentence ."
    assert example.inputs["post_text"] == "coffee did not . ."
    assert source.example(ids([1])[0]).inputs["post_text"] == ""
    assert source.pool[0].inputs["pre_text"] == "tea grew 100 times . a second sentence ."
    asked = dataset.prompt(example, lambda _: "T").source
    assert asked.startswith("Pre-table text: tea grew 4 times . a second sentence .\n")
    first = FinQA().open(tmp_path).example(ids([4])[0])
    assert first.inputs["pre_text"] == "tea grew 4 times ."


def test_programs_run_on_the_unperturbed_table(tmp_path: Path) -> None:
    example = opened(tmp_path, [row(1)]).example(ids([1])[0])
    changed = example.with_tables(lambda table: table.replace(rows=[]))
    assert changed.inputs["table"].rows == ()
    assert len(changed.context["table"].rows) == 2


def test_tables_with_only_a_header_are_left_out_silently(tmp_path: Path) -> None:
    source = opened(tmp_path, [row(1, table=[]), row(2, table=[["", "2019"]]), row(3)])
    assert list(source.example_ids(None)) == ids([3])
    assert not source.problems


def test_unusual_upstream_rows_are_read(tmp_path: Path) -> None:
    source = opened(
        tmp_path,
        [
            row(1, qa_answer=""),
            row(2, qa_exe_ans="yes"),
            row(3, qa_exe_ans=-16),
            row(4, pre_text=[""], post_text=["."]),
            row(5, table=[["", "a", "a"], ["tea"], ["coffee", "1", "2", "3"]]),
        ],
    )
    assert list(source.example_ids(None)) == ids([1, 2, 3, 4, 5])
    assert source.example(ids([2])[0]).context["exe_ans"] == "yes"
    assert source.example(ids([3])[0]).context["exe_ans"] == -16
    assert source.example(ids([5])[0]).inputs["table"].rows[0] == ("tea",)
    assert not source.problems


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"id": None}, "id", "is missing"),
        ({"id": 7}, "id", "is not text"),
        ({"id": " "}, "id", "is empty"),
        ({"id": "TEA/2019/page_1.pdf-1"}, "id", "occurs a second time"),
        ({"table": None}, "table", "must be a list of rows"),
        ({"table": "a"}, "table", "must be a list of rows"),
        ({"table": ["a", "b"]}, "table", "must be a list of rows"),
        ({"table": [["", "a"], ["tea", 5]]}, "table", "row 2 contains int, not text"),
        ({"table": [["", ["a"]], ["tea", "5"]]}, "table", "row 1 contains list, not text"),
        ({"pre_text": []}, "pre_text", "is an empty list"),
        ({"post_text": []}, "post_text", "is an empty list"),
        ({"pre_text": "tea"}, "pre_text", "must be a list of texts"),
        ({"post_text": None}, "post_text", "must be a list of texts"),
        ({"post_text": [1]}, "post_text", "must begin with a text"),
        ({"qa": None}, "qa", "is missing"),
        ({"qa": []}, "qa", "must be an object"),
        ({"qa_question": None}, "question", "is missing"),
        ({"qa_question": " "}, "question", "is empty"),
        ({"qa_program": ""}, "program", "is empty"),
        ({"qa_program": ["add(1, 2)"]}, "program", "is not text"),
        ({"qa_answer": None}, "answer", "is missing"),
        ({"qa_answer": 0.25}, "answer", "is not text"),
        ({"qa_exe_ans": None}, "exe_ans", "must be a number, yes or no"),
        ({"qa_exe_ans": "maybe"}, "exe_ans", "must be a number, yes or no"),
        ({"qa_exe_ans": True}, "exe_ans", "must be a number, yes or no"),
        ({"qa_exe_ans": [1]}, "exe_ans", "must be a number, yes or no"),
        ({"qa_exe_ans": float("nan")}, "exe_ans", "is nan"),
        ({"qa_exe_ans": float("inf")}, "exe_ans", "is inf"),
    ],
)
def test_a_bad_row_is_named_and_the_others_are_kept(
    tmp_path: Path, changes: dict[str, Any], field: str, words: str
) -> None:
    # The bad row is the third of the file, after a row that is left out.
    bad = row(4, **changes)
    source = opened(tmp_path, [row(1), row(2, table=[]), bad, row(5)])
    assert list(source.example_ids(None)) == ids([1, 5])
    [problem] = source.problems
    assert str(problem).startswith(f"{TEST}, row 3, field {field!r}: ")
    assert words in str(problem)


# Damaged files


def test_a_truncated_file_gives_its_whole_rows_and_a_problem(tmp_path: Path) -> None:
    source = opened(tmp_path, json.dumps([row(1), row(2), row(3)])[:-40])
    assert list(source.example_ids(2)) == ids([1, 2])
    with pytest.raises(DataError, match=r"test\.json: item 3"):
        source.example_ids(None)


def test_truncated_demonstrations_are_read_once(tmp_path: Path) -> None:
    train = json.dumps([row(100), row(101, pre_text=[]), row(102)])[:-40]
    source = opened(tmp_path, [row(1)], train)
    for _ in range(3):
        with pytest.raises(DataError, match=r"train\.json: item 3"):
            len(source.pool)
    assert [problem.row for problem in source.problems] == [2]


# Prompts: torr.md section 3.1


def render(table: Table) -> str:
    return f"<{len(table.rows)} rows>"


def parts(tmp_path: Path) -> PromptParts:
    source = opened(tmp_path, [row(1)])
    return FinQA().prompt(source.example(ids([1])[0]), render)


def test_the_source_text_has_the_published_layout(tmp_path: Path) -> None:
    found = parts(tmp_path)
    indent = " " * 16
    assert found.source.split("\n") == [
        "Pre-table text: tea grew 1 times .",
        f"{indent}Table: <2 rows>",
        f"{indent}Post-table text: coffee did not .",
        f"{indent}Question: what is the growth of tea 1?",
        f"{indent}Program:",
        " " * 20,
    ]
    assert found.target_prefix == ""


ARITHMETIC = ["add", "subtract", "multiply", "divide", "exp", "greater"]
TABLE_OPERATIONS = ["sum", "average", "max", "min"]


def test_operations_are_spelled_by_compat_mode(tmp_path: Path) -> None:
    found = parts(tmp_path)
    assert found.reference_instruction is not None
    for text, own, other in (
        (found.instruction, "_", "-"),
        (found.reference_instruction, "-", "_"),
    ):
        lines = [
            line.split(" | ")[0].strip() for line in text.split("\n") if line.count(" | ") == 3
        ]
        assert lines[1:] == ARITHMETIC + [f"table{own}{name}" for name in TABLE_OPERATIONS]
        assert f"table{other}" not in text
        assert "#0" in text
        # Every paragraph but the first is indented.
        first, *rest = text.split("\n")
        assert not first.startswith(" ")
        assert all(line.startswith(" " * 16) and not line[16:].startswith(" ") for line in rest)
    # There is no other difference.
    assert found.reference_instruction.replace("table-", "table_") == found.instruction


@pytest.mark.parametrize("compat", ["fixed", "reference"])
def test_a_whole_prompt_equals_the_published_one(tmp_path: Path, compat: Any) -> None:
    write(tmp_path / "finqa", [row(1)])
    runner = Runner(Settings(data=tmp_path, compat=compat), builtin_registry())
    [example_id] = runner.source("finqa").example_ids(None)
    case = Case("finqa", example_id, "csv", "none", "m", "id")
    prompt = runner.renderer.task(case).prompt
    dataset, pool = FinQA(), runner.source("finqa").pool
    to_csv = builtin_registry().serializers["csv"]

    def to_text(table: Table) -> str:
        return text_of(to_csv(table))

    examples = [pool[index] for index in range(len(pool))]
    shown = [
        f"{dataset.prompt(example, to_text).source}\n{example.target}\n\n" for example in examples
    ]
    used = sorted((text for text in shown if text in prompt), key=prompt.index)
    assert len(used) == 5
    asked = dataset.prompt(runner.source("finqa").example(example_id), to_text)
    instruction = asked.instruction
    if compat == "reference":
        assert asked.reference_instruction is not None
        instruction = asked.reference_instruction
    assert prompt == f"{instruction}\n{''.join(used)}{asked.source}\n"
