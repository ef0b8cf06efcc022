"""Files that commands write into a dataset folder: the example, and automatic repairs."""

from __future__ import annotations

import io
import json
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

from pytest_tablebench.datasets.files import BadRowError
from pytest_tablebench.datasets.folder._dataset import FolderDataset
from pytest_tablebench.datasets.folder._lines import (
    declared_line,
    delimiter_of,
    numbered_rows,
)
from pytest_tablebench.datasets.folder.questions import raw_questions, table_files
from pytest_tablebench.datasets.folder.tables import FolderTables
from pytest_tablebench.errors import DataError, writing
from pytest_tablebench.tables.table_part import tables_in
from pytest_tablebench.util.csv_text import as_csv
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import shortened

EXAMPLE = ("tablebench.toml", "prices.csv", "questions.csv")
"""The files of the folder `example` of this package."""


def write_example(folder: Path) -> list[str]:
    """Write the example into a new or empty folder; return its files.

    Raises `DataError` for a folder with files, `SettingsError` if it cannot be written.
    """
    with writing(f"{folder} cannot be written"):
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise DataError(f"{folder} is not empty; name a new or empty folder")
        for name in EXAMPLE:
            (folder / name).write_bytes((files(__package__) / "example" / name).read_bytes())
    return list(EXAMPLE)


def fix_dataset(dataset: FolderDataset, folder: Path) -> list[str]:
    """Repair a folder, and return a line for each change.

    Remove repeated questions and the empty columns of CSV tables, and append a number to repeated
    ids. Files are written as UTF-8. Raises `SettingsError` for a file that cannot be written.
    """
    tables = dataset.table_reader(folder)
    try:
        rows = [(number, row) for number, row in raw_questions(tables, dataset.question_file)]
    except DataError:  # the check reports it
        return []
    usable = [(number, row) for number, row in rows if not isinstance(row, BadRowError)]
    done = []
    if not dataset.question_file.endswith(".xlsx"):
        done += _fix_questions(tables, dataset.question_file, usable)
    names: dict[str, None] = {}
    for _, row in usable:
        with suppress(BadRowError):
            names |= dict.fromkeys(table_files(row))
    for name in names:
        if name.lower().endswith((".csv", ".tsv")):
            done += _fix_table(tables, name)
    return done


def _fix_questions(
    tables: FolderTables, file: str, rows: Sequence[tuple[int, Mapping[str, Any]]]
) -> list[str]:
    """Remove repeated questions, and make repeated ids unique."""
    first: dict[str, int] = {}
    again, ids, taken = dict[int, int](), dict[int, str](), set[str]()
    for number, row in rows:
        key = json.dumps({**row, "id": None}, sort_keys=True, default=str)
        if key in first:
            again[number] = first[key]
            continue
        first[key] = number
        name, count = str(row.get("id") or "").strip(), 2
        if name in taken:
            while f"{name}-{count}" in taken:
                count += 1
            name = ids[number] = f"{name}-{count}"
        taken |= {name} if name else set()
    if again or ids:
        text = tables.text(file)
        write = _json_lines if file.endswith(".jsonl") else _csv_lines
        _write(tables, file, write(text, again, ids))
    return [
        *(f"{file}, row {n}: removed, because it repeats row {m}" for n, m in again.items()),
        *(f"{file}, row {n}: id changed to {shortened(name, 80)}" for n, name in ids.items()),
    ]


def _json_lines(text: str, without: Container[int], ids: Mapping[int, str]) -> str:
    """Return the text with the new ids, and with removed rows as empty lines.

    Empty lines keep the row numbers, which are the ids of questions without an id.
    """
    lines = text.split("\n")
    for number, line in enumerate(lines, start=1):
        if number in ids:
            row = {**parsed_json(line), "id": ids[number]}
            lines[number - 1] = json.dumps(row, ensure_ascii=False)
        elif number in without:
            lines[number - 1] = ""
    return "\n".join(lines)


def _csv_lines(text: str, without: Container[int], ids: Mapping[int, str]) -> str:
    """Return the text as `_json_lines` does, for rows that may span several lines."""
    lines, delimiter = list(io.StringIO(text, newline="")), delimiter_of(text)
    rows = list(numbered_rows(text, delimiter))
    header = [name.strip().lower() for name in rows[0][1]]
    before = 0
    for number, cells in rows:
        written: list[str] = []
        if number in ids:
            cells[header.index("id")] = ids[number]
            written = list(io.StringIO(as_csv([cells], delimiter, _line_end(text)), newline=""))
        if number in ids or number in without:
            empty = [_line_end(text)] * (number - before - len(written))
            lines[before:number] = [*empty, *written]
        before = number
    return "".join(lines)


def _fix_table(tables: FolderTables, name: str) -> list[str]:
    """Remove the empty columns of a CSV table."""
    try:
        text = tables.text(name)
        delimiter = "\t" if name.lower().endswith(".tsv") else delimiter_of(text)
        rows = [cells for _, cells in numbered_rows(text, delimiter)]
    except DataError:
        return []
    if not rows or any(len(cells) != len(rows[0]) for cells in rows):
        return []
    if tables.part(name)[0] or len(tables_in(rows)) > 1:
        return []  # an empty column may separate two tables, and a range counts columns
    kept = [n for n in range(len(rows[0])) if any(cells[n].strip() for cells in rows)]
    if len(kept) == len(rows[0]) or not kept:
        return []
    fixed = as_csv(([cells[n] for n in kept] for cells in rows), delimiter, _line_end(text))
    _write(tables, name, declared_line(text) + fixed)
    gone = [n + 1 for n in range(len(rows[0])) if n not in kept]
    return [f"{shortened(name, 80)}: column {n} removed, because it is empty" for n in gone]


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _write(tables: FolderTables, name: str, text: str) -> None:
    with writing(f"{name} cannot be written"):
        write_whole(tables.path(name), text)
