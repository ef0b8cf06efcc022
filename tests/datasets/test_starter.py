"""The embedded dataset: its examples and prompts; test_starter_answers.py checks its answers."""

import json
import re
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from pytest_tablebench.datasets._dataset import Dataset
from pytest_tablebench.datasets._source import Source
from pytest_tablebench.datasets.starter.starter import Starter
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table

FOLDER = files("pytest_tablebench.datasets.starter")
TABLES = [json.loads(line) for line in (FOLDER / "tables.jsonl").read_bytes().split(b"\n") if line]
QUESTIONS = [
    json.loads(line) for line in (FOLDER / "questions.jsonl").read_bytes().split(b"\n") if line
]
TESTS = [record for record in QUESTIONS if record["split"] == "test"]
DEMOS = [record for record in QUESTIONS if record["split"] == "demo"]


@pytest.fixture
def source() -> Source:
    dataset: Dataset = Starter()
    return dataset.open(Path("no", "such", "folder"))


def test_the_dataset_has_its_documented_properties():
    dataset = Starter()
    assert (dataset.name, dataset.benchmark, dataset.metric) == (
        "starter",
        "starter",
        "exact_match",
    )
    for compat in ("fixed", "reference"):
        assert dataset.chain(compat) == ("take_first_non_empty_line", "strip_answer_marker")
    assert (dataset.shots, dataset.limit, dataset.threshold, dataset.get) == (1, None, 1.0, "")


def test_ids_are_in_file_order_up_to_the_limit(source):
    ids = [record["id"] for record in TESTS]
    assert list(source.example_ids(None)) == ids
    assert list(source.example_ids(7)) == ids[:7]
    assert list(source.example_ids(10_000)) == ids
    assert list(source.example_ids(0)) == []


def test_every_example_loads(source):
    tables = {record["id"]: record for record in TABLES}
    for record in TESTS:
        example = source.example(record["id"])
        table = tables[record["table"]]
        assert example.id == record["id"]
        assert list(example.inputs) == ["question", "table"]
        assert example.inputs["question"] == example.question == record["question"]
        assert example.inputs["table"] == Table(table["header"], table["rows"], table["title"])
        assert example.inputs["table"].name == record["table"]
        assert example.references == tuple(record["answers"])
        assert example.target == ", ".join(record["answers"])
        assert example.context == ({"ordered": True} if record["ordered"] else {})
    assert source.problems == ()


def test_a_list_is_ordered_if_the_question_names_the_order():
    order = "in this order|from the (lowest|highest|earliest)|from (lowest|earliest)|starting with"
    for record in QUESTIONS:
        assert record["ordered"] == (len(record["answers"]) > 1)
        assert not record["ordered"] or re.search(order, record["question"])
    # 17 rows in the order of the question; 35 lists sorted by a column.
    assert Counter(record["kind"] for record in TESTS if record["ordered"]) == {
        "row": 17,
        "topk": 14,
        "filter": 14,
        "filter2": 7,
    }


def test_demonstrations_are_not_among_the_examples(source):
    assert len(source.pool) == len(DEMOS)
    for index, record in enumerate(DEMOS):
        assert source.pool[index].id == record["id"]
        assert source.pool.key(index) == (source.pool[index].inputs["question"],)
        with pytest.raises(DataError, match=re.escape(repr(record["id"]))):
            source.example(record["id"])
    assert len({source.pool.key(index) for index in range(len(DEMOS))}) == len(DEMOS)


def test_the_files_are_unchanged(source):
    """Any changed byte makes earlier figures incomparable, and stored answers refer to the ids."""
    assert source.facts.files == {
        "tables.jsonl": "90657049dccc156568a9fe870adf6691cd00ba5231a3fa94b09bc1fed635c52c",
        "questions.jsonl": "c1577da8de495b72f8f1a8d8188cbfe6f0880e974b9d8e50785b36daecb033b3",
    }


def test_the_prompt_contains_title_table_and_question(source):
    example = source.example("fin-01-lookup-1")
    parts = Starter().prompt(example, lambda table: f"<{table.name}>")
    assert parts.source == (
        "Title: Listed food companies of the Norvale exchange, 2023\n"
        "Table:\n<fin-01>\n\nQuestion: What is given as Founded for Lakeshore Creamery?\n"
    )
    assert parts.target_prefix == "Answer: "
    assert "comma and a space" in parts.instruction


def test_a_prompt_without_a_title_has_no_title_line(source):
    example = source.example("fin-01-lookup-1").with_tables(
        lambda table: Table(table.header, table.rows)
    )
    assert Starter().prompt(example, lambda _: "T").source.startswith("Table:\nT\n\nQuestion: ")
