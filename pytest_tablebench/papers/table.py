"""Tables of a report, and their forms: aligned text, CSV and Markdown; names are hostile text.

Tables are made from the entries of an analysis, which are `{"value": ..., "reason": ...}`. The
titles, leading columns and notes are in `captions.toml`.
"""

from __future__ import annotations

import csv
import io
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.formats import aligned, number
from pytest_tablebench.documents.tables import table_of
from pytest_tablebench.util.names import printable, shortened

Value = str | float | int | None
Row = tuple[Value, ...]
Tree = Mapping[str, Any]

ALL = "all datasets"
"""Name of the row or column over all datasets."""

NAME_LIMIT = 200
"""Characters of a name in a file; in the terminal names are cut much earlier."""

_FORMULA = tuple("=+-@＝＋－＠")
# What Markdown gives a meaning inside a table cell; an underscore only next to a non-letter.
_ACTIVE = re.compile(r"[\\`*\[\]<>|~&$#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^[-+=]|(?<=^[0-9])[.)]")
# Entities where a backslash is not understood by every reader of Markdown tables.
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "|": "&#124;"}


class Printed(float):
    """A published figure, shown with the two digits it was printed with."""


@dataclass(frozen=True)
class PaperTable:
    """One table of a report.

    `name` is the stem of its files. A cell is a text (a name), a whole number (a count), a
    share or score shown with three digits, or None if it could not be computed.
    `row_notes` has a note for each row, perhaps empty: reasons of missing values, and remarks.
    `shown` is False for a table that only the files contain.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    row_notes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    shown: bool = True
    reasons: tuple[str, ...] | None = None
    """The reasons of missing values; None if `row_notes` contain nothing else."""
    reason: str | None = None
    """Why nothing at all could be computed; such a table has no value."""
    own_rows: int = 0
    """The number of rows from the user's runs, before published rows."""


# Making tables


@cache
def captions() -> dict[str, dict[str, Any]]:
    """Return the content of `captions.toml`."""
    text = resources.files(__package__).joinpath("captions.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def captioned(
    name: str,
    rows: Iterable[Row],
    columns: Iterable[str] = (),
    row_notes: Iterable[str] = (),
    *,
    words: Mapping[str, str] | None = None,
    **fields: Any,
) -> PaperTable:
    """Return a table with its caption; `columns` follow the leading ones.

    `words` are inserted into title and notes. `fields` are further fields of the table.
    """
    caption = captions()[name]
    texts = (caption["title"], *caption.get("notes", ()))
    title, *notes = (text.format_map({**captions()["sources"], **(words or {})}) for text in texts)
    fields = {"shown": caption.get("shown", True)} | fields
    names = (*caption["columns"], *columns)
    return PaperTable(name, title, names, tuple(rows), tuple(row_notes), tuple(notes), **fields)


def value_of(entry: Any) -> float | None:
    """Return an entry's number, or None."""
    value = entry.get("value") if isinstance(entry, Mapping) else None
    return None if value is None else float(value)


def reason_of(entry: Any) -> str | None:
    """Return why an entry has no number."""
    return entry.get("reason") if isinstance(entry, Mapping) else None


def whole_reason(tree: Any) -> str | None:
    """Return why the whole analysis could not be computed, or None."""
    is_undefined = isinstance(tree, Mapping) and "reason" in tree and tree.get("value") is None
    return str(tree["reason"]) if is_undefined else None


def all_keys(trees: Iterable[Tree]) -> list[str]:
    """Return the keys of all the mappings, each once, in order of appearance."""
    return list(dict.fromkeys(key for tree in trees for key in tree))


def by_pair(tree: Mapping[str, Tree]) -> dict[tuple[str, str], Any]:
    """Return the entries of a tree of two levels by both their names."""
    return {
        (first, second): entry for first, inner in tree.items() for second, entry in inner.items()
    }


def all_reasons(rows: Iterable[Tree]) -> tuple[str, ...]:
    """Return the reasons of all entries of the rows, each once."""
    reasons = (reason_of(entry) for entries in rows for entry in entries.values())
    return tuple(dict.fromkeys(text for text in reasons if text))


def matrix(
    name: str, rows: Mapping[Any, Tree], columns: Sequence[str] | None = None, **options: Any
) -> PaperTable:
    """Return a table of entries by row and column; without `columns` it has all of them.

    A row begins with its key, a tuple if it has several names. `options` are those of `captioned`.
    """
    if columns is None:
        columns = all_keys(rows.values())
    cells = (
        (*_key(row), *(value_of(entries.get(c)) for c in columns)) for row, entries in rows.items()
    )
    notes = (row_note({c: reason_of(entries.get(c)) for c in columns}) for entries in rows.values())
    return captioned(name, cells, columns, notes, reasons=all_reasons(rows.values()), **options)


def listing(
    name: str, entries: Mapping[Any, Tree], also: Sequence[str] = (), **options: Any
) -> PaperTable:
    """Return a table with one entry a row: its key, its number, and its fields in `also`.

    Keys and options are as in `matrix`.
    """
    rows = (
        (*_key(key), value_of(entry), *(entry.get(field) for field in also))
        for key, entry in entries.items()
    )
    notes = (reason_of(entry) or "" for entry in entries.values())
    return captioned(name, rows, (), notes, **options)


def _key(key: Any) -> Row:
    return key if isinstance(key, tuple) else (key,)


