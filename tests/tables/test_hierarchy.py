"""Merged cells, header lines, sections, captions and notes of workbooks and HTML."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import openpyxl
from openpyxl.styles import Alignment

from pytest_tablebench import Table
from pytest_tablebench.tables.content import Span


def sheet(path: Path, lines: Sequence[Sequence[Any]], *merged: str) -> Table:
    """Read a workbook of one sheet with these lines; `>` before a text is an indent."""
    book = openpyxl.Workbook()
    page = book.worksheets[0]
    for number, line in enumerate(lines, start=1):
        for column, value in enumerate(line, start=1):
            indent = len(value) - len(value.lstrip(">")) if isinstance(value, str) else 0
            if value not in {None, ""}:
                cell = page.cell(number, column, value[indent:] if indent else value)
                cell.alignment = Alignment(indent=indent)
    for cells in merged:
        page.merge_cells(cells)
    file = path / "some.xlsx"
    book.save(file)
    return Table.from_xlsx(file, structure=True)


def test_a_sheet_without_merges_is_a_table_with_a_row_header(tmp_path: Path) -> None:
    table = sheet(tmp_path, [["City", "2020"], ["Leeds", 5], ["York", 7.5]])
    assert table == Table(["City", "2020"], [["Leeds", 5], ["York", 7.5]], row_headers=1)
    assert table.path(1, 1) == (("York",), ("2020",))


def test_captions_sections_and_notes_of_a_sheet_are_read(tmp_path: Path) -> None:
    table = sheet(
        tmp_path,
        [
            ["Table 3. Visitors"],
            [],
            ["Place", "Summer", "", "Winter", ""],
            ["", "2022", "2023", "2022", "2023"],
            ["North"],
            ["Selby", 1, 2, 3, 4],
            ["South"],
            ["Hove", 5, 6, 7, 8],
            [],
            ["Source: own count"],
        ],
        "A1:E1",
        "A3:A4",
        "B3:C3",
        "D3:E3",
    )
    empty = ("",) * 5
    assert table.captions == (("Table 3. Visitors", *empty[1:]), empty)
    assert table.header_rows == (("Place", "Summer", "", "Winter", ""),)
    assert table.header == ("", "2022", "2023", "2022", "2023")
    assert (table.row_headers, table.sections, table.row_levels) == (1, (0, 2), ())
    assert table.notes == (empty, ("Source: own count", *empty[1:]))
    assert table.spans[0] == Span(0, 0, 1, 5)
    assert table.path(1, 4) == (("North", "Selby"), ("Winter", "2023"))
    assert table.path(3, 1) == (("South", "Hove"), ("Summer", "2022"))


def test_indents_are_levels(tmp_path: Path) -> None:
    lines: list[list[Any]] = [
        ["Item", "n"],
        ["All", 9],
        [">Fruit", 5],
        [">>>Pear", 2],
        [">Nuts", 4],
        ["None", 0],
    ]
    table = sheet(tmp_path, lines)
    assert table.row_levels == (0, 1, 2, 1, 0)
    assert [table.path(row, 1).row for row in range(5)] == [
        ("All",),
        ("All", "Fruit"),
        ("All", "Fruit", "Pear"),
        ("All", "Nuts"),
        ("None",),
    ]


def test_groups_merged_over_rows_make_two_row_headers(tmp_path: Path) -> None:
    table = sheet(
        tmp_path,
        [["Year", "Quarter", "Sum"], [2020, "Q1", 1], ["", "Q2", 2], [2021, "Q1", 3]],
        "A2:A3",
    )
    assert table.row_headers == 2
    assert table.path(1, 2) == (("2020", "Q2"), ("Sum",))
    assert table.path(2, 2) == (("2021", "Q1"), ("Sum",))


def test_header_lines_without_merges_are_text_above_numbers(tmp_path: Path) -> None:
    table = sheet(
        tmp_path,
        [["0 mg", "", "5 mg", ""], ["time", "rate", "time", "rate"], [0, 1, 0, 2], [1, 5, 1, 6]],
    )
    assert len(table.header_rows) == 1
    assert table.path(1, 1).column == ("0 mg", "rate")
    assert table.path(1, 3).column == ("5 mg", "rate")


def test_a_divider_column_has_no_name(tmp_path: Path) -> None:
    table = sheet(
        tmp_path,
        [["", "One", "", "", "Two", ""], ["", "a", "b", "", "a", "b"], ["x", 1, 2, "", 3, 4]],
        "B1:C1",
        "E1:F1",
    )
    assert [table.path(0, column).column for column in range(1, 6)] == [
        ("One", "a"),
        ("One", "b"),
        (),
        ("Two", "a"),
        ("Two", "b"),
    ]


def test_names_and_values_above_a_wide_table_are_captions(tmp_path: Path) -> None:
    lines: list[list[Any]] = [
        ["Owner:", "Office"],
        ["Date:", "2020"],
        [],
        ["Region", "a", "b", "c"],
        ["N", 1, 2, 3],
    ]
    table = sheet(tmp_path, lines)
    assert [line[:2] for line in table.captions] == [
        ("Owner:", "Office"),
        ("Date:", "2020"),
        ("", ""),
    ]
    assert table.header == ("Region", "a", "b", "c")


def test_the_stored_value_of_a_formula_is_read_and_never_computed(tmp_path: Path) -> None:
    table = sheet(tmp_path, [["a", "b"], ["x", "=1+1"], ["y", 3]])
    assert table.rows == (("x", ""), ("y", 3))  # the file was saved without a computed value


def test_values_hidden_by_a_merged_cell_are_not_read() -> None:
    table = Table.from_html(
        "<table><tr><th>K<th colspan=3>V<tr><th rowspan=0>x<td>1<td colspan=2>2<tr><td>3</table>",
        structure=True,
    )
    assert table.rows == (("x", "1", "2", ""), ("", "3", "", ""))
    assert table.spans == (Span(0, 1, 1, 3), Span(1, 0, 2, 1), Span(1, 2, 1, 2))


def test_a_colspan_ends_before_a_cell_merged_from_above() -> None:
    table = Table.from_html(
        "<table><tr><th>a<th>b<th>c<tr><td>1<td>2<td rowspan=2>3<tr><td>4<td colspan=2>5</table>",
        structure=True,
    )
    assert table.rows == (("1", "2", "3"), ("4", "5", ""))
    assert table.spans == (Span(1, 2, 2, 1),)


def test_blanks_of_published_html_stay() -> None:
    table = Table.from_html(
        "<table>\n<tr><td>\n  a\n  b<br />\n c </td><td> d  e</td></tr>"
        "<tr><td>&nbsp;</td><td>1</td></tr></table>",
        structure=True,
        marks=False,
    )
    assert table.lines == (("a b\nc ", " d  e"), ("", "1"))


def test_indents_of_exported_html_are_read_from_its_style_sheet() -> None:
    table = Table.from_html(
        "<style>td.style5 { text-align:left; padding-left:9px; color:red }</style>"
        '<table><tr><td>Item<td>n<tr><td>All<td>3<tr><td class="s style5">One<td>1'
        '<tr><td style="padding-left: 18px">Two<td>2</table>',
        structure=True,
    )
    assert table.row_levels == (0, 1, 2)
    assert table.path(2, 1).row == ("All", "One", "Two")
