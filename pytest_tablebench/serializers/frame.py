"""The `frame` format: what a program's data frame holds (spec: treb.md section 3, PoT).

A program reads its table from CSV; what this format shows is what pandas makes of that.
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
"""A table with fewer rows and columns is shown whole, another with its first ten rows."""


def frame_csv(table: Table, compat: Compat = "fixed") -> tuple[str, int]:
    """Return a table as the CSV that programs read, and how many header lines it has there.

    `fixed` names each column by all headers above it, in one line. Raises `TableError` for rows
    of unequal length.
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
    """Return the frame's `info()`, content, shape and columns as text."""
    import pandas as pd

    text, lines = frame_csv(table, compat)
    # As the runner of programs reads it: strategies/_runner.py.
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
    """Return what `info()` says, in words that no version of pandas changes."""
    rows = [
        f"{number}  {name!r}: {frame.iloc[:, number].notna().sum()} non-null, "
        f"{_TYPES.get(frame.dtypes.iloc[number].kind, 'object')}"
        for number, name in enumerate(frame.columns)
    ]
    entries = f"RangeIndex: {counted(len(frame), 'entry', 'entries')}"
    return "\n".join([entries, f"Data columns (total {len(rows)}):", *rows])
