"""TableBench's charts, the category that ToRR leaves out (spec: tablebench.md, Charts)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._file_dataset import FileDataset, Opened
from pytest_tablebench.datasets._prompts import AnswerForm, AnswerPlace
from pytest_tablebench.datasets._row_source import RowSource
from pytest_tablebench.datasets.torr._tablebench_files import CHARTS, TableBenchRow, find_version
from pytest_tablebench.datasets.torr.tablebench import TableBench
from pytest_tablebench.tables.table_file import TableFile


class TableBenchCharts(FileDataset[TableBenchRow]):
    """Programs that draw a chart, with the table in the file `table.csv`.

    Upstream has only one split. Charts have no demonstrations, so every question is evaluated.
    """

    name = benchmark = "tablebench_viz"
    folder = TableBench.folder
    upstream = TableBench.upstream
    metric = "tablebench_chart"
    params = MappingProxyType({"temperature": 0, "max_tokens": 4096})
    answer_forms: Mapping[AnswerPlace, AnswerForm] = MappingProxyType(
        dict.fromkeys(("line", "object", "printed", "box"), AnswerForm(judged="reply"))
    )
    fixed_chain = ()
    instruction = (
        "You are a table analyst and draw charts of the content of a table with Python.\n\n"
        "The table lies in the file table.csv beside your program. Read it with pandas, draw with "
        "matplotlib, and name the axes. Values that are texts in the table have to become numbers "
        "before they are drawn. The program runs as it is, and ends with plt.show().\n\n"
        "Think first. Then write the whole program as one block: a line ```python, the program, a "
        "line ```."
    )
    source = "Table: {table}\nQuestion: {question}"

    def open(self, folder: Path, *, compat: Compat = "fixed", **_: Any) -> RowSource[TableBenchRow]:
        """Open the best of upstream's versions in `folder`. Raises `DataMissing` or `DataError`."""
        version = find_version(folder, CHARTS, fetch=self.fetch)
        return self.opened_source(
            Opened(folder, compat, "TableBench", version.problems),
            [row for row in version.rows if row is not None],
            lambda: (),
            files=(version.file,),
            notes=tuple(version.notes),
            place=str(folder / version.file),
        )

    def example(self, row: TableBenchRow) -> Example:
        """Make the example of a row."""
        return Example(
            id=row.id,
            inputs={"table": row.table, "question": row.question},
            question=row.question,
            references=(row.answer,),
            target=row.answer,
            context={"chart_type": row.chart_type, "table": TableFile(row.table)},
            tags={"type": row.qsubtype, "chart": row.chart_type},
        )

    def key(self, row: TableBenchRow) -> Hashable:
        """Return the question."""
        return (row.question,)


DATASETS = (TableBenchCharts(),)
