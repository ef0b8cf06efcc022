"""Damaged and large files in TURL's layout, and reading JSON lists item by item."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.config.compat import COMPAT_MODES
from pytest_tablebench.datasets.files import json_items
from pytest_tablebench.errors import DataError
from tests.support.turl_files import TEST, cell, opened, row, turl

# Damaged files


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "contains no type"),
        ("\n\n", "contains no type"),
        ("0\ta.b\nc.d\n", r"type_vocab\.txt, line 2: must contain a number, a tab and a type"),
        ("x\ta.b\n", "line 1"),
        ("0\t \n", "line 1"),
        (b"0\t\xff\n", "not UTF-8"),
    ],
)
def test_a_damaged_vocabulary_is_named(tmp_path: Path, content: str | bytes, words: str) -> None:
    turl(tmp_path, content, test=[row()])
    with pytest.raises(DataError, match=words):
        opened(tmp_path)


def test_a_vocabulary_with_other_line_endings_is_read(tmp_path: Path) -> None:
    source = opened(turl(tmp_path, "0\ta.b\r\n1\tc.d\r\n", test=[row()]))
    assert source.example("7-1-1").inputs["vocab"] == ["a.b", "c.d"]


@pytest.mark.parametrize("content", ["", "{}", "null", '{"a": [1]}', "version https://git-lfs"])
def test_a_file_without_a_list_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(DataError, match=rf"{TEST}: must contain a JSON list"):
        opened(turl(tmp_path, test=content))


def test_a_truncated_file_gives_its_whole_rows(tmp_path: Path) -> None:
    whole = json.dumps([row("7-1"), row("7-2"), row("7-3")])
    source = opened(turl(tmp_path, test=whole[: whole.index("7-3") + 40]))
    assert list(source.example_ids(None)) == ["7-1-1", "7-1-2", "7-2-1", "7-2-2"]
    [problem] = source.problems
    assert str(problem).startswith(f"{TEST}, row 3, field 'row': ")
    assert "item 3" in str(problem)
    assert "fetch the file again" in str(problem)


def changed(position: int, value: Any) -> list[Any]:
    content = row("7-2")
    content[position] = value
    return content


@pytest.mark.parametrize(
    ("content", "field", "words"),
    [
        (None, "row", "is not [table id, page title"),
        ({"table": 1}, "row", "is not ["),
        (row("7-2")[:7], "row", "is not ["),
        (changed(0, 7), "table id", "not text"),
        (changed(0, "7-1"), "table id", "'7-1' occurs a second time"),
        (changed(1, None), "page title", "not text"),
        (changed(3, ["a"]), "section title", "not text"),
        (changed(4, 1), "caption", "not text"),
        (changed(5, "Ship"), "headers", "not a list of texts"),
        (changed(5, ["Ship", None]), "headers", "not a list of texts"),
        (changed(5, ["Ship"]), "columns", "each of 1 headers"),
        (changed(6, {"0": []}), "columns", "each of 2 headers"),
        (changed(6, [[], "table"]), "column 2", "entry 1 is not [[row, column]"),
        (changed(6, [[cell(0, 0, "a"), [[1, 0]]], []]), "column 1", "entry 2 is not"),
        (changed(6, [[[["0", 0], [1, "a"]]], []]), "column 1", "entry 1"),
        (changed(6, [[[[-1, 0], [1, "a"]]], []]), "column 1", "entry 1"),
        (changed(6, [[[[True, 0], [1, "a"]]], []]), "column 1", "entry 1"),
        (changed(6, [[[[0, 0], [1, 7]]], []]), "column 1", "entry 1"),
        (changed(7, [["boats.ship"]]), "types", "each of 2 headers"),
        (changed(7, None), "types", "each of 2 headers"),
    ],
)
def test_a_bad_row_is_named_and_the_others_are_kept(
    tmp_path: Path, content: Any, field: str, words: str
) -> None:
    for compat in COMPAT_MODES:
        source = opened(turl(tmp_path, test=[row("7-1"), content, row("7-3")]), compat)
        assert list(source.example_ids(None)) == ["7-1-1", "7-1-2", "7-3-1", "7-3-2"]
        [problem] = source.problems
        assert str(problem).startswith(f"{TEST}, row 2, field {field!r}: ")
        assert words in str(problem)


@pytest.mark.parametrize("types", [[], "boats.ship", [""], [7], None])
def test_bad_types_lose_one_column_only(tmp_path: Path, types: Any) -> None:
    content = row("7-1")
    content[7][0] = types
    source = opened(turl(tmp_path, test=[content]))
    assert list(source.example_ids(None)) == ["7-1-2"]  # the id keeps the number of the column
    [problem] = source.problems
    assert str(problem) == f"{TEST}, row 1, field 'types of column 1': is not a list of types"


# Large files


def test_columns_of_a_larger_file_are_read_up_to_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_tablebench.datasets.torr.turl_cta.SOURCE_LIMIT", 20)
    rows = [row(f"7-{n}") for n in range(12)]
    source = opened(turl(tmp_path, test=rows, train=rows))
    ids = source.example_ids(None)
    assert (len(ids), ids[-1]) == (20, "7-9-2")
    assert len(source.pool) == 20


def test_only_the_requested_rows_of_a_file_are_read(tmp_path: Path) -> None:
    # The text after the first rows is no JSON, so reading it would be an error.
    text = json.dumps([row(f"7-{n}") for n in range(2_000)])
    source = opened(turl(tmp_path, test=text[:-1] + ", {{{"))
    assert len(source.example_ids(100)) == 100
    assert source.example("7-20-1").id == "7-20-1"
    assert not source.problems
    assert len(source.example_ids(None)) == 4_000
    assert len(source.problems) == 1


@given(
    st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2)
            ),
            max_leaves=6,
        ),
        max_size=5,
    ),
    st.integers(1, 9),
    st.sampled_from([None, 1]),
)
def test_items_of_a_list_equal_those_of_the_parsed_file(
    tmp_path_factory: pytest.TempPathFactory, items: list[Any], chunk: int, indent: int | None
) -> None:
    path = tmp_path_factory.getbasetemp() / "items.json"
    path.write_text(json.dumps(items, indent=indent, ensure_ascii=False) + "\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pytest_tablebench.datasets.files._CHUNK", chunk)
        assert list(json_items(path)) == items


@pytest.mark.parametrize(
    ("content", "number"),
    [
        (b"[1, 2", 2), (b"[1 2]", 2), (b"[1,, 2]", 2), (b"[,1]", 1), (b"[1,]", 2), (b"[", 1),
        (b"[[1], [2", 2), (b'[["a"], ["b]]', 2), (b"[" + b"9" * 5000 + b"]", 1),
    ],
)  # fmt: skip
def test_a_damaged_list_is_refused_with_the_number_of_the_item(
    tmp_path: Path, content: bytes, number: int
) -> None:
    (tmp_path / "items.json").write_bytes(content)
    items = json_items(tmp_path / "items.json")
    found = list(islice(items, number - 1))
    with pytest.raises(
        DataError, match=rf"items\.json: item {number} is not valid JSON or incomplete"
    ):
        next(items)
    assert len(found) == number - 1


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"[" * 100_000, "nested too deeply"), (b'["\xff"]', "not UTF-8"), (None, "cannot be read")],
)
def test_a_list_file_that_cannot_be_read_is_refused(
    tmp_path: Path, content: bytes | None, words: str
) -> None:
    path = tmp_path / "items.json"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(DataError, match=rf"items\.json.*{words}"):
        list(json_items(path))
