"""What ToRR's datasets share: their numbers, how every instruction ends, tables in files."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pytest_tablebench.datasets._file_dataset import FileDataset, R, RowDataset
from pytest_tablebench.datasets._files import inside, read_rows
from pytest_tablebench.datasets._rows import Row
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table

CLOSING = (
    "What follows are examples of inputs with their outputs. Read them to work out how an output "
    "follows from its input, then write the output of the last one."
)
"""The remark at the end of every instruction (spec: torr.md section 3)."""

SOURCE_LIMIT = 10_000
"""Records read per split, before filtering (spec: torr.md section 1)."""


class ToRR(FileDataset[R]):
    """A dataset of ToRR: at most 100 examples, five demonstrations unless it says otherwise."""

    benchmark = "torr"
    shots = 5
    limit: int | None = 100


class ToRRRows(ToRR[Row], RowDataset):
    """One whose rows ask about one table each."""


@lru_cache(maxsize=512)
def read_table(
    folder: Path, name: str, delimiter: str, *, strip: bool, quoted: bool = True
) -> Table:
    """Read the delimited table file `folder / name`, whose first line is the header.

    `strip` turns line ends inside cells into blanks and strips cells; `quoted` says whether
    quotes hold delimiters and line ends together (see `read_rows`). Raises `DataError`,
    naming the file, when it cannot be read, holds no line or lies outside the folder.
    """
    path = inside(folder, name)
    rows = read_rows(path, delimiter, quoted=quoted)
    if not rows:
        raise DataError(f"{path}: holds no line, so no header")
    if strip:
        rows = [[cell.replace("\n", " ").strip() for cell in row] for row in rows]
    return Table(tuple(rows[0]), tuple(tuple(row) for row in rows[1:]), name=name)
