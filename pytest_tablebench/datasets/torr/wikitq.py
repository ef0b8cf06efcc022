"""WikiTableQuestions as ToRR reads and asks it (spec: torr.md section 3.2)."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

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
    delimited_rows,
    read_text,
    require_files,
)
from pytest_tablebench.datasets._sources import RowSource, digests
from pytest_tablebench.datasets._strata import Stratum
from pytest_tablebench.datasets.torr._common import CLOSING, SOURCE_LIMIT, read_table
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table

__all__ = ["DATASETS", "WikiTQ"]

TEST_FILE = "data/pristine-unseen-tables.tsv"
TRAIN_FILE = "data/random-split-1-train.tsv"
COLUMNS = ["id", "utterance", "context", "targetValue"]
MAX_CELLS = 200

INSTRUCTION = (
    "Use the table to answer the question. Give nothing but the exact phrase or value taken from "
    "the table, neither changed nor explained.\n" + CLOSING
)


@dataclass(frozen=True)
class _Row:
    number: int
    id: str
    question: str
    context: str
    target: str


@dataclass
class _Split:
    """One file of questions, and the tables they point at."""

    folder: Path
    file: str
    problems: list[Problem]
    quoted: bool
    rows: list[_Row] = field(default_factory=list)

    def read(self) -> None:
        try:
            lines = delimited_rows(read_text(self.folder / self.file), "\t", quoted=self.quoted)
        except csv.Error as error:
            raise DataError(f"{self.folder / self.file}: {error}") from None
        if not lines or lines[0] != COLUMNS:
            raise DataError(
                f"{self.folder / self.file}: the first line must be {' '.join(COLUMNS)} separated "
                f"by tabs, not {' '.join(lines[0] if lines else [])[:80]!r}; is this "
                f"WikiTableQuestions?"
            )
        seen: set[str] = set()
        # Targets are kept as text: one of them is the word "None".
        for number, cells in enumerate(lines[1 : SOURCE_LIMIT + 1], start=2):
            if len(cells) != len(COLUMNS):
                self.bad(number, "row", f"has {len(cells)} fields, not {len(COLUMNS)}")
                continue
            empty = next((name for name, cell in zip(COLUMNS, cells, strict=True) if not cell), "")
            if empty:
                self.bad(number, empty, "is empty")
            elif cells[0] in seen:
                self.bad(number, "id", f"{cells[0]!r} occurs a second time")
            else:
                seen.add(cells[0])
                self.rows.append(_Row(number, *cells))

    def bad(self, number: int, name: str, message: str) -> None:
        self.problems.append(Problem(self.file, number, name, message))

    def table(self, row: _Row) -> Table:
        name = row.context.removesuffix(".csv") + ".tsv"
        return read_table(self.folder, name, "\t", strip=True, quoted=self.quoted)

    def usable(self) -> Iterator[_Row]:
        """Yield the rows whose table can be read and has at most 200 cells."""
        for row in self.rows:
            try:
                height, width = self.table(row).shape
            except DataError as error:
                self.bad(row.number, "context", str(error))
                continue
            if height * width <= MAX_CELLS:
                yield row

    def example(self, row: _Row) -> Example:
        references = tuple(row.target.split("|"))
        table = self.table(row)
        return Example(
            id=row.id,
            inputs={"question": row.question, "table": table},
            question=row.question,
            references=references,
            target=references[0],
            context={"table": table},
        )


class WikiTQ:
    """WikiTableQuestions: short answers, one demonstration, tables of at most 200 cells."""

    name = folder = "wikitq"
    benchmark = "torr"
    metric = "wikitq"
    shots = 1
    limit: int | None = 100
    threshold = 1.0
    get = "tablebench pull wikitq"

    def open(
        self,
        folder: Path,
        *,
        compat: Compat = "fixed",
    ) -> RowSource[_Row]:
        """Open the upstream files at `folder`.

        They have no quoting. The reference reads them as if they had, so that a stray quote
        swallows what follows, and quotes around a cell are lost.
        """
        require_files(folder, [TEST_FILE, TRAIN_FILE], get=self.get)
        problems: list[Problem] = []
        quoted = compat == "reference"
        test = _Split(folder, TEST_FILE, problems, quoted)
        test.read()

        def pool() -> list[_Row]:
            train = _Split(folder, TRAIN_FILE, problems, quoted)
            train.read()
            return list(train.usable())

        return RowSource(
            test.usable(),
            pool,
            make=test.example,  # the tables of both files are in one folder
            key=lambda row: (row.question,),
            stratum=lambda row: Stratum((), row.context),
            facts=lambda: SourceFacts(digests(folder, (TEST_FILE, TRAIN_FILE))),
            problems=problems,
            place=str(folder / TEST_FILE),
        )

    def chain(self, compat: Compat) -> tuple[str, ...]:
        """First line, split into items.

        The reference turns the list into its text after that; `fixed` takes the answer's marker
        off before.
        """
        first, split = "take_first_non_empty_line", "to_list_by_comma_space"
        if compat == "reference":
            return (first, split, "str_to_float_format")
        return (first, "strip_answer_marker", split)

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return instruction and source; the answer line is part of the source."""
        table = render_field(example.inputs["table"], render)
        return PromptParts(
            INSTRUCTION, f"\nQuestion: {example.inputs['question']}\nTable: {table}\nAnswer: "
        )


DATASETS = (WikiTQ(),)
