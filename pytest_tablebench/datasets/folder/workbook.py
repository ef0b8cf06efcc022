"""Reader of untrusted workbooks: it checks their size before unpacking, and never runs content."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from itertools import count as naturals
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.errors import (
    DataError,
    LargeWorkbookError,
    MergedCellsError,
    TableError,
)
from pytest_tablebench.tables.hierarchy import layout
from pytest_tablebench.tables.hierarchy.grid import check_size
from pytest_tablebench.tables.hierarchy.xlsx import sheet_grid
from pytest_tablebench.tables.other_workbooks import LARGE, VALUES_ONLY, stored_rows
from pytest_tablebench.tables.readers import (
    choose_sheet,
    flat_sheet,
    open_workbook,
    plain_value,
    read_workbook_bytes,
    sheet_values,
)
from pytest_tablebench.tables.sheet_view import SheetView, show_sheet
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import counted, shortened

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

MOST_ROWS = 1_000_000
"""The most rows of a table."""

_MOST_CELLS = 20_000_000
_MOST_UNPACKED = 1 << 30
_MOST_PARTS = 5_000
_LONGEST_FORMULA = 1_000
_WITHOUT_VALUE = re.compile(
    rb"<c(?![^<>]* t=.str\b)(?:\s[^<>]*)?><f[^<>]*(?:/>|>[^<]*</f>)(?:<v\s*/>|<v></v>)?</c>"
)
"""A cell with a formula that was never calculated; the value of a text may be empty."""

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
"""The first bytes of a workbook from Excel before 2007."""


@dataclass(frozen=True)
class SheetRead:
    """A sheet of a workbook.

    Arguments:
        table: the table with its shown texts.
        stored: the stored values of each shown text that differs from its stored value.
        sheet: the sheet's name.
        others: the names of the workbook's other visible sheets.
        notes: remarks for the user, without the file's name.
        rows, columns: the numbers in the file, from 1, of the table's lines and columns.
    """

    table: Table
    stored: Mapping[str, tuple[str, ...]]
    sheet: str
    others: tuple[str, ...]
    notes: tuple[str, ...]
    rows: Sequence[int]
    columns: Sequence[int]


def read_sheet(path: Path, sheet: str | None, *, include_hidden: bool = False) -> SheetRead:
    """Read the sheet with a name, or the first visible sheet.

    Cells have the texts that a spreadsheet program shows. The table has its structure if cells are
    merged. Raises `DataError`.
    """
    formulas = _look_over(path)
    try:
        data, name, origin = read_workbook_bytes(path)
        try:
            book, has_values_only = open_workbook(data, origin)
        except LargeWorkbookError:
            return _large_sheet(data, sheet or "", formulas, origin, name)
        chosen = choose_sheet(book, 0 if sheet is None else sheet, origin)
        sheets = chosen.parent.worksheets if chosen.parent else [chosen]
        chosen_sheets = [each for each in sheets if include_hidden or each.sheet_state == "visible"]
        if chosen not in chosen_sheets and (sheet is not None or not chosen_sheets):
            raise DataError(
                f"sheet {shortened(chosen.title, 40)!r} is hidden; show it, or write "
                f"include_hidden = true in tablebench.toml"
            )
        chosen = chosen if chosen in chosen_sheets else chosen_sheets[0]
        where = f"{origin}, sheet {chosen.title!r}"
        if formulas.exist and not has_values_only:
            _require_values(data, chosen)
        view = show_sheet(chosen, where, include_hidden=include_hidden)
        try:
            table = flat_sheet(Table, chosen, where, name)
            places = [position for position, _ in sheet_values(chosen)]
            first = min(line for line, _ in places), min(column for _, column in places)
        except MergedCellsError:
            table = layout.to_table(sheet_grid(chosen, where, name), Table)
            first = 1, 1
    except TableError as error:
        raise DataError(_shortened(str(error), path)) from None
    others = tuple(each.title for each in chosen_sheets if each is not chosen)
    return SheetRead(
        table,
        view.stored or {},
        chosen.title,
        others,
        (
            *_notes(view, len(sheets) - len(chosen_sheets)),
            *([VALUES_ONLY] if has_values_only else []),
        ),
        _numbers(first[0], len(table.lines), view.omitted[0]),
        _numbers(first[1], len(table.header), view.omitted[1]),
    )


def _large_sheet(
    data: bytes, sheet: str, formulas: _WorkbookFormulas, where: str, name: str
) -> SheetRead:
    if formulas.lack_values:
        raise DataError(
            "has formulas that were never calculated; open the file in a spreadsheet program and "
            "save it"
        )
    read = stored_rows(data, sheet, where)
    header, *rows = (tuple(plain_value(cell) for cell in row) for row in read.rows)
    names = tuple("" if cell is None else str(cell) for cell in header)
    top, left = read.first
    hidden = f"{counted(read.hidden, 'hidden sheet')} not sent" if read.hidden else ""
    return SheetRead(
        Table(names, rows, name=name),
        {},
        read.sheet,
        read.others,
        (*filter(None, [hidden]), LARGE),
        range(top, top + len(read.rows)),
        range(left, left + len(names)),
    )


def _numbers(first: int, count: int, omitted: Sequence[int]) -> list[int]:
    """Return the numbers in the file of `count` lines from the `first` of those that remain."""
    gone = set(omitted)
    remaining = (number for number in naturals(1) if number not in gone)
    return list(islice(remaining, first - 1, first - 1 + count))


def _notes(view: SheetView, hidden_sheets: int) -> Iterator[str]:
    hidden = [
        counted(count, f"hidden {noun}")
        for count, noun in (
            (view.hidden_rows, "row"),
            (view.hidden_columns, "column"),
            (hidden_sheets, "sheet"),
        )
        if count
    ]
    if hidden:
        yield (
            f"{' and '.join(hidden)} not sent; include_hidden = true in tablebench.toml sends them"
        )
    if view.unreadable:
        codes = ", ".join(repr(shortened(code, 40)) for code in view.unreadable[:3])
        yield f"number formats that are not understood: {codes}; the stored values are sent"


def sheet_names(path: Path) -> list[str]:
    """Return the names of a workbook's visible sheets. Raises `DataError`."""
    _look_over(path)
    try:
        data, _, origin = read_workbook_bytes(path)
        try:
            book, _ = open_workbook(data, origin)
        except LargeWorkbookError:
            read = stored_rows(data, "", origin)
            return [read.sheet, *read.others]
    except TableError as error:
        raise DataError(_shortened(str(error), path)) from None
    return [sheet.title for sheet in book.worksheets if sheet.sheet_state == "visible"]


