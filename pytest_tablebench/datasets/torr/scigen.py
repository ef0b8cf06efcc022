"""SciGen as ToRR reads and asks it (spec: torr.md section 3.6).

ToRR reads the copy `kasnerz/scigen` of the Hugging Face hub, whose splits have 13,607, 3,452 and
492 rows. In the upstream repository 492 is the size of `test-CL.json` (papers on computation and
language) and 13,607 that of the medium training set. So the examples here are those of
`test-CL.json`; `test-Other.json` (other fields, 546 rows) is no part of the benchmark.
Demonstrations come from the medium training file, or from the small one of the few-shot setting
where that is missing.
"""

from __future__ import annotations

import ast
import warnings
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

__all__ = ["DATASETS", "SciGen"]

TEST_FILE = "dataset/test/test-CL.json"
POOL_FILES = (
    "dataset/train/medium/train.json",
    "dataset/train/few-shot/train.json",
    "dataset/development/few-shot/dev.json",
)
NAMES, VALUES = "table_column_names", "table_content_values"

INSTRUCTION = (
    "You are given a table and its caption. Write the text description that belongs to them.\n"
    + CLOSING
)

_NOTE = (
    "examples are those of test-CL.json, as in the copy the benchmark reads; "
    "test-Other.json is no part of it"
)

_LONGEST_LITERAL = 200_000
"""Characters; far beyond any table upstream, and little for the parser."""


def _rows(folder: Path, file: str, problems: list[Problem]) -> list[Row]:
    content = read_json(folder / file)
    if not isinstance(content, dict):
        raise DataError(
            f"{folder / file}: must hold an object of key to row, "
            f"not a {type(content).__name__}; is this SciGen?"
        )

    def build(item: tuple[str, Any]) -> Row | None:
        key, row = item
        caption = text_field(row, "table_caption", may_be_empty=True)
        # An empty table is left out, not wrong: text in the hub's copy, a list upstream.
        if row.get(VALUES) in ("[]", []):
            return None
        header, values = cells(_plain(row, NAMES), _plain(row, VALUES), NAMES, VALUES)
        table = partial(Table, tuple(header), tuple(map(tuple, values)), name=key)
        return Row(key, caption, text_field(row, "text"), table)

    return collect(content.items(), file, problems, build)


def _plain(row: dict[str, Any], name: str) -> Any:
    """Return a field's value; text is read as a Python literal, which runs nothing."""
    value = row.get(name)
    if value is None:
        raise BadRowError(name, "is missing")
    if not isinstance(value, str):
        return value
    if len(value) > _LONGEST_LITERAL:
        raise BadRowError(name, f"is longer than {_LONGEST_LITERAL} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of backslashes that escape nothing
            return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise BadRowError(name, "is text, but not of a Python list") from None


class SciGen:
    """SciGen: describe a table from a scientific article; five demonstrations."""

    name = folder = "scigen"
    benchmark = "torr"
    metric = "rouge"
    shots = 5
    limit: int | None = 100
    threshold = 0.15
    get = "tablebench pull scigen"

    def open(
        self,
        folder: Path,
        *,
        compat: Compat = "fixed",  # noqa: ARG002 - both modes read the same
    ) -> RowSource[Row]:
        """Open the upstream checkout at `folder`."""
        require_files(folder, [TEST_FILE], get=self.get)
        pool = next((file for file in POOL_FILES if (folder / file).is_file()), None)
        if pool is None:
            pool = POOL_FILES[1]
            require_files(folder, [pool], get=self.get)
        notes = [_NOTE]
        if pool != POOL_FILES[0]:
            kind = "few-shot training" if pool == POOL_FILES[1] else "few-shot validation"
            notes.append(f"demonstrations come from the {kind} file: no {POOL_FILES[0]}")
        return row_source(
            folder,
            Split((TEST_FILE,), partial(_rows, folder, TEST_FILE)),
            Split((pool,), partial(_rows, folder, pool)),
            text_name="caption",
            notes=tuple(notes),
        )

    def chain(self, compat: Compat) -> tuple[str, ...]:  # noqa: ARG002 - the same in both modes
        """Lower case, nothing else."""
        return ("lower_case",)

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return instruction and source; the source itself announces the description."""
        table = render_field(example.inputs["table"], render)
        return PromptParts(
            INSTRUCTION,
            f"table: \n{table} \ncaption: \n{example.inputs['caption']} \ntext description:",
        )


DATASETS = (SciGen(),)
