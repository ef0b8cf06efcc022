"""Readers for `Table.from_*`: CSV, HTML and XLSX.

Only the standard library is loaded until a reader needs more.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import MergedCellsError, SettingsError, TableError
from pytest_tablebench.tables.content import AnyTable, Cell
from pytest_tablebench.tables.hierarchy.grid import check_size
from pytest_tablebench.tables.html_limits import check_markup
from pytest_tablebench.tables.workbook_package import checked_workbook, is_package
from pytest_tablebench.tables.workbook_texts import restore_texts
from pytest_tablebench.util.names import counted, printable, unknown_name

if TYPE_CHECKING:
    import bs4
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
    text, name, where = _read_text(source, "CSV", _has_line_end, "has a line end")
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


def find_html_table(
    source: str | os.PathLike[str], *, index: int
) -> tuple[bs4.Tag, bs4.BeautifulSoup, str | None, str]:
    """Return one table of an HTML text or file, its document, the file's name and its label.

    Raises `TableError` for a text beyond the limits of `html_limits`.
    """
    import bs4

    text, name, where = _read_text(
        source,
        "HTML",
        lambda text: _has_line_end(text) or "<table" in text.lower(),
        "has a line end or a <table>",
    )
    check_markup(text, where)
    # The parser warns of an XML declaration before XHTML, which does not concern the table.
    text = re.sub(r"^\s*<\?xml[^>]*>", "", text)
    # Outside of these tags Beautiful Soup reduces a text of blanks to one blank.
    try:
        soup = bs4.BeautifulSoup(text, "html.parser", preserve_whitespace_tags={"table"})
    except (bs4.ParserRejectedMarkup, AssertionError, RecursionError):
        raise TableError(
            f"{where} has a declaration that no parser reads, such as `<![`; remove it"
        ) from None
    tables = soup.find_all("table")
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(tables):
        indexes = f"0 to {len(tables) - 1}" if tables else "none"
        raise TableError(f"{where} has no <table> with index {index!r}; there are: {indexes}")
    return tables[index], soup, name, f"{where}, table {index}"


def read_html(kind: type[AnyTable], source: str | os.PathLike[str], *, index: int) -> AnyTable:
    """Read one flat table of an HTML text or file; see `Table.from_html`."""
    table, _, name, where = find_html_table(source, index=index)
    heads, rows = _html_rows(table, where)
    if not heads and not rows:
        raise TableError(f"{where} has no rows; its first row must be the header")
    header = heads[-1] if heads else rows.pop(0)
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise TableError(
                f"{where}, row {number}: {counted(len(row), 'cell')}, the header has {len(header)}"
            )
    return kind(tuple(header), tuple(tuple(row) for row in rows), name=name)


def _html_rows(table: bs4.Tag, where: str) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows in `<thead>` and the other rows, without rows that have no cells.

    The walk is in document order instead of by the children of each row, so that optional end tags
    (`</td>`, `</tr>`, …) may be missing.
    """
    from bs4.element import CData, NavigableString, Tag

    heads: list[list[list[str]]] = []
    bodies: list[list[list[str]]] = []
    cell: Tag | None = None
    # Each element's context comes from its parent. With missing end tags each row is inside the
    # one before, so searching upwards would take quadratic time.
    inside: dict[int, tuple[bool, bool, Tag | None]] = {id(table): (False, False, None)}
    section = bodies
    for node in table.descendants:
        is_inner, in_head, around = inside[id(node.parent)]
        if isinstance(node, Tag):
            is_inner = is_inner or node.name == "table"
            if is_inner:
                pass  # only its text counts
            elif node.name in {"thead", "tbody", "tfoot"}:
                in_head = node.name == "thead"
                section, cell = (heads if in_head else bodies), None
            elif node.name == "tr":
                # Back to the body if a row follows </thead> without a <tbody>.
                if section is heads and not in_head:
                    section = bodies
                section.append([])
                cell = None
            elif node.name in {"td", "th"}:
                if not section:
                    raise TableError(f"{where}: a <{node.name}> is outside of any <tr>")
                _refuse_span(node, where)
                cell = around = node
                section[-1].append([])
            elif node.name == "br" and cell is not None and around is cell:
                section[-1][-1].append("\n")
            inside[id(node)] = is_inner, in_head, around
        elif type(node) in {NavigableString, CData} and cell is not None and around is cell:
            section[-1][-1].append(str(node))
    return (
        [["".join(parts) for parts in row] for row in heads if row],
        [["".join(parts) for parts in row] for row in bodies if row],
    )


