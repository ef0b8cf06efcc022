"""Tables with merged cells and several header lines."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench import Table, TableError
from pytest_tablebench.tables.content import Span

HEADER = ("Region", "2022", "2023")
ROWS = (("North", "", ""), ("Aldermoor", "1", "2"), ("Selby", "3", "4"))
STRUCTURE: dict[str, Any] = {
    "header_rows": [["", "Visitors", ""]],
    "row_headers": 1,
    "row_levels": [0, 1, 1],
    "spans": [(2, 0, 1, 3), (0, 1, 1, 2)],
    "sections": [0],
}
FLAT = Table(HEADER, ROWS)
DEEP = Table(HEADER, ROWS, **STRUCTURE)


def test_structure_is_kept_and_sorted() -> None:
    assert DEEP.header_rows == (("", "Visitors", ""),)
    assert (DEEP.row_headers, DEEP.row_levels) == (1, (0, 1, 1))
    assert DEEP.spans == (Span(0, 1, 1, 2), Span(2, 0, 1, 3))
    assert DEEP.is_structured
    assert not FLAT.is_structured
    assert DEEP != FLAT
    assert hash(DEEP) == hash(Table(HEADER, ROWS, **STRUCTURE))


def test_seeds_do_not_depend_on_the_structure() -> None:
    assert DEEP.as_mapping() == FLAT.as_mapping()


def test_lines_are_those_of_the_sheet() -> None:
    table = Table(HEADER, ROWS, captions=[["Table 1", "", ""]], notes=[["n", "", ""]], **STRUCTURE)
    assert table.lines == (
        ("Table 1", "", ""),
        ("", "Visitors", ""),
        HEADER,
        *ROWS,
        ("n", "", ""),
    )


def test_a_cell_has_a_path() -> None:
    assert DEEP.path(1, 2) == (("North", "Aldermoor"), ("Visitors", "2023"))
    assert FLAT.path(1, 2) == ((), ("2023",))
    with pytest.raises(TableError, match="no cell in row 3, column 0; there are 3 rows"):
        DEEP.path(3, 0)


def test_rearranged_tables_have_no_structure() -> None:
    turned = DEEP.replace(rows=reversed(ROWS))
    assert turned == FLAT.replace(rows=reversed(ROWS))
    assert not turned.is_structured


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"header_rows": [["a"]]}, "header line 1 has 1 cell, the last header line 3"),
        ({"captions": [["a"]]}, "caption 1 has 1 cell, the last header line 3"),
        ({"notes": [[]]}, "note 1 has 0 cells, the last header line 3"),
        ({"sections": [3]}, "sections contains row 3, the table has 3 rows"),
        ({"row_headers": 4}, "row_headers is 4, the table has 3 columns"),
        ({"row_levels": [0]}, "row_levels has 1 entry for 3 rows"),
        ({"spans": [(0, 0, 1, 1)]}, "is not a merged cell inside 5 x 3 cells"),
        ({"spans": [(4, 0, 2, 1)]}, "is not a merged cell inside 5 x 3 cells"),
        ({"spans": [(0, 2, 1, 2)]}, "is not a merged cell inside 5 x 3 cells"),
        ({"spans": [(0, -1, 1, 2)]}, "is not a merged cell inside 5 x 3 cells"),
        ({"spans": [(0, 0, 2, 2), (1, 1, 1, 2)]}, "overlap"),
    ],
)
def test_structure_that_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(TableError, match=message):
        Table(HEADER, ROWS, **{**STRUCTURE, **change})
