"""Files of TableBench that are missing, damaged or long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.datasets.torr.tablebench import split_lottery
from pytest_tablebench.errors import DataError, DataMissing
from tests.support.tablebench_files import (
    DP,
    PLAIN,
    many,
    numbers,
    opened,
    record,
    with_formatter,
    with_instruction,
    written,
)


def test_a_missing_folder_or_file_is_named_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=r"no data in .*tablebench.*tablebench pull tablebench"):
        opened(tmp_path / "tablebench")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DataError, match=r"lacks TableBench_DP\.jsonl \(it contains notes\.txt\)"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("version https://git-lfs.github.com/spec/v1", "not valid JSON"),
        ("[1]", "contains list, not an object"),
        ('{"a": 1}', "None is not one of DataAnalysis, FactChecking"),
    ],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, line: str, words: str) -> None:
    written(tmp_path, plain=[line])
    with pytest.raises(DataError) as caught:
        opened(tmp_path)
    text = str(caught.value)
    assert "no usable row of qtype FactChecking in TableBench.jsonl" in text
    assert f"{PLAIN}, row 1, " in text
    assert words in text
    assert "tablebench pull tablebench" in text


def test_a_file_without_rows_of_the_kind_is_refused(tmp_path: Path) -> None:
    written(tmp_path, plain=many(record))
    with pytest.raises(
        DataError, match=r"no usable row of qtype DataAnalysis in TableBench\.jsonl;"
    ):
        opened(tmp_path, "tablebench_da")


LINE = json.dumps(record(2))


@pytest.mark.parametrize(
    ("bad", "field", "words"),
    [
        (LINE[: len(LINE) // 2], "line", "not valid JSON, perhaps cut off"),
        ("[" * 100_000, "line", "nested too deeply"),
        ("7", "line", "contains int, not an object"),
        (record(2, id=...), "id", "is missing"),
        (record(2, id=7), "id", "is not text"),
        (record(2, qtype="Chatting"), "qtype", "'Chatting' is not one of DataAnalysis"),
        (record(2) | {"qtype": ["FactChecking"]}, "qtype", "is not one of"),
        (record(2, qsubtype=...), "qsubtype", "is missing"),
        (record(2, question=" "), "question", "is empty"),
        (record(2, answer=...), "answer", "is missing"),
        (record(2, answer=2), "answer", "is not text"),
        (record(2, table=...), "table", "is not {columns, data}"),
        (record(2, table=[["a"]]), "table", "is not {columns, data}"),
        (record(2, table="a|b"), "table", "not valid JSON"),
        (record(2, table='["a"]'), "table", "contains list, not an object"),
        (record(2, table={"columns": ["a"]}), "table", "is not {columns, data}"),
        (record(2, table={"columns": "ab", "data": []}), "table.columns", "a list of texts"),
        (record(2, table={"columns": [1], "data": []}), "table.columns", "a list of texts"),
        (record(2, table={"columns": ["a"], "data": {}}), "table.data", "a list of rows"),
        (
            record(2, table={"columns": ["a"], "data": [[1], "x"]}),
            "table.data",
            "row 2 must be a list",
        ),
        (
            record(2, table={"columns": ["a"], "data": [[[1]]]}),
            "table.data",
            "row 1 contains list, not a single value",
        ),
    ],
)
def test_a_bad_row_is_named_and_the_others_are_kept(
    tmp_path: Path, bad: Any, field: str, words: str
) -> None:
    rows: list[Any] = [record(1), bad, *many(record, 30)[2:]]
    source = opened(written(tmp_path, plain=rows))
    [problem] = source.problems
    text = str(problem)
    assert text.startswith(f"{PLAIN}, row 2, field {field!r}: ")
    assert words in text
    tests, pool = numbers(source)
    assert tests
    assert pool
    assert 2 not in tests + pool


@pytest.mark.parametrize(
    ("make", "changes", "field", "words"),
    [
        (with_formatter, {"answer_formatter": ...}, "answer_formatter", "is missing"),
        (with_formatter, {"answer_formatter": ""}, "answer_formatter", "is empty"),
        (with_formatter, {"instruction_type": ...}, "instruction_type", "is missing or not text"),
        (with_instruction, {"instruction": ...}, "instruction", "is missing"),
        (
            with_instruction,
            {"instruction": "Read."},
            "instruction",
            "no part that describes the form",
        ),
        (
            with_instruction,
            {"instruction": "a\n\n\n \n\n\nb"},
            "instruction",
            "no part that describes the form",
        ),
    ],
)
def test_a_row_with_a_different_layout_is_named(
    tmp_path: Path, make: Any, changes: dict[str, Any], field: str, words: str
) -> None:
    rows = many(make)
    rows[1] = make(2)
    for key, value in changes.items():
        if value is ...:
            del rows[1][key]
        else:
            rows[1][key] = value
    source = opened(written(tmp_path, dp=rows))
    [problem] = source.problems
    assert str(problem).startswith(f"{DP}, row 2, field {field!r}: ")
    assert words in str(problem)


def test_an_unknown_example_id_is_refused(tmp_path: Path) -> None:
    source = opened(written(tmp_path, plain=many(record)))
    shown = source.pool[0].id
    for name in ("nobody", shown):  # a demonstration is no example
        with pytest.raises(DataError, match=rf"the test part of .* '{name}'"):
            source.example(name)


def test_rows_are_read_up_to_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_tablebench.datasets.torr._tablebench_files.SOURCE_LIMIT", 40)
    tests, pool = numbers(opened(written(tmp_path, plain=many(record, 45))))
    assert max(tests + pool) <= 40
    assert len(tests) + len(pool) + split_lottery(40).count("validation") == 40
