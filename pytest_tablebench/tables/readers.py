"""Readers for `Table.from_*`: CSV, XLSX and data frames.

Only the standard library is loaded until a reader needs more.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import math
import os
import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import MergedCellsError, SettingsError, TableError
from pytest_tablebench.tables._workbook_package import (
    checked_workbook,
    is_package,
    restore_texts,
)
from pytest_tablebench.tables.content import AnyTable, Cell, TableContent
from pytest_tablebench.tables.hierarchy.grid import check_size
from pytest_tablebench.tables.text_files import has_line_end, read_bytes, read_text, to_path
from pytest_tablebench.util.names import counted, shortened, unknown_name

if TYPE_CHECKING:
    import pandas as pd
    from openpyxl.cell.cell import Cell as SheetCell
    from openpyxl.workbook.workbook import Workbook
    from openpyxl.worksheet.worksheet import Worksheet

_CSV_DIALECTS: dict[str, dict[str, Any]] = {
    "rfc4180": {"doublequote": True},
    "wikitq": {"doublequote": False, "escapechar": "\\"},
}
_FIELD_LIMIT_LOCK = threading.Lock()


def read_csv(
    kind: type[AnyTable], source: str | os.PathLike[str], *, dialect: str, title: str | None
) -> AnyTable:
    """Read CSV text or a CSV file; see `Table.from_csv`."""
    if dialect not in _CSV_DIALECTS:
        raise SettingsError(unknown_name("CSV dialect", dialect, _CSV_DIALECTS))
    text, name, where = read_text(source, "CSV", has_line_end, "has a line end")
    if dialect == "wikitq":
        # For the csv module, the escape character escapes any character. In these files a
        # backslash before anything but a quote or a backslash is a plain backslash.
        text = re.sub(r'\\(["\\])|\\', lambda match: match[0] if match[1] else r"\\", text)
    numbered = _csv_rows(text, where, _CSV_DIALECTS[dialect])
    if not numbered:
        raise TableError(f"{where} is empty; its first line must be the header")
    header = numbered[0][1]
    for number, (line, row) in enumerate(numbered[1:], start=1):
        if len(row) != len(header):
            raise TableError(
                f"{where}, row {number} (ends in line {line}): {counted(len(row), 'cell')}, "
                f"the header has {len(header)}"
            )
    return kind(tuple(header), tuple(tuple(row) for _, row in numbered[1:]), title, name=name)


def _csv_rows(text: str, where: str, options: dict[str, Any]) -> list[tuple[int, list[str]]]:
    """Return (number of the last line, cells) of each row; blank lines are skipped."""
    # The module's limit on one cell (131,072 characters) is process-wide. It is raised only while
    # a text that exceeds it is read.
    with _FIELD_LIMIT_LOCK:
        limit = csv.field_size_limit()
        if len(text) >= limit:
            csv.field_size_limit(len(text) + 1)
        reader = csv.reader(io.StringIO(text, newline=""), strict=True, **options)
        try:
            return [(reader.line_num, row) for row in reader if row]
        except csv.Error as error:
            raise TableError(f"{where}, line {reader.line_num}: {error}") from error
        finally:
            csv.field_size_limit(limit)


def read_workbook_bytes(path: str | os.PathLike[str]) -> tuple[bytes, str, str]:
    """Return a workbook's bytes, its file name and its label for messages."""
    file = to_path(path, "XLSX")
    where = f"XLSX file {shortened(str(file), 300)!r}"
    return read_bytes(file, where, ""), file.name, where


def open_workbook(data: bytes, where: str, *, marks: bool = True) -> tuple[Workbook, bool]:
    """Return a workbook, and whether it lacks number formats and hidden lines.

    With `marks`, raised and struck parts of texts have the marks of `shown_marks`. No formula is
    run. Raises `TableError` for a workbook that no library reads, or beyond the limits of
    `workbook_package`.
    """
    import openpyxl

    from pytest_tablebench.tables.other_workbooks import stored_workbook

    if not is_package(data):
        return stored_workbook(data, where), True
    data = checked_workbook(data, where)
    try:
        with warnings.catch_warnings():
            # The warnings concern styles and validations, which do not affect cells.
            warnings.simplefilter("ignore")
            workbook = openpyxl.load_workbook(
                io.BytesIO(data), data_only=True, keep_links=False, rich_text=marks
            )
    except Exception:  # a file that another program opens can raise nearly any exception
        return stored_workbook(data, where), True
    restore_texts(workbook)
    return workbook, False


def open_sheet(
    data: bytes, sheet: str | int, where: str, *, marks: bool = True
) -> tuple[Worksheet, str]:
    """Return one sheet of a workbook and its label for messages, as `open_workbook` does."""
    chosen = choose_sheet(open_workbook(data, where, marks=marks)[0], sheet, where)
    return chosen, f"{where}, sheet {chosen.title!r}"


def read_xlsx(kind: type[AnyTable], path: str | os.PathLike[str], *, sheet: str | int) -> AnyTable:
    """Read one sheet of a workbook as a flat table; see `Table.from_xlsx`."""
    data, name, where = read_workbook_bytes(path)
    return flat_sheet(kind, *open_sheet(data, sheet, where), name)


