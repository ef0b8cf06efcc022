"""`tablebench generate treb FOLDER... -o DIR`: dataset folders as TReB's samples."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._generating import shares
from pytest_tablebench.errors import DataError, writing
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.datasets.folder.questions import FolderQuestion


def add_way(ways: Any) -> None:
    parser = ways.add_parser(
        "treb",
        help="write dataset folders in the format of TReB's samples, without duplicates",
        description="Write dataset folders in TReB's format, a file for each subtask. Every "
        "table is written as CSV, Markdown and HTML, read back, and compared.",
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER", help="dataset folders")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="new folder")
    parser.set_defaults(lines=_treb)


def _treb(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.datasets.treb import write_samples

    out: Path = options.out
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise DataError(f"{out} is not empty; name a new folder")
    problems: list[str] = []
    questions = list(_read_questions(options.folders, problems))
    if not questions:
        raise DataError("; ".join(["no question was read", *problems[:3]]))
    with writing(f"--out: cannot write into {out}"):
        (out / "csv").mkdir(parents=True, exist_ok=True)
        done = write_samples(questions, out)
    left_out = done.left_out | Counter({"unreadable": len(problems)})
    samples, tables = sum(done.samples.values()), counted(done.tables, "table")
    lines = [f"{out}: {counted(samples, 'sample')} of {tables}"]
    lines += [shares("by subtask", done.samples)]
    lines += [shares("left out", left_out)] if left_out.total() else []
    lines += problems[:10]
    return lines, 0


def _read_questions(
    folders: list[Path], problems: list[str]
) -> Iterator[tuple[str, FolderQuestion]]:
    """Yield the questions of all folders with their dataset's name; record unreadable ones."""
    from pytest_tablebench.datasets.folder import open_folder

    for folder in folders:
        if not folder.is_dir():
            raise DataError(f"{folder} does not exist")
        dataset = open_folder(folder, ".")
        questions, wrong = dataset.questions(dataset.table_reader(folder))
        problems += map(str, wrong)
        for question in questions:
            yield dataset.name, question
