"""The table class of the whole package, with its readers and writers."""

from __future__ import annotations

from functools import cached_property
from typing import IO, TYPE_CHECKING

from pytest_tablebench.tables.content import Path, TableContent

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

    from pytest_tablebench.tables.hierarchy.paths import Paths


class Table(TableContent):
    """A table with its readers and writers; see `TableContent` for its fields."""

    @cached_property
    def _paths(self) -> Paths:
        from pytest_tablebench.tables.hierarchy.paths import Paths

        return Paths(self)

    def path(self, row: int, column: int) -> Path:
        """Return the header texts of a cell of `rows`, outermost first.

        Both positions count from 0. Raises `TableError` if the table has no such cell.
        """
        return self._paths.of(row, column)

    def parts(self) -> tuple[Table, ...]:
        """Return the tables that are below or next to each other in one sheet.

        A single table returns itself. See `hierarchy.parts` for the rules.
        """
        from pytest_tablebench.tables.hierarchy import _parts as parts

        return parts.parts_of(self)

    @classmethod
    def from_csv(
        cls, source: str | PathLike[str], *, dialect: str = "rfc4180", title: str | None = None
    ) -> Table:
        """Read CSV: `source` is a path, or the text itself if it has a line end.

        `dialect` is `"rfc4180"` (quotes doubled inside quoted cells) or `"wikitq"` (the `.csv`
        files of WikiTableQuestions: a backslash escapes a quote or backslash, and is plain before
        other characters). Every cell is text. Line ends inside quotes are kept, blank lines are
        skipped, and a quote inside an unquoted cell is an ordinary character. Files are UTF-8, with
        or without a byte order mark. The table's name is the file's. Raises `TableError` for an
        unreadable file, no lines, bad quoting or ragged rows, and `SettingsError` for an unknown
        dialect.
        """
        from pytest_tablebench.tables import readers

        return readers.read_csv(cls, source, dialect=dialect, title=title)

    @classmethod
    def from_html(
        cls,
        source: str | PathLike[str],
        *,
        index: int = 0,
        structure: bool = False,
        marks: bool = True,
    ) -> Table:
        """Read the `index`-th `<table>` (from 0, in document order) of an HTML text or file.

        `source` is the text itself if it has a line end or a `<table`, else the path of a file,
        which gives the table its name. Tables, rows and text that a browser does not show are left
        out. The header is the last row of `<thead>` (rows above it are dropped), or the first row.
        Cells have the text that a browser shows: blocks and rows of inner tables are on lines of
        their own, raised digits are superscript characters (`10²`), other raised text follows `^`,
        and struck text is between `~~`. End tags may be missing where HTML allows it. Raises
        `TableError` for an unreadable file, a missing table, ragged rows or merged cells.

        With `structure` merged cells, header lines, row headers, sections, captions and notes are
        read too (see `hierarchy.layout`), and rows may be short. Then, without `marks`, blanks stay
        and raised and struck text is plain, as in published benchmarks' own files. Texts of more
        than 100,000 rows or cells, or 20,000,000 characters, are refused.
        """
        from pytest_tablebench.tables.hierarchy import html

        if structure:
            from pytest_tablebench.tables.hierarchy import layout

            return layout.to_table(html.read_html_grid(source, index=index, is_marked=marks), cls)

        return html.read_html(cls, source, index=index)

    @classmethod
    def from_xlsx(
        cls,
        path: str | PathLike[str],
        *,
        sheet: str | int = 0,
        structure: bool = False,
        marks: bool = True,
    ) -> Table:
        """Read one sheet (name, or index from 0); numbers, booleans, empty cells keep their type.

        The table is the smallest block that contains every value. Its first row is the header,
        whose names become text ("" if empty). A formula has its last stored value. Dates and times
        become ISO text, durations `26:00:00`. Parts of a text that are raised or struck are marked
        as in `from_html`. The file gives the table its name. Raises
        `TableError` for an unreadable file, an unknown or empty sheet, or merged cells.

        With `structure` the lines begin at A1, empty cells are "", and merged cells, header lines,
        row headers, indents, sections, captions and notes are read too (see `hierarchy.layout`).
        Then, without `marks`, raised and struck text is plain.
        With or without `structure`, workbooks of more than 64 MiB unpacked, 100,000 lines, 250,000
        values or 250,000 cells under merged ones are refused.
        """
        from pytest_tablebench.tables import readers

        if structure:
            from pytest_tablebench.tables.hierarchy import layout, xlsx

            return layout.to_table(xlsx.read_xlsx_grid(path, sheet=sheet, marks=marks), cls)

        return readers.read_xlsx(cls, path, sheet=sheet)

    def to_xlsx(self, path: str | PathLike[str] | IO[bytes]) -> None:
        """Write the lines to the only sheet of a new workbook, with merged cells and indents.

        Text that looks like a formula stays text. Raises `TableError`, which names the cell, for a
        value that a sheet cannot contain.
        """
        from pytest_tablebench.tables.hierarchy import xlsx

        xlsx.write_xlsx(self, path)

    @classmethod
    def from_pandas(cls, frame: pd.DataFrame, *, title: str | None = None) -> Table:
        """Read a DataFrame with plain columns; missing values become None, the index is dropped.

        Column names are kept, including equal ones. Numpy scalars become Python values, dates and
        times ISO text, other objects (decimals, periods, …) their text. Raises `TableError` for a
        column MultiIndex, which a flat table cannot represent.
        """
        from pytest_tablebench.tables import readers

        return readers.read_pandas(cls, frame, title=title)

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame; equal column names stay. Raises `TableError` for ragged rows.

        pandas infers the column types, so None next to numbers becomes NaN.
        """
        from pytest_tablebench.tables import readers

        return readers.to_pandas(self)