def _shortened(message: str, path: Path) -> str:
    """Return the message without the file's name, which the caller adds."""
    return message.removeprefix(f"XLSX file '{path}'").lstrip(",: ")


@dataclass(frozen=True)
class _WorkbookFormulas:
    """Whether a workbook has formulas, and whether some of them have no stored value."""

    exist: bool = False
    lack_values: bool = False


def _look_over(path: Path) -> _WorkbookFormulas:
    """Return what formulas a workbook has. Raises `DataError` if it is unsafe to unpack."""
    try:
        with path.open("rb") as stream:
            if stream.read(len(_OLE)) == _OLE:
                return _WorkbookFormulas()  # a workbook from Excel before 2007, with stored values
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            if any(part.flag_bits & 1 for part in parts):
                raise DataError("is protected by a password; save it without one")
            # `zipfile` never unpacks more than the size in an entry, so these sizes are reliable.
            size = sum(part.file_size for part in parts)
            if size > _MOST_UNPACKED or len(parts) > _MOST_PARTS:
                raise DataError(
                    f"would unpack to {size >> 20:,} MB in {len(parts):,} parts; at most "
                    f"{_MOST_UNPACKED >> 20:,} MB and {_MOST_PARTS:,} parts are read"
                )
            counted = ("xl/worksheets/", "xl/sharedStrings")
            sheets = [part for part in parts if part.filename.startswith(counted)]
            formulas = [_formulas(archive, sheet) for sheet in sheets]
            return _WorkbookFormulas(
                any(each.exist for each in formulas), any(each.lack_values for each in formulas)
            )
    except zipfile.BadZipFile:
        raise DataError("is not a workbook, despite its name") from None
    except (OSError, RuntimeError, NotImplementedError, zipfile.LargeZipFile) as error:
        raise DataError(f"cannot be read: {error}") from None


def _formulas(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> _WorkbookFormulas:
    """Return what formulas a part has. Raises `DataError` for too many rows, cells or texts.

    The part is searched as bytes, without parsing it.
    """
    rows, cells, exist, lack_values, rest, end = 0, 0, False, False, b"", b""
    with archive.open(part) as stream:
        while block := stream.read(1 << 20):
            text = rest + block
            rows += text.count(b"<row ") + text.count(b"<row>")
            exist = exist or b"<f>" in text or b"<f " in text
            lack_values = lack_values or _WITHOUT_VALUE.search(end + block) is not None
            cells += text.count(b"<c ") + text.count(b"<si>")
            if cells > _MOST_CELLS:
                raise DataError(
                    f"has a sheet of more than {_MOST_CELLS:,} cells; no model reads that many: "
                    f"keep only what the questions are about"
                )
            end = block[-_LONGEST_FORMULA:]
            rest = text[-4:]  # a tag that continues in the next block is counted there
            if rows > MOST_ROWS + 1:
                raise DataError(
                    f"has a sheet of more than {MOST_ROWS:,} rows; no model reads that many: "
                    f"keep only the rows that the questions are about"
                )
    return _WorkbookFormulas(exist, lack_values)


def _require_values(data: bytes, values: Worksheet) -> None:
    """Raise `DataError` for a formula without a stored value."""
    import openpyxl

    cells = values._cells
    if cells:
        lines, columns = max(line for line, _ in cells), max(column for _, column in cells)
        check_size(lines, columns, f"sheet {values.title!r}")
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, keep_links=False)
    try:
        for cell in chain.from_iterable(book[values.title].iter_rows()):
            if cell.data_type != "f":
                continue
            value = cells.get((cell.row or 0, cell.column or 0))
            if value is None or (value.value is None and value.data_type == "n"):
                raise DataError(
                    f"cell {cell.coordinate} has a formula that was never calculated; open the "
                    f"file in a spreadsheet program and save it"
                )
    finally:
        book.close()
