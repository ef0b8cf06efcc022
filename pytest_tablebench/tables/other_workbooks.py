"""Workbooks that openpyxl does not read: .xls, .xlsb, .ods, and .xlsx files of unusual programs."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables._workbook_package import MAX_COVERED, MAX_FILLED
from pytest_tablebench.tables.hierarchy.grid import check_size
from pytest_tablebench.util.names import shortened, unknown_name

if TYPE_CHECKING:
    from openpyxl.workbook.workbook import Workbook

VALUES_ONLY = (
    "number formats, hidden rows and hidden columns cannot be read in this file: stored values of "
    "all cells are sent (0.25 instead of 25%); save it as .xlsx to send what a program shows"
)
"""The note on a workbook that was read without number formats."""

LARGE = (
    f"more than {MAX_FILLED:,} values: stored values of all cells are sent (0.25 instead of 25%), "
    "also those of hidden rows and columns"
)
"""The note on a large workbook."""

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
"""The first bytes of a workbook with a password, and of one from Excel before 2007."""

_SECONDS = 120
_READERS: dict[str, Callable[[str], Any]] = {
    "date": dt.date.fromisoformat,
    "datetime": dt.datetime.fromisoformat,
    "time": dt.time.fromisoformat,
    "timedelta": lambda text: dt.timedelta(seconds=float(text)),
}


@dataclass(frozen=True)
class StoredSheet:
    """A sheet with stored values.

    Arguments:
        sheet: its name.
        first: the number of its first row and column with a value, from 1.
        merged: the first and the last position of each merged cell, from 0.
        rows: the cells of each row.
        others: the names of the other visible sheets.
        hidden: the number of hidden sheets.
    """

    sheet: str
    first: tuple[int, int]
    merged: list[list[tuple[int, int]]]
    rows: list[list[Any]] = field(default_factory=list)
    others: tuple[str, ...] = ()
    hidden: int = 0


def stored_workbook(data: bytes, where: str) -> Workbook:
    """Return a workbook with the stored values, merged cells and hidden sheets of a file.

    `where` is its label in messages. Raises `TableError` for a file that cannot be read.
    """
    import openpyxl
    from openpyxl.styles.cell_style import StyleArray
    from openpyxl.worksheet.cell_range import CellRange

    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    covered = 0
    visibility, entries = _sheets(data, None, where, most=MAX_FILLED)
    for entry in entries:
        sheet = book.create_sheet()
        # The property refuses names that other programs allow.
        sheet._WorkbookChild__title = entry.sheet
        sheet.sheet_state = "visible" if visibility[entry.sheet] else "hidden"
        first_line, first_column = entry.first
        for line, row in enumerate(entry.rows, start=first_line):
            for column, value in enumerate(row, start=first_column):
                if value is None:
                    continue
                cell = sheet.cell(line, column)
                cell._style = StyleArray()
                if isinstance(value, str | int | float):
                    # The property would read a text that begins with `=` as a formula.
                    cell._value = value
                else:
                    cell.value = value
        for (top, left), (bottom, right) in entry.merged:
            covered += (bottom - top + 1) * (right - left + 1)
            if covered > MAX_COVERED:
                raise TableError(
                    f"{where}: merged cells cover {covered:,} cells; at most {MAX_COVERED:,} are "
                    f"read"
                )
            check_size(bottom + 1, right + 1, where)
            sheet.merged_cells.add(
                CellRange(min_row=top + 1, min_col=left + 1, max_row=bottom + 1, max_col=right + 1)
            )
    if not book.worksheets:
        raise TableError(f"{where} has no sheet with cells")
    return book


def stored_rows(data: bytes, sheet: str, where: str) -> StoredSheet:
    """Return the rows of a sheet; with "" as the `sheet`, of the first visible one.

    `where` is the label of the file in messages. Raises `TableError` for merged cells, and for a
    sheet that is empty, hidden or missing.
    """
    visibility, entries = _sheets(data, sheet, where)
    visible = [name for name, is_visible in visibility.items() if is_visible]
    hidden = [name for name in visibility if name not in visible]
    name = sheet or next(iter(visible or hidden), "")
    if name in hidden:
        raise TableError(f"{where}: sheet {shortened(name, 40)!r} is hidden; show it")
    if name not in visible:
        raise TableError(f"{where}: {unknown_name('sheet', name, visible)}")
    location = f"{where}, sheet {shortened(name, 40)!r}"
    [entry] = entries
    if not entry.rows:
        raise TableError(f"{location} is empty; its first row must be the header")
    if entry.merged:
        raise TableError(
            f"{location} has merged cells; they are read only in workbooks of at most "
            f"{MAX_FILLED:,} values"
        )
    others = tuple(other for other in visible if other != name)
    return replace(entry, others=others, hidden=len(hidden))


def _sheets(
    data: bytes, name: str | None, where: str, *, most: int = sys.maxsize
) -> tuple[dict[str, bool], list[StoredSheet]]:
    """Return whether each sheet is visible, and the sheet with a name, or all sheets for None."""
    first, *lines = _calamine(data, name, where, most).splitlines()
    sheets: list[StoredSheet] = []
    for line in lines:
        entry = json.loads(line)
        if isinstance(entry, dict):
            sheets.append(StoredSheet(**entry))
            continue
        sheets[-1].rows.append(
            [_READERS[value[0]](value[1]) if isinstance(value, list) else value for value in entry]
        )
    return json.loads(first), sheets


def _calamine(data: bytes, name: str | None, where: str, most: int) -> bytes:
    # A name in a file of questions may be no argument of a process, such as one with a null byte.
    named = json.dumps(name).encode("ascii") + b"\n" + data
    words = [sys.executable, "-m", "pytest_tablebench.tables._calamine_cells", str(most)]
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter
            words, input=named, capture_output=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise TableError(f"{where} could not be read within {_SECONDS} seconds") from None
    if done.returncode == 0:
        return done.stdout
    error = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
    if "cells; no more are read" in error:
        raise TableError(f"{where} has {error}")
    if data.startswith(_OLE):
        raise TableError(
            f"{where} is protected by a password or damaged; open it in a spreadsheet program and "
            f"save it as .xlsx without a password"
        )
    raise TableError(
        f"{where} cannot be read as a workbook; open it in a spreadsheet program and save it as "
        f".xlsx"
    )
