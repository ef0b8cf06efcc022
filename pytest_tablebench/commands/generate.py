"""`tablebench generate WAY TABLES... -o DIR`: questions from tables."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._generating import chosen_names, shares, write_folder
from pytest_tablebench.errors import DataError, writing
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.datasets.folder.questions import FolderQuestion
    from pytest_tablebench.generate.question_maker import QuestionMaker


def rule_questions(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.rules import SKILLS, RuleGenerator

    subtasks = chosen_names("subtask", options.subtask, SKILLS)
    maker = RuleGenerator(subtasks=subtasks, **_chosen(options))
    first, *rest = _write(options, maker, "rules", subtasks=",".join(subtasks))
    by_subtask = dict.fromkeys(subtasks, 0)
    for (subtask, _), count in maker.cells().items():
        by_subtask[subtask] += count
    rejected = [shares("rejected", maker.tally.rejected)] if maker.tally.rejected else []
    return [first, shares("by subtask", by_subtask), *rejected, *rest], 0


def probe_questions(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.probes import ProbeGenerator

    maker = ProbeGenerator(**_chosen(options))
    first, *rest = _write(options, maker, "probes")
    return [first, shares("by kind", maker.tally.recipes), *rest], 0


def twin_questions(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.twins import TwinGenerator

    maker = TwinGenerator(**_chosen(options))
    first, *rest = _write(options, maker, "twins")
    return [first, shares("twins with exchanged", maker.exchanged), *rest], 0


def _chosen(options: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("seed", "language", "per_table")}


def _write(options: argparse.Namespace, maker: QuestionMaker, name: str, **more: str) -> list[str]:
    return write_folder(options, maker, {"way": name, **_chosen(options), **more})


def treb_samples(options: argparse.Namespace) -> tuple[list[str], int]:
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
        source = dataset.open(folder)
        problems += map(str, source.problems)
        for question in source.rows():
            yield dataset.name, question
