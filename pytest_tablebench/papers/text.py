"""Tables of a report, as aligned text, CSV and Markdown; names in them are hostile text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pytest_tablebench.documents.formats import aligned, number
from pytest_tablebench.util.names import printable

Value = str | float | int | None


class Printed(float):
    """A published figure, shown with the two digits it was printed with."""


NAME_LIMIT = 200
"""Characters of a name in a file; in the terminal names are cut much earlier."""

_FORMULA = tuple("=+-@＝＋－＠")
# What Markdown gives a meaning inside a table cell; an underscore only next to a non-letter.
_ACTIVE = re.compile(r"[\\`*\[\]<>|~&$#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|^[-+=]|(?<=^[0-9])[.)]")


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
    rows: tuple[tuple[Value, ...], ...]
    row_notes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    shown: bool = True
    reasons: tuple[str, ...] | None = None
    """The reasons of missing values; None if `row_notes` contain nothing else."""
    reason: str | None = None
    """Why nothing at all could be computed; such a table has no value."""
    own_rows: int = 0
    """The number of rows from the user's runs, before published rows."""


def row_note(reasons: Mapping[str, str | None]) -> str:
    """Return one sentence on the columns of a row that have a reason: `d1, d2: no scores`."""
    columns: dict[str, list[str]] = {}
    for column, reason in reasons.items():
        if reason:
            columns.setdefault(reason, []).append(column)
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in columns.items())


def shown(cell: Value, name_limit: int) -> str:
    """Return a cell of a table as text."""
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return printable(cell, name_limit)
    if isinstance(cell, int):
        return str(cell)
    return number(cell, 2 if isinstance(cell, Printed) else 3)


# Terminal


def terminal_lines(table: PaperTable, *, note_limit: int = 6) -> list[str]:
    """Return the table as aligned lines, its title first, without a line end."""
    if table.reason is not None:
        return [f"{table.title}: not computed: {printable(table.reason, NAME_LIMIT)}"]
    rows = [[shown(cell, 40) for cell in row] for row in (table.columns, *table.rows)]
    lines = [f"  {line}" for line in aligned(rows, left=text_columns(table))]
    lines.insert(0, table.title)
    notes = [*table.notes, *labelled_notes(table)]
    lines += [f"  {printable(note, 1000)}" for note in notes[:note_limit]]
    if len(notes) > note_limit:
        lines.append(f"  ... and {len(notes) - note_limit} more notes in {table.name}.md")
    return lines


def text_columns(table: PaperTable) -> set[int]:
    """Return the columns of names, which are aligned on the left."""
    return {
        i
        for i in range(len(table.columns))
        if any(isinstance(row[i], str) for row in table.rows)
        and not any(isinstance(row[i], int | float) for row in table.rows)
    }


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
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    noted = any(table.row_notes) or table.reason is not None
    writer.writerow([_csv_cell(name) for name in table.columns] + (["note"] if noted else []))
    if table.reason is not None:
        blanks = [""] * len(table.columns)
        writer.writerow([*blanks, _csv_cell(f"not computed: {table.reason}")])
        return out.getvalue()
    for place, row in enumerate(table.rows):
        cells = [_csv_cell(cell) for cell in row]
        if noted:
            cells.append(_csv_cell(table.row_notes[place]) if table.row_notes else "")
        writer.writerow(cells)
    return out.getvalue()


def _csv_cell(cell: Value) -> str:
    if cell is None:
        return ""
    if isinstance(cell, str):
        text = printable(cell)
        return "'" + text if text.lstrip().startswith(_FORMULA) else text
    if isinstance(cell, int):
        return str(cell)
    return repr(round(cell, 9) + 0.0)


# Markdown


def markdown(text: str, limit: int | None = NAME_LIMIT) -> str:
    """Return text that Markdown shows as it is, on one line, whatever is in it."""
    return _ACTIVE.sub(
        lambda special: _ENTITIES.get(special[0], "\\" + special[0]), printable(text, limit)
    )


# Entities where a backslash is not understood by every reader of Markdown tables.
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "|": "&#124;"}


def markdown_text(table: PaperTable) -> str:
    """Return the table as a Markdown page: title, table, notes."""
    parts = [f"# {markdown(table.title)}\n"]
    if table.reason is not None:
        parts.append(f"Not computed: {markdown(table.reason)}.\n")
        return "\n".join(parts)
    parts.append("\n".join(_markdown_rows(table)) + "\n")
    notes = [*table.notes, *labelled_notes(table)]
    if notes:
        parts.append("\n".join(f"- {markdown(note, 2000)}" for note in notes) + "\n")
    return "\n".join(parts)


def _markdown_rows(table: PaperTable) -> Iterable[str]:
    texts = text_columns(table)
    yield _markdown_row([markdown(name) for name in table.columns])
    yield _markdown_row([":---" if i in texts else "---:" for i in range(len(table.columns))])
    for row in table.rows:
        yield _markdown_row(
            [markdown(cell) if isinstance(cell, str) else shown(cell, NAME_LIMIT) for cell in row]
        )


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
