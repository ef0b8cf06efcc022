"""RealHiTBench, Structure Comprehending: one question about a table and its rearranged twin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets.realhitbench._dataset import RealHit
from pytest_tablebench.datasets.realhitbench._rows import (
    ORIGINALS,
    STRUCTURE,
    RealHitQuestion,
    queries,
    read_questions,
)
from pytest_tablebench.datasets.realhitbench._tables import SWAP, Tables
from pytest_tablebench.datasets.rows import BadRowError


class Structure(RealHit):
    """The same question about a table and about `<table>_swap`, in which parts are exchanged.

    The setting `structure` decides what the answers must equal. The gold answer is the answer of
    a question of another kind with the same table and text.
    """

    metric = "realhit_structure"
    options = ("structure",)
    has_versions = True

    def rows(self, opened: Opened, files: tuple[str, ...]) -> Iterable[RealHitQuestion]:
        """Read the rows whose rearranged table exists, with their gold answers.

        A row without a gold answer is unusable, unless the setting `structure` is `self`.
        """
        tables, gold = Tables(opened.folder), _by_text(queries(opened, files[0]), "ProcessedAnswer")
        subtypes = {}
        if (opened.folder / ORIGINALS).is_file():
            subtypes = _by_text(queries(opened, ORIGINALS), "SubQType", of_structure=True)

        def check(row: RealHitQuestion) -> None:
            tables.require(row.file + SWAP)
            if not gold.get(_key(row)) and opened.options.get("structure") != "self":
                message = "has no gold answer: no other kind has this question about this table"
                raise BadRowError("Question", message)

        questions = read_questions(
            opened, files[0], STRUCTURE, tables, check=check, subtypes=subtypes
        )
        structure = opened.options.get("structure", "both")
        for row in questions:
            yield replace(row, answer=gold.get(_key(row), ""), mode=structure)

    def example(self, row: RealHitQuestion) -> Example:
        """Make the example of a row, with both tables."""
        base = super().example(row)
        table, *others = base.inputs.items()
        swapped = row.tables.read(row.file + SWAP)
        return replace(
            base,
            inputs=dict([table, ("swapped", swapped), *others]),
            references=(row.answer,) if row.answer else (),
            context={**base.context, "structure": row.mode},
        )

    def versions(self, example: Example) -> tuple[Example, Example]:
        """Return the question about the plain table and the question about the rearranged one."""
        plain = dict(example.inputs)
        swapped = plain.pop("swapped")
        return replace(example, inputs=plain), replace(example, inputs=plain | {"table": swapped})


def _key(row: RealHitQuestion) -> tuple[str, str]:
    return row.file, row.text.strip()


def _by_text(
    rows: Iterable[object], field: str, *, of_structure: bool = False
) -> dict[tuple[str, str], str]:
    """Return a field of rows by table and question.

    The rows are those of structure comprehending with `of_structure`, otherwise all others.
    """
    values = {}
    for row in rows:
        if isinstance(row, dict) and (row.get("QuestionType") == STRUCTURE) is of_structure:
            values[str(row.get("FileName")), str(row.get("Question")).strip()] = str(row.get(field))
    return values


DATASETS = (Structure("realhit_sc", STRUCTURE), Structure("realhit_sc", STRUCTURE, long=True))
