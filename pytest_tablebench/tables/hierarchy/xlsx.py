"""Reads a sheet of a workbook as a grid, and writes a table to a workbook."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.content import Span, TableContent
from pytest_tablebench.tables.hierarchy.grid import Grid, check_size, fit
from pytest_tablebench.tables.hierarchy.paths import indents
from pytest_tablebench.tables.readers import open_sheet, read_workbook_bytes, sheet_values

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet


def read_xlsx_grid(path: str | PathLike[str], *, sheet: str | int, marks: bool = True) -> Grid:
    """Read one sheet as a grid that begins at A1, even if A1 is empty.

    A formula has its last stored value; none is run. Raises `TableError` as `Table.from_xlsx` does,
    for workbooks that unpack to more than 64 MiB, and for sheets beyond the limits.
    """
    data, name, where = read_workbook_bytes(path)
    return sheet_grid(*open_sheet(data, sheet, where, marks=marks), name)


def sheet_grid(chosen: Worksheet, where: str, name: str) -> Grid:
    """Return an opened sheet as a grid. Raises `TableError` for one beyond the limits."""
    values = {(line - 1, column - 1): value for (line, column), value in sheet_values(chosen)}
    if values:
        check_size(1 + max(line for line, _ in values), 1 + max(c for _, c in values), where)
    grid = fit(values, _spans(chosen), where)
    return replace(grid, **_styles(chosen), name=name)


def _styles(sheet: Worksheet) -> dict[str, Any]:
    """Return the style fields of `Grid` for the cells of a sheet that have a value."""
    indents = {}
    bold, links, underlined = set(), set(), set()
    # Cells share styles, so each distinct style is read once.
    styles: dict[int, tuple[int, bool, bool]] = {}
    for cell in sheet._cells.values():
        if cell.value is None:
            continue
        cell_place = (cell.row - 1, cell.column - 1)
        style = styles.get(cell.style_id)
        if style is None:
            level = round(cell.alignment.indent or 0)
            is_underlined = cell.border.bottom is not None and bool(cell.border.bottom.style)
            style = styles[cell.style_id] = (level, bool(cell.font.b), is_underlined)
        if style[0] > 0:
            indents[cell_place] = style[0]
        if style[1]:
            bold.add(cell_place)
        if style[2]:
            underlined.add(cell_place)
        if cell.hyperlink is not None:
            links.add(cell_place)
    return {
        "indents": indents,
        "bold": frozenset(bold),
        "links": frozenset(links),
        "underlined": frozenset(underlined),
    }


def _spans(sheet: Worksheet) -> list[Span]:
    return [
        Span(
            merged.min_row - 1,
            merged.min_col - 1,
            merged.max_row - merged.min_row + 1,
            merged.max_col - merged.min_col + 1,
        )
        for merged in sheet.merged_cells.ranges
        if merged.max_row > merged.min_row or merged.max_col > merged.min_col
    ]


def write_xlsx(table: TableContent, path: str | PathLike[str] | IO[bytes]) -> None:
    """Write the table's lines to the only sheet of a new workbook, texts as texts.

    Merged cells and indents are kept. Raises `TableError`, which names line and column, for a value
    that a sheet cannot contain.
    """
    import openpyxl
    from openpyxl.styles import Alignment

    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    levels = indents(table)
    for line, cells in enumerate(table.lines):
        for column, value in enumerate(cells):
            if value is None or value == "":
                continue
            try:
                written = str(value) if isinstance(value, list) else value
                cell = sheet.cell(line + 1, column + 1, written)
            except Exception as error:  # characters and types that sheets do not allow
                raise TableError(
                    f"{table.label}: line {line + 1}, column {column + 1}: {value!r:.60} cannot "
                    f"be written to a sheet"
                ) from error
            if isinstance(value, str):
                cell.data_type = "s"  # even if it looks like a formula or an error
            if (line, column) in levels:
                cell.alignment = Alignment(indent=levels[line, column])
    for span in table.spans:
        sheet.merge_cells(
            start_row=span.row + 1,
            start_column=span.column + 1,
            end_row=span.row + span.rows,
            end_column=span.column + span.columns,
        )
    book.save(path)
