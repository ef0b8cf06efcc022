"""Dataset folders as users write them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import openpyxl

from pytest_tablebench.datasets._source import RowSource
from pytest_tablebench.datasets.folder import FolderDataset, folder_datasets
from pytest_tablebench.datasets.folder.questions import FolderQuestion

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
