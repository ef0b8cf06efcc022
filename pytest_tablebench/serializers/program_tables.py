"""Tables as tools and programs see them: the formats `columns` and `frame`.

`columns` names the columns with types and examples; tools read the table from the CSV made here. A
program reads its table from CSV, and `frame` shows the data frame that pandas reads from it (spec:
treb.md section 3, PoT).
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import TableError
from pytest_tablebench.serializers.structured import flattened
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import SameTable
from pytest_tablebench.util.csv_text import as_csv
from pytest_tablebench.util.leftovers import SharedFile
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    import pandas as pd

    from pytest_tablebench.config.compat import Compat

MOST_CELLS = 1_000_000
"""The most cells of a table that prompts and run folders contain whole."""

MOST_COLUMNS = 2_000
_EXAMPLES, _LONGEST = 3, 40
"""Examples of a column, and characters of each."""

_WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?(?:0|[1-9]\d{0,30})?(?:\.\d*)?(?:(?<=[\d.])[eE][+-]?\d{1,2})?", re.ASCII
)


@dataclass(frozen=True)
class Columns:
    """A table as tools see it.

    Arguments:
        types: `integer`, `number` or `text`, by the name of the column. Names are unique.
        examples: the first different values of each column.
        rows: their number.
        file: the CSV with one header line.
    """

    types: dict[str, str]
    examples: tuple[tuple[str, ...], ...]
    rows: int
    file: SharedFile


def to_columns(table: Table) -> str:
    """Return the size of a table, and its columns with types and examples."""
    facts = columns_of(SameTable(table))
    lines = [f"{table.title}"] if table.title else []
    size = f"{counted(facts.rows, 'row')}, {counted(len(facts.types), 'column')}"
    lines.append(f"{size}, {len(facts.file):,} bytes as CSV. Columns:")
    lines += [
        f"- {name} ({kind})" + (f": {', '.join(values)}, ..." if values else ", empty")
        for (name, kind), values in zip(facts.types.items(), facts.examples, strict=True)
    ]
    return "\n".join(lines)


@lru_cache(maxsize=16)  # many questions are about few tables
def columns_of(key: SameTable) -> Columns:
    """Return a table as tools see it. Raises `TableError` for an unusable table."""
    table = flattened(key.table)
    table.require_rectangular("a table of tools")
    if not 0 < len(table.header) <= MOST_COLUMNS:
        raise TableError(
            f"{table.label}: {len(table.header):,} columns; tools need 1 to {MOST_COLUMNS:,}"
        )
    names = _unique([str(name or "").strip() for name in table.header])
    written = as_csv([names, *_stripped(table.rows)])

    def column(index: int) -> Iterator[str]:
        cells = (row[index] for row in table.rows)
        return ("" if cell is None else str(cell).strip() for cell in cells)

    types = {name: _type(column(index)) for index, name in enumerate(names)}
    examples = tuple(_examples(column(index)) for index in range(len(names)))
    file = SharedFile(written.encode("utf-8", "replace"))
    return Columns(types, examples, len(table.rows), file)


def _unique(names: list[str]) -> list[str]:
    """Return names that differ in more than case, as SQL needs them."""
    taken: dict[str, str] = {}
    for index, name in enumerate(names, start=1):
        candidate, number = name or f"column {index}", 2
        while candidate.lower() in taken:
            candidate, number = f"{name or f'column {index}'} {number}", number + 1
        taken[candidate.lower()] = candidate
    return list(taken.values())


def _type(cells: Iterable[str]) -> str:
    kind = "text"
    for text in filter(None, cells):
        if kind != "number" and _WHOLE.fullmatch(text):
            kind = "integer"
        elif _NUMBER.fullmatch(text) and text[-1] not in "+-.":
            kind = "number"
        else:
            return "text"
    return kind


def _examples(cells: Iterable[str]) -> tuple[str, ...]:
    values = dict.fromkeys(text for text in islice(cells, 1000) if text)
    first_values = islice(values, _EXAMPLES)
    return tuple(
        text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..." for text in first_values
    )


_TYPES = {"i": "int64", "u": "uint64", "f": "float64", "b": "bool"}
_FRAME_ROWS, _FRAME_COLUMNS, _SHOWN = 50, 20, 10
"""A table with fewer than 50 rows and 20 columns is shown whole, any other in its first 10 rows."""


def frame_csv(table: Table, compat: Compat = "fixed") -> tuple[str, int]:
    """Return a table as the CSV that programs read, and its number of header lines.

    `fixed` writes one header line, with all headers above each column. Raises `TableError` for rows
    of unequal length, and for a table without columns.
    """
    if compat == "fixed":
        table = flattened(table)
    table.require_rectangular("a data frame")
    if not table.header:
        raise TableError(f"{table.label}: has no columns; a data frame needs at least one")
    head = (*table.header_rows, table.header)
    return as_csv(_stripped([*head, *table.rows])), len(head)


def _stripped(lines: Iterable[Iterable[object]]) -> Iterator[list[object]]:
    return ([cell.strip() if isinstance(cell, str) else cell for cell in line] for line in lines)


def frame_text(table: Table, compat: Compat = "fixed") -> str:
    """Return `info()`, content, shape and columns of the data frame as text."""
    import pandas as pd

    text, lines = frame_csv(table, compat)
    # Keep this equal to `strategies/_runner.py`, which reads the table for programs.
    options: dict[str, Any] = {}
    if compat == "fixed":
        options = {"keep_default_na": False, "na_values": [""]}
    frame = pd.read_csv(io.StringIO(text), header=list(range(lines)) if lines > 1 else 0, **options)
    whole = frame.shape[0] < _FRAME_ROWS and frame.shape[1] < _FRAME_COLUMNS
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
