"""`tablebench generate WAY TABLES... -o DIR`: questions from tables."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands import _generate_annotation, _generate_proposed
from pytest_tablebench.commands._generating import add_common, chosen_names, shares, write_folder
from pytest_tablebench.errors import DataError, writing
from pytest_tablebench.util.names import counted

if TYPE_CHECKING:
    from pytest_tablebench.datasets.folder.questions import FolderQuestion
    from pytest_tablebench.generate.question_maker import QuestionMaker


def add_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "generate",
        help="write a dataset folder with questions about tables",
        description="Write questions about tables into a dataset folder, which `pytest "
        "--bench-data=DIR` runs. rules, probes, twins, review and treb call no model. The other "
        "commands show the calls and their price, and make the calls only with --yes. No reply is "
        "paid for twice.",
    )
    ways = parser.add_subparsers(required=True, metavar="WAY")
    rules = ways.add_parser(
        "rules",
        help="make questions on every table skill, by rule",
        description="Make questions on every table skill by rule. Answers are computed with exact "
        "numbers, and tests with scipy.",
    )
    add_common(rules, per_table=20)
    rules.add_argument(
        "--subtask", metavar="A,B", help="only questions of these subtasks. Default: all"
    )
    rules.set_defaults(lines=_rules)
    probes = ways.add_parser(
        "probes",
        help="make questions on sizes, cells, rows and columns",
        description="Make questions on sizes, cells, rows and columns. A model that fails them "
        "cannot read the tables.",
    )
    add_common(probes, per_table=20)
    probes.set_defaults(lines=_probes)
    twins = ways.add_parser(
        "twins",
        help="ask each question about a table with merged cells and about its rearranged twin",
        description="Make each question twice: for a table with merged cells, and for its twin, "
        "in which parts are rearranged.",
    )
    add_common(twins, per_table=10)
    twins.set_defaults(lines=_twins)
    _generate_proposed.add_ways(ways)
    _generate_annotation.add_ways(ways)
    _add_treb(ways)


def _rules(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.rules import SKILLS, RuleGenerator

    subtasks = chosen_names("subtask", options.subtask, SKILLS)
    maker = RuleGenerator(subtasks=subtasks, **_chosen(options))
    first, *rest = _write(options, maker, "rules", subtasks=",".join(subtasks))
    by_subtask = dict.fromkeys(subtasks, 0)
    for (subtask, _), count in maker.cells().items():
        by_subtask[subtask] += count
    rejected = [shares("rejected", maker.tally.rejected)] if maker.tally.rejected else []
    return [first, shares("by subtask", by_subtask), *rejected, *rest], 0


def _probes(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.probes import ProbeGenerator

    maker = ProbeGenerator(**_chosen(options))
    first, *rest = _write(options, maker, "probes")
    return [first, shares("by kind", maker.tally.recipes), *rest], 0


def _twins(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.twins import TwinGenerator

    maker = TwinGenerator(**_chosen(options))
    first, *rest = _write(options, maker, "twins")
    return [first, shares("twins with exchanged", maker.exchanged), *rest], 0


def _chosen(options: argparse.Namespace) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("seed", "language", "per_table")}


def _write(options: argparse.Namespace, maker: QuestionMaker, name: str, **more: str) -> list[str]:
    return write_folder(options, maker, {"way": name, **_chosen(options), **more})


def _add_treb(ways: Any) -> None:
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
        source = dataset.open(folder)
        problems += map(str, source.problems)
        for question in source.rows():
            yield dataset.name, question
