"""Column type annotation of TURL as ToRR reads and asks it (spec: torr.md section 3.4)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._base import (
    Example,
    Problem,
    PromptParts,
    Render,
    SourceFacts,
    render_field,
)
from pytest_tablebench.datasets._files import read_text, require_files
from pytest_tablebench.datasets._sources import RowSource, digests
from pytest_tablebench.datasets._streams import json_items
from pytest_tablebench.datasets.torr._common import CLOSING, SOURCE_LIMIT
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table

__all__ = ["DATASETS", "TurlCTA"]

TEST_FILE = "test.table_col_type.json"
VOCABULARY_FILE = "type_vocab.txt"
POOL_FILES = ("train.table_col_type.json", "dev.table_col_type.json", TEST_FILE)
"""Where demonstrations come from: the first that is there."""

POOL_NOTES = {
    POOL_FILES[1]: "demonstrations come from the development file: no training file",
    POOL_FILES[2]: (
        "demonstrations come from the test file itself, never the column that is asked about: "
        "no training file, no development file"
    ),
}

INSTRUCTION = (
    "This is column type annotation: say which types the entries of the selected column of a "
    "table have. The title of the page the table stands on, its section and its caption are "
    "given as context. These are the types to choose from: {types}. Write all the types that fit "
    "the selected column, separated by a comma and a space, and nothing else.\n" + CLOSING
)

_ROW = "[table id, page title, page id, section title, caption, headers, columns, types]"
_TEXTS = {0: "table id", 1: "page title", 3: "section title", 4: "caption"}


@dataclass(frozen=True)
class _Column:
    """One column of one row of a file: an example."""

    id: str
    page_title: str
    section_title: str
    caption: str
    name: str
    types: tuple[str, ...]
    table: Table


class _RowError(Exception):
    """A row that cannot be used: field and message."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def _check_row(row: Any) -> None:
    """Raise `_RowError` unless a row has the upstream form, its cells and types aside."""
    if not isinstance(row, list) or len(row) != 8:
        raise _RowError("row", f"is not {_ROW}")
    for position, name in _TEXTS.items():
        if not isinstance(row[position], str):
            raise _RowError(name, "is no text")
    headers, columns, types = row[5:8]
    if not isinstance(headers, list) or not all(isinstance(name, str) for name in headers):
        raise _RowError("headers", "is no list of texts")
    for name, value in (("columns", columns), ("types", types)):
        if not isinstance(value, list) or len(value) != len(headers):
            raise _RowError(name, f"is no list with one entry for each of {len(headers)} headers")


def _cells(columns: Sequence[Any]) -> dict[int, dict[int, str]]:
    """Return the text of each cell by row and column; raises `_RowError`."""
    rows: dict[int, dict[int, str]] = {}
    for position, column in enumerate(columns):
        entries = column if isinstance(column, list) else [None]
        for number, entry in enumerate(entries, start=1):
            match entry:
                # The place inside the entry repeats the column's own; the column's counts.
                case [[int(row), _], [_, str(text)]] if type(row) is int and row >= 0:
                    rows.setdefault(row, {})[position] = text
                case _:
                    raise _RowError(
                        f"column {position + 1}",
                        f"entry {number} is not [[row, column], [entity id, text]]",
                    )
    return rows


def _table(row: Sequence[Any], compat: Compat) -> Table:
    """Rebuild the table from its columns' entries; rows without any text are dropped.

    The published reader takes the largest row number at a column's end for the number of
    rows, and so loses the last one; `fixed` keeps it.
    """
    headers, columns = row[5:7]
    cells = _cells(columns)
    if compat == "reference":
        end = max((column[-1][0][0] for column in columns if column), default=0)
        cells = {number: texts for number, texts in cells.items() if number < end}
    rows = [
        tuple(cells[number].get(position, "") for position in range(len(headers)))
        for number in sorted(cells)
        if any(cells[number].values())
    ]
    return Table(tuple(headers), tuple(rows), name=row[0])


