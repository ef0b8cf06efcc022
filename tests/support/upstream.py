"""Small datasets in the layout of their upstream repositories, with made-up content."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SUITE = """
import pytest
from pytest_tablebench import assert_accuracy, assert_token_f1


@pytest.mark.tablebench("wikitq")
def test_wikitq(case, answer):
    assert_token_f1(case, answer)


@pytest.mark.tablebench("tabfact")
def test_tabfact(case, answer):
    assert_accuracy(case, answer)
"""
"""A suite over both datasets."""

WIKITQ_HEADER = "id\tutterance\tcontext\ttargetValue"
WIKITQ_TABLES = {
    "csv/1-csv/1.tsv": "Ship\tYear\nGull\t1901\nTern\t1907\n",
    "csv/1-csv/2.tsv": "Mill\tWheels\nUpper\t2\nLower\t3\n",
    "csv/1-csv/3.tsv": "Kiln\tFired\nOld\t12\nNew\t40\n",
}
WIKITQ_TEST = [
    "q-1\tWhich ship came first?\tcsv/1-csv/1.csv\tGull",
    "q-2\tHow many wheels has the lower mill?\tcsv/1-csv/2.csv\t3",
]
WIKITQ_TRAIN = [
    "t-1\tWhich kiln was fired more often?\tcsv/1-csv/3.csv\tNew",
    "t-2\tHow often was the old kiln fired?\tcsv/1-csv/3.csv\t12",
]


def write(folder: Path, files: Mapping[str, Any]) -> Path:
    """Write files by their paths in a folder: text and bytes unchanged, other values as JSON."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    return folder


def read(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder by their paths in it."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def wikitq(
    folder: Path,
    *,
    test: Sequence[str] = WIKITQ_TEST,
    train: Sequence[str] = WIKITQ_TRAIN,
    tables: Mapping[str, str | bytes] | None = None,
    header: str = WIKITQ_HEADER,
) -> Path:
    """Write a WikiTableQuestions checkout: lines of the two files, and additional tables."""
    files: dict[str, str | bytes] = {**WIKITQ_TABLES, **(tables or {})}
    files["data/pristine-unseen-tables.tsv"] = "\n".join([header, *test]) + "\n"
    files["data/random-split-1-train.tsv"] = "\n".join([WIKITQ_HEADER, *train]) + "\n"
    return write(folder, files)


TABFACT_TABLES = {
    "1-1.html.csv": "ship#year\ngull#1901\ntern#1907\n",
    "1-2.html.csv": "mill#wheels\nupper#2\nlower#3\n",
    "1-3.html.csv": "kiln#fired\nold#12\nnew#40\n",
}
TABFACT_TEST: dict[str, Any] = {
    "1-1.html.csv": [["gull is older than tern", "tern is from 1901"], [1, 0], "ships"],
    "1-2.html.csv": [["the lower mill has 3 wheels"], [1], "mills"],
}
TABFACT_TRAIN: dict[str, Any] = {
    "1-3.html.csv": [
        [f"the {age} kiln was fired {times} times" for age in ("old", "new") for times in (12, 40)]
        + ["there are 2 kilns", "there are 3 kilns"],
        [1, 0, 0, 1, 1, 0],
        "kilns",
    ]
}


def tabfact(
    folder: Path,
    *,
    test: Any = None,
    train: Any = None,
    pool: str = "train",
    tables: Mapping[str, str | bytes] | None = None,
) -> Path:
    """Write a TabFact checkout; `test` and `train` may be text that is not JSON."""
    files: dict[str, Any] = {
        f"data/all_csv/{name}": content
        for name, content in {**TABFACT_TABLES, **(tables or {})}.items()
    }
    files["tokenized_data/test_examples.json"] = TABFACT_TEST if test is None else test
    files[f"tokenized_data/{pool}_examples.json"] = TABFACT_TRAIN if train is None else train
    return write(folder, files)
