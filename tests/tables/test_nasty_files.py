"""Small files that would need hours or gigabytes are read quickly or refused in one line."""

from __future__ import annotations

import zipfile
from pathlib import Path

import openpyxl
import pytest
from openpyxl.cell import WriteOnlyCell

from pytest_tablebench import Table, TableError
from pytest_tablebench.datasets.folder import FolderDataset, check_dataset, folder_datasets
from tests.support.nasty_workbooks import nasty_workbook


def rows(count: int, cells: str) -> str:
    """Return sheet data with equal rows."""
    return f"<sheetData>{f'<row>{cells}</row>' * count}</sheetData>"


VALUE = '<c r="A1"><v>1</v></c>'
OVERLAP = "<mergeCell ref='A1:IN900'/>"
SHEETS = {
    "merged cells of millions": (
        f"{rows(1, VALUE)}<mergeCells><mergeCell ref='A1:IN9999'/></mergeCells>",
        r"merged cells .* cover 9,999 x 248 cells, .* at most 250,000",
    ),
    "overlapping merged cells": (
        f"{rows(1, VALUE)}<mergeCells>{OVERLAP * 9}</mergeCells>",
        r"446,400 with those before; at most 250,000",
    ),
    "a link over all cells": (
        f"{rows(1, VALUE)}<hyperlinks><hyperlink ref='A1:XFD99999'/></hyperlinks>",
        r"link .* at most 250,000",
    ),
    "too many values": (
        rows(900, "<c><v>1</v></c>" * 500),
        "450,000 cells and texts so far; at most 250,000",
    ),
    "far corner": (
        "<sheetData><row r='1'><c r='A1'><v>1</v></c></row>"
        "<row r='9999'><c r='XFD9999'><v>1</v></c></row></sheetData>",
        "163,823,616 cells; at most 1,000,000",
    ),
}


@pytest.mark.parametrize("structure", [False, True])
@pytest.mark.parametrize(("sheet", "message"), SHEETS.values(), ids=SHEETS)
def test_a_workbook_beyond_a_limit_is_refused(
    sheet: str, message: str, structure: bool, tmp_path: Path
) -> None:
    file = nasty_workbook(tmp_path / "nasty.xlsx", sheet)
    assert file.stat().st_size < 30_000
    with pytest.raises(TableError, match=message) as caught:
        Table.from_xlsx(file, structure=structure)
    assert "\n" not in str(caught.value)


def test_a_million_closed_cells_are_left_out(tmp_path: Path) -> None:
    closed = rows(1000, "<c s='0'/>" * 1000).removesuffix("</sheetData>")
    named = "<row r='2000'><c r='A2000' t='str'><v>a</v></c></row><row><c><v>7</v></c></row>"
    file = nasty_workbook(tmp_path / "closed.xlsx", f"{closed}{named}</sheetData>")
    assert Table.from_xlsx(file) == Table(["a"], [[7]])


def test_the_time_for_wide_and_long_tables_is_linear_in_their_cells(tmp_path: Path) -> None:
    # Searching the first and last column again in each row would be quadratic.
    cells = "<c><v>1</v></c>" * 10
    file = nasty_workbook(tmp_path / "long.xlsx", rows(10_000, cells))
    assert Table.from_xlsx(file).shape == (9_999, 10)


HTML = {
    "tables inside each other": ("<table><tr><td>" * 3000, "3,000 tables inside each other"),
    "too many cells": ("<table><tr>" + "<td>1" * 100_001, "100,001 cells; at most 100,000"),
    "too many tags": ("<table><tr><td>" + "<i></i>" * 130_000, "at most 250,000"),
    "an odd declaration": ("<![x<table><tr><td>a</table>", "a declaration that no parser reads"),
    "texts in a tree thousands deep": (
        "<table>" + "<tr><td><p><br><i></i>x" * 9_000,
        "missing end tags make a tree of 1",
    ),
}


@pytest.mark.parametrize("structure", [False, True])
@pytest.mark.parametrize(("text", "message"), HTML.values(), ids=HTML)
def test_html_beyond_a_limit_is_refused(text: str, message: str, structure: bool) -> None:
    with pytest.raises(TableError, match=message) as caught:
        Table.from_html(f"{text}\n", structure=structure)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("structure", [False, True])
def test_many_line_breaks_bold_blanks_and_inner_tables_are_read_quickly(structure: bool) -> None:
    parts = ("<br>" * 3_000, " <b></b>" * 3_000, "<table><tr><td>i</table>" * 1_000)
    table = Table.from_html(f"<table><tr><td>a{''.join(parts)}</table>\n", structure=structure)
    text = table.header[0]
    assert (text.count("\n"), text.count("i")) == (1_000, 1_000)


def test_long_number_formats_in_many_cells_are_read_quickly(tmp_path: Path) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet("S")
    cell = WriteOnlyCell(sheet, value=1)
    cell.number_format = '"a"' * 80 + "0"  # 241 characters
    for _ in range(250):
        sheet.append([cell] * 100)
    book.save(tmp_path / "formats.xlsx")
    (tmp_path / "questions.csv").write_text("table,question,answer\nformats.xlsx,How many?,7\n")
    (dataset,) = folder_datasets(tmp_path)
    assert isinstance(dataset, FolderDataset)
    [problem] = check_dataset(dataset, tmp_path).problems
    assert "more than 6,000,000 characters of number formats" in problem.message


def test_a_workbook_with_too_many_parts_is_refused(tmp_path: Path) -> None:
    file = nasty_workbook(tmp_path / "parts.xlsx", rows(1, VALUE))
    with zipfile.ZipFile(file, "a") as archive:
        for number in range(5_000):
            archive.writestr(f"x{number}", b"")
    with pytest.raises(TableError, match=r"unpacks to 5,0\d\d parts; at most 5,000"):
        Table.from_xlsx(file)
