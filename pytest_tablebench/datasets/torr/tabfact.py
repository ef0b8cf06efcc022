"""TabFact as ToRR reads and asks it (spec: torr.md section 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
from pytest_tablebench.datasets._files import (
    fetch_command,
    read_json,
    require_files,
)
from pytest_tablebench.datasets._sources import RowSource, digests
from pytest_tablebench.datasets._strata import Stratum
from pytest_tablebench.datasets.torr._common import CLOSING, SOURCE_LIMIT, read_table
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table

__all__ = ["DATASETS", "TabFact"]

TEST_FILE = "tokenized_data/test_examples.json"
TRAIN_FILE = "tokenized_data/train_examples.json"
VALIDATION_FILE = "tokenized_data/val_examples.json"
TABLES = "data/all_csv"
LABELS = ("refuted", "entailed")

INSTRUCTION = (
    "You are given a Table and a Statement. Classify the entailment of the statement by the table "
    f"into one of the following classes: {', '.join(LABELS)}. Output nothing but the answer.\n"
    + CLOSING
)


@dataclass(frozen=True)
class _Statement:
    number: int
    id: str
    table_id: str
    text: str
    label: int


def _statements(path: Path, file: str, problems: list[Problem]) -> list[_Statement]:
    """Read all statements of a file in its order; unusable ones become problems."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise DataError(
            f"{path}: must hold an object of table id to [statements, labels, caption], "
            f"not a {type(content).__name__}; is this TabFact?"
        )
    found: list[_Statement] = []
    for number, (table_id, entry) in enumerate(content.items(), start=1):
        for position, statement in _entry(entry, number, file, problems):
            text, label = statement
            stem = table_id.removesuffix(".csv").removesuffix(".html")
            found.append(_Statement(number, f"{stem}-{position}", table_id, text, label))
            if len(found) == SOURCE_LIMIT:
                return found
    return found


def _entry(
    entry: Any, number: int, file: str, problems: list[Problem]
) -> Iterator[tuple[int, tuple[str, int]]]:
    """Yield (position from 1, (statement, label)) of one table's entry."""
    if (
        not isinstance(entry, list)
        or len(entry) < 2
        or not all(isinstance(part, list) for part in entry[:2])
    ):
        problems.append(Problem(file, number, "entry", "is not [statements, labels, caption]"))
        return
    statements, labels = entry[:2]
    if len(statements) != len(labels):
        problems.append(
            Problem(file, number, "labels", f"{len(labels)} for {len(statements)} statements")
        )
        return
    for position, (text, label) in enumerate(zip(statements, labels, strict=True), start=1):
        if not isinstance(text, str) or not text.strip():
            problems.append(Problem(file, number, f"statement {position}", "is no text"))
        elif type(label) is not int or label not in (0, 1):
            problems.append(Problem(file, number, f"label {position}", "is neither 0 nor 1"))
        else:
            yield position, (text, label)


def _table(folder: Path, table_id: str) -> Table:
    return read_table(folder, f"{TABLES}/{table_id}", "#", strip=False)


def _example(folder: Path, statement: _Statement) -> Example:
    table = _table(folder, statement.table_id)
    label = LABELS[statement.label]
    return Example(
        id=statement.id,
        inputs={"table": table, "statement": statement.text},
        question=statement.text,
        references=(label,),
        target=label,
    )


def _usable(
    folder: Path, file: str, statements: Iterable[_Statement], problems: list[Problem]
) -> Iterator[_Statement]:
    """Yield the statements whose table can be read; each table is tried once."""
    readable: dict[str, bool] = {}
    for statement in statements:
        table_id = statement.table_id
        if table_id not in readable:
            try:
                _table(folder, table_id)
            except DataError as error:
                readable[table_id] = False
                problems.append(Problem(file, statement.number, "table id", str(error)))
            else:
                readable[table_id] = True
        if readable[table_id]:
            yield statement


class TabFact:
    """TabFact: is a statement entailed or refuted by a table; five demonstrations."""

    name = folder = "tabfact"
    benchmark = "torr"
    metric = "tab_fact"
    shots = 5
    limit: int | None = 100
    threshold = 1.0
    get = "tablebench pull tabfact"

    def open(
        self,
        folder: Path,
        *,
        compat: Compat = "fixed",  # noqa: ARG002 - both modes read the same
    ) -> RowSource[_Statement]:
        """Open the upstream files at `folder`."""
        require_files(folder, [TEST_FILE], get=self.get)
        if not (folder / TRAIN_FILE).is_file():
            require_files(folder, [VALIDATION_FILE], get=self.get)
        if not (folder / TABLES).is_dir():
            command = fetch_command(self.get, folder)
            raise DataError(f"{folder} lacks the folder {TABLES}; get it with: {command}")
        # The upstream repository has the training file; slices may lack it.
        pool_file = TRAIN_FILE if (folder / TRAIN_FILE).is_file() else VALIDATION_FILE
        note = "demonstrations come from the validation file: no training file"
        problems: list[Problem] = []

        def usable(file: str) -> Iterator[_Statement]:
            statements = _statements(folder / file, file, problems)
            return _usable(folder, file, statements, problems)

        return RowSource(
            usable(TEST_FILE),
            lambda: list(usable(pool_file)),
            make=lambda statement: _example(folder, statement),
            key=lambda statement: (statement.text,),
            stratum=lambda statement: Stratum((), statement.table_id),
            facts=lambda: SourceFacts(
                digests(folder, (TEST_FILE, pool_file)),
                (note,) if pool_file == VALIDATION_FILE else (),
            ),
            problems=problems,
            place=str(folder / TEST_FILE),
        )

    def chain(self, compat: Compat) -> tuple[str, ...]:
        """First line, lower case, cut at punctuation; `fixed` reads the verdict."""
        if compat == "reference":
            return ("take_first_non_empty_line", "lower_case_till_punc")
        return ("read_verdict",)

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return instruction and source; nothing announces the answer."""
        table = render_field(example.inputs["table"], render)
        return PromptParts(
            INSTRUCTION, f"Table: {table}\nStatement: {example.inputs['statement']} "
        )


DATASETS = (TabFact(),)
