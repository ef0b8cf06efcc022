"""Workbooks from anywhere: looked over before they are unpacked; nothing in them is ever run."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from pytest_tablebench.errors import DataError, MergedCellsError, TableError
from pytest_tablebench.tables.table import Table

MOST_ROWS = 100_000
"""Rows of the largest table that is read."""

_MOST_CELLS = 1_000_000
_MOST_UNPACKED = 200 * 1024 * 1024
_MOST_PARTS = 5_000
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
"""How a workbook begins that a password protects, and one of Excel before 2007."""


def read_sheet(path: Path, sheet: str | None) -> Table:
    """Read a sheet by its name, or the first one; with structure where cells are merged.

    Raises `DataError`.
    """
    has_formulas, chosen = _look_over(path), 0 if sheet is None else sheet
    try:
        try:
            table = Table.from_xlsx(path, sheet=chosen)
        except MergedCellsError:
            table = Table.from_xlsx(path, sheet=chosen, structure=True)
    except TableError as error:
        raise DataError(_shortened(str(error), path)) from None
    if has_formulas:
        _require_values(path, sheet)
    return table


def sheet_names(path: Path) -> list[str]:
    """Return the names of a workbook's sheets. Raises `DataError`."""
    import openpyxl

    _look_over(path)
    try:
        book = openpyxl.load_workbook(path, read_only=True, keep_links=False)
    except Exception as error:  # a damaged file surfaces as nearly any exception
        raise DataError(f"cannot be read as a workbook: {error!r}") from None
    try:
        return [sheet.title for sheet in book.worksheets]
    finally:
        book.close()


def _shortened(message: str, path: Path) -> str:
    """Return the message without the file, which whoever reports it names."""
    return message.removeprefix(f"XLSX file '{path}'").lstrip(",: ")


def _look_over(path: Path) -> bool:
    """Return whether a workbook has formulas. Raises `DataError` for one not to be unpacked."""
    try:
        with path.open("rb") as stream:
            if stream.read(len(_OLE)) == _OLE:
                raise DataError(
                    "is protected by a password, or an old .xls; save it as .xlsx without one"
                )
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
            if any(part.flag_bits & 1 for part in parts):
                raise DataError("is protected by a password; save it without one")
            # `zipfile` gives no more of a part than its entry says, so these sizes are true.
            size = sum(part.file_size for part in parts)
            if size > _MOST_UNPACKED or len(parts) > _MOST_PARTS:
                raise DataError(
                    f"unpacks to {size >> 20:,} MB in {len(parts):,} parts, and is not unpacked; "
                    f"the most is {_MOST_UNPACKED >> 20} MB"
                )
            counted = ("xl/worksheets/", "xl/sharedStrings")
            found = [
                _has_formulas(archive, part) for part in parts if part.filename.startswith(counted)
            ]  # all of them: each is read whole
            return any(found)
    except zipfile.BadZipFile:
        raise DataError("is no workbook, whatever its name says") from None
    except (OSError, RuntimeError, NotImplementedError, zipfile.LargeZipFile) as error:
        raise DataError(f"cannot be read: {error}") from None


def _has_formulas(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bool:
    """Count rows, cells and texts without reading them. Raises `DataError` for too many."""
    rows, cells, formulas, rest = 0, 0, False, b""
    with archive.open(part) as stream:
        while block := stream.read(1 << 20):
            text = rest + block
            rows += text.count(b"<row ") + text.count(b"<row>")
            formulas = formulas or b"<f>" in text or b"<f " in text
            cells += text.count(b"<c ") + text.count(b"<si>")
            if cells > _MOST_CELLS:
                raise DataError(
                    f"has a sheet of more than {_MOST_CELLS:,} cells; no model reads that many: "
                    f"keep what the questions are about"
                )
            rest = text[-4:]  # what begins here and ends in the next block is counted there
            if rows > MOST_ROWS + 1:
                raise DataError(
                    f"has a sheet of more than {MOST_ROWS:,} rows; no model reads that many: "
                    f"keep the rows that the questions are about"
                )
    return formulas


def _require_values(path: Path, sheet: str | None) -> None:
    """Raise `DataError` for a formula of which the file keeps no value."""
    import openpyxl

    books = [
        openpyxl.load_workbook(path, read_only=True, data_only=only, keep_links=False)
        for only in (False, True)
    ]
    try:
        formulas, values = (book.worksheets[0] if sheet is None else book[sheet] for book in books)
        cells: Iterable[tuple[object, ...]] = zip(
            chain.from_iterable(formulas.iter_rows()),
            chain.from_iterable(values.iter_rows()),
            strict=False,
        )
        for formula, value in cells:
            kind = getattr(formula, "data_type", "n")
            empty = getattr(value, "value", None) is None
            if kind == "f" and empty and getattr(value, "data_type", "n") == "n":
                place = getattr(formula, "coordinate", "?")
                raise DataError(
                    f"cell {place} holds a formula that was never calculated; open the file in a "
                    f"spreadsheet program and save it"
                )
    finally:
        for book in books:
            book.close()
