"""Dataset folders as users write them, and runs of the package's suite over them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import openpyxl
import pytest

from pytest_tablebench.datasets._source import RowSource
from pytest_tablebench.datasets.folder import FolderDataset, folder_datasets
from pytest_tablebench.datasets.folder.questions import FolderQuestion
from tests.support.toy_bench import Bench

OWN_SUITE = Path(__file__).parents[2].joinpath("suites/test_own.py").read_text(encoding="utf-8")
"""The suite of the package that runs every folder of `--bench-data`."""

PRICES = "product,price\ntea,2.40\ncoffee,3.10\n"
QUESTIONS = (
    "table,question,answer,id\n"
    "prices.csv,Which product costs 2.40?,tea,cheap\n"
    "prices.csv,What does coffee cost?,3.10,coffee\n"
)


def write_folder(folder: Path, files: Mapping[str, str | bytes] | None = None) -> Path:
    """Write files into a new folder, by default two questions about a price list."""
    folder.mkdir(parents=True)
    content = {"prices.csv": PRICES, "questions.csv": QUESTIONS} if files is None else files
    for name, text in content.items():
        data = text.encode() if isinstance(text, str) else text
        (folder / name).write_bytes(data)
    return folder


class OwnBench(Bench):
    """A folder with the suite, a data folder, and a model that always answers `tea`."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester, self.path = pytester, pytester.path
        self.folders = self.path / "data"
        self.folders.mkdir()
        self.suite(OWN_SUITE, "test_own.py")
        self.model = self.script({"default": "tea"}, name="tea.jsonl")

    def run(self, *arguments: str, results: str = "run") -> pytest.RunResult:
        options = (f"--model={self.model}", "--bench-data=data", "-pno:cacheprovider")
        return super().run(*options, *arguments, results=results)

    def outcomes(self) -> dict[str, str]:
        return {record["case_id"]: record["outcome"] for record in self.records()}


def only(data: Path) -> FolderDataset:
    """Return the dataset of the only folder."""
    (dataset,) = folder_datasets(data)
    assert isinstance(dataset, FolderDataset)
    return dataset


def opened(data: Path, files: Mapping[str, str | bytes]) -> RowSource[FolderQuestion]:
    folder = write_folder(data / "mine", files)
    return only(data).open(folder)


def problems(data: Path) -> list[str]:
    """Return the reported problems of the only folder."""
    dataset = only(data)
    return [str(problem) for problem in dataset.open(data / dataset.folder).problems]


def asked(table: str, files: Mapping[str, str | bytes], tmp_path: Path) -> list[str]:
    """Return the problems of a folder with a question about `table` and a valid question."""
    questions = f"table,question,answer\n{table},How many?,3\nprices.csv,What does tea cost?,2.40\n"
    write_folder(tmp_path / "mine", {"prices.csv": PRICES, "questions.csv": questions, **files})
    source = only(tmp_path).open(tmp_path / "mine")
    assert source.example_ids(None) == ["3"]  # the valid one runs
    return [str(problem) for problem in source.problems]


def workbook(path: Path, **sheets: list[list[object]]) -> None:
    """Write an XLSX file with one sheet for each keyword, which gives its rows."""
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