def flat_sheet(kind: type[AnyTable], sheet: Worksheet, where: str, name: str) -> AnyTable:
    """Return an opened sheet as a flat table. Raises `MergedCellsError` for merged cells."""
    merged = sorted(
        sheet.merged_cells.ranges, key=lambda cells: (cells.min_row or 0, cells.min_col or 0)
    )
    if merged:
        more = f" and {len(merged) - 1} more ranges" if len(merged) > 1 else ""
        raise MergedCellsError(
            f"{where}: cells {merged[0].coord}{more} are merged; this call reads flat tables; "
            f"structure=True reads merged cells"
        )
    header, *rows = _sheet_rows(sheet, where)
    names = tuple("" if cell is None else str(cell) for cell in header)
    return kind(names, tuple(tuple(row) for row in rows), name=name)


def choose_sheet(workbook: Workbook, sheet: str | int, where: str) -> Worksheet:
    """Return a sheet by its name or its number. Raises `TableError` for an unknown one."""
    worksheets = {worksheet.title: worksheet for worksheet in workbook.worksheets}
    if isinstance(sheet, str):
        if sheet in worksheets:
            return worksheets[sheet]
        raise TableError(f"{where}: {unknown_name('sheet', sheet, worksheets)}")
    if isinstance(sheet, bool) or not 0 <= sheet < len(worksheets):
        raise TableError(
            f"{where}: no sheet with index {sheet!r}; there are 0 to {len(worksheets) - 1}"
        )
    return workbook.worksheets[sheet]


def sheet_values(sheet: Worksheet) -> Iterator[tuple[tuple[int, int], Cell]]:
    """Yield (line, column), from 1, and the value of each cell with a value."""
    # `iter_rows` makes a cell for each position up to the last formatted one, which can be the
    # millionth row. The sheet's mapping contains only the cells of the file.
    for position, cell in sheet._cells.items():
        if cell.value is not None:
            yield position, cell_value(cell)


def _sheet_rows(sheet: Worksheet, where: str) -> list[list[Cell]]:
    """Return the smallest block of cells that contains every value of the sheet."""
    filled = dict(sheet_values(sheet))
    if not filled:
        raise TableError(f"{where} is empty; its first row must be the header")
    lines = [line for line, _ in filled]
    columns = [column for _, column in filled]
    top, left = min(lines), min(columns)
    height, width = max(lines) - top + 1, max(columns) - left + 1
    check_size(height, width, where)
    return [
        [filled.get((line, column)) for column in range(left, left + width)]
        for line in range(top, top + height)
    ]


def cell_value(cell: SheetCell) -> Cell:
    """Return a cell's stored value; dates, times and durations as ISO text."""
    from openpyxl.styles import numbers

    value = cell.value
    if isinstance(value, dt.datetime) and numbers.is_datetime(cell.number_format) == "date":
        value = value.date()  # a date is stored as midnight and shown without the time
    return plain_value(value)


def plain_value(value: Any) -> Cell:
    """Return numbers, booleans, text, lists and None unchanged, dates as ISO text."""
    if value is None or isinstance(value, str | int | float | list):
        return value
    if isinstance(value, dt.timedelta):
        return _duration(value)
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return str(value)


def _duration(value: dt.timedelta) -> str:
    """Return hours, minutes and seconds as `26:00:00`, without days."""
    seconds = abs(value) // dt.timedelta(seconds=1)
    rest = abs(value) % dt.timedelta(seconds=1)
    sign = "-" if value < dt.timedelta(0) else ""
    fraction = f".{rest.microseconds:06d}" if rest else ""
    return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{fraction}"


def read_pandas(kind: type[AnyTable], frame: pd.DataFrame, *, title: str | None) -> AnyTable:
    """Read a data frame; see `Table.from_pandas`."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise TableError(f"a DataFrame is needed, not {type(frame).__name__}")
    if isinstance(frame.columns, pd.MultiIndex):
        raise TableError(
            f"the DataFrame's columns are a MultiIndex of {frame.columns.nlevels} levels; "
            f"a flat table has one name per column"
        )
    header = [_frame_value(name) for name in frame.columns]
    # By position: an equal name would select a frame instead of a column.
    columns = [
        [_frame_value(value) for value in frame.iloc[:, position].tolist()]
        for position in range(len(header))
    ]
    rows: Sequence[tuple[Cell, ...]] = (
        list(zip(*columns, strict=True)) if columns else [()] * len(frame)
    )
    return kind(tuple(header), tuple(rows), title)


def _frame_value(value: Any) -> Cell:
    import numpy as np
    import pandas as pd

    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.datetime64):
        return _frame_value(pd.Timestamp(value))
    if isinstance(value, np.timedelta64):
        return _frame_value(pd.Timedelta(value))
    if isinstance(value, np.generic):
        value = value.item()
    elif isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        return None
    return plain_value(value)


def to_pandas(table: TableContent) -> pd.DataFrame:
    """Return the table as a data frame; see `Table.to_pandas`."""
    import pandas as pd

    table.require_rectangular("a DataFrame")
    # Names of one type get the index that pandas would make; others must not be converted.
    uniform = {type(name) for name in table.header} in ({str}, {int})
    names = pd.Index(list(table.header), dtype=None if uniform else object, tupleize_cols=False)
    return pd.DataFrame([list(row) for row in table.rows], columns=names)
