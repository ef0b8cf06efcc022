"""`tablebench generate llm`, `adversarial` and `translate`: models make and check questions."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._asking import add_asking, ask_and_write
from pytest_tablebench.commands._generating import (
    Origin,
    add_common,
    chosen_names,
    count_from_1,
    shares,
    tables_of,
)
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.util.files import real_path

if TYPE_CHECKING:
    from pytest_tablebench.generate.folder import TableSource
    from pytest_tablebench.generate.llm import Examine, Questions
    from pytest_tablebench.tables.table import Table


def add_ways(ways: Any) -> None:
    """Add `llm` (with discriminators), `adversarial` (with a critic) and `translate`."""
    parser = ways.add_parser(
        "llm",
        help="let a model propose questions, and keep those that two discriminators mark best",
        description="A model proposes questions. Two discriminators mark each from 1 to 5 for "
        "accuracy, relevance and coverage of what was asked for; only full marks are kept.",
    )
    _add_proposing(parser, "model that proposes questions")
    parser.add_argument(
        "--discriminator",
        action="append",
        metavar="NAME",
        help="model that marks the questions. Repeat it to name two. Default: that of --model",
    )
    parser.set_defaults(lines=_llm)
    parser = ways.add_parser(
        "adversarial",
        help="let a critic attack the questions of a model; solvers vote on the answer",
        description="A model proposes questions. A critic attacks each: can it be answered, is "
        "there one answer only, is it correct? The model corrects its faults, in at most three "
        "turns. Three solvers answer without seeing the answer; two or more must agree.",
    )
    _add_proposing(parser, "model that proposes and corrects questions")
    parser.add_argument(
        "--critic",
        metavar="NAME",
        help="model that attacks the questions. Default: the model of --model",
    )
    parser.add_argument(
        "--solver",
        action="append",
        metavar="NAME",
        help="model that answers the questions. Repeatable, up to three. Default: the model of "
        "--model",
    )
    parser.set_defaults(lines=_adversarial)
    _add_translate(ways)


def _llm(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.llm import SUBTASKS, MarkedQuestion

    named = options.discriminator or [options.model]
    if len(named) > 2:
        raise SettingsError("--discriminator: name one or two models")
    others = {"discriminators": [named[0], named[-1]]}
    return _propose_and_write(options, "llm", MarkedQuestion(**others), SUBTASKS, others)


def _adversarial(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.llm import COMPARED, SOLVERS, AttackedQuestion

    named = options.solver or [options.model]
    if len(named) > len(SOLVERS):
        raise SettingsError("--solver: name one to three models")
    critic, solvers = options.critic or options.model, list(islice(cycle(named), len(SOLVERS)))
    others = {"critic": [critic], "solvers": solvers}
    examine = AttackedQuestion(options.model, critic, solvers)
    return _propose_and_write(options, "adversarial", examine, COMPARED, others)


def _add_proposing(parser: argparse.ArgumentParser, does: str) -> None:
    """Add the options of both commands; `does` is the help of `--model`."""
    add_common(parser, per_table=10, needs_tables=False)
    parser.add_argument(
        "--subtask", metavar="A,B", help="only questions of these subtasks. Default: all"
    )
    parser.add_argument(
        "--invent",
        type=count_from_1,
        metavar="N",
        help="let the model invent N tables, in addition to TABLES or without any",
    )
    add_asking(parser, does)


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


def _add_translate(ways: Any) -> None:
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
