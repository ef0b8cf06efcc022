"""Tables as keys of caches, and as files for programs."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.content import Cell
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.csv_text import as_csv


class SameTable:
    """A table as a cache key, compared by identity because comparing cells is slow."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __hash__(self) -> int:
        return id(self.table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameTable) and other.table is self.table


_EPOCH = (1980, 1, 1, 0, 0, 0)
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")
_DATE = re.compile(rb"(<dcterms:[a-z]+[^>]*>)[^<]*(?=<)")


@dataclass(frozen=True)
class TableFile:
    """A table in a program's folder.

    `data` is the original file of an unchanged table; without it the file is written from the
    table.
    """

    table: Table
    data: bytes | None = field(default=None, repr=False)

    def changed(self, change: Callable[[Table], Table]) -> TableFile:
        """Return the file of the changed table, or this one if nothing changed."""
        table = change(self.table)
        return self if table == self.table else TableFile(table)

    def read(self, name: str) -> bytes:
        """Return the bytes of a file of this name: `.xlsx` or `.csv`.

        Equal tables give equal bytes. Raises `TableError` if the format cannot represent the table.
        """
        if self.data is not None:
            return self.data
        if name.endswith(".csv"):
            return as_csv(self.table.lines).encode("utf-8", "surrogatepass")
        if name.endswith(".xlsx"):
            return _workbook(self.table)
        raise TableError(f"{self.table.label}: {name} is neither .xlsx nor .csv")


def file_of(table: Table | TableFile | None) -> TableFile | None:
    """Return a table as a file, with texts that are numbers converted to numbers.

    Cells of a CSV file are texts; in a workbook a program could not calculate with them.
    """
    if not isinstance(table, Table):
        return table
    rows = tuple(tuple(map(_as_number, row)) for row in table.rows)
    return TableFile(replace(table, rows=rows))


def _as_number(cell: Cell) -> Cell:
    if not isinstance(cell, str) or not _PLAIN.fullmatch(cell):
        return cell
    return float(cell) if "." in cell else int(cell)


def _workbook(table: Table) -> bytes:
    """Return a workbook without the time of writing, so that equal tables give equal bytes."""
    made, timeless = io.BytesIO(), io.BytesIO()
    table.to_xlsx(made)
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(timeless, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "docProps/core.xml":
                data = _DATE.sub(rb"\g<1>1980-01-01T00:00:00Z", data)
            new.writestr(zipfile.ZipInfo(name, _EPOCH), data)
    return timeless.getvalue()
