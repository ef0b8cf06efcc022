"""Tables of the papers' figures: documents' tables with a caption, notes on rows, and CSV.

Tables are made from the entries of an analysis, which are `{"value": ..., "reason": ...}`. The
titles, leading columns and notes are in `captions.toml`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents.markdown import escaped_text, markdown_text
from pytest_tablebench.util.csv_text import as_csv, guarded
from pytest_tablebench.util.names import printable

Value = str | float | int | None
Row = tuple[Value, ...]
Tree = Mapping[str, Any]

ALL = "all datasets"
"""Name of the row or column over all datasets."""

_FORMULA = tuple("=+-@＝＋－＠")


class Printed(float):
    """A published figure, shown with the two digits it was printed with."""


@dataclass(frozen=True)
class PaperTable:
    """A table with its caption.

    `name` is the stem of its files. A cell is a text (a name) or a figure: a whole number is a
    count; None could not be computed.
    `row_notes` has a note for each row, perhaps empty: reasons of missing values, and remarks.
    `shown` is False for a table that only the files contain. The first `own_rows` are the user's.
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

    def block(self, most: int | None = None) -> doc.TableBlock:
        """Return the first `most` rows, by default all, as a table of texts and figures."""
        cells = [*zip(*self.rows, strict=True)] or [()] * len(self.columns)
        kinds = [{isinstance(c, str) for c in column if c is not None} for column in cells]
        columns = [
            doc.Column(title, "text" if kind == {True} else "figure")
            for title, kind in zip(self.columns, kinds, strict=True)
        ]
        rows = [
            doc.TableRow([*map(_cell, row)], "own" if number < self.own_rows else "")
            for number, row in enumerate(self.rows)
        ]
        return doc.TableBlock(columns, rows, max(1, len(rows)) if most is None else most)


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
    fields = {"shown": caption.get("shown", True), "notes": tuple(notes)} | fields
    titles = (*caption["columns"], *columns)
    stem = caption.get("file", name)
    return PaperTable(stem, title, titles, tuple(rows), tuple(row_notes), **fields)


def _cell(cell: Value) -> doc.Cell:
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return doc.Figure(cell, "count")
    return doc.Figure(cell, digits=2 if isinstance(cell, Printed) else 3)


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


# Blocks and files


def table_blocks(
    table: PaperTable, level: Literal[2, 3] = 3, *, most: int | None = None, most_notes: int = 1000
) -> Iterator[doc.Block]:
    """Yield the title, the first `most` rows, and the notes; or why there are none."""
    if table.reason is not None:
        yield doc.Paragraph(f"{table.title}: not computed: {table.reason}")
        return
    yield doc.Heading(table.title, level)
    yield table.block(most)
    yield doc.Listing([*table.notes, *labelled_notes(table)], most_notes, f"{table.name}.md")


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


def write_table(folder: Path, table: PaperTable) -> list[Path]:
    """Write a table as CSV and as Markdown, and return both files."""
    files = {"csv": csv_text(table), "md": page_text(table)}
    for kind, text in files.items():
        (folder / f"{table.name}.{kind}").write_text(text, encoding="utf-8", newline="")
    return [folder / f"{table.name}.{kind}" for kind in files]


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
    return as_csv(map(_csv_cell, row) for row in rows)


def _csv_cell(cell: Value) -> Value:
    if isinstance(cell, str):
        return guarded(printable(cell))
    return round(float(cell), 9) + 0.0 if isinstance(cell, float) else cell


def page_text(table: PaperTable) -> str:
    """Return the table as a Markdown page: title, table, notes."""
    title = f"# {escaped_text(table.title)}\n\n"
    if table.reason is not None:
        return f"{title}Not computed: {escaped_text(table.reason)}.\n"
    _, *blocks = table_blocks(table)
    return title + markdown_text(blocks, limit=None)
