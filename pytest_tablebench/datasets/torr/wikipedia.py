"""WikiTableQuestions and TabFact as ToRR reads and asks them (spec: torr.md sections 3.2 and 3.3).

Their tables are delimited files, one for many questions.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets.files import BadRowError, inside, read_rows
from pytest_tablebench.datasets.torr._common import SOURCE_LIMIT, QuestionRow, ToRRRows
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table

LABELS = ("refuted", "entailed")
COLUMNS = ["id", "utterance", "context", "targetValue"]
MAX_CELLS = 200


@lru_cache(maxsize=512)
def read_table(
    folder: Path, name: str, delimiter: str, *, strip: bool, quoted: bool = True
) -> Table:
    """Read the delimited table file `folder / name`, whose first line is the header.

    With `strip`, line ends inside cells become blanks, and cells are stripped. For `quoted` see
    `read_rows`. Raises `DataError`, naming the file, if it cannot be read, is empty or is outside
    the folder.
    """
    path = inside(folder, name)
    rows = read_rows(path, delimiter, quoted=quoted)
    if not rows:
        raise DataError(f"{path}: is empty; its first line must be the header")
    if strip:
        rows = [[cell.replace("\n", " ").strip() for cell in row] for row in rows]
    return Table(tuple(rows[0]), tuple(tuple(row) for row in rows[1:]), name=name)


class WikiTQ(ToRRRows, section="wikitq"):
    """WikiTableQuestions: short answers, one demonstration, tables of at most 200 cells.

    The upstream files do not quote cells. `reference` mode still treats quotes as quoting: a stray
    quote joins the following text to its cell, and quotes around a cell are lost.
    """

    def rows(self, opened: Opened, files: tuple[str, ...]) -> Iterator[QuestionRow]:
        """Yield the rows whose table can be read and has at most 200 cells."""
        [file] = files
        folder, quoted = opened.folder, opened.compat == "reference"
        lines = read_rows(folder / file, "\t", quoted=quoted)
        if not lines or lines[0] != COLUMNS:
            raise DataError(
                f"{folder / file}: the first line must be {' '.join(COLUMNS)} separated by tabs, "
                f"not {' '.join(lines[0] if lines else [])[:80]!r}; is this WikiTableQuestions?"
            )

        def build(numbered: tuple[int, list[str]]) -> QuestionRow:
            number, cells = numbered
            if len(cells) != len(COLUMNS):
                raise BadRowError("row", f"has {len(cells)} fields, not {len(COLUMNS)}")
            for name, cell in zip(COLUMNS, cells, strict=True):
                if not cell:
                    raise BadRowError(name, "is empty")
            # Targets stay text, because one of them is the word "None".
            example_id, question, context, target = cells
            path = context.removesuffix(".csv") + ".tsv"
            table = partial(read_table, folder, path, "\t", strip=True, quoted=quoted)
            return QuestionRow(example_id, question, target, table, context, number)

        items = enumerate(lines[1 : SOURCE_LIMIT + 1], start=2)
        for row in list(opened.usable(file, items, build, first=2)):
            try:
                height, width = row.table().shape
            except DataError as error:
                opened.bad(file, row.number, "context", str(error))
                continue
            if height * width <= MAX_CELLS:
                yield row

    def example(self, row: QuestionRow) -> Example:
        """Make the example of a row; bars separate its answers."""
        table, references = row.table(), tuple(row.answer.split("|"))
        return Example(
            id=row.id,
            inputs={"question": row.text, "table": table},
            question=row.text,
            references=references,
            target=references[0],
            context={"table": table, "question": row.text},
        )


class TabFact(ToRRRows, section="tabfact"):
    """TabFact: is a statement entailed or refuted by a table; five demonstrations."""

    def rows(self, opened: Opened, files: tuple[str, ...]) -> Iterator[QuestionRow]:
        """Yield the statements whose table can be read; try each table only once."""
        [file] = files
        content_name = "an object of table id to [statements, labels, caption]"
        content = opened.json(file, dict, content_name)
        readable: dict[str | None, bool] = {}
        for row in list(islice(_statements(opened, file, content), SOURCE_LIMIT)):
            if row.table_name not in readable:
                readable[row.table_name] = True
                try:
                    row.table()
                except DataError as error:
                    readable[row.table_name] = False
                    opened.bad(file, row.number, "table id", str(error))
            if readable[row.table_name]:
                yield row


def _statements(opened: Opened, file: str, content: dict[str, Any]) -> Iterator[QuestionRow]:
    """Yield the statements of a file in its order; unusable ones become problems."""
    for number, (table_id, entry) in enumerate(content.items(), start=1):
        stem = table_id.removesuffix(".csv").removesuffix(".html")
        table = partial(read_table, opened.folder, f"data/all_csv/{table_id}", "#", strip=False)
        try:
            pairs = _pairs(entry)
        except BadRowError as error:
            opened.bad(file, number, error.field, str(error))
            continue
        for position, (text, label) in enumerate(pairs, start=1):
            if not isinstance(text, str) or not text.strip():
                opened.bad(file, number, f"statement {position}", "is not text")
            elif type(label) is not int or label not in (0, 1):
                opened.bad(file, number, f"label {position}", "is neither 0 nor 1")
            else:
                yield QuestionRow(
                    f"{stem}-{position}", text, LABELS[label], table, table_id, number
                )


def _pairs(entry: Any) -> list[tuple[Any, Any]]:
    """Return the statements of a table's entry, each with its label. Raises `BadRowError`."""
    parts = entry[:2] if isinstance(entry, list) else []
    if len(parts) < 2 or not all(isinstance(part, list) for part in parts):
        raise BadRowError("entry", "is not [statements, labels, caption]")
    statements, labels = parts
    if len(statements) != len(labels):
        raise BadRowError("labels", f"{len(labels)} for {len(statements)} statements")
    return list(zip(statements, labels, strict=True))


DATASETS = (TabFact(), WikiTQ())
