"""TabFact as ToRR reads and asks it (spec: torr.md section 3.3)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets.files import BadRowError, QuestionRow
from pytest_tablebench.datasets.torr._common import SOURCE_LIMIT, ToRRRows, read_table
from pytest_tablebench.errors import DataError

LABELS = ("refuted", "entailed")


class TabFact(ToRRRows, section="tabfact"):
    """TabFact: is a statement entailed or refuted by a table; five demonstrations."""

    def rows(self, opened: Opened, files: tuple[str, ...]) -> Iterator[QuestionRow]:
        """Yield the statements whose table can be read; try each table only once."""
        [file] = files
        content_name = "an object of table id to [statements, labels, caption]"
        content = opened.json(file, dict, content_name)
        readable: dict[str | None, bool] = {}
        for row in list(islice(_statements(opened, file, content), SOURCE_LIMIT)):
            if row.place not in readable:
                readable[row.place] = True
                try:
                    row.table()
                except DataError as error:
                    readable[row.place] = False
                    opened.bad(file, row.number, "table id", str(error))
            if readable[row.place]:
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


DATASETS = (TabFact(),)
