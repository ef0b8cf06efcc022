"""Tables of a dataset folder by file name, read once each, and only from inside the folder."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from itertools import islice
from pathlib import Path, PurePosixPath, PureWindowsPath

from pytest_tablebench.datasets.files import inside
from pytest_tablebench.datasets.folder._lines import (
    MOST_BYTES,
    MOST_CELLS,
    MOST_COLUMNS,
    DelimitedText,
    FileLines,
    delimiter_of,
    page_hint,
    page_lines,
    page_remarks,
    part_of,
    place_of,
    read_text,
)
from pytest_tablebench.datasets.folder.workbook import MOST_ROWS, read_sheet
from pytest_tablebench.errors import DataError, MergedCellsError, TableError, missing_package
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_part import TablePart, area_of, cut
from pytest_tablebench.util.names import shortened

_NUMBER = re.compile(r"-?\d{1,30}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,3})?")


class StoredValues:
    """The stored values of a table's cells.

    Arguments:
        table: the table with its shown texts.
        stored: the stored values of each shown text that differs from its stored value.
    """

    def __init__(self, table: Table, stored: Mapping[str, tuple[str, ...]]) -> None:
        self._table = table
        self._stored = stored

    @cached_property
    def _shown(self) -> dict[str, set[str]]:
        """The shown texts of each stored value."""
        shown: dict[str, set[str]] = {}
        for text, values in self._stored.items():
            for value in values:
                shown.setdefault(_key(value), set()).add(text)
        return shown

    @cached_property
    def _cells(self) -> frozenset[str]:
        return frozenset(_key(str(cell)) for line in self._table.lines for cell in line)

    def other_forms(self, answer: str) -> tuple[str, ...]:
        """Return the other forms of an answer.

        For a shown text these are its stored values. For a stored value it is the shown text,
        unless cells show the value in several ways. For any other answer there are none.
        """
        if answer in self._stored:
            return self._stored[answer]
        key = _key(answer)
        if key in self._cells:
            return ()
        shown = self._shown.get(key, set())
        return tuple(shown) if len(shown) == 1 else ()


def _key(text: str) -> str:
    """Return the key for comparing texts: numbers by value, other texts without case."""
    plain = text.strip()
    if _NUMBER.fullmatch(plain):
        value = Decimal(plain)
        return str(value.normalize()) if value else "0"
    return plain.casefold()


MOST_UNPACKED = 1 << 30
"""The most bytes of an unpacked Parquet file."""

_MOST_FILES = 2_000
"""The most files of the folder that are compared with a misspelt name."""

TABLE_KINDS = (
    *(".csv", ".tsv", ".xlsx", ".xlsm", ".xls", ".xlsb", ".ods"),
    *(".parquet", ".html", ".htm"),
)


_WITHOUT_SHEETS = (".csv", ".tsv", ".parquet", ".html", ".htm")


class FolderTables:
    """The tables of one folder, each read when a question first names it.

    Arguments:
        folder: the folder; files outside of it are refused.
        include_hidden: whether to read hidden rows, columns and sheets of workbooks.
        encoding: the encoding of text files that are not UTF-8; "" to recognize it.
        parts: the settings of tables, by the names in questions or by patterns of them.

    Attributes:
        files: the names of the files that were read.
        notes: remarks for the user on how files were read.
    """

    def __init__(
        self,
        folder: Path,
        *,
        include_hidden: bool = False,
        encoding: str = "",
        parts: Mapping[str, TablePart] | None = None,
    ) -> None:
        self.folder = folder
        self.files: set[str] = set()
        self.notes: list[str] = []
        self._include_hidden = include_hidden
        self._encoding = encoding
        self._parts = parts or {}
        self._unused_parts = set(self._parts)
        self._contents: dict[str, Table | str] = {}
        self._stored: dict[str, StoredValues] = {}
        self._sheets: dict[str, tuple[set[str], set[str]]] = {}
        self._noted: set[tuple[str, str]] = set()

    def path(self, name: str) -> Path:
        """Return the path of a file. Raises `DataError` if it is outside the folder or missing."""
        written = PurePosixPath(name.replace("\\", "/"))
        absolute = written.is_absolute() or PureWindowsPath(name).is_absolute()
        if absolute or ".." in written.parts:
            raise DataError(f"{shortened(name, 80)}: name a file inside the folder, without ..")
        path = inside(self.folder, name)
        if not path.is_file():
            raise DataError(f"{shortened(name, 80)} does not exist in the folder{self._near(name)}")
        return path

    def _near(self, name: str) -> str:
        """Return a hint with the most similar file name; "" without a similar one."""
        files = islice(self.folder.rglob("*"), _MOST_FILES)
        names = {
            path.relative_to(self.folder).as_posix()
            for path in files
            if path.suffix.lower() in TABLE_KINDS
        }
        by_case = {existing.casefold(): existing for existing in sorted(names)}
        folded_name = name.replace("\\", "/").casefold()
        near = difflib.get_close_matches(folded_name, by_case, n=1, cutoff=0.6)
        return f"; did you mean {shortened(by_case[near[0]], 80)}?" if near else ""

    def text(self, name: str) -> str:
        """Return the text of a file. Raises `DataError`, naming the file."""
        try:
            path = self.path(name)
            text, encoding = read_text(path, self._encoding)
        except DataError as error:
            raise _named(name, error) from None
        self.files.add(name)
        if encoding is not None:
            self.notes.append(f"{shortened(name, 80)} was read as {encoding}")
        return text

    def table(self, written: str) -> Table:
        """Return the table that a question names as `file` or `file.xlsx#Sheet`.

        Raises `DataError`, naming the file and the place of the mistake.
        """
        if written not in self._contents:
            try:
                self._contents[written] = self._table(written)
            except (DataError, TableError) as error:
                self._contents[written] = str(_named(split_sheet(written)[0], error))
        content = self._contents[written]
        if isinstance(content, str):
            raise DataError(content)
        return content

    def question_sheet(self, name: str) -> Table:
        """Return the first sheet of a workbook of questions, with hidden rows and columns."""
        path = self.path(name)
        try:
            table = read_sheet(path, None, include_hidden=True).table
        except DataError as error:
            raise _named(name, error) from None
        self.files.add(name)
        return table

    def stored_values(self, written: str) -> StoredValues | None:
        """Return the stored values of a table that was read; None if they equal its shown texts."""
        return self._stored.get(written)

    def note_unused(self) -> None:
        """Add a note for visible sheets that no question names, and for settings of no table."""
        for key in sorted(self._unused_parts):
            self.notes.append(f'[tables."{shortened(key, 80)}"]: no question names such a table')
        for name, (named, visible) in self._sheets.items():
            unused = sorted(visible - named)
            if unused:
                names = ", ".join(repr(shortened(sheet, 40)) for sheet in unused[:3])
                more = f" and {len(unused) - 3} more" if len(unused) > 3 else ""
                noun = "sheets" if len(unused) > 1 else "sheet"
                self._note(name, [f"no question names the {noun} {names}{more}"])

    def _workbook(self, written: str, name: str, sheet: str, path: Path) -> Table:
        named, visible = self._sheets.setdefault(name, (set(), set()))
        named.add(sheet)  # also if the sheet cannot be read
        read = read_sheet(path, sheet or None, include_hidden=self._include_hidden)
        named.add(read.sheet)
        visible.update((read.sheet, *read.others))
        key, part = self.part(written)
        file = FileLines(read.table.lines, read.rows, read.columns)
        area = file.area(part)
        table = read.table if area is None else cut(read.table, area)
        if (name, read.sheet) not in self._noted:
            self._noted.add((name, read.sheet))
            self._note(f"{name}#{read.sheet}", read.notes)
            if not key:
                remarks = file.remarks(written, has_captions=read.table.is_structured)
                self._note(f"{name}#{read.sheet}", remarks)
        if read.stored:
            self._stored[written] = StoredValues(table, read.stored)
        return table

    def _table(self, written: str) -> Table:
        name, sheet = split_sheet(written)
        kind = PurePosixPath(name).suffix.lower()
        if kind not in TABLE_KINDS:
            raise DataError(
                f"{shortened(name, 80)}: a table must be a file of {', '.join(TABLE_KINDS)}"
            )
        if sheet and kind in _WITHOUT_SHEETS and written not in self._parts:
            raise DataError(
                f"{shortened(name, 80)}: only a workbook has sheets; leave out "
                f"{shortened(f'#{sheet}', 40)!r}, or choose a table {place_of(written)}"
            )
        if kind in {".html", ".htm"}:
            return self._page(written, self.text(name))
        if kind in {".csv", ".tsv"}:
            return self._delimited(written, self.text(name))
        path = self.path(name)
        if path.stat().st_size > MOST_BYTES:
            raise DataError(f"larger than {MOST_BYTES >> 20} MB")
        is_parquet = kind == ".parquet"
        table = _parquet(path) if is_parquet else self._workbook(written, name, sheet, path)
        self.files.add(name)
        return table

    def part(self, written: str) -> tuple[str, TablePart]:
        """Return the setting of a table with its key; "" and no choice without a setting."""
        key, part = part_of(self._parts, written, split_sheet(written)[0])
        self._unused_parts.discard(key)
        return key, part

    def _note(self, written: str, remarks: Iterable[str]) -> None:
        self.notes += [f"{shortened(written, 80)}: {remark}" for remark in remarks]

    def _page(self, written: str, text: str) -> Table:
        key, part = self.part(written)
        index = max(part.table - 1, 0)
        if not (part.header_row or part.range):
            try:
                table = _require_size(html_table(text + "\n", index))
            except TableError as error:
                raise DataError(f"{error}{page_hint(text, index, written)}") from None
            if not key:
                self._note(written, page_remarks(text + "\n", table, written))
            return table
        table = _require_size(Table.from_html(text + "\n", index=index, structure=True))
        area = page_lines(table).area(replace(part, table=0))
        return table if area is None else cut(table, area)

    def _delimited(self, written: str, text: str) -> Table:
        name = split_sheet(written)[0]
        key, part = self.part(written)
        area = area_of(part.range)
        first = part.header_row or (area.top + 1 if area else 1)
        is_tabbed = name.lower().endswith(".tsv")
        read = DelimitedText(text, "\t" if is_tabbed else delimiter_of(text, first))
        table = read.table(name, area=read.lines.area(part), key=written)
        if not key:
            self._note(written, read.lines.remarks(written))
        return table


def split_sheet(written: str) -> tuple[str, str]:
    """Return the file and the sheet of `FILE#SHEET`; "" for the sheet of a file alone."""
    # If the text after # ends in a table's suffix, # is part of the file's name.
    if PurePosixPath(written).suffix.lower() in TABLE_KINDS:
        return written, ""
    name, _, sheet = written.partition("#")
    return name, sheet


def _named(name: str, error: Exception) -> DataError:
    message, shown = str(error), shortened(name, 80)
    return DataError(message if message.startswith(shown) else f"{shown}: {message}")


def html_table(text: str, index: int = 0) -> Table:
    """Read a table of HTML, by default the first, with its structure if cells are merged."""
    try:
        return Table.from_html(text, index=index)
    except MergedCellsError:
        return Table.from_html(text, index=index, structure=True)


def _require_size(table: Table) -> Table:
    if len(table.rows) > MOST_ROWS:
        raise DataError(f"more than {MOST_ROWS:,} rows are not read")
    return table


def _parquet(path: Path) -> Table:
    try:
        from pyarrow import parquet
    except ImportError:
        raise DataError(missing_package("Parquet", "pyarrow", "parquet")) from None
    try:
        file = parquet.ParquetFile(path)
        facts = file.metadata
        if facts.num_rows > MOST_ROWS:
            raise DataError(f"more than {MOST_ROWS:,} rows are not read")
        unpacked = sum(facts.row_group(n).total_byte_size for n in range(facts.num_row_groups))
        for count, limit, noun in (
            (facts.num_columns, MOST_COLUMNS, "columns"),
            (facts.num_rows * facts.num_columns, MOST_CELLS, "cells"),
            (unpacked, MOST_UNPACKED, "bytes unpacked"),
        ):
            if count > limit:
                raise DataError(f"{count:,} {noun}; at most {limit:,} are read")
        return Table.from_pandas(file.read().to_pandas())
    except DataError:
        raise
    except Exception as error:  # a damaged file can raise nearly any exception
        raise DataError(f"cannot be read as Parquet: {shortened(str(error), 120)}") from None
