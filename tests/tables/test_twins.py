"""Twins of structured tables: parts are swapped, and values keep their headers."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import Table
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.hierarchy.complexity import Complexity, complexity
from pytest_tablebench.tables.hierarchy.paths import one_line
from pytest_tablebench.tables.hierarchy.rearranged import EXCHANGES, is_kept, twin, values
from tests.support.deep_tables import Paths, deep_tables
from tests.support.matrix import reduced
from tests.support.slices import ROOT, needs_slices

TABLE = Table(
    header=["", "2022", "2023", "2022", "2023", "Note"],
    rows=[
        ["North", "", "", "", "", ""],
        ["All", 1, 2, 3, 4, "a"],
        ["Selby", 5, 6, 7, 8, "b"],
        ["Hull", 9, 10, 11, 12, "c"],
        ["South", "", "", "", "", ""],
        ["Hove", 13, 14, 15, 16, "d"],
    ],
    header_rows=[["Place", "Visitors", "", "Nights", "", "Note"]],
    row_headers=1,
    row_levels=[0, 0, 1, 0, 0, 0],
    sections=[0, 4],
    spans=[(0, 0, 2, 1), (0, 1, 1, 2), (0, 3, 1, 2), (4, 1, 1, 2), (4, 3, 1, 2), (0, 5, 2, 1)],
)


def made(exchange: str, table: Table = TABLE) -> Table:
    found = twin(table, exchange, Random(0))
    assert found is not None
    return found


def test_groups_of_columns_are_swapped_with_their_merged_cells() -> None:
    table = made("header_groups")
    assert table.header_rows == (("Place", "Nights", "", "Visitors", "", "Note"),)
    assert table.rows[1] == ("All", 3, 4, 1, 2, "a")
    assert table.spans == TABLE.spans
    assert table.path(1, 1) == TABLE.path(1, 3) == (("North", "All"), ("Nights", "2022"))


def test_sections_are_swapped_with_their_rows() -> None:
    table = made("sections")
    names = [row[0] for row in table.rows]
    assert names == ["South", "Hove", "North", "All", "Selby", "Hull"]
    assert table.sections == (0, 2)
    assert table.row_levels == (0, 0, 0, 0, 1, 0)
    # "Selby" was line 4, where two cells are merged; it is line 6 now.
    assert Span(6, 1, 1, 2) in table.spans
    assert table.path(4, 0).row == ("North", "All", "Selby")


def test_groups_of_rows_are_swapped_within_their_section() -> None:
    names = [row[0] for row in made("row_groups").rows]
    assert names == ["North", "Hull", "All", "Selby", "South", "Hove"]


def test_groups_below_a_heading_over_all_columns_are_swapped() -> None:
    table = Table(
        ["a", "b", "c"],
        [["1", "2", "3"]],
        header_rows=[["All", "", ""], ["one", "", "two"]],
        spans=[(0, 0, 1, 3), (1, 0, 1, 2)],
    )
    assert made("header_groups", table).header == ("c", "a", "b")


def test_empty_columns_between_groups_are_kept() -> None:
    table = Table(
        ["", "a", "b", "", "c"],
        [["r", "1", "2", "", "3"]],
        header_rows=[["", "one", "", "", "two"]],
        row_headers=1,
        spans=[(0, 1, 1, 2)],
    )
    assert made("header_groups", table).header == ("", "c", "", "a", "b")


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_a_table_without_two_different_parts_has_no_twin(exchange: str) -> None:
    assert twin(Table(["a", "b"], [["1", "2"]]), exchange, Random(0)) is None
    equal = Table(
        ["", "x", "y", "x", "y"],
        [["s", "", "", "", ""], ["r", "1", "2", "1", "2"]] * 2,
        header_rows=[["", "G", "", "G", ""]],
        row_headers=1,
        sections=[0, 2],
        spans=[(0, 1, 1, 2), (0, 3, 1, 2)],
    )
    assert twin(equal, exchange, Random(0)) is None


@given(drawn=deep_tables(), seed=st.integers(0, 9))
@pytest.mark.parametrize("exchange", EXCHANGES)
def test_every_value_keeps_its_path(exchange: str, drawn: tuple[Table, Paths], seed: int) -> None:
    table, paths = drawn
    found = twin(table, exchange, Random(seed))
    if found is not None:
        assert values(found) == values(table)
        assert found.lines != table.lines
        assert sorted(map(repr, found.lines[0])) == sorted(map(repr, table.lines[0]))
        known = {tuple(tuple(map(one_line, names)) for names in path) for path in paths}
        width = range(table.row_headers, len(table.header))
        rows = set(range(len(found.rows))) - set(found.sections)
        assert {tuple(found.path(row, column)) for row in rows for column in width} <= known


_FEW = ("food-table02", "health-table24", "labor-table07", "science-table29", "society-table85")


@needs_slices("realhitbench")
def test_twins_of_real_tables_are_read_back() -> None:
    folder = ROOT / "realhitbench" / "data" / "tables"
    exchanged = dict.fromkeys(EXCHANGES, 0)
    files = sorted(folder.glob("*.xlsx"))
    for path in reduced(files, *(folder / f"{stem}.xlsx" for stem in _FEW)):
        table = Table.from_xlsx(path, structure=True)
        assert is_kept(table, table), path.stem
        for exchange in EXCHANGES:
            found = twin(table, exchange, Random(1))
            if found is not None:
                exchanged[exchange] += 1
                assert values(found) == values(table), path.stem
                assert is_kept(table, found), path.stem
    assert all(exchanged.values())


def test_a_twin_that_would_be_read_differently_is_discarded() -> None:
    assert is_kept(TABLE, TABLE)
    assert not is_kept(TABLE, TABLE.replace())  # without merged cells names span other columns


@pytest.mark.parametrize(
    ("table", "expected", "score"),
    [
        (Table(["a", "b"], [["1", "2"]]), (1, 1, 1, 1), 0),
        # Columns: a second level 2, two names over others 2. Rows: a second level 2, one name over
        # others 1, beside the sections' two: 3 in all, 2. Sections: two, 4; merged values 1.
        (TABLE, (5, 5, 6, 1), 36),
        # Three equal tables below each other: 3 for two, 3 more from the third on.
        (
            Table(
                ["a", "b"],
                [["1", "2"], ["a", "b"], ["3", "4"], ["a", "b"], ["5", "6"]],
                notes=[["end", ""]],
            ),
            (1, 1, 2, 7),
            19,
        ),
        # No dimension goes beyond 10: eight sections are 8, captions and notes 2.
        (
            Table(
                ["a", "b"],
                [[f"s{number}", ""] for number in range(8)],
                captions=[["t", ""]],
                notes=[["n", ""]],
                sections=range(8),
            ),
            (1, 1, 10, 1),
            25,
        ),
    ],
)
def test_complexity_is_counted(table: Table, expected: tuple[int, ...], score: int) -> None:
    assert complexity(table) == expected
    assert complexity(table).score == score


def test_complexity_is_described_in_words() -> None:
    said = "complexity 36 of 100 (column header 5, row header 5, partition 6, compound 1)"
    assert str(Complexity(5, 5, 6, 1)) == said
