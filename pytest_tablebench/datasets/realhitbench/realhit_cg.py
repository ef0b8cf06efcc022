"""RealHiTBench, Visualization: programs that draw charts, scored by the values they draw."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets._prompts import AnswerForm
from pytest_tablebench.datasets.realhitbench._dataset import PLACES, RealHit
from pytest_tablebench.datasets.realhitbench._rows import CHARTS, RealHitQuestion, read_questions
from pytest_tablebench.datasets.realhitbench._tables import Tables
from pytest_tablebench.datasets.rows import BadRowError
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


DATASETS = (Charts("realhit_cg", CHARTS), Charts("realhit_cg", CHARTS, long=True))
