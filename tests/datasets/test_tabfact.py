"""Reading TabFact, and damaged upstream files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.datasets import Source
from pytest_tablebench.datasets.torr.wikipedia import TabFact
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


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (" a #b\n 1# 2 \n", [[" a ", "b"], [" 1", " 2 "]]),
        # As by the published reader.
        ('a#b\n"1#2"#3\n"4\n5"#6\n"7#8\n9#10\n',
         [["a", "b"], ["1#2", "3"], ["4\n5", "6"], ["7#8\n9#10\n"]]),
        ("a#b\n1\t2#3\n", [["a", "b"], ["1\t2", "3"]]),
        ("a#a#\n1#2#3\n", [["a", "a", ""], ["1", "2", "3"]]),
        ("a#b\n1\n2#3#4\n", [["a", "b"], ["1"], ["2", "3", "4"]]),
        ("a#b\n", [["a", "b"]]),
        ("n/a#none\nnan#null\n", [["n/a", "none"], ["nan", "null"]]),
    ],
    ids=["blanks", "quotes", "tab", "headers", "ragged", "no row", "missing values"],
)  # fmt: skip
def test_cells_are_text_as_written(tmp_path: Path, text: str, rows: list[list[str]]) -> None:
    assert shown(tmp_path, text) == Table(rows[0], rows[1:])


def test_statements_are_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_tablebench.datasets.torr.wikipedia.SOURCE_LIMIT", 20)
    many = {
        "1-1.html.csv": [[f"first {n}" for n in range(19)], [1] * 19, ""],
        "1-2.html.csv": [[f"second {n}" for n in range(3)], [0] * 3, ""],
    }
    source = opened(upstream.tabfact(tmp_path, test=many, train=many))
    ids = source.example_ids(None)
    assert (len(ids), ids[-1]) == (20, "1-2-1")
    assert len(source.pool) == 20


# Damaged files


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
    first, last = [["first", "other"], [1, 0], ""], [["z"], [0], ""]
    test = {"x": None, "1-1.html.csv": first, table_id: entry, "1-3.html.csv": last}
    tables = {"latin.csv": b"a\n\xe4\n", "empty.csv": b""}
    source = opened(upstream.tabfact(tmp_path, test=test, tables=tables))
    assert list(source.example_ids(None)) == ["1-1-1", "1-1-2", "1-3-1"]
    text = next(str(problem) for problem in source.problems if problem.row != 1)
    assert len(source.problems) == 2
    assert text.startswith(f"{TEST}, row 3, field ")
    for word in words:
        assert word in text
    assert "\0" not in text


def test_a_bad_label_loses_one_statement_only(tmp_path: Path) -> None:
    test = {"1-1.html.csv": [["a", "b", "c"], [1, 5, 0], ""]}
    source = opened(upstream.tabfact(tmp_path, test=test))
    # Ids count positions in the file.
    assert list(source.example_ids(None)) == ["1-1-1", "1-1-3"]
