"""Perturbations of structured tables keep the headers of each value."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import Table, perturb
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.hierarchy.paths import expanded, one_line
from pytest_tablebench.tables.perturbations import GRID
from tests.support.deep_tables import Paths, deep_tables
from tests.support.slices import ROOT, needs_slices

REAL = ROOT / "realhitbench" / "data" / "tables"


def facts(table: Table, *, turned: bool = False) -> Counter[object]:
    """Count each value with the names of its row and column; blank rows have none."""
    first = len(table.captions) + len(table.header_rows) + 1
    lines = expanded(table)
    found: Counter[object] = Counter()
    for row in range(len(table.rows)):
        if row in table.sections or not any(map(one_line, lines[first + row])):
            continue
        for column in range(table.row_headers, len(table.header)):
            path = table.path(row, column)
            value = one_line(lines[first + row][column])
            if value:
                found[value, *(reversed(path) if turned else path)] += 1
    return found


@given(drawn=deep_tables(), seed=st.integers(0, 9))
@pytest.mark.parametrize("name", GRID)
def test_every_value_keeps_its_path(name: str, drawn: tuple[Table, Paths], seed: int) -> None:
    table = drawn[0]
    assert facts(perturb(table, name, seed=seed), turned=name == "transpose") == facts(table)


@needs_slices("realhitbench")
@pytest.mark.parametrize("name", GRID[1:])
def test_every_value_of_a_real_table_keeps_its_path(name: str) -> None:
    for stem in sorted(path.stem for path in REAL.glob("*.xlsx")):
        table = Table.from_xlsx(REAL / f"{stem}.xlsx", structure=True)
        found = facts(perturb(table, name), turned=name == "transpose")
        assert found == facts(table), stem


TABLE = Table(
    header=["", "2022", "2023", "Note"],
    rows=[
        ["North", "", "", ""],
        ["All", 1, 2, "a"],
        ["Selby", 3, 4, "b"],
        ["Hull", 5, 6, "c"],
        ["South", "", "", ""],
        ["Hove", 7, 8, "d"],
    ],
    header_rows=[["Place", "Visitors", "", "Note"]],
    row_headers=1,
    row_levels=[0, 0, 1, 0, 0, 0],
    sections=[0, 4],
    spans=[(0, 0, 2, 1), (0, 1, 1, 2)],
)


def test_rows_move_within_their_section() -> None:
    orders = {
        tuple(row[0] for row in perturb(TABLE, "shuffle_rows", seed=n).rows) for n in range(9)
    }
    rest = ("South", "Hove")
    assert orders == {
        ("North", "All", "Selby", "Hull", *rest),
        ("North", "Hull", "All", "Selby", *rest),
    }


def test_columns_move_with_their_name() -> None:
    headers = {perturb(TABLE, "shuffle_cols", seed=n).header for n in range(40)}
    assert headers == {
        ("", "2022", "2023", "Note"),
        ("", "2023", "2022", "Note"),
        ("", "Note", "2022", "2023"),
        ("", "Note", "2023", "2022"),
    }


def test_a_transposed_table_has_the_row_names_as_headers() -> None:
    table = perturb(TABLE, "transpose")
    assert table.lines == (
        ("Place", "", "North", "", "", "South"),
        ("", "", "All", "All", "Hull", "Hove"),
        ("", "", "", "Selby", "", ""),
        ("Visitors", "2022", 1, 3, 5, 7),
        ("", "2023", 2, 4, 6, 8),
        ("Note", "Note", "a", "b", "c", "d"),
    )
    assert table.row_headers == 2
    assert table.spans == (
        Span(0, 0, 3, 2),
        Span(0, 2, 1, 3),
        Span(1, 2, 2, 1),
        Span(1, 4, 2, 1),
        Span(1, 5, 2, 1),
        Span(3, 0, 2, 1),
    )


def test_empty_rows_do_not_split_indented_rows() -> None:
    for seed in range(20):
        rows = [row[0] for row in perturb(TABLE, "insert_empty_rows", seed=seed).rows]
        assert rows[rows.index("All") + 1] == "Selby"
        assert rows.count("") == 2
