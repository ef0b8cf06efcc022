"""Tables from header paths: levels, merged cells, and paths that do not fit the cells."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import serialize
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.hierarchy.paths import table_of_paths
from pytest_tablebench.tables.table import Table


def test_neighbours_with_equal_paths_share_a_cell() -> None:
    table = table_of_paths(
        [["1", "2", "3"], ["4", "5", "6"], ["7", "8", "9"]],
        Table,
        columns=[["Sales", "2023"], ["Sales", "2024"], ["Change"]],
        rows=[["Europe", "France"], ["Europe", "Spain"], ["Total"]],
    )
    assert table.header_rows == (("", "", "Sales", "", "Change"),)
    assert table.header == ("", "", "2023", "2024", "")
    assert table.rows[0] == ("Europe", "France", "1", "2", "3")
    assert table.rows[1] == ("", "Spain", "4", "5", "6")
    assert table.rows[2] == ("Total", "", "7", "8", "9")
    assert set(table.spans) == {
        Span(0, 0, 2, 2),  # the corner
        Span(0, 2, 1, 2),  # Sales
        Span(0, 4, 2, 1),  # Change
        Span(2, 0, 2, 1),  # Europe
        Span(4, 0, 1, 2),  # Total
    }
    assert table.row_headers == 2
    assert table.path(1, 3) == (("Europe", "Spain"), ("Sales", "2024"))


def test_html_has_the_spans() -> None:
    table = table_of_paths([["1", "2"]], Table, columns=[["A", "x"], ["A", "y"]])
    assert '<th colspan="2">A</th>' in serialize(table, "html")


def test_equal_last_headers_remain_two_columns() -> None:
    table = table_of_paths([["1", "2"]], Table, columns=[["A", "x"], ["A", "x"]])
    assert table.header == ("x", "x")
    assert table.spans == (Span(0, 0, 1, 2),)


def test_a_group_and_a_column_with_its_name_are_separate() -> None:
    table = table_of_paths([["1", "2"]], Table, columns=[["A"], ["A", "x"]])
    assert table.header_rows == (("A", "A"),)
    assert table.spans == (Span(0, 0, 2, 1),)


def test_paths_without_cells_and_cells_without_paths_are_filled_with_blanks() -> None:
    table = table_of_paths(
        [["1"], ["2", "3"]], Table, columns=[["a"], ["b"], ["c"]], rows=[["r"], ["s"], ["t"]]
    )
    assert table.header == ("", "a", "b", "c")
    assert table.rows == (("r", "1", "", ""), ("s", "2", "3", ""), ("t", "", "", ""))
    assert table_of_paths([["1", "2"]], Table, columns=[["a"]]).header == ("a", "")


_PATHS = st.lists(st.lists(st.sampled_from(["a", "b", ""]), max_size=3), max_size=5)


@given(columns=_PATHS, rows=_PATHS, cells=st.lists(st.lists(st.just("1"), max_size=6), max_size=5))
def test_any_paths_make_a_valid_table(
    columns: list[list[str]], rows: list[list[str]], cells: list[list[str]]
) -> None:
    table = table_of_paths(cells, Table, columns=columns, rows=rows)
    assert len(table.rows) == max(len(cells), len(rows))
    assert sum(line.count("1") for line in table.rows) == sum(map(len, cells))
    if table.header and table.rows:
        serialize(table, "html")