def _refuse_span(cell: bs4.Tag, where: str) -> None:
    for attribute in ("colspan", "rowspan"):
        # As in browsers, a value that does not start with a number counts as 1.
        match = re.match(r"\s*(\d+)", str(cell.get(attribute, "1")))
        if match and match[1].lstrip("0") != "1":
            raise MergedCellsError(
                f"{where}, cell {cell.get_text()[:40]!r}: {attribute}={match[1]}; "
                f"this call reads flat tables; structure=True reads merged cells"
            )


def read_workbook_bytes(path: str | os.PathLike[str]) -> tuple[bytes, str, str]:
    """Return a workbook's bytes, its file name and its label for messages."""
    file = _to_path(path, "XLSX")
    where = f"XLSX file '{printable(str(file), 300)}'"
    return _read_bytes(file, where, ""), file.name, where


def open_workbook(data: bytes, where: str) -> tuple[Workbook, bool]:
    """Return a workbook, and whether it lacks number formats and hidden lines.

    No formula is run. Raises `TableError` for a workbook that no library reads, or beyond the
    limits of `workbook_package`.
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
                io.BytesIO(data), read_only=False, data_only=True, keep_links=False
            )
    except Exception:  # a file that another program opens can raise nearly any exception
        return stored_workbook(data, where), True
    restore_texts(workbook)
    return workbook, False


def open_sheet(data: bytes, sheet: str | int, where: str) -> tuple[Worksheet, str]:
    """Return one sheet of a workbook and its label for messages, as `open_workbook` does."""
    chosen = choose_sheet(open_workbook(data, where)[0], sheet, where)
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


def _has_line_end(text: str) -> bool:
    return "\n" in text or "\r" in text


def _read_text(
    source: str | os.PathLike[str], kind: str, is_text: Callable[[str], bool], rule: str
) -> tuple[str, str | None, str]:
    """Return the text, the file's name or None, and the label for messages."""
    if isinstance(source, str) and is_text(source):
        return source.removeprefix("\ufeff"), None, f"{kind} text"
    path = _to_path(source, kind)
    where = f"{kind} file '{printable(str(path), 300)}'"
    hint = f"; {kind} text instead of a path {rule}" if isinstance(source, str) else ""
    data = _read_bytes(path, where, hint)
    try:
        return data.decode("utf-8-sig"), path.name, where
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"{where}, line {line}: byte {error.object[error.start]:#04x} is not UTF-8; "
            f"convert the file to UTF-8"
        ) from error


def _to_path(source: str | os.PathLike[str], kind: str) -> Path:
    if not isinstance(source, str | os.PathLike) or not isinstance(os.fspath(source), str):
        raise TableError(f"{kind}: a path or text is needed, not {type(source).__name__}")
    if not os.fspath(source):
        raise TableError(f"{kind}: the path is empty")
    return Path(source)


def _read_bytes(path: Path, where: str, hint: str) -> bytes:
    try:
        if path.is_dir():
            raise TableError(f"{where} is a folder, not a file")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise TableError(f"{where} does not exist{hint}") from error
    except (OSError, ValueError) as error:
        if isinstance(error, TableError):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise TableError(f"{where} cannot be read: {reason}{hint}") from error