@dataclass
class _Split:
    """One file, read as far as needed."""

    folder: Path
    file: str
    compat: Compat
    problems: list[Problem]

    def columns(self) -> Iterator[_Column]:
        """Yield the usable ones of the file's first 10,000 columns."""
        items, seen, number, columns = json_items(self.folder / self.file), set[str](), 0, 0
        while columns < SOURCE_LIMIT:
            try:
                row = next(items)
            except StopIteration:
                return
            except DataError as error:
                if not number:
                    raise
                self._bad(number + 1, "row", str(error))
                return
            number += 1
            try:
                _check_row(row)
                if row[0] in seen:
                    raise _RowError("table id", f"{row[0]!r:.60} occurs a second time")
                seen.add(row[0])
                table = _table(row, self.compat)
            except _RowError as error:
                self._bad(number, error.field, str(error))
                continue
            for position, types in enumerate(row[7][: SOURCE_LIMIT - columns], start=1):
                if not types or not _are_texts(types):
                    self._bad(number, f"types of column {position}", "is no list of types")
                    continue
                yield _Column(
                    id=f"{row[0]}-{position}",
                    page_title=row[1],
                    section_title=row[3],
                    caption=row[4],
                    name=row[5][position - 1],
                    types=tuple(types),
                    table=table,
                )
            columns += len(row[7])

    def _bad(self, number: int, field: str, message: str) -> None:
        self.problems.append(Problem(self.file, number, field, message))


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _example(column: _Column, vocabulary: list[str]) -> Example:
    """Return the example; the columns of one table share the table, which never changes."""
    target = ", ".join(column.types)
    place = ", ".join(text for text in (column.page_title, column.section_title) if text)
    return Example(
        id=column.id,
        inputs={
            "page_title": column.page_title,
            "section_title": column.section_title,
            "table_caption": column.caption,
            "table": column.table,
            "vocab": vocabulary,
            "colname": column.name,
        },
        question=f"Which types does column {column.name!r} have? ({place})",
        references=(target,),
        target=target,
        context={"vocabulary": vocabulary},
    )


def _read_vocabulary(folder: Path) -> list[str]:
    """Return the candidate types in file order, from lines of number, tab and type."""
    path = folder / VOCABULARY_FILE
    lines = [line.rstrip("\r") for line in read_text(path).split("\n") if line.strip()]
    types = []
    for number, line in enumerate(lines, start=1):
        index, tab, name = line.partition("\t")
        if not tab or not index.strip().isdecimal() or not name.strip():
            raise DataError(f"{path}, line {number}: must hold a number, a tab and a type")
        types.append(name.strip())
    if not types:
        raise DataError(f"{path}: holds no type")
    return types


class TurlCTA:
    """Column type annotation: which of 255 types a column has; five demonstrations."""

    name = folder = "turl_cta"
    benchmark = "torr"
    metric = "turl"
    shots = 5
    limit: int | None = 100
    threshold = 1.0
    get = "tablebench pull turl_cta"

    def open(self, folder: Path, *, compat: Compat = "fixed") -> RowSource[_Column]:
        """Open the files in `folder`; `reference` loses every table's last row."""
        require_files(folder, [TEST_FILE, VOCABULARY_FILE], get=self.get)
        vocabulary = _read_vocabulary(folder)
        vocabulary_text = str(vocabulary)
        pool_file = next(name for name in POOL_FILES if (folder / name).is_file())
        note = POOL_NOTES.get(pool_file)
        problems: list[Problem] = []

        def key(column: _Column) -> Hashable:
            # As `text_key`, with one text for the vocabulary of all.
            context = (column.page_title, column.section_title, column.caption)
            return (*context, vocabulary_text, column.name)

        def pool() -> Sequence[_Column]:
            if pool_file == TEST_FILE:
                return source.rows()
            return list(_Split(folder, pool_file, compat, problems).columns())

        source = RowSource(
            _Split(folder, TEST_FILE, compat, problems).columns(),
            pool,
            make=lambda column: _example(column, vocabulary),
            key=key,
            facts=lambda: SourceFacts(
                digests(folder, (TEST_FILE, pool_file, VOCABULARY_FILE)), (note,) if note else ()
            ),
            problems=problems,
            place=str(folder / TEST_FILE),
        )
        return source

    def chain(self, compat: Compat) -> tuple[str, ...]:
        """First line, lower case, split at commas; `fixed` takes the answer's marker off."""
        first, *others = ("take_first_non_empty_line", "lower_case", "to_list_by_comma")
        return (
            (first, *others) if compat == "reference" else (first, "strip_answer_marker", *others)
        )

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return instruction and source; nothing announces the answer."""
        inputs = example.inputs
        name = inputs["colname"]
        return PromptParts(
            INSTRUCTION.format(types=", ".join(inputs["vocab"])),
            f"\nColumn name: {name}\n"
            f"Page Title: {inputs['page_title']} \n"
            f"Section Title: {inputs['section_title']} \n"
            f"Table caption: {inputs['table_caption']} \n"
            f"Table: \n{render_field(inputs['table'], render)} \n"
            f"Selected Column: {name} ",
        )


DATASETS = (TurlCTA(),)
