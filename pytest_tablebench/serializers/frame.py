"""The `frame` format: the content of a program's data frame (spec: treb.md section 3, PoT).

A program reads its table from CSV. This format shows the data frame that pandas reads from it.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import TableError
from pytest_tablebench.serializers.structured import flattened
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    import pandas as pd

    from pytest_tablebench.config.compat import Compat

_TYPES = {"i": "int64", "u": "uint64", "f": "float64", "b": "bool"}
_ROWS, _COLUMNS, _SHOWN = 50, 20, 10
"""A table with fewer than 50 rows and 20 columns is shown whole, any other in its first 10 rows."""


def frame_csv(table: Table, compat: Compat = "fixed") -> tuple[str, int]:
    """Return a table as the CSV that programs read, and its number of header lines.

    `fixed` writes one header line, with all headers above each column. Raises `TableError` for rows
    of unequal length, and for a table without columns.
    """
    if compat == "fixed" and table.is_structured:
        table = flattened(table)
    table.require_rectangular("a data frame")
    if not table.header:
        raise TableError(f"{table.label}: has no columns; a data frame needs at least one")
    head = (*table.header_rows, table.header)
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    for line in (*head, *table.rows):
        writer.writerow([cell.strip() if isinstance(cell, str) else cell for cell in line])
    return written.getvalue(), len(head)


def frame_text(table: Table, compat: Compat = "fixed") -> str:
    """Return `info()`, content, shape and columns of the data frame as text."""
    import pandas as pd

    text, lines = frame_csv(table, compat)
    # Keep this equal to `strategies/_runner.py`, which reads the table for programs.
    options: dict[str, Any] = {}
    if compat == "fixed":
        options = {"keep_default_na": False, "na_values": [""]}
    frame = pd.read_csv(io.StringIO(text), header=list(range(lines)) if lines > 1 else 0, **options)
    whole = frame.shape[0] < _ROWS and frame.shape[1] < _COLUMNS
    content = (frame if whole else frame.head(_SHOWN)).to_csv(sep="\t", index=False).rstrip("\n")
    title = "content" if whole else f"first {_SHOWN} rows"
    return (
        f"info():\n{_info(frame)}\n{title}:\n{content}\n"
        f"shape: {frame.shape}\ncolumns: {list(frame.columns)}"
    )


def _info(frame: pd.DataFrame) -> str:
    """Return the facts of `info()`, as text that does not depend on the version of pandas."""
    rows = [
        f"{number}  {name!r}: {frame.iloc[:, number].notna().sum()} non-null, "
        f"{_TYPES.get(frame.dtypes.iloc[number].kind, 'object')}"
        for number, name in enumerate(frame.columns)
    ]
    entries = f"RangeIndex: {counted(len(frame), 'entry', 'entries')}"
    return "\n".join([entries, f"Data columns (total {len(rows)}):", *rows])
