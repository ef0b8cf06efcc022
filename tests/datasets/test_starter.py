"""The embedded dataset: its content and prompts."""

import hashlib
import json
import re
import subprocess
import sys
import unicodedata
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
CELLS = [cell for table in TABLES for row in table["rows"] for cell in row]
TEXTS = [cell for cell in CELLS if isinstance(cell, str)]


@pytest.fixture
def source() -> Source:
    dataset: Dataset = Starter()
    return dataset.open(Path("no", "such", "folder"))


# The tables


def test_tables_are_well_formed():
    for record in TABLES:
        assert list(record) == ["id", "title", "topic", "header", "rows"]
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", record["id"])
        assert len(record["id"]) <= 12
        assert record["title"]
        assert record["topic"]
        assert len(set(record["header"])) == len(record["header"])
        assert {len(row) for row in record["rows"]} == {len(record["header"])}
    assert len({record["id"] for record in TABLES}) == len(TABLES) >= 32
    assert len({record["topic"] for record in TABLES}) >= 12


def test_tables_have_many_sizes():
    sizes = [(len(record["rows"]), len(record["header"])) for record in TABLES]
    assert min(sizes) == (3, 3)
    assert max(sizes) == (40, 12)
    middle = [size for size in sizes if 5 <= size[0] <= 14 and 4 <= size[1] <= 7]
    assert len(middle) > len(sizes) / 2
    assert len(set(sizes)) >= 15


@pytest.mark.parametrize(
    ("what", "pattern", "least"),
    [
        ("units", r"[0-9] [a-zA-Z]+[²³]?(/[a-z]+)?", 300),
        ("percentages", r"-?[0-9.]+%", 80),
        ("negative numbers", r"(\$ )?-[0-9].*", 5),
        ("ISO dates", r"[0-9]{4}-[0-9]{2}-[0-9]{2}", 80),
        ("written dates", r"[0-9]{1,2} [A-Z][a-z]+ [0-9]{4}", 5),
        ("thousands separators", r".*[0-9],[0-9]{3}.*", 80),
        ("empty cells", r"", 10),
        ("numbers as text", r"[0-9,.]+", 50),
    ],
)
def test_cells_have_many_formats(what, pattern, least):
    search = re.search if what == "units" else re.fullmatch
    assert sum(bool(search(pattern, text)) for text in TEXTS) >= least


def test_cells_have_many_types():
    kinds = Counter(type(cell) for cell in CELLS)
    assert kinds[int] > 300
    assert kinds[float] > 50
    assert kinds[bool] > 30
    assert kinds[type(None)] >= 1
    assert sum(cell < 0 for cell in CELLS if type(cell) in {int, float}) >= 10


@pytest.mark.parametrize("script", ["CJK", "ARABIC", "CYRILLIC"])
def test_tables_contain_other_scripts(script):
    named = [record["id"] for record in TABLES
             if any(unicodedata.name(letter, "").startswith(script)
                    for letter in json.dumps(record, ensure_ascii=False))]  # fmt: skip
    assert named
    assert {record["table"] for record in TESTS} & set(named)


def test_tables_contain_accents_and_duplicate_values():
    assert sum(bool(re.search("[À-ž]", text)) for text in TEXTS) >= 20
    repeating = [record["id"] for record in TABLES
                 if any(0 < len({str(cell) for cell in column}) < len(column)
                        for column in zip(*record["rows"], strict=True))]  # fmt: skip
    assert len(repeating) >= 25


# The questions


def test_there_are_enough_questions_of_every_kind():
    kinds = Counter(record["kind"] for record in TESTS)
    assert len(TESTS) >= 220
    assert len(kinds) == 17
    assert min(kinds.values()) >= 8
    assert len({record["table"] for record in TESTS}) >= 30


def test_demonstrations_use_separate_tables():
    assert 20 <= len(DEMOS) <= 30
    assert len({record["table"] for record in DEMOS}) == 4
    assert not {record["table"] for record in DEMOS} & {record["table"] for record in TESTS}
    assert len({record["kind"] for record in DEMOS}) >= 12


def test_the_first_questions_cover_most_kinds_and_many_tables():
    assert len({record["kind"] for record in TESTS[:20]}) >= 14
    assert len({record["table"] for record in TESTS[:20]}) == 20


def test_ids_are_unique_short_and_ascii():
    ids = [record["id"] for record in QUESTIONS]
    assert len(set(ids)) == len(ids)
    for record in QUESTIONS:
        assert re.fullmatch(rf"{record['table']}-{record['kind']}-[0-9]+", record["id"])
        assert record["id"].isascii()
        assert len(record["id"]) <= 24


def test_ids_of_the_first_questions_are_stable():
    """Stored answers and notes of users refer to these ids."""
    assert [record["id"] for record in TESTS[:5]] == [
        "fin-01-lookup-1",
        "sci-01-filter2-1",
        "hea-01-argmax-1",
        "geo-02-row-1",
        "cul-02-count-1",
    ]


def test_no_question_is_asked_twice():
    asked = Counter((record["table"], record["question"]) for record in QUESTIONS)
    assert max(asked.values()) == 1


def test_list_answers_are_parsed_back():
    for record in QUESTIONS:
        assert record["answers"]
        assert ", ".join(record["answers"]).split(", ") == record["answers"]
        assert not any(sign in item for item in record["answers"] for sign in "|\n\r")


def test_true_false_yes_and_no_all_occur():
    first = Counter(record["answers"][0] for record in TESTS)
    assert min(first["true"], first["false"], first["yes"], first["no"]) >= 2


def test_few_questions_are_about_neighbouring_rows():
    assert sum(record["kind"] == "neighbour" for record in TESTS) <= 0.15 * len(TESTS)


# The files


def test_the_questions_are_unchanged():
    """Any changed byte makes earlier figures incomparable."""
    found = hashlib.sha256((FOLDER / "questions.jsonl").read_bytes()).hexdigest()
    assert found == "c1577da8de495b72f8f1a8d8188cbfe6f0880e974b9d8e50785b36daecb033b3"


def test_files_have_unix_line_endings():
    for name in ("tables.jsonl", "questions.jsonl"):
        content = (FOLDER / name).read_bytes()
        assert b"\r" not in content
        assert content.endswith(b"}\n")


# The dataset


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


def test_facts_are_the_digests_of_the_files(source):
    assert source.facts.files == {
        name: hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()
        for name in ("tables.jsonl", "questions.jsonl")
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


def test_loading_needs_only_the_standard_library():
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from pytest_tablebench.datasets.starter.starter import Starter\n"
        "source = Starter().open(Path('.'))\n"
        "example = source.example(source.example_ids(1)[0])\n"
        "Starter().prompt(example, lambda table: '')\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(names - sys.stdlib_module_names))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(re.findall(r"'([^']+)'", run.stdout))
    assert "pytest_tablebench" in loaded
    assert not loaded & {"pandas", "numpy", "pytest", "_pytest", "litellm"}
