"""The class of tables."""

from __future__ import annotations

import dataclasses

import pytest

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.table import Table


def test_later_changes_of_the_lists_do_not_change_the_table():
    header, first = ["a", "b"], [1, 2]
    rows = [first]
    table = Table(header, rows)
    header.append("c")
    first[0] = 9
    rows.append([3, 4])
    assert table == Table(("a", "b"), ((1, 2),))


def test_changes_of_the_mapping_do_not_change_the_table():
    table = Table(["a"], [[1]])
    mapping = table.as_mapping()
    mapping["header"].append("b")
    mapping["rows"][0][0] = 2
    assert table.as_mapping() == {"header": ["a"], "rows": [[1]]}


def test_fields_cannot_be_assigned():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Table(["a"], [[1]]).header = ("b",)  # type: ignore[misc]


def test_any_sequence_of_sequences_is_accepted():
    expected = Table(("a", "b"), ((1, 2), (3, 4)))
    assert Table(iter("ab"), (iter(row) for row in ([1, 2], [3, 4]))) == expected
    assert isinstance(expected.header, tuple)
    assert all(isinstance(row, tuple) for row in expected.rows)


@pytest.mark.parametrize("bad", ["ab", b"ab", {"a": 1}, None, 5], ids=repr)
def test_a_header_that_is_no_list_is_refused(bad):
    with pytest.raises(TableError, match=rf"header must be a list, not {type(bad).__name__}"):
        Table(bad, [])


@pytest.mark.parametrize("bad", ["ab", b"ab", {"a": 1}, None, 5], ids=repr)
def test_rows_that_are_no_list_are_refused(bad):
    with pytest.raises(TableError, match=rf"rows must be a list, not {type(bad).__name__}"):
        Table(["a", "b"], bad)


@pytest.mark.parametrize("bad", ["ab", b"ab", {"a": 1}, None, 5], ids=repr)
def test_a_row_that_is_no_list_is_refused_by_number(bad):
    with pytest.raises(
        TableError,
        match=rf"table 't\.csv': row 2 must be a list of cells, not {type(bad).__name__}",
    ):
        Table(["a", "b"], [[1, 2], bad], name="t.csv")


def test_cells_keep_their_type():
    [row] = Table(list("abcdef"), [[1, 1.0, "1", True, None, [1]]]).rows
    assert [type(cell) for cell in row] == [int, float, str, bool, type(None), list]


def test_the_name_is_used_only_in_messages():
    assert Table(["a"], [[1]], name="x") == Table(["a"], [[1]], name="y")
    assert Table(["a"], [[1]], "x") != Table(["a"], [[1]], "y")


def test_the_label_is_the_name_else_the_title_else_the_columns():
    assert Table(["a"], [], "title", name="file.csv").label == "table 'file.csv'"
    assert Table(["a"], [], "title").label == "table 'title'"
    assert Table(["a", 2], []).label == "table with columns ['a', 2]"
    assert Table(["a", "b", "c", "d"], []).label == "table with columns ['a', 'b', 'c', …]"
    assert len(Table(["x" * 1000], []).label) < 80


def test_ragged_rows_are_kept_and_named_if_they_matter():
    table = Table(["a", "b"], [[1, 2], [3], [4, 5, 6]], name="t")
    assert table.rows[1:] == ((3,), (4, 5, 6))
    with pytest.raises(TableError, match=r"table 't': row 2 has 1 cell, the header has 2; x needs"):
        table.require_rectangular("x")
    Table(["a", "b"], [[1, 2]]).require_rectangular("x")


def test_duplicate_and_empty_headers_are_kept():
    assert Table(["a", "a", ""], [[1, 2, 3]]).header == ("a", "a", "")
    assert Table([], []).shape == (0, 0)
    assert Table([], [[]]).shape == (1, 0)


def test_replace_keeps_the_other_fields():
    table = Table(["a"], [[1]], "title", name="name")
    changed = table.replace(rows=[[2], [3]])
    assert (changed.header, changed.rows) == (("a",), ((2,), (3,)))
    assert (changed.title, changed.name) == ("title", "name")
    assert table.replace(header=["b"]) == Table(["b"], [[1]], "title")
