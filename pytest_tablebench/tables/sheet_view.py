"""A sheet as a spreadsheet program shows it: with number formats, without hidden lines."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables._number_formats import shown_text
from pytest_tablebench.tables.readers import cell_value

if TYPE_CHECKING:
    from openpyxl.cell.cell import Cell as SheetCell
    from openpyxl.worksheet.worksheet import Worksheet

MAX_CHARACTERS = 20_000_000
"""The most characters of all cells together; thousands of cells may share one text."""
MAX_APPLIED = 6_000_000
"""The most characters of number formats over all cells; about 1,500,000 are applied a second."""


@dataclass(frozen=True)
class SheetView:
    """The differences between a sheet's shown and stored content.

    Arguments:
        hidden_rows: the number of omitted hidden rows with values.
        hidden_columns: the number of omitted hidden columns with values.
        omitted: the numbers of all omitted rows, and of all omitted columns.
        stored: for each shown text that differs from its stored values, these values as texts.
        unreadable: format codes that are not supported; their cells keep the stored value.
    """

    hidden_rows: int = 0
    hidden_columns: int = 0
    omitted: tuple[Sequence[int], Sequence[int]] = ((), ())
    stored: Mapping[str, tuple[str, ...]] | None = None
    unreadable: tuple[str, ...] = ()


def show_sheet(sheet: Worksheet, where: str, *, include_hidden: bool) -> SheetView:
    """Change a sheet in place to what a program shows, and return the differences.

    `where` is its label in messages; `include_hidden` keeps hidden rows and columns. Raises
    `TableError` for a sheet with more than 20,000,000 characters, or 6,000,000 of number formats.
    """
    omitted: tuple[list[int], list[int]] = [], []
    if not include_hidden:
        filled = {cell.row for cell in sheet._cells.values() if cell.value is not None}
        omitted = _hidden_rows(sheet, filled), _hidden_columns(sheet)
    hidden_rows, hidden_columns = _remove(sheet, *omitted)
    codes: dict[int, str] = {}
    stored: dict[str, dict[str, None]] = {}
    unreadable: dict[str, None] = {}
    characters = applied = 0
    for cell in sheet._cells.values():
        if cell.value is None:
            continue
        number = cell._style.numFmtId  # type: ignore[attr-defined]
        code = codes.get(number)
        if code is None:
            code = codes[number] = cell.number_format or "General"
        value = str(cell_value(cell))
        text = value
        if not isinstance(cell.value, str) or code not in {"General", "@"}:
            applied += len(code)
            if applied > MAX_APPLIED:
                raise TableError(
                    f"{where}: more than {MAX_APPLIED:,} characters of number formats, summed over "
                    f"its cells; no more are applied"
                )
            formatted = shown_text(cell.value, code)
            if formatted is None and isinstance(cell.value, int | float):
                unreadable[code] = None
            text = value if formatted is None else formatted
        if text != value:
            _set_text(cell, text)
            stored.setdefault(text, {})[value] = None
        characters += len(text)
        if characters > MAX_CHARACTERS:
            raise TableError(
                f"{where}: more than {MAX_CHARACTERS:,} characters in its cells; no more are read"
            )
    return SheetView(
        hidden_rows,
        hidden_columns,
        omitted,
        {text: tuple(values) for text, values in stored.items()},
        tuple(unreadable),
    )


def _set_text(cell: SheetCell, text: str) -> None:
    """Set a cell's shown text; a float shown as another number stays a number."""
    is_number = isinstance(cell.value, float)
    try:
        is_number = is_number and str(float(text)) == text
    except ValueError:
        is_number = False
    # The property would read a text that begins with `=` as a formula.
    cell._value = float(text) if is_number else text  # type: ignore[attr-defined]


def _remove(sheet: Worksheet, rows: list[int], columns: list[int]) -> tuple[int, int]:
    """Remove rows and columns by their sorted numbers; return how many of each had values."""
    if not rows and not columns:
        return 0, 0
    filled = [cell for cell in sheet._cells.values() if cell.value is not None]
    _shift_merged(sheet, rows, columns)
    removed_rows, removed_columns, cells = set(), set(), {}
    for cell in filled:
        if _has(rows, cell.row):
            removed_rows.add(cell.row)
        elif _has(columns, cell.column):
            removed_columns.add(cell.column)
        else:
            cell.row -= bisect_left(rows, cell.row)
            cell.column -= bisect_left(columns, cell.column)
            cells[cell.row, cell.column] = cell
    sheet._cells.clear()
    sheet._cells.update(cells)
    return len(removed_rows), len(removed_columns)


def _has(numbers: list[int], number: int) -> bool:
    index = bisect_left(numbers, number)
    return index < len(numbers) and numbers[index] == number


def _hidden_rows(sheet: Worksheet, used: set[int]) -> list[int]:
    sizes = sheet.row_dimensions
    hidden = {row for row, size in sizes.items() if size.hidden or size.height == 0}
    if sheet.sheet_format.zeroHeight:  # only rows with a height are shown
        last = max(used, default=0)
        hidden |= {row for row in range(1, last + 1) if row not in sizes}
    return sorted(hidden)


def _hidden_columns(sheet: Worksheet) -> list[int]:
    hidden: set[int] = set()
    for size in sheet.column_dimensions.values():
        if size.hidden or size.width == 0:
            first = size.min or 1
            hidden |= set(range(first, min(size.max or first, 16_384) + 1))
    return sorted(hidden)


def _shift_merged(sheet: Worksheet, rows: list[int], columns: list[int]) -> None:
    """Cut merged cells to their shown part; the text moves to the first shown position."""
    from openpyxl.worksheet.cell_range import CellRange, MultiCellRange

    kept = []
    for merged in sheet.merged_cells.ranges:
        top, bottom = merged.min_row, merged.max_row
        left, right = merged.min_col, merged.max_col
        height = bottom - top + 1 - (bisect_right(rows, bottom) - bisect_left(rows, top))
        width = right - left + 1 - (bisect_right(columns, right) - bisect_left(columns, left))
        if height <= 0 or width <= 0:
            continue
        first = sheet._cells.get((top, left))
        if first is not None and (_has(rows, top) or _has(columns, left)):
            first.row = next(row for row in range(top, bottom + 1) if not _has(rows, row))
            first.column = next(n for n in range(left, right + 1) if not _has(columns, n))
        new_top, new_left = top - bisect_left(rows, top), left - bisect_left(columns, left)
        if height * width > 1:
            kept.append(
                CellRange(
                    min_row=new_top,
                    min_col=new_left,
                    max_row=new_top + height - 1,
                    max_col=new_left + width - 1,
                )
            )
    sheet.merged_cells = MultiCellRange(kept)
