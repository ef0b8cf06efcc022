"""`tablebench generate llm`, `adversarial` and `translate`: models make and check questions."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from typing import Any

from pytest_tablebench.commands.generate import (
    Origin,
    ask_and_write,
    chosen_names,
    named_tables,
    shares,
    tables_of,
)
from pytest_tablebench.datasets.folder import open_folder
from pytest_tablebench.datasets.folder.questions import FolderQuestion
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.generate.folder import TableSource
from pytest_tablebench.generate.llm.prompts import SOLVERS, SUBTASKS, invented
from pytest_tablebench.generate.llm.proposing import (
    COMPARED,
    AttackedQuestion,
    Examine,
    ProposedQuestions,
    marked_question,
)
from pytest_tablebench.generate.llm.translated import Translator, language_of
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.files import real_path


def marked_questions(options: argparse.Namespace) -> tuple[list[str], int]:
    named = options.discriminator or [options.model]
    if len(named) > 2:
        raise SettingsError("--discriminator: name one or two models")
    others = {"discriminators": [named[0], named[-1]]}
    examine = partial(marked_question, discriminators=others["discriminators"])
    return _propose_and_write(options, "llm", examine, SUBTASKS, others)


def attacked_questions(options: argparse.Namespace) -> tuple[list[str], int]:
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

    `others` are the models in addition to `--model`, by their role.
    """
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


def translated_questions(options: argparse.Namespace) -> tuple[list[str], int]:
    if not options.folder.is_dir():
        raise DataError(f"{options.folder} does not exist")
    if real_path(options.out) == real_path(options.folder):
        raise SettingsError("--out: must differ from the folder that is translated")
    dataset = open_folder(options.folder)
    source = dataset.open(options.folder)
    if not source.rows():
        raise DataError(f"{options.folder}: {source.problems[0]}")
    to, by_table, counts = _to_translate(source.rows(), options)
    left_out = {"unreadable": len(source.problems), **counts}
    lines = [shares("questions left out", left_out)] if any(left_out.values()) else []
    if not by_table:
        raise DataError("; ".join(["nothing to translate", *lines]))
    model, solver = options.model, options.solver or options.model
    about: dict[str, Any] = {"to": to, "threshold": dataset.threshold}
    readers = [
        (name.partition("\n")[0], partial(_titled_table, name, questions[0]))
        for name, questions in by_table.items()
    ]
    further, code = ask_and_write(
        options,
        [solver],
        Translator(model=model, solver=solver, questions=by_table, **about),
        named_tables(options.folder / dataset.question_file, readers),
        {"way": "translate", "to": to, "model": model, "solver": solver},
    )
    return [*lines, *further], code


def _to_translate(
    questions: Sequence[FolderQuestion], options: argparse.Namespace
) -> tuple[str, dict[str, list[FolderQuestion]], dict[str, int]]:
    """Return the target language, the questions by table and title, and counts of the others."""
    to = options.to or ("en" if language_of(questions[0].text) == "zh" else "zh")
    by_table: dict[str, list[FolderQuestion]] = {}
    left_out = {"of no table or several": 0, f"already in {to}": 0}
    for question in questions[: options.limit]:
        if len(question.tables) != 1:
            left_out["of no table or several"] += 1
        elif language_of(question.text) == to:
            left_out[f"already in {to}"] += 1
        else:
            # A table that two questions give different titles counts as two tables.
            name = "\n".join([question.files[0], question.title or ""])
            by_table.setdefault(name, []).append(question)
    return to, by_table, left_out


def _titled_table(name: str, question: FolderQuestion) -> Table:
    table = question.tables[0]
    return replace(table, title=question.title or table.title, name=name)
