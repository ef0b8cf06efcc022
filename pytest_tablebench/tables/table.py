"""The table that every room of the house works on, with its readers and writers."""

from __future__ import annotations

from functools import cached_property
from typing import IO, TYPE_CHECKING

from pytest_tablebench.tables.content import Path, TableContent

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd

    from pytest_tablebench.tables.hierarchy.paths import Paths

__all__ = ["Table"]


class Table(TableContent):
    """A table with its readers and writers; see `TableContent` for what it holds."""

    @cached_property
    def _paths(self) -> Paths:
        from pytest_tablebench.tables.hierarchy.paths import Paths

        return Paths(self)

    def path(self, row: int, column: int) -> Path:
        """Return the header texts that a cell of `rows` stands under, outermost first.

        Both positions are from 0. Raises `TableError` where the table has no such cell.
        """
        return self._paths.of(row, column)

    def parts(self) -> tuple[Table, ...]:
        """Return the tables that stand below or beside each other in one sheet.

        Where there is one alone, it is this one. See `hierarchy.parts` for what tells them.
        """
        from pytest_tablebench.tables.hierarchy import parts

        return parts.parts_of(self)

    @classmethod
    def from_csv(
        cls,
        source: str | PathLike[str],
        *,
        dialect: str = "rfc4180",
        title: str | None = None,
    ) -> Table:
        """Read CSV: `source` is a path, or the text itself when it is text with a line end.

        `dialect` is `"rfc4180"` (quotes doubled inside quoted cells) or `"wikitq"` (the
        `.csv` files of WikiTableQuestions: a backslash escapes quote and backslash, and
        stands for itself before anything else). Every cell is text; line ends inside quotes
        are kept, blank lines are no rows, a quote inside an unquoted cell is a character.
        Files are UTF-8, with or without a byte order mark, and give the table its name.
        Raises `TableError` for an unreadable file, no lines, bad quoting or ragged rows, and
        `SettingsError` for an unknown dialect.
        """
        from pytest_tablebench.tables import readers

        return readers.read_csv(cls, source, dialect=dialect, title=title)

    @classmethod
    def from_html(
        cls, source: str | PathLike[str], *, index: int = 0, structure: bool = False
    ) -> Table:
        """Read the `index`-th `<table>` (from 0, in document order) of an HTML text or file.

        `source` is the text itself when it is text with a line end or a `<table`, else the
        path of a UTF-8 file, which gives the table its name. The header is the last row of
        `<thead>` (rows above it are left out), or else the first row; cells are text with
        white space as written, `<br>` as a line end and an inner table as its bare text. End
        tags may be missing where HTML allows it. Raises `TableError` for an unreadable file,
        without such a table, for ragged rows or for merged cells.

        With `structure` merged cells, header lines, row headers, sections, captions and notes are
        read too (see `hierarchy.layout`). Rows may then be short, blanks around line ends of the
        source are one blank. Texts beyond 100,000 rows or cells, or 20,000,000 characters, are
        refused, with `structure` or without.
        """
        from pytest_tablebench.tables import readers

        if structure:
            from pytest_tablebench.tables.hierarchy import html, layout

            return layout.to_table(html.read_html_grid(source, index=index), cls)

        return readers.read_html(cls, source, index=index)

    @classmethod
    def from_xlsx(
        cls, path: str | PathLike[str], *, sheet: str | int = 0, structure: bool = False
    ) -> Table:
        """Read one sheet (name, or index from 0); numbers, booleans, empty cells keep their type.

        The table is the smallest block that holds every value; its first row is the header,
        whose names become text ("" where empty). A formula gives its last stored value.
        Dates and times become ISO text, durations `26:00:00`. The file gives the table its
        name. Raises `TableError` for an unreadable file, an unknown or empty sheet, or
        merged cells.

        With `structure` the lines begin at A1, empty cells are "", and merged cells, header lines,
        row headers, indents, sections, captions and notes are read too (see `hierarchy.layout`).
        Workbooks beyond 64 MiB unpacked, 100,000 lines, 250,000 values or 250,000 cells under
        merged ones are refused, with `structure` or without.
        """
        from pytest_tablebench.tables import readers

        if structure:
            from pytest_tablebench.tables.hierarchy import layout, xlsx

            return layout.to_table(xlsx.read_xlsx_grid(path, sheet=sheet), cls)

        return readers.read_xlsx(cls, path, sheet=sheet)

    def to_xlsx(self, path: str | PathLike[str] | IO[bytes]) -> None:
        """Write the lines as the one sheet of a new workbook, with merged cells and indents.

        Text that looks like a formula stays text. Raises `TableError` naming the cell that a
        sheet cannot hold.
        """
        from pytest_tablebench.tables.hierarchy import xlsx

        xlsx.write_xlsx(self, path)

    @classmethod
    def from_pandas(cls, frame: pd.DataFrame, *, title: str | None = None) -> Table:
        """Read a DataFrame with plain columns; missing values become None, the index is dropped.

        Column names are kept as they are, equal ones too. Numpy scalars become plain Python
        values, dates and times ISO text, other objects (decimals, periods, …) their text.
        Raises `TableError` for a column MultiIndex, which a flat table cannot hold.
        """
        from pytest_tablebench.tables import frames

        return frames.read_pandas(cls, frame, title=title)

    def to_pandas(self) -> pd.DataFrame:
        """Return a DataFrame; equal column names stay. Raises `TableError` for ragged rows.

        Column types are the ones pandas infers, so None next to numbers becomes NaN.
        """
        from pytest_tablebench.tables import frames

        return frames.to_pandas(self)
