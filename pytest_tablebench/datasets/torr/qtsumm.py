"""QTSumm as ToRR reads and asks it (spec: torr.md section 3.7)."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._base import Example, Problem, PromptParts, Render, render_field
from pytest_tablebench.datasets._files import read_json, require_files
from pytest_tablebench.datasets._sources import RowSource
from pytest_tablebench.datasets.torr._common import CLOSING
from pytest_tablebench.datasets.torr._rows import (
    BadRowError,
    Row,
    Split,
    cells,
    collect,
    row_source,
    text_field,
)
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table

__all__ = ["DATASETS", "QTSumm"]

TEST_FILE = "qtsumm_test.json"
TRAIN_FILE = "qtsumm_train.json"
VALIDATION_FILE = "qtsumm_dev.json"

INSTRUCTION = (
    "Use the Table below to answer the user's query with a text as long as a paragraph.\n" + CLOSING
)


def _rows(folder: Path, file: str, problems: list[Problem]) -> list[Row]:
    content = read_json(folder / file)
    if not isinstance(content, list):
        raise DataError(
            f"{folder / file}: must hold a list of objects, not a {type(content).__name__}; "
            f"is this QTSumm?"
        )
    return collect(content, file, problems, _row)


def _row(item: Any) -> Row:
    query, summary = text_field(item, "query"), text_field(item, "summary")
    table = item.get("table")
    if not isinstance(table, dict):
        raise BadRowError("table", "is missing" if table is None else "must be an object")
    header, rows = cells(table.get("header"), table.get("rows"), "table.header", "table.rows")
    title = table.get("title")
    make = partial(
        Table,
        tuple(header),
        tuple(map(tuple, rows)),
        # Title and id are not shown, but take part in draws: the table is used as it is.
        extra=tuple(table.items()),
        name=title if isinstance(title, str) else None,
    )
    return Row(text_field(item, "example_id"), query, summary, make)


class QTSumm:
    """QTSumm: answer a query about a table in a paragraph; five demonstrations."""

    name = folder = "qtsumm"
    benchmark = "torr"
    metric = "rouge"
    shots = 5
    limit: int | None = 100
    threshold = 0.40
    # The authors give access on request; the command says how where it is missing.
    get = "tablebench pull qtsumm"

    def open(
        self,
        folder: Path,
        *,
        compat: Compat = "fixed",  # noqa: ARG002 - both modes read the same
    ) -> RowSource[Row]:
        """Open the upstream files at `folder`."""
        require_files(folder, [TEST_FILE], get=self.get)
        pool = TRAIN_FILE
        notes: tuple[str, ...] = ()
        if not (folder / TRAIN_FILE).is_file():
            require_files(folder, [VALIDATION_FILE], get=self.get)
            pool = VALIDATION_FILE
            notes = ("demonstrations come from the validation file: no training file",)
        return row_source(
            folder,
            Split((TEST_FILE,), partial(_rows, folder, TEST_FILE)),
            Split((pool,), partial(_rows, folder, pool)),
            text_name="question",
            notes=notes,
        )

    def chain(self, compat: Compat) -> tuple[str, ...]:  # noqa: ARG002 - the same in both modes
        """Strip, nothing else."""
        return ("to_string_stripped",)

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return instruction, source and the line that announces the answer."""
        table = render_field(example.inputs["table"], render)
        return PromptParts(
            INSTRUCTION, f"Table:\n{table}\nQuery:\n{example.inputs['question']}", "Answer:\n"
        )


DATASETS = (QTSumm(),)
