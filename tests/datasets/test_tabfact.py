"""Reading TabFact, and damaged upstream files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.datasets import Source
from pytest_tablebench.datasets.torr.wikipedia import TabFact
from pytest_tablebench.errors import DataError, DataMissing
from pytest_tablebench.tables.table import Table
from tests.support import upstream

TEST = "tokenized_data/test_examples.json"


def opened(folder: Path) -> Source:
    return TabFact().open(folder)


def shown(folder: Path, text: str | bytes) -> Table:
    upstream.tabfact(
        folder, test={"9-9.html.csv": [["yes"], [1], ""]}, tables={"9-9.html.csv": text}
    )
    source = opened(folder)
    [example_id] = source.example_ids(None)
    table = source.example(example_id).inputs["table"]
    assert isinstance(table, Table)
    return table


def test_an_example_has_the_content_of_the_files(tmp_path: Path) -> None:
    source = opened(upstream.tabfact(tmp_path))
    assert list(source.example_ids(None)) == ["1-1-1", "1-1-2", "1-2-1"]
    assert list(source.example_ids(2)) == ["1-1-1", "1-1-2"]
    example = source.example("1-1-2")
    assert example.inputs == {
        "table": Table(["ship", "year"], [["gull", "1901"], ["tern", "1907"]]),
        "statement": "tern is from 1901",
    }
    assert list(example.inputs) == ["table", "statement"]
    assert (example.references, example.target) == (("refuted",), "refuted")
    assert source.example("1-1-1").references == ("entailed",)
    assert not source.problems
    assert not source.facts.notes
    assert [source.pool[n].target for n in range(len(source.pool))] == [
        "entailed", "refuted", "refuted", "entailed", "entailed", "refuted",
    ]  # fmt: skip


def test_the_validation_file_replaces_a_missing_training_file_with_a_note(tmp_path: Path) -> None:
    source = opened(upstream.tabfact(tmp_path, pool="val"))
    assert len(source.pool) == 6
    [note] = source.facts.notes
    assert "validation" in note
    assert set(source.facts.files) == {TEST, "tokenized_data/val_examples.json"}


def test_cells_are_not_stripped(tmp_path: Path) -> None:
    assert shown(tmp_path, " a #b\n 1# 2 \n") == Table([" a ", "b"], [[" 1", " 2 "]])


def test_quotes_are_read_as_by_the_published_reader(tmp_path: Path) -> None:
    table = shown(tmp_path, 'a#b\n"1#2"#3\n"4\n5"#6\n"7#8\n9#10\n')
    assert table == Table(["a", "b"], [["1#2", "3"], ["4\n5", "6"], ["7#8\n9#10\n"]])


def test_tabs_inside_cells_are_kept(tmp_path: Path) -> None:
    assert shown(tmp_path, "a#b\n1\t2#3\n") == Table(["a", "b"], [["1\t2", "3"]])


def test_repeated_headers_ragged_rows_and_missing_rows_are_read(tmp_path: Path) -> None:
    assert shown(tmp_path / "1", "a#a#\n1#2#3\n") == Table(["a", "a", ""], [["1", "2", "3"]])
    assert shown(tmp_path / "2", "a#b\n1\n2#3#4\n").rows == (("1",), ("2", "3", "4"))
    assert shown(tmp_path / "3", "a#b\n") == Table(["a", "b"], [])


def test_words_for_missing_values_are_text(tmp_path: Path) -> None:
    table = shown(tmp_path, "n/a#none\nnan#null\n")
    assert table == Table(["n/a", "none"], [["nan", "null"]])


def test_10000_statements_are_read(tmp_path: Path) -> None:
    many = {
        "1-1.html.csv": [[f"first {n}" for n in range(9_999)], [1] * 9_999, ""],
        "1-2.html.csv": [[f"second {n}" for n in range(3)], [0] * 3, ""],
    }
    source = opened(upstream.tabfact(tmp_path, test=many, train=many))
    ids = source.example_ids(None)
    assert (len(ids), ids[-1]) == (10_000, "1-2-1")
    assert len(source.pool) == 10_000


# Damaged files


def test_a_missing_folder_is_named_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=r"no data in .*tabfact.*tablebench pull tabfact "):
        opened(tmp_path / "tabfact")


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        (TEST, TEST),
        ("tokenized_data/train_examples.json", "tokenized_data/val_examples.json"),
        ("data/all_csv", "data/all_csv"),
    ],
)
def test_a_missing_file_is_named(tmp_path: Path, gone: str, words: str) -> None:
    path = upstream.tabfact(tmp_path) / gone
    if path.is_dir():
        path.rename(tmp_path / "elsewhere")
    else:
        path.unlink()
    with pytest.raises(DataError) as caught:
        opened(tmp_path)
    assert not isinstance(caught.value, DataMissing)
    assert words in str(caught.value)
    assert "tablebench pull tabfact" in str(caught.value)


def test_the_folder_of_another_dataset_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"lacks .*contains csv, data.*another dataset"):
        opened(upstream.wikitq(tmp_path))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"1-1.html.csv": [["a"], [1', r"test_examples\.json: not valid JSON: .*line 1 column"),
        ("", r"test_examples\.json: not valid JSON"),
        ("[" * 100_000, r"test_examples\.json: .*nested too deeply"),
        ([["a"], [1]], r"test_examples\.json: must contain an object .*not a list"),
        ("null", r"must contain an object .*not a NoneType"),
        (b'{"\xff": 1}', r"test_examples\.json: not UTF-8"),
    ],
    ids=["cut-off", "empty", "deep", "list", "null", "latin-1"],
)
def test_a_file_that_is_no_dataset_is_refused(tmp_path: Path, content: Any, words: str) -> None:
    upstream.tabfact(tmp_path, test=content)
    with pytest.raises(DataError, match=words):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("table_id", "entry", "words"),
    [
        ("1-2.html.csv", {"statements": ["a"]}, ["'entry'", "[statements, labels, caption]"]),
        ("1-2.html.csv", [["a"]], ["'entry'"]),
        ("1-2.html.csv", ["a", [1]], ["'entry'"]),
        ("1-2.html.csv", None, ["'entry'"]),
        ("1-2.html.csv", [["a", "b"], [1], ""], ["'labels'", "1 for 2 statements"]),
        ("1-2.html.csv", [["a"], [1, 0], ""], ["'labels'", "2 for 1 statements"]),
        ("1-2.html.csv", [["a"], [2], ""], ["'label 1'", "neither 0 nor 1"]),
        ("1-2.html.csv", [["a"], [-1], ""], ["'label 1'", "neither 0 nor 1"]),
        ("1-2.html.csv", [["a"], ["1"], ""], ["'label 1'", "neither 0 nor 1"]),
        ("1-2.html.csv", [["a"], [True], ""], ["'label 1'", "neither 0 nor 1"]),
        ("1-2.html.csv", [["a"], [1.0], ""], ["'label 1'", "neither 0 nor 1"]),
        ("1-2.html.csv", [["a"], [None], ""], ["'label 1'", "neither 0 nor 1"]),
        ("1-2.html.csv", [["a"], [[1]], ""], ["'label 1'", "neither 0 nor 1"]),
        ("1-2.html.csv", [[7], [1], ""], ["'statement 1'", "is not text"]),
        ("1-2.html.csv", [["  "], [1], ""], ["'statement 1'", "is not text"]),
        ("1-77.html.csv", [["a"], [1], ""], ["'table id'", "1-77.html.csv"]),
        ("../../../etc/passwd", [["a"], [1], ""], ["'table id'", "leads out of"]),
        ("/etc/passwd", [["a"], [1], ""], ["'table id'"]),
        ("bad\0name", [["a"], [1], ""], ["'table id'"]),
        ("a" * 5000, [["a"], [1], ""], ["'table id'"]),
        ("latin.csv", [["a"], [1], ""], ["'table id'", "latin.csv", "not UTF-8"]),
        ("empty.csv", [["a"], [1], ""], ["'table id'", "empty.csv", "is empty"]),
    ],
)
def test_a_bad_entry_is_named_and_the_others_are_kept(
    tmp_path: Path, table_id: str, entry: Any, words: list[str]
) -> None:
    # The number counts malformed entries before it and not the statements of an entry.
    test = {"1-1.html.csv": [["first"], [1], ""], table_id: entry, "1-3.html.csv": [["z"], [0], ""]}
    tables = {"latin.csv": b"a\n\xe4\n", "empty.csv": b""}
    source = opened(upstream.tabfact(tmp_path, test=test, tables=tables))
    assert list(source.example_ids(None)) == ["1-1-1", "1-3-1"]
    [problem] = source.problems
    text = str(problem)
    assert text.startswith(f"{TEST}, row 2, field ")
    for word in words:
        assert word in text
    assert "\0" not in text


def test_the_number_of_a_row_counts_bad_rows_too(tmp_path: Path) -> None:
    test = {"x": None, "1-77.html.csv": [["a"], [1], ""], "1-1.html.csv": [["first"], [1], ""]}
    source = opened(upstream.tabfact(tmp_path, test=test))
    assert list(source.example_ids(None)) == ["1-1-1"]
    assert sorted(str(problem).split(", field")[0] for problem in source.problems) == [
        f"{TEST}, row 1",
        f"{TEST}, row 2",
    ]


def test_a_bad_label_loses_one_statement_only(tmp_path: Path) -> None:
    test = {"1-1.html.csv": [["a", "b", "c"], [1, 5, 0], ""]}
    source = opened(upstream.tabfact(tmp_path, test=test))
    # Ids count positions in the file.
    assert list(source.example_ids(None)) == ["1-1-1", "1-1-3"]


def test_a_bad_table_of_the_pool_is_left_out(tmp_path: Path) -> None:
    train = {**upstream.TABFACT_TRAIN, "1-9.html.csv": [["a"], [1], ""]}
    for content in (None, b"a\n\xe4\n", b""):
        tables = {} if content is None else {"1-9.html.csv": content}
        source = opened(upstream.tabfact(tmp_path, train=train, tables=tables))
        source.example_ids(None)
        assert not source.problems
        assert len(source.pool) == 6
        assert {source.pool[n].question for n in range(6)}.isdisjoint({"a"})
        [problem] = source.problems
        assert "1-9.html.csv" in str(problem)
        assert str(problem).startswith("tokenized_data/train_examples.json, row 2, ")


def test_of_two_entries_with_one_table_id_the_last_counts(tmp_path: Path) -> None:
    # Python keeps the last of two equal names in a JSON object.
    text = json.dumps(upstream.TABFACT_TEST)
    doubled = text[:-1] + ', "1-2.html.csv": [["other"], [0], ""]}'
    source = opened(upstream.tabfact(tmp_path, test=doubled))
    assert list(source.example_ids(None)) == ["1-1-1", "1-1-2", "1-2-1"]
    assert source.example("1-2-1").question == "other"
