"""`tablebench generate llm`, `adversarial` and `translate`: models make and check questions."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._asking import ask_and_write
from pytest_tablebench.commands.generate import (
    Origin,
    chosen_names,
    shares,
    tables_of,
)
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.util.files import real_path

if TYPE_CHECKING:
    from pytest_tablebench.generate.folder import TableSource
    from pytest_tablebench.generate.llm import Examine, Questions
    from pytest_tablebench.tables.table import Table


def marked_questions(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.llm import SUBTASKS, MarkedQuestion

    named = options.discriminator or [options.model]
    if len(named) > 2:
        raise SettingsError("--discriminator: name one or two models")
    others = {"discriminators": [named[0], named[-1]]}
    return _propose_and_write(options, "llm", MarkedQuestion(**others), SUBTASKS, others)


def attacked_questions(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.llm import COMPARED, SOLVERS, AttackedQuestion

    named = options.solver or [options.model]
    if len(named) > len(SOLVERS):
        raise SettingsError("--solver: name one to three models")
    critic, solvers = options.critic or options.model, list(islice(cycle(named), len(SOLVERS)))
    others = {"critic": [critic], "solvers": solvers}
    examine = AttackedQuestion(options.model, critic, solvers)
    return _propose_and_write(options, "adversarial", examine, COMPARED, others)


def _propose_and_write(
    options: argparse.Namespace,
    way_name: str,
    examine: Examine,
    all_subtasks: Mapping[str, object],
    others: Mapping[str, Sequence[str]],
) -> tuple[list[str], int]:
    """Ask models; return the lines to print, and the exit code.

    Arguments:
        options: of the command.
        way_name: the name of the command.
        examine: examines each question that is proposed.
        all_subtasks: subtasks that may be asked.
        others: the models in addition to `--model`, by their role.
    """
    from pytest_tablebench.generate.llm import ProposedQuestions

    subtasks = chosen_names("subtask", options.subtask, all_subtasks)
    chosen = {"language": options.language, "per_table": options.per_table}
    return ask_and_write(
        options,
        [model for models in others.values() for model in models],
        ProposedQuestions(examine, made=way_name, model=options.model, subtasks=subtasks, **chosen),
        _tables(options),
        {"way": way_name, **chosen, "invent": options.invent or 0}
        | {"subtasks": ",".join(subtasks), "model": options.model}
        | {name: ",".join(models) for name, models in others.items()},
    )


def _tables(options: argparse.Namespace) -> Origin:
    """Return the tables of the command, followed by those that the model invents."""
    from pytest_tablebench.generate.llm import invented

    count = options.invent or 0
    if not options.tables and not count:
        raise SettingsError("name TABLES to ask about, or let the model invent some: --invent N")
    origin = tables_of(options) if options.tables else Origin((), lambda _: iter(()), 0)

    def sources(tick: Callable[[], object]) -> Iterator[TableSource]:
        yield from origin.sources(tick)
        about = {"model": options.model, "seed": options.seed, "language": options.language}
        for source in invented(count=count, **about):
            yield source
            tick()

    return Origin(origin.files, sources, origin.count + count)


@dataclass(frozen=True)
class _FolderTranslation:
    """The tables and questions to translate, the target language, and what is left out."""

    to: str
    file: Path
    tables: dict[str, Table]
    questions: dict[str, Questions]
    left_out: dict[str, int]


def translated_questions(options: argparse.Namespace) -> tuple[list[str], int]:
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
    source = dataset.open(options.folder)
    readable, problems = source.rows(), source.problems
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
