"""TableBench: short answers as ToRR asks them (spec: torr.md section 3.8), and charts."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._dataset import AnswerForm, AnswerPlace
from pytest_tablebench.datasets._example import Example, OtherGold
from pytest_tablebench.datasets._file_dataset import FileDataset, Opened
from pytest_tablebench.datasets._source import RowSource
from pytest_tablebench.datasets.pull._upstream import APACHE, Upstream, files_at
from pytest_tablebench.datasets.torr._common import CLOSING, ToRR
from pytest_tablebench.datasets.torr._tablebench_files import (
    CHARTS,
    TableBenchRow,
    find_version,
    other_versions,
)
from pytest_tablebench.tables.table_file import TableFile
from pytest_tablebench.util.seeds import seeded_random

_SPLITS = ("train", "validation", "test")
_SHARES = (0.2, 0.2, 0.6)

_ITEMS = (
    "Answer in the form: Final Answer: item, item, ... Each item is a number or a name, as short "
    "as possible and without explanation"
)
_SENTENCE = "Answer in the form: Final Answer: text. "
FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "CorrelationAnalysis": (
            "Answer in the form: Final Answer: relation, coefficient. The coefficient has two "
            "decimals. The relation is No correlation for a coefficient nearer to zero than 0.3, "
            "Weak positive correlation or Weak negative correlation up to 0.7 either way, and "
            "Strong positive correlation or Strong negative correlation beyond. Write nothing else."
        ),
        "TrendForecasting": (
            f"{_ITEMS}; where a trend is asked for, the item is Increasing trend, Decreasing trend "
            "or No clear trend."
        ),
        "ImpactAnalysis": (
            f"{_ITEMS}; where an impact is asked for, the item is Positive impact, Negative impact "
            "or No clear impact."
        ),
        "CausalAnalysis": (
            f"{_SENTENCE}The text gives the conclusion first (Yes, No, or which has more "
            "influence) and then, in a few words, the reason with the correlation coefficient in "
            "brackets."
        ),
        "DescriptiveAnalysis": (
            f"{_SENTENCE}The text says in two or three sentences what the table holds, what its "
            "main columns mean, and what can be seen from them."
        ),
        "AnomalyDetection": (
            f"{_SENTENCE}The text says in one sentence how many anomalies there are, which ones, "
            "and why each is one; without any it is: No anomalies are detected in the table."
        ),
    }
)
"""The form of answers by qsubtype, for the version of the files that does not describe it."""

DEFAULT_FORMAT = f"{_ITEMS}."


def split_lottery(count: int) -> list[str]:
    """Return the split of each of `count` records: train, validation or test (section 6.4)."""
    draw = seeded_random("test")
    return [draw.choices(_SPLITS, weights=_SHARES)[0] for _ in range(count)]


class TableBench(ToRR[TableBenchRow]):
    """One kind of TableBench's questions: short answers, five demonstrations.

    The three kinds read the same files. Upstream has only one split, so a seeded lottery selects a
    fifth of the questions for demonstrations and three fifths for the evaluation. The prompt
    describes the answer's form for its question, not for the demonstrations.

    Arguments:
        name: the dataset's name.
        qtype: the kind, a value of upstream's field `qtype`.
    """

    folder = metric = "tablebench"
    upstream = Upstream(
        "tablebench",
        "hub",
        "Multilingual-Multimodal-NLP/TableBench",
        "90593ad8af90f027f6f478b8c4c1981d9f073a83",  # named in torr.md section 3.8
        pinned=True,
        licence=APACHE,
        files=files_at("*.jsonl"),
    )
    threshold = 0.8
    instruction = (
        "You are a table analyst and answer questions about the content of a table.\n\n"
        "{answer_formatter}\n\n"
        "Output only the final answer to the question.\n" + CLOSING
    )
    source = "Table: {table} \nQuestion: {question}"
    target_prefix = "Final Answer: "
    fixed_chain = ("take_first_non_empty_line", "strip_answer_marker")
    reference_chain = (
        "take_first_non_empty_line",
        "lower_case",
        "remove_punctuations",
        "remove_articles",
        "fix_whitespace",
    )

    def __init__(self, name: str, qtype: str) -> None:
        self.name = name
        self.qtype = qtype

    def open(self, folder: Path, *, compat: Compat = "fixed", **_: Any) -> RowSource[TableBenchRow]:
        """Open the best of upstream's versions in `folder`. Raises `DataMissing` or `DataError`."""
        version = find_version(folder, self.qtype, fetch=self.fetch)
        splits = split_lottery(len(version.rows))
        rows: dict[str, list[TableBenchRow]] = {name: [] for name in _SPLITS}
        for row, split in zip(version.rows, splits, strict=True):
            if row is not None:
                rows[split].append(row)
        return self.opened_source(
            Opened(folder, compat, "TableBench", version.problems),
            rows["test"],
            lambda: rows["train"],
            files=(version.file,),
            notes=tuple(version.notes),
            place=f"the test part of {folder / version.file}",
        )

    def other_golds(self, folder: Path) -> Iterator[OtherGold]:
        """Yield the answers of the other versions in `folder`: upstream has corrected some."""
        for version in other_versions(folder, self.qtype, fetch=self.fetch):
            for row in version.rows:
                if row is not None:
                    yield OtherGold(version.file, row.id, row.question, (row.answer,))

    def example(self, row: TableBenchRow) -> Example:
        """Make the example of a row."""
        return Example(
            id=row.id,
            inputs={"table": row.table, "question": row.question, "answer_formatter": _form(row)},
            question=row.question,
            references=(row.answer,),
            target=row.answer,
            tags={"type": row.qsubtype},
        )

    def key(self, row: TableBenchRow) -> Hashable:
        """Return the question and the form of its answer."""
        return (row.question, _form(row))


def _form(row: TableBenchRow) -> str:
    formatter = row.formatter
    return FORMATS.get(row.qsubtype, DEFAULT_FORMAT) if formatter is None else formatter


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


DATASETS = (
    TableBench("tablebench_da", "DataAnalysis"),
    TableBench("tablebench_fc", "FactChecking"),
    TableBench("tablebench_nr", "NumericalReasoning"),
    TableBenchCharts(),
)
