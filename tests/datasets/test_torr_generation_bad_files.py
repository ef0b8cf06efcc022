"""Damaged files of NumericNLG, SciGen and QTSumm are named, and valid rows kept."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.errors import DataError, DataMissing
from tests.support.generation_files import (
    DATASETS,
    N_KEYS,
    N_TEST,
    N_TEST_DESC,
    N_VAL,
    N_VAL_DESC,
    Q_DEV,
    Q_TEST,
    Q_TRAIN,
    S_TEST,
    S_TRAIN,
    Content,
    every,
    ids,
    n_files,
    n_table,
    n_text,
    opened,
    q_files,
    q_row,
    q_table,
    s_files,
    s_row,
)


@every
def test_a_missing_folder_is_named_with_the_command(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match=rf"no data in .*{name}; get it with: "):
        DATASETS[name][0].open(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "gone", "words"),
    [
        ("numericnlg", N_TEST, [N_TEST]),
        ("numericnlg", N_TEST_DESC, [N_TEST_DESC]),
        ("numericnlg", N_VAL, [N_VAL]),
        ("numericnlg", N_VAL_DESC, [N_VAL_DESC]),
        ("scigen", S_TEST, [S_TEST]),
        ("scigen", S_TRAIN, [S_TRAIN]),
        ("qtsumm", Q_TEST, [Q_TEST]),
        ("qtsumm", Q_TRAIN, [Q_DEV]),
    ],
)
def test_a_missing_file_is_named(name: str, gone: str, words: list[str], tmp_path: Path) -> None:
    files = DATASETS[name][1]()
    del files[gone]
    with pytest.raises(DataError) as caught:
        opened(name, tmp_path, files)
    assert not isinstance(caught.value, DataMissing)
    for word in [*words, "get it with"]:
        assert word in str(caught.value)


@every
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('[{"a": [1', r"not valid JSON: .*line 1 column"),
        ("", r"not valid JSON"),
        ("[" * 100_000, r"nested too deeply"),
        ("null", r"must contain (a list|an object) .*not a NoneType"),
        ('"text"', r"must contain (a list|an object) .*not a str"),
        (b'[{"\xff": 1}]', r"not UTF-8"),
    ],
    ids=["cut-off", "empty", "deep", "null", "text", "latin-1"],
)
def test_a_file_that_is_no_dataset_is_refused(
    name: str, content: Content, words: str, tmp_path: Path
) -> None:
    file = DATASETS[name][2]
    files = DATASETS[name][1]() | {file: content}
    with pytest.raises(DataError, match=words) as caught:
        opened(name, tmp_path, files)
    assert Path(file).name in str(caught.value)


def test_a_broken_pool_file_is_named_when_it_is_read(tmp_path: Path) -> None:
    for name, file in (("numericnlg", N_VAL_DESC), ("scigen", S_TRAIN), ("qtsumm", Q_TRAIN)):
        source = opened(name, tmp_path, DATASETS[name][1]() | {file: '{"a'})
        assert ids(source)
        with pytest.raises(DataError, match=rf"{Path(file).name}: not valid JSON"):
            len(source.pool)


NAN = math.nan


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (None, ["'row'", "must be an object"]),
        ([1], ["'row'", "must be an object"]),
        (n_table("X", table_id_paper=None), ["'table_id_paper'", "is missing"]),
        (n_table("X", table_id_paper=NAN), ["'table_id_paper'", "is not text"]),
        (n_table("X", table_id_paper=[1]), ["'table_id_paper'", "is not text"]),
        (n_table("X", caption=NAN), ["'caption'", "is not text"]),
        (n_table("X", caption=None), ["'caption'", "is missing"]),
        (n_table("X", table_html_clean=""), ["'table_html_clean'", "is empty"]),
        (n_table("X", table_html_clean=NAN), ["'table_html_clean'", "is not text"]),
        (n_table("X", table_html_clean="<table></table>"), ["'table_html_clean'", "no <thead>"]),
        (n_table("X", table_html_clean="<thead></thead>"), ["'table_html_clean'", "no <tbody>"]),
        (n_table(N_KEYS[0]), ["'id'", N_KEYS[0], "second time"]),
    ],
)
def test_a_bad_table_of_numericnlg_is_named_and_the_others_kept(
    row: Any, words: list[str], tmp_path: Path
) -> None:
    test = [n_table(N_KEYS[0]), row, n_table(N_KEYS[1])]
    desc = [n_text(key) for key in N_KEYS]
    if isinstance(row, dict) and row["table_id_paper"] == "X":
        desc.append(n_text("X"))
    source = opened("numericnlg", tmp_path, n_files(test=test, desc=desc))
    assert ids(source) == N_KEYS
    [problem] = source.problems
    assert str(problem).startswith(f"{N_TEST}, row 2, field ")
    for word in words:
        assert word in str(problem)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (None, ["'row'", "must be an object"]),
        (n_text("X", description=""), ["'description'", "is empty"]),
        (n_text("X", description=" \n"), ["'description'", "is empty"]),
        (n_text("X", description=NAN), ["'description'", "is not text"]),
        (n_text("X", description=None), ["'description'", "is missing"]),
        (n_text("X", table_id_paper=7), ["'table_id_paper'", "is not text"]),
        (n_text(N_KEYS[0], description="another"), ["'table_id_paper'", "second time"]),
        (n_text("Y"), ["'table_id_paper'", "'Y'", "has no table in", N_TEST]),
    ],
)
def test_a_bad_description_of_numericnlg_is_named_and_the_others_kept(
    row: Any, words: list[str], tmp_path: Path
) -> None:
    desc = [n_text(N_KEYS[0]), row, n_text(N_KEYS[1])]
    test = [n_table(key) for key in N_KEYS]
    if isinstance(row, dict) and row["table_id_paper"] == "X":
        test.insert(0, n_table("X"))
    source = opened("numericnlg", tmp_path, n_files(test=test, desc=desc))
    assert ids(source) == N_KEYS
    assert source.example(N_KEYS[0]).references[0].startswith("In P16-1table_2")
    [problem] = source.problems
    assert str(problem).startswith(f"{N_TEST_DESC}, row 2, field ")
    for word in words:
        assert word in str(problem)


def test_a_table_of_numericnlg_without_description_is_named(tmp_path: Path) -> None:
    test = [n_table("X"), *(n_table(key) for key in N_KEYS)]
    source = opened("numericnlg", tmp_path, n_files(test=test))
    assert ids(source) == N_KEYS
    [problem] = source.problems
    assert str(problem).startswith(f"{N_TEST}, row 1, field 'table_id_paper'")
    assert f"'X' has no description in {N_TEST_DESC}" in str(problem)


NAMES, VALUES = "table_column_names", "table_content_values"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([1], ["'row'", "must be an object"]),
        (None, ["'row'", "must be an object"]),
        (s_row("x", table_caption=NAN), ["'table_caption'", "is not text"]),
        (s_row("x", text=""), ["'text'", "is empty"]),
        (s_row("x", text=NAN), ["'text'", "is not text"]),
        (s_row("x", **{NAMES: None}), [f"'{NAMES}'", "is missing"]),
        (s_row("x", **{NAMES: NAN}), [f"'{NAMES}'", "list of texts"]),
        (s_row("x", **{NAMES: ["a", 1]}), [f"'{NAMES}'", "list of texts"]),
        (s_row("x", **{NAMES: "['a', 1]"}), [f"'{NAMES}'", "list of texts"]),
        (s_row("x", **{VALUES: None}), [f"'{VALUES}'", "is missing"]),
        (s_row("x", **{VALUES: {"a": 1}}), [f"'{VALUES}'", "list of rows"]),
        (s_row("x", **{VALUES: ["ab"]}), [f"'{VALUES}'", "row 1 must be a list"]),
        (s_row("x", **{VALUES: [["a"], [["b"]]]}), [f"'{VALUES}'", "row 2 contains list"]),
        (s_row("x", **{VALUES: "[[1, 2]"}), [f"'{VALUES}'", "not a Python list"]),
        (s_row("x", **{VALUES: "__import__('os')"}), [f"'{VALUES}'", "not a Python list"]),
        (s_row("x", **{VALUES: "[" * 5000}), [f"'{VALUES}'", "not a Python list"]),
        (s_row("x", **{VALUES: "1+" * 90_000 + "1"}), [f"'{VALUES}'", "not a Python list"]),
        (s_row("x", **{VALUES: "-" * 90_000 + "1"}), [f"'{VALUES}'", "not a Python list"]),
        (s_row("x", **{VALUES: "['\0']"}), [f"'{VALUES}'", "not a Python list"]),
        (s_row("x", **{VALUES: "['\ud800']"}), [f"'{VALUES}'", "not a Python list"]),
        (s_row("x", **{VALUES: "1" * 5000}), [f"'{VALUES}'", "not a Python list"]),
        (s_row("x", **{VALUES: "[" + "1," * 150_000}), [f"'{VALUES}'", "longer than"]),
        (s_row("x", **{VALUES: "{1: 2}"}), [f"'{VALUES}'", "list of rows"]),
        (s_row("x", **{VALUES: "[[b'a']]"}), [f"'{VALUES}'", "row 1 contains bytes"]),
    ],
)
def test_a_bad_row_of_scigen_is_named_and_the_others_kept(
    row: Any, words: list[str], tmp_path: Path
) -> None:
    test = {"17": s_row("a"), "18": row, "3": s_row("b")}
    source = opened("scigen", tmp_path, s_files(test=test))
    assert ids(source) == ["17", "3"]
    [problem] = source.problems
    assert str(problem).startswith(f"{S_TEST}, row 2, field ")
    for word in words:
        assert word in str(problem)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (7, ["'row'", "must be an object"]),
        (q_row("x", example_id=None), ["'example_id'", "is missing"]),
        (q_row("x", example_id=""), ["'example_id'", "is empty"]),
        (q_row("x", query=NAN), ["'query'", "is not text"]),
        (q_row("x", query=" "), ["'query'", "is empty"]),
        (q_row("x", summary=NAN), ["'summary'", "is not text"]),
        (q_row("x", summary=""), ["'summary'", "is empty"]),
        (q_row("x", table=None), ["'table'", "is missing"]),
        (q_row("x", table=[["a"]]), ["'table'", "must be an object"]),
        (q_row("x", table={}), ["'table.header'", "list of texts"]),
        (q_row("x", table=q_table(header=["a", NAN])), ["'table.header'", "list of texts"]),
        (q_row("x", table=q_table(rows="ab")), ["'table.rows'", "list of rows"]),
        (q_row("x", table=q_table(rows=[["a"], "b"])), ["'table.rows'", "row 2 must be a list"]),
        (q_row("x", table=q_table(rows=[[{"a": 1}]])), ["'table.rows'", "row 1 contains dict"]),
        (q_row("e-2"), ["'id'", "'e-2'", "second time"]),
    ],
)
def test_a_bad_row_of_qtsumm_is_named_and_the_others_kept(
    row: Any, words: list[str], tmp_path: Path
) -> None:
    test = [q_row("e-2"), row, q_row("e-1")]
    source = opened("qtsumm", tmp_path, q_files(test=test))
    assert ids(source) == ["e-2", "e-1"]
    assert source.example("e-2").question == "Which kiln wins e-2?"
    [problem] = source.problems
    assert str(problem).startswith(f"{Q_TEST}, row 2, field ")
    for word in words:
        assert word in str(problem)


@every
def test_bad_rows_of_the_pool_are_left_out(name: str, tmp_path: Path) -> None:
    files = DATASETS[name][1]()
    file = {"numericnlg": N_VAL, "scigen": S_TRAIN, "qtsumm": Q_TRAIN}[name]
    pool = files[file]
    files[file] = {"bad": None, **pool} if isinstance(pool, dict) else [None, *pool]
    source = opened(name, tmp_path, files)
    source.example_ids(None)
    assert not source.problems
    assert len(source.pool) == 6
    [problem] = source.problems
    assert str(problem).startswith(f"{file}, row 1, field 'row'")
