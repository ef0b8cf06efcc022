"""Tables of a dataset folder: by file name, read once, and never from outside the folder."""

from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath

from pytest_tablebench.datasets._files import file_digest, inside
from pytest_tablebench.datasets.folder._text import (
    MOST_BYTES,
    delimiter_of,
    numbered_rows,
    read_text,
)
from pytest_tablebench.datasets.folder._workbook import MOST_ROWS, read_sheet
from pytest_tablebench.errors import DataError, MergedCellsError, TableError
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import counted, printable

TABLE_KINDS = (".csv", ".tsv", ".xlsx", ".xlsm", ".parquet", ".html", ".htm")


class FolderTables:
    """The tables of one folder, each read when a question first names it.

    Attributes:
        digests: SHA-256 of each file that was read, by its name in the folder.
        notes: what people must know of how files were read.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.digests: dict[str, str] = {}
        self.notes: list[str] = []
        self._known: dict[str, Table | str] = {}

    def path(self, name: str) -> Path:
        """Return a file of the folder. Raises `DataError` for one that is outside, or not there."""
        written = PurePosixPath(name.replace("\\", "/"))
        absolute = written.is_absolute() or PureWindowsPath(name).is_absolute()
        if absolute or ".." in written.parts:
            raise DataError(f"{printable(name, 80)}: name a file inside the folder, without ..")
        path = inside(self.folder, name)
        if not path.is_file():
            raise DataError(f"{printable(name, 80)}: no such file in the folder")
        return path

    def text(self, name: str) -> str:
        """Return the text of a file, taking note of it. Raises `DataError`, naming the file."""
        try:
            path = self.path(name)
            text, encoding = read_text(path)
        except DataError as error:
            raise _named(name, error) from None
        self._read(name, path)
        if encoding is not None:
            self.notes.append(f"{printable(name, 80)} was read as {encoding}")
        return text

    def table(self, written: str) -> Table:
        """Return the table that a question names: `file`, or `file.xlsx#Sheet`.

        Raises `DataError`, naming the file and where it is wrong.
        """
        if written not in self._known:
            try:
                self._known[written] = self._table(written)
            except DataError as error:
                self._known[written] = str(error)
        found = self._known[written]
        if isinstance(found, str):
            raise DataError(found)
        return found

    def _table(self, written: str) -> Table:
        # Where the whole ends as a table's file does, the sign is part of its name.
        name, sheet = written, ""
        if "#" in written and PurePosixPath(written).suffix.lower() not in TABLE_KINDS:
            name, _, sheet = written.partition("#")
        kind = PurePosixPath(name).suffix.lower()
        if kind not in TABLE_KINDS:
            raise DataError(f"{printable(name, 80)}: a table is a file of {', '.join(TABLE_KINDS)}")
        if kind in {".csv", ".tsv", ".html", ".htm"}:
            text = self.text(name)
            try:
                if kind in {".html", ".htm"}:
                    return _require_size(_html(text + "\n"))
                return _delimited(text, "\t" if kind == ".tsv" else delimiter_of(text), name)
            except (DataError, TableError) as error:
                raise _named(name, error) from None
        path = self.path(name)
        try:
            if path.stat().st_size > MOST_BYTES:
                raise DataError(f"larger than {MOST_BYTES >> 20} MB")
            table = _parquet(path) if kind == ".parquet" else read_sheet(path, sheet or None)
        except (DataError, TableError) as error:
            raise _named(name, error) from None
        self._read(name, path)
        return table

    def _read(self, name: str, path: Path) -> None:
        self.digests[name] = file_digest(path)


def _named(name: str, error: Exception) -> DataError:
    message, shown = str(error), printable(name, 80)
    return DataError(message if message.startswith(shown) else f"{shown}: {message}")


def _delimited(text: str, delimiter: str, name: str) -> Table:
    rows: list[list[str]] = []
    for line, row in numbered_rows(text, delimiter):
        if rows and len(row) != len(rows[0]):
            raise DataError(
                f"line {line}: {counted(len(row), 'cell')}, the header has {len(rows[0])}; put "
                f"quotes around a cell that holds the separator, or fill the row"
            )
        rows.append(row)
        if len(rows) > MOST_ROWS + 1:
            raise DataError(
                f"more than {MOST_ROWS:,} rows; no model reads that many: keep the rows that the "
                f"questions are about"
            )
    if not rows:
        raise DataError("holds no line; the first one must be the header")
    return Table(tuple(rows[0]), tuple(map(tuple, rows[1:])), name=name)


def _html(text: str) -> Table:
    try:
        return Table.from_html(text)
    except MergedCellsError:
        return Table.from_html(text, structure=True)


def _require_size(table: Table) -> Table:
    if len(table.rows) > MOST_ROWS:
        raise DataError(f"more than {MOST_ROWS:,} rows; no model reads that many")
    return table


def _parquet(path: Path) -> Table:
    try:
        from pyarrow import parquet
    except ImportError:
        raise DataError("Parquet needs pyarrow: pip install 'pytest-tablebench[parquet]'") from None
    try:
        file = parquet.ParquetFile(path)
        if file.metadata.num_rows > MOST_ROWS:
            raise DataError(f"more than {MOST_ROWS:,} rows; no model reads that many")
        return Table.from_pandas(file.read().to_pandas())
    except DataError:
        raise
    except Exception as error:  # a damaged file surfaces as nearly any exception
        raise DataError(f"cannot be read as Parquet: {printable(str(error), 120)}") from None
