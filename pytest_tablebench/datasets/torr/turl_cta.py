"""Column type annotation of TURL as ToRR reads and asks it (spec: torr.md section 3.4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets.files import BadRowError, json_items, read_text
from pytest_tablebench.datasets.torr._common import SOURCE_LIMIT, ToRR
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table

VOCABULARY_FILE = "type_vocab.txt"
_ROW = "[table id, page title, page id, section title, caption, headers, columns, types]"
_TEXTS = {0: "table id", 1: "page title", 3: "section title", 4: "caption"}


class _Vocabulary(list[str]):
    """The types to choose from, shared by all columns; their text is made only once."""

    @cached_property
    def _text(self) -> str:
        return repr(self)

    def __str__(self) -> str:
        return self._text


def _check_row(row: Any) -> None:
    """Raise `BadRowError` if a row lacks the upstream form; its cells and types are not checked."""
    if not isinstance(row, list) or len(row) != 8:
        raise BadRowError("row", f"is not {_ROW}")
    for position, name in _TEXTS.items():
        if not isinstance(row[position], str):
            raise BadRowError(name, "is not text")
    headers, columns, types = row[5:8]
    if not isinstance(headers, list) or not all(isinstance(name, str) for name in headers):
        raise BadRowError("headers", "is not a list of texts")
    for name, value in (("columns", columns), ("types", types)):
        if not isinstance(value, list) or len(value) != len(headers):
            message = f"is not a list with one entry for each of {len(headers)} headers"
            raise BadRowError(name, message)


def _cells(columns: Sequence[Any]) -> dict[int, dict[int, str]]:
    """Return the text of each cell by row and column. Raises `BadRowError`."""
    rows: dict[int, dict[int, str]] = {}
    for position, column in enumerate(columns):
        entries = column if isinstance(column, list) else [None]
        for number, entry in enumerate(entries, start=1):
            match entry:
                # The column number in the entry repeats `position` and is ignored.
                case [[int(row), _], [_, str(text)]] if type(row) is int and row >= 0:
                    rows.setdefault(row, {})[position] = text
                case _:
                    raise BadRowError(
                        f"column {position + 1}",
                        f"entry {number} is not [[row, column], [entity id, text]]",
                    )
    return rows


def _table(row: Sequence[Any], compat: Compat) -> Table:
    """Return the table rebuilt from the entries of its columns, without rows that have no text.

    The published reader uses the largest row number at the end of a column as the number of rows,
    so it loses the last row. `fixed` keeps that row.
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


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


def _read_vocabulary(folder: Path) -> _Vocabulary:
    """Return the candidate types in file order, from lines of number, tab and type."""
    path = folder / VOCABULARY_FILE
    lines = [line.rstrip("\r") for line in read_text(path).split("\n") if line.strip()]
    types = []
    for number, line in enumerate(lines, start=1):
        index, tab, name = line.partition("\t")
        if not tab or not index.strip().isdecimal() or not name.strip():
            raise DataError(f"{path}, line {number}: must contain a number, a tab and a type")
        types.append(name.strip())
    if not types:
        raise DataError(f"{path}: contains no type")
    return _Vocabulary(types)


class TurlCTA(ToRR[Example], section="turl_cta"):
    """Column type annotation: which of 255 types a column has; five demonstrations."""

    def rows(self, opened: Opened, files: tuple[str, ...]) -> Iterator[Example]:
        """Yield the usable columns among the file's first 10,000; read only as far as needed.

        In `reference` mode every table lacks its last row.
        """
        vocabulary = _read_vocabulary(opened.folder)
        [file], columns, seen = files, 0, set[str]()
        for number, row in _numbered(opened, file):
            try:
                _check_row(row)
                if row[0] in seen:
                    raise BadRowError("table id", f"{row[0]!r:.60} occurs a second time")
                seen.add(row[0])
                table = _table(row, opened.compat)
            except BadRowError as error:
                opened.bad(file, number, error.field, str(error))
                continue
            for position, types in enumerate(row[7][: SOURCE_LIMIT - columns], start=1):
                if not types or not _are_texts(types):
                    opened.bad(
                        file, number, f"types of column {position}", "is not a list of types"
                    )
                    continue
                yield _example(row, position, table, vocabulary)
            columns += len(row[7])
            if columns >= SOURCE_LIMIT:
                return


def _example(row: Sequence[Any], position: int, table: Table, vocabulary: _Vocabulary) -> Example:
    """Return the example of a row's column, counted from 1."""
    name, target = row[5][position - 1], ", ".join(row[7][position - 1])
    titles = ", ".join(text for text in (row[1], row[3]) if text)
    return Example(
        id=f"{row[0]}-{position}",
        inputs={
            "page_title": row[1],
            "section_title": row[3],
            "table_caption": row[4],
            "table": table,
            "vocab": vocabulary,
            "colname": name,
        },
        question=f"Which types does column {name!r} have? ({titles})",
        references=(target,),
        target=target,
        context={"vocabulary": vocabulary},
        cluster=table.name,
    )


def _numbered(opened: Opened, file: str) -> Iterator[tuple[int, Any]]:
    """Yield the items of a file, numbered from 1.

    If the file breaks off after at least one item, record a problem and stop. Raises `DataError` if
    the first item cannot be read.
    """
    number = 0
    try:
        for number, item in enumerate(json_items(opened.folder / file), start=1):
            yield number, item
    except DataError as error:
        if not number:
            raise
        opened.bad(file, number + 1, "row", str(error))


DATASETS = (TurlCTA(),)