def row_note(reasons: Mapping[str, str | None]) -> str:
    """Return one sentence on the columns of a row that have a reason: `d1, d2: no scores`."""
    columns: dict[str, list[str]] = {}
    for column, reason in reasons.items():
        if reason:
            columns.setdefault(reason, []).append(column)
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in columns.items())


# Terminal


def shown(cell: Value, name_limit: int) -> str:
    """Return a cell of a table as text."""
    if isinstance(cell, str):
        return shortened(cell, name_limit)
    if isinstance(cell, int):
        return str(cell)
    return number(cell, 2 if isinstance(cell, Printed) else 3)


def terminal_lines(table: PaperTable, *, note_limit: int = 6) -> list[str]:
    """Return the table as aligned lines, its title first, without a line end."""
    if table.reason is not None:
        return [f"{table.title}: not computed: {table.reason}"]
    rows = [[shown(cell, 40) for cell in row] for row in (table.columns, *table.rows)]
    lines = [table.title, *(f"  {line}" for line in aligned(rows, left=text_columns(table)))]
    notes = [*table.notes, *labelled_notes(table)]
    lines += [f"  {note}" for note in notes[:note_limit]]
    if len(notes) > note_limit:
        lines.append(f"  ... and {len(notes) - note_limit} more notes in {table.name}.md")
    return lines


def table_blocks(table: PaperTable) -> Iterator[doc.Block]:
    """Yield the title, the table and its notes."""
    yield doc.Heading(table.title, 3)
    texts = text_columns(table)
    columns = [
        doc.Column(name, "text" if place in texts else "figure")
        for place, name in enumerate(table.columns)
    ]
    yield table_of(columns, [[*map(_cell, row)] for row in table.rows])
    yield doc.Listing([*table.notes, *labelled_notes(table)])


def _cell(cell: Value) -> doc.Cell:
    if isinstance(cell, str):
        return doc.Code(cell, 60)
    if isinstance(cell, int):
        return doc.Figure(cell, "count")
    return doc.Figure(cell, digits=2 if isinstance(cell, Printed) else 3)


def text_columns(table: PaperTable) -> set[int]:
    """Return the columns of names, which are aligned on the left."""
    kinds = [{str if isinstance(cell, str) else type(cell) for cell in column} - {type(None)}
             for column in zip(*table.rows, strict=True)]  # fmt: skip
    return {place for place, column_kinds in enumerate(kinds) if column_kinds == {str}}


def labelled_notes(table: PaperTable) -> list[str]:
    """Return the rows' notes, each once, with the names of the rows that have it."""
    rows: dict[str, list[str]] = {}
    for row, note in zip(table.rows, table.row_notes, strict=bool(table.row_notes)):
        if note:
            # By the texts in front of its first number.
            label = ", ".join(cell for cell in row if isinstance(cell, str))
            rows.setdefault(note, []).append(label)
    notes = []
    for note, labels in rows.items():
        named = [label for label in labels if label]
        if len(named) > 4:
            named[3:] = [f"and {len(named) - 3} more"]
        subject = "; ".join(named)
        notes.append(f"{subject}: {note}" if subject else note)
    return notes


# CSV


def csv_text(table: PaperTable) -> str:
    """Return the table as CSV with all digits; a last column `note` where a row has one.

    Texts that a spreadsheet would run as a formula get an apostrophe in front.
    """
    rows: Iterable[Row] = (table.columns, *table.rows)
    if table.reason is not None:
        blanks = (None,) * len(table.columns)
        rows = ((*table.columns, "note"), (*blanks, f"not computed: {table.reason}"))
    elif any(table.row_notes):
        notes = ("note", *table.row_notes)
        rows = ((*row, note) for row, note in zip(rows, notes, strict=True))
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(map(_csv_cell, row) for row in rows)
    return out.getvalue()


def _csv_cell(cell: Value) -> Value:
    if isinstance(cell, str):
        text = printable(cell)
        return "'" + text if text.lstrip().startswith(_FORMULA) else text
    return round(float(cell), 9) + 0.0 if isinstance(cell, float) else cell


# Markdown


def markdown(text: str, limit: int | None = NAME_LIMIT) -> str:
    """Return text that Markdown shows as it is, on one line, whatever is in it."""
    return _ACTIVE.sub(
        lambda special: _ENTITIES.get(special[0], "\\" + special[0]), printable(text, limit)
    )


def markdown_text(table: PaperTable) -> str:
    """Return the table as a Markdown page: title, table, notes."""
    parts = [f"# {markdown(table.title)}\n"]
    if table.reason is not None:
        return "\n".join([*parts, f"Not computed: {markdown(table.reason)}.\n"])
    texts = text_columns(table)
    marks = [":---" if place in texts else "---:" for place in range(len(table.columns))]
    cells = [
        [markdown(cell) if isinstance(cell, str) else shown(cell, NAME_LIMIT) for cell in row]
        for row in (table.columns, *table.rows)
    ]
    lines = [f"| {' | '.join(row)} |" for row in (cells[0], marks, *cells[1:])]
    parts.append("\n".join(lines) + "\n")
    notes = [*table.notes, *labelled_notes(table)]
    if notes:
        parts.append("\n".join(f"- {markdown(note, 2000)}" for note in notes) + "\n")
    return "\n".join(parts)
