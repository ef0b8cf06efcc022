"""WikiTableQuestions as ToRR reads and asks it (spec: torr.md section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets.files import BadRowError, QuestionRow, read_rows
from pytest_tablebench.datasets.torr._common import SOURCE_LIMIT, ToRRRows, read_table
from pytest_tablebench.errors import DataError

COLUMNS = ["id", "utterance", "context", "targetValue"]
MAX_CELLS = 200


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


DATASETS = (WikiTQ(),)
