"""Workbooks that openpyxl does not read: .xls, .xlsb, .ods, and .xlsx files of unusual programs."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
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
    for entry in json.loads(_calamine(data, where, str(MAX_FILLED))):
        sheet = book.create_sheet()
        # The property refuses names that other programs allow.
        sheet._WorkbookChild__title = str(entry["name"])
        sheet.sheet_state = "visible" if entry["is_visible"] else "hidden"
        for line, column, value in entry["cells"]:
            cell = sheet.cell(line, column)
            cell._style = StyleArray()
            if isinstance(value, list):
                cell.value = _READERS[value[0]](value[1])
            else:
                # The property would read a text that begins with `=` as a formula.
                cell._value = value
        for (top, left), (bottom, right) in entry["merged"]:
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


@dataclass(frozen=True)
class StoredRows:
    """A sheet of a large workbook, with stored values.

    Arguments:
        sheet: its name.
        others: the names of the other visible sheets.
        hidden: the number of hidden sheets.
        first: the number of its first row and column with a value, from 1.
        rows: the cells of each row.
    """

    sheet: str
    others: tuple[str, ...]
    hidden: int
    first: tuple[int, int]
    rows: list[list[Any]]


def stored_rows(data: bytes, sheet: str, where: str) -> StoredRows:
    """Return the rows of a sheet; with "" as the `sheet`, of the first visible one.

    `where` is the label of the file in messages. Raises `TableError` for merged cells, and for a
    sheet that is empty, hidden or missing.
    """
    # A name in a file of questions may be no argument of a process, such as one with a null byte.
    named = json.dumps(sheet).encode("ascii") + b"\n" + data
    first, *lines = _calamine(named, where, "rows").splitlines()
    facts = json.loads(first)
    visible, hidden, name = facts["visible"], facts["hidden"], facts["sheet"]
    if name in hidden:
        raise TableError(f"{where}: sheet {shortened(name, 40)!r} is hidden; show it")
    if name not in visible:
        raise TableError(f"{where}: {unknown_name('sheet', name, visible)}")
    location = f"{where}, sheet {shortened(name, 40)!r}"
    if facts["first"] is None:
        raise TableError(f"{location} is empty; its first row must be the header")
    if facts["merged"]:
        raise TableError(
            f"{location} has merged cells; they are read only in workbooks of at most "
            f"{MAX_FILLED:,} values"
        )
    rows = []
    for line in lines:
        row = json.loads(line)
        for column, value in enumerate(row):
            if isinstance(value, list):
                row[column] = _READERS[value[0]](value[1])
        rows.append(row)
    others = tuple(other for other in visible if other != name)
    return StoredRows(name, others, len(hidden), tuple(facts["first"]), rows)


def _calamine(data: bytes, where: str, *arguments: str) -> bytes:
    words = [sys.executable, "-m", "pytest_tablebench.tables._calamine_cells", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter
            words, input=data, capture_output=True, timeout=_SECONDS, check=False
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
