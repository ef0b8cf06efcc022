"""Sheets whose structure follows from bold type, borders, links and periods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from openpyxl.styles import Border, Font, Side
from openpyxl.worksheet.cell_range import CellRange

from pytest_tablebench import Table, perturb
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.hierarchy.html import read_html_grid
from pytest_tablebench.tables.hierarchy.why import explain
from pytest_tablebench.tables.hierarchy.xlsx import read_xlsx_grid

LINKED, BOLD, RULED = "@", "*", "_"
"""Marks before a text of these sheets: a link, bold type, a border below."""


def styled(text: Any) -> tuple[str, Any]:
    """Return the marks of a cell, and its value."""
    if not isinstance(text, str):
        return "", text
    value = text.lstrip(LINKED + BOLD + RULED)
    return text[: len(text) - len(value)], value


def as_workbook(path: Path, lines: Sequence[Sequence[Any]], merged: Iterable[str]) -> Path:
    book = openpyxl.Workbook()
    page = book.worksheets[0]
    for number, line in enumerate(lines, start=1):
        for column, text in enumerate(line, start=1):
            marks, value = styled(text)
            if value == "":
                continue
            cell = page.cell(number, column, value)
            cell.font = Font(bold=BOLD in marks)
            if RULED in marks:
                cell.border = Border(bottom=Side(style="thin"))
            if LINKED in marks:
                cell.hyperlink = "https://example.org/"
    for cells in merged:
        page.merge_cells(cells)
    file = path / "sheet.xlsx"
    book.save(file)
    return file


def as_page(lines: Sequence[Sequence[Any]], merged: Iterable[str]) -> str:
    spans = [CellRange(cells) for cells in merged]
    sizes = {(span.min_row, span.min_col): span.size for span in spans}
    covered = {place for span in spans for line in span.rows for place in line} - set(sizes)
    width = max(map(len, lines))
    rows = []
    for number, line in enumerate(lines, start=1):
        cells = []
        for column in range(1, width + 1):
            if (number, column) in covered:
                continue
            marks, value = styled(line[column - 1] if column <= len(line) else "")
            span = sizes.get((number, column), {"columns": 1, "rows": 1})
            classes = "bold" * (BOLD in marks) + " ruled" * (RULED in marks)
            text = f'<a href="/x">{value}</a>' if LINKED in marks else escape(str(value))
            size = f"colspan={span['columns']} rowspan={span['rows']}"
            cells.append(f'<td class="{classes}" {size}>{text}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    style = "td.bold { font-weight:bold } td.ruled { border-bottom:1px solid #000000 !important }"
    return (
        f"<style>{style} td {{ border-bottom:none #000000 }}</style><table>{''.join(rows)}</table>"
    )


LINKS: list[list[Any]] = [
    ["@Contents", "@Notes", "@Next table"],
    [],
    ["Base", "2022", "2023"],
    ["Army", 1, 2],
    ["Navy", 3, 4],
]
PARAMETERS: list[list[Any]] = [
    ["Area:", "England", "Unit:", "tonnes"],
    ["Year = 2022", "Method = survey"],
    ["Crop", "Land", "Yield", "Sale"],
    ["Wheat", 1, 2, 3],
    ["Barley", 4, 5, 6],
]
QUARTERS: list[list[Any]] = [
    ["Year", "Quarter", "Claims", "Paid"],
    [2022, "Q1", 1, 10],
    ["", "Q2", 2, 20],
    ["", "Q3", 3, 30],
    [2023, "Q1", 4, 40],
    ["", "Q2", 5, 50],
]
YEARS: list[list[Any]] = [
    ["Period", "Claims"],
    [2022, 6],
    ["Q1", 1],
    ["Q2", 2],
    [2023, 9],
    ["January", 4],
]
WORKERS: list[list[Any]] = [
    ["Group", "Cost", "Change"],
    ["*Civilian workers", 9, 1],
    ["Management", 5, 2],
    ["Service", 4, 3],
    ["*Private industry", 8, 1],
    ["Management", 6, 2],
    ["Service", 2, 3],
]
BANNERS: list[list[Any]] = [
    ["Group", "Cost", "Change", "Share"],
    ["", "Civilian workers", "", ""],
    ["Management", 5, 2, 1],
    ["", "Military", "", ""],
    ["Management", 6, 2, 1],
]
BOLD_HEADER = [
    ["*Name", "*Home", "*Kind"],
    ["*", "*Town", "*Colour"],
    ["Ada", "Leeds", "red"],
    ["Ben", "York", "blue"],
]
RULED_HEADER = [
    ["Name", "Home", "Kind"],
    ["_(first)", "_(town)", "_(colour)"],
    ["Ada", "Leeds", "red"],
    ["Ben", "York", "blue"],
]
TOTALS: list[list[Any]] = [
    ["Code", "Work", "Hours"],
    [3060, "Fire", 4],
    [3061, "Water", 5],
    ["", "Year total", 9],
]

# Sheet, merges, captions, header lines, and the row path of the last column in each row.
SHEETS: dict[str, tuple[list[list[Any]], list[str], int, int, list[tuple[str, ...]]]] = {
    "links": (LINKS, [], 2, 1, [("Army",), ("Navy",)]),
    "parameters": (PARAMETERS, [], 2, 1, [("Wheat",), ("Barley",)]),
    "quarters": (
        QUARTERS,
        [],
        0,
        1,
        [("2022", "Q1"), ("2022", "Q2"), ("2022", "Q3"), ("2023", "Q1"), ("2023", "Q2")],
    ),
    "years": (
        YEARS,
        [],
        0,
        1,
        [("2022",), ("2022", "Q1"), ("2022", "Q2"), ("2023",), ("2023", "January")],
    ),
    "workers": (
        WORKERS,
        [],
        0,
        1,
        [
            ("Civilian workers",),
            ("Civilian workers", "Management"),
            ("Civilian workers", "Service"),
            ("Private industry",),
            ("Private industry", "Management"),
            ("Private industry", "Service"),
        ],
    ),
    "banners": (
        BANNERS,
        ["B2:D2", "B4:D4"],
        0,
        1,
        [
            ("Civilian workers",),
            ("Civilian workers", "Management"),
            ("Military",),
            ("Military", "Management"),
        ],
    ),
    "bold header": (BOLD_HEADER, ["A1:A1"], 0, 2, [("Ada",), ("Ben",)]),
    "ruled header": (RULED_HEADER, [], 0, 2, [("Ada",), ("Ben",)]),
    "totals": (TOTALS, [], 0, 1, [("3060",), ("3061",), ("Year total",)]),
}


def paths(table: Table) -> list[tuple[str, ...]]:
    return [table.path(row, len(table.header) - 1).row for row in range(len(table.rows))]


@pytest.mark.parametrize("name", SHEETS)
def test_a_workbook_and_a_page_have_the_same_structure(name: str, tmp_path: Path) -> None:
    lines, merged, captions, header, row_paths = SHEETS[name]
    book = Table.from_xlsx(as_workbook(tmp_path, lines, merged), structure=True)
    page = Table.from_html(as_page(lines, merged), structure=True)
    for table in (book, page):
        assert (len(table.captions), len(table.header_rows) + 1) == (captions, header)
        assert paths(table) == row_paths
    assert book.sections == page.sections
    assert book.row_levels == page.row_levels


def test_links_above_values_are_a_header() -> None:
    lines: list[list[Any]] = [["@Name", "@Height"], ["Ada", 170], ["Ben", 180]]
    table = Table.from_html(as_page(lines, []), structure=True)
    assert (table.captions, table.header) == ((), ("Name", "Height"))


def test_names_that_end_in_a_colon_are_a_header() -> None:
    lines: list[list[Any]] = [["Name:", "Height:", "Age:", "Town:"], ["Ada", 170, 30, "York"]]
    table = Table.from_html(as_page(lines, []), structure=True)
    assert (table.captions, table.header) == ((), tuple(lines[0]))


def test_bold_totals_are_no_groups() -> None:
    lines: list[list[Any]] = [
        ["Item", "n"],
        ["*All", 9],
        ["Pear", 5],
        ["*Fruit", 4],
        ["Nut", 4],
        ["Oil", 1],
    ]
    assert Table.from_html(as_page(lines, []), structure=True).row_levels == ()


def test_a_group_ends_at_a_blank_row() -> None:
    lines = [*QUARTERS, [], ["", "Sum", 15, 150]]
    table = Table.from_html(as_page(lines, []), structure=True)
    # The sum belongs to no year, because no name is known for the blank cells.
    assert table.path(1, 3).row == ("Q2",)
    assert table.path(6, 3).row == ("Sum",)


def test_shuffled_rows_remain_in_their_group() -> None:
    table = Table.from_html(as_page(QUARTERS, []), structure=True)
    orders = {perturb(table, "shuffle_rows", seed=seed).rows for seed in range(9)}
    years = {tuple(row[0] for row in rows) for rows in orders}
    assert years == {("2022", "", "", "2023", ""), ("2023", "", "2022", "", "")}


def test_a_title_merged_over_a_whole_row_ends_at_the_last_value(tmp_path: Path) -> None:
    lines: list[list[Any]] = [
        ["Table 7"],
        ["Base", "2022"],
        ["Army", 1],
        *[[f"Base {at}", at] for at in range(66)],
    ]
    table = Table.from_xlsx(as_workbook(tmp_path, lines, ["A1:XFD1"]), structure=True)
    assert (table.header, len(table.rows), table.spans) == (
        ("Base", "2022"),
        67,
        (Span(0, 0, 1, 2),),
    )


def test_reasons_are_the_same_for_both_formats(tmp_path: Path) -> None:
    for name, (lines, merged, *_) in SHEETS.items():
        book = read_xlsx_grid(as_workbook(tmp_path, lines, merged), sheet=0)
        page = read_html_grid(as_page(lines, merged), index=0)
        assert [*map(str, explain(book))] == [*map(str, explain(page))], name


def test_ambiguous_structure_is_named() -> None:
    lines: list[list[Any]] = [
        ["Item", "n"],
        ["*All", 9],
        ["Pear", 5],
        ["*Fruit", 4],
        ["", 4],
        ["Oil", 1],
    ]
    remarks = explain(read_html_grid(as_page(lines, []), index=0))
    assert [str(remark) for remark in remarks if remark.is_ambiguous] == [
        "lines 2-4: ambiguous: 2 labels in bold type without an indent below: totals, or names of "
        "groups",
        "line 5: ambiguous: 1 row without a name: 5",
    ]
    assert str(remarks[0]) == "line 1: 1 header line: the first line with several texts"


def test_a_page_in_bold_tags_is_bold() -> None:
    html = "<table><tr><td><b>a</b><td><strong>b</strong><td>c <b>d</b></table>"
    assert read_html_grid(html, index=0).bold == {(0, 0), (0, 1)}
