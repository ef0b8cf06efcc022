"""Written tables are read back: generated tables, and real tables of the benchmark."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given

from pytest_tablebench import Table, TableError, serialize
from pytest_tablebench.tables.hierarchy.paths import one_line
from tests.support.deep_tables import Paths, as_text, deep_tables
from tests.support.slices import ROOT, needs_slices

REAL = ROOT / "realhitbench" / "data"
STEMS = sorted(path.stem for path in (REAL / "tables").glob("*.xlsx"))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("books") / "some.xlsx"


@given(drawn=deep_tables())
def test_a_generated_table_is_read_back_from_html(drawn: tuple[Table, Paths]) -> None:
    table = as_text(drawn[0])
    assert Table.from_html(serialize(table, "html"), structure=True, marks=False) == table


@given(drawn=deep_tables())
def test_a_generated_table_is_read_back_from_a_workbook(
    file: Path, drawn: tuple[Table, Paths]
) -> None:
    drawn[0].to_xlsx(file)
    assert Table.from_xlsx(file, structure=True) == drawn[0]


@given(drawn=deep_tables())
def test_every_cell_of_a_generated_table_has_its_path(drawn: tuple[Table, Paths]) -> None:
    table, paths = drawn
    found = [
        (path.row, path.column)
        for row in range(len(table.rows))
        for path in (table.path(row, column) for column in range(len(table.header)))
        if path.column
    ]
    assert found
    wanted = dict.fromkeys(
        (tuple(map(one_line, row)), tuple(map(one_line, column))) for row, column in paths if column
    )
    assert set(wanted) <= set(found)
    assert {row for row, _ in found} == {row for row, _ in wanted}


def both(stem: str) -> Iterator[Table]:
    yield Table.from_xlsx(REAL / "tables" / f"{stem}.xlsx", structure=True)
    yield Table.from_html(REAL / "html" / f"{stem}.html", structure=True)


def parts(table: Table) -> dict[str, object]:
    """Return the parts of a table that do not depend on number formats."""
    labels = [[one_line(cell) for cell in line] for line in (*table.header_rows, table.header)]
    return {
        "labels": labels,
        "captions": len(table.captions),
        "notes": len(table.notes),
        "shape": table.shape,
        "row_headers": table.row_headers,
        "levels": table.row_levels,
        "sections": table.sections,
        "spans": table.spans,
    }


def rounded(table: Table) -> list[list[object]]:
    """Return the lines with floats of 12 digits, because a workbook keeps fewer than Python."""
    return [
        [float(f"{cell:.12g}") if isinstance(cell, float) else cell for cell in line]
        for line in table.lines
    ]


@needs_slices("realhitbench")
@pytest.mark.parametrize("stem", STEMS)
def test_a_real_table_is_read_back(file: Path, stem: str) -> None:
    book, page = both(stem)
    if stem != "society-table20":  # its page has a merged cell more than its workbook
        assert parts(book) == parts(page)
    book.to_xlsx(file)
    again = Table.from_xlsx(file, structure=True)
    assert parts(again) == parts(book)
    assert rounded(again) == rounded(book)
    assert Table.from_html(serialize(page, "html"), structure=True) == page


def test_text_remains_text_in_a_workbook(file: Path) -> None:
    table = Table(["a", "b"], [["=1+1", 2], ["#REF!", True]], row_headers=1)
    table.to_xlsx(file)
    assert Table.from_xlsx(file, structure=True) == table


def test_text_that_no_sheet_can_contain_is_named() -> None:
    table = Table(["a", "b"], [["x", "\x00"]], name="odd.html")
    with pytest.raises(
        TableError, match=r"table 'odd.html': line 2, column 2: .* cannot be written"
    ):
        table.to_xlsx(io.BytesIO())
