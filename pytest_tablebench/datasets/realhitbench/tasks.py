"""RealHiTBench's tasks: charts, data analysis, short answers, structure comprehending."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._dataset import AnswerForm
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets.files import BadRowError
from pytest_tablebench.datasets.realhitbench._dataset import PLACES, RealHit
from pytest_tablebench.datasets.realhitbench._rows import (
    CHARTS,
    ORIGINALS,
    STRUCTURE,
    SWAP,
    RealHitQuestion,
    Tables,
    queries,
    read_questions,
)
from pytest_tablebench.tables.table_file import TableFile


class Charts(RealHit):
    """Charts of four kinds.

    The model and its program receive the table of the workbook, in which numbers are numbers. The
    program reads an unperturbed table from upstream's own workbook.
    """

    metric = "realhit_chart"
    typed = True

    def __init__(self, name: str, kind: str, *, long: bool = False) -> None:
        super().__init__(name, kind, long=long)
        # The program itself is the answer, so strategies do not run it.
        forms = dict.fromkeys(PLACES, AnswerForm(judged="reply"))
        self.answer_forms = forms | {"line": AnswerForm(judged="reply", prompt=self._tree_prompt)}

    def reading(self, compat: Compat) -> tuple[str, ...]:
        """Return the post-processors that find the answer.

        `fixed` mode has none, because the program may be anywhere in a reply.
        """
        return super().reading(compat) if compat == "reference" else ()

    def rows(self, opened: Opened, files: tuple[str, ...]) -> Iterable[RealHitQuestion]:
        """Read the rows whose workbook exists."""
        tables = Tables(opened.folder)

        def check(row: RealHitQuestion) -> None:
            if tables.file(row.file, "workbook") is None:
                raise BadRowError("FileName", f"no workbook in tables for {row.file!r:.80}")

        return read_questions(opened, files[0], self.kind, tables, check=check)

    def example(self, row: RealHitQuestion) -> Example:
        """Make the example of a row; the references are the expected values as text."""
        base = super().example(row)
        table = TableFile(base.inputs["table"], row.tables.file(row.file, "workbook"))
        return replace(base, context={"chart_type": row.subtype, "table": table})


class Analysis(RealHit):
    """Data analysis; the tag `subtype` is its kind."""

    metric = "realhit_judged"
    threshold = 0.3

    def example(self, row: RealHitQuestion) -> Example:
        """Make the example of a row, with the sub-type and the table that a judge needs."""
        base = super().example(row)
        latex = row.tables.file(row.file, "latex") if row.compat == "reference" else None
        table = TableFile(base.inputs["table"], latex)
        return replace(base, context={**base.context, "subtype": row.subtype, "table": table})


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


DATASETS = (
    Charts("realhit_cg", CHARTS),
    Charts("realhit_cg", CHARTS, long=True),
    Analysis("realhit_da", "Data Analysis"),
    Analysis("realhit_da", "Data Analysis", long=True),
    RealHit("realhit_fc", "Fact Checking"),
    RealHit("realhit_fc", "Fact Checking", long=True),
    RealHit("realhit_nr", "Numerical Reasoning"),
    RealHit("realhit_nr", "Numerical Reasoning", long=True),
    Structure("realhit_sc", STRUCTURE),
    Structure("realhit_sc", STRUCTURE, long=True),
)
