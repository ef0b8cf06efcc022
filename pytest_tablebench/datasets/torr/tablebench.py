"""TableBench: short answers as ToRR asks them (spec: torr.md section 3.8), and charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._dataset import AnswerForm, AnswerPlace
from pytest_tablebench.datasets._example import Example, OtherGold
from pytest_tablebench.datasets._file_dataset import FileDataset, Opened
from pytest_tablebench.datasets._source import RowSource
from pytest_tablebench.datasets.torr._common import ToRR
from pytest_tablebench.datasets.torr._tablebench_files import (
    CHARTS,
    find_version,
    other_versions,
)
from pytest_tablebench.util.seeds import seeded_random

_SPLITS = ("train", "validation", "test")
_SHARES = (0.2, 0.2, 0.6)


def split_lottery(count: int) -> list[str]:
    """Return the split of each of `count` records: train, validation or test (section 6.4)."""
    draw = seeded_random("test")
    return [draw.choices(_SPLITS, weights=_SHARES)[0] for _ in range(count)]


class _AnyTableBench(FileDataset[Example]):
    """A kind of TableBench's questions; the kinds read the same files."""

    qtype: str
    is_split = True

    def open(self, folder: Path, *, compat: Compat = "fixed", **_: Any) -> RowSource[Example]:
        """Open the best of upstream's versions in `folder`. Raises `DataMissing` or `DataError`."""
        version = find_version(folder, self.qtype, fetch=self.fetch)
        count, file = len(version.rows), folder / version.file
        splits = split_lottery(count) if self.is_split else ["test"] * count
        rows: dict[str, list[Example]] = {name: [] for name in _SPLITS}
        for row, split in zip(version.rows, splits, strict=True):
            if row is not None:
                rows[split].append(row)
        return self.opened_source(
            Opened(folder, compat, "TableBench", version.problems),
            rows["test"],
            lambda: rows["train"],
            files=(version.file,),
            notes=tuple(version.notes),
            place=f"the test part of {file}" if self.is_split else str(file),
        )


class TableBench(_AnyTableBench, ToRR[Example], section="tablebench"):
    """One kind of TableBench's questions: short answers, five demonstrations.

    Upstream has only one split, so a seeded lottery selects a fifth of the questions for
    demonstrations and three fifths for the evaluation. The prompt describes the answer's form for
    its question, not for the demonstrations.

    Arguments:
        name: the dataset's name.
        qtype: the kind, a value of upstream's field `qtype`.
    """

    formats: Mapping[str, str]
    """The form of answers by sub-type, "" for all others, for files that do not describe it."""

    def __init__(self, name: str, qtype: str) -> None:
        self.name = name
        self.qtype = qtype

    def other_golds(self, folder: Path) -> Iterator[OtherGold]:
        """Yield the answers of the other versions in `folder`: upstream has corrected some."""
        for version in other_versions(folder, self.qtype, fetch=self.fetch):
            for row in version.rows:
                if row is not None:
                    yield OtherGold(version.file, row.id, row.question, row.references)

    def example(self, row: Example) -> Example:
        """Return the row; without a form of answers, it gets the one of its sub-type."""
        if row.inputs["answer_formatter"]:
            return row
        form = self.formats.get(row.tags["type"], self.formats[""])
        return replace(row, inputs={**row.inputs, "answer_formatter": form})


class TableBenchCharts(_AnyTableBench, section="tablebench_viz"):
    """Programs that draw a chart, with the table in the file `table.csv`.

    Upstream has only one split. Charts have no demonstrations, so every question is evaluated.
    """

    qtype = CHARTS
    is_split = False
    upstream = TableBench.upstream
    answer_forms: Mapping[AnswerPlace, AnswerForm] = MappingProxyType(
        dict.fromkeys(("line", "object", "printed", "box"), AnswerForm(judged="reply"))
    )


DATASETS = (
    TableBench("tablebench_da", "DataAnalysis"),
    TableBench("tablebench_fc", "FactChecking"),
    TableBench("tablebench_nr", "NumericalReasoning"),
    TableBenchCharts(),
)
