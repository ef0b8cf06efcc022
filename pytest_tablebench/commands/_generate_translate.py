"""`tablebench generate translate FOLDER -o DIR --model NAME`: questions in the other language."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._asking import add_asking, ask_and_write
from pytest_tablebench.commands._generating import Origin, count_from_1, shares
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.util.files import real_path

if TYPE_CHECKING:
    from pytest_tablebench.generate.folder import TableSource
    from pytest_tablebench.generate.llm import Questions
    from pytest_tablebench.tables.table import Table


def add_way(ways: Any) -> None:
    parser = ways.add_parser(
        "translate",
        help="translate a dataset folder between English and Chinese, with checks",
        description="Translate the tables and questions of a dataset folder. Each question is "
        "translated back independently, and a solver must answer both versions correctly.",
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a dataset folder")
    parser.add_argument("-o", "--out", type=Path, required=True, metavar="DIR", help="new folder")
    parser.add_argument(
        "--to",
        choices=("en", "zh"),
        help="target language. Default: the one of the two that the first question is not in",
    )
    parser.add_argument(
        "--limit", type=count_from_1, metavar="N", help="translate only the first N questions"
    )
    add_asking(parser, "model that translates")
    parser.add_argument(
        "--solver",
        metavar="NAME",
        help="model that checks by answering. Default: the model of --model",
    )
    # A folder has as many questions of a table as it has, in an order of its own.
    parser.set_defaults(lines=_translate, per_table=1, seed=0)


@dataclass(frozen=True)
class _FolderTranslation:
    """The tables and questions to translate, the target language, and what is left out."""

    to: str
    file: Path
    tables: dict[str, Table]
    questions: dict[str, Questions]
    left_out: dict[str, int]


def _translate(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.llm import Translator

    translation, solver = _read_folder(options), options.solver or options.model
    to, tables = translation.to, translation.tables
    lines, code = ask_and_write(
        options,
        [solver],
        Translator(model=options.model, solver=solver, questions=translation.questions, to=to),
        Origin([translation.file], partial(_sources, tables), len(tables)),
        {"way": "translate", "to": to, "model": options.model, "solver": solver},
    )
    return [*_left_out(translation.left_out), *lines], code


def _left_out(counts: dict[str, int]) -> list[str]:
    return [shares("questions left out", counts)] if any(counts.values()) else []


def _read_folder(options: argparse.Namespace) -> _FolderTranslation:
    """Read the folder. Raises `DataError` if it contains nothing to translate."""
    from pytest_tablebench.datasets.folder import open_folder
    from pytest_tablebench.generate.llm import Questions, language_of

    if not options.folder.is_dir():
        raise DataError(f"{options.folder} does not exist")
    if real_path(options.out) == real_path(options.folder):
        raise SettingsError("--out: must differ from the folder that is translated")
    dataset = open_folder(options.folder, ".")
    readable, problems = dataset.questions(dataset.table_reader(options.folder))
    if not readable:
        raise DataError(f"{options.folder}: {problems[0]}")
    to = options.to or ("en" if language_of(readable[0].text) == "zh" else "zh")
    left_out = {"unreadable": len(problems), "of no table or several": 0, f"already in {to}": 0}
    tables: dict[str, Table] = {}
    by_table: dict[str, list[Any]] = {}
    for question in readable[: options.limit]:
        if len(question.tables) != 1:
            left_out["of no table or several"] += 1
        elif language_of(question.text) == to:
            left_out[f"already in {to}"] += 1
        else:
            # A table that two questions give different titles counts as two tables.
            name = "\n".join([question.files[0], question.title or ""])
            by_table.setdefault(name, []).append(question)
            title = question.title or question.tables[0].title
            tables[name] = replace(question.tables[0], title=title, name=name)
    if not tables:
        raise DataError("; ".join(["nothing to translate", *_left_out(left_out)]))
    language = "en" if to == "zh" else "zh"
    questions = {
        name: Questions(entries, language, dataset.threshold) for name, entries in by_table.items()
    }
    return _FolderTranslation(
        to, options.folder / dataset.question_file, tables, questions, left_out
    )


def _sources(tables: dict[str, Table], tick: Callable[[], object]) -> Iterator[TableSource]:
    from pytest_tablebench.generate.folder import TableSource

    for name, table in tables.items():
        yield TableSource(name.partition("\n")[0], partial(_itself, table))
        tick()


def _itself(table: Table) -> Table:
    return table
