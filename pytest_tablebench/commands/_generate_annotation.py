"""`tablebench generate questions`, then `answers`: RealHiTBench's annotation of tables."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.commands._asking import add_asking, ask_and_write
from pytest_tablebench.commands._generating import (
    Origin,
    add_common,
    add_out,
    chosen_names,
    tables_of,
)
from pytest_tablebench.commands._suites import check_and_run, quoted
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.programs import program

if TYPE_CHECKING:
    from pytest_tablebench.datasets.folder.questions import OpenQuestion
    from pytest_tablebench.generate.annotate import UnansweredQuestion
    from pytest_tablebench.generate.folder import TableSource
    from pytest_tablebench.tables.table import Table

__all__ = ["add_ways"]

_PROSE = {"max_tokens": 4096}
"""Parameters of a run with summaries or programs, as in RealHiTBench."""


def add_ways(ways: Any) -> None:
    """Add both steps of the annotation."""
    asks = ways.add_parser(
        "questions",
        help="let a model write questions by task, without answers",
        description="Let a model write questions by task, without answers. `generate answers` then "
        "adds the answers.",
    )
    add_common(asks, per_table=20)
    asks.add_argument(
        "--task",
        metavar="A,B",
        help="tasks: fc (fact checking), nr (numerical reasoning), sc (structure comprehending), "
        "da (data analysis), cg (chart generation). Default: all",
    )
    add_asking(asks, "model that writes the questions")
    asks.set_defaults(lines=_questions)
    answers = ways.add_parser(
        "answers",
        help="let several models answer these questions, and a judge rate the answers",
        description="Let several models answer the questions of `generate questions`, and let a "
        "judge rate each answer.",
    )
    answers.add_argument(
        "folder", type=Path, metavar="FOLDER", help="folder that `generate questions` has written"
    )
    add_out(answers)
    add_asking(answers, "model that answers. Repeatable; ties go to the first", several=True)
    answers.add_argument(
        "--judge", required=True, metavar="NAME", help="model that rates each answer"
    )
    answers.add_argument(
        "--strategy",
        choices=("direct", "treethinker"),
        default="direct",
        help="how the models answer. With treethinker they first draw the tree of each table. "
        "Default: direct",
    )
    answers.set_defaults(lines=_answers, per_table=10, seed=0)


def _questions(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.annotate import TASKS, QuestionGenerator

    tasks = chosen_names("task", options.task, TASKS)
    chosen = {"language": options.language, "per_table": options.per_table}
    return ask_and_write(
        options,
        [],
        QuestionGenerator(model=options.model, tasks=tasks, **chosen),
        tables_of(options),
        {"way": "questions", **chosen, "tasks": ",".join(tasks), "model": options.model},
        then=_to_be_answered,
    )


def _to_be_answered(folder: Path) -> list[str]:
    from pytest_tablebench.generate.annotate import questions_as_table

    questions_as_table(folder, {})
    shown = quoted(folder)
    return [
        f"review {folder / 'questions.csv'}: remove or correct questions that are not "
        f"relevant, complete, feasible and clear",
        f"then: {program('tablebench')} generate answers {shown} -o DIR --model NAME --model NAME "
        f"--judge NAME",
    ]


def _answers(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.generate.annotate import REVIEW, AnswerGenerator, UnansweredQuestion

    if real_path(options.out) == real_path(options.folder):
        raise SettingsError("--out: must differ from the folder of the questions")
    twice = next((name for name in options.model if options.model.count(name) > 1), None)
    if twice is not None:
        raise SettingsError(f"--model: {twice} is given twice; name each model once")
    file, questions = _open_questions(options.folder)
    questions_of: dict[str, list[UnansweredQuestion]] = {}
    for question in questions:
        entry = UnansweredQuestion(
            question.id,
            question.text,
            question.tags,
            question.metric,
            question.threshold,
            question.perturbations,
        )
        questions_of.setdefault(question.file, []).append(entry)
    titles = {question.file: question.title for question in questions if question.title}
    maker = AnswerGenerator(
        questions=questions_of,
        models=options.model,
        judge=options.judge,
        strategy=options.strategy,
        review=options.out / REVIEW,
    )
    return ask_and_write(
        options,
        [options.judge],
        maker,
        _origin(options.folder, file, list(questions_of), titles),
        {
            "way": "answers",
            "models": ",".join(options.model),
            "judge": options.judge,
            "strategy": options.strategy,
        },
        then=partial(_to_be_reviewed, any(question.metric for question in questions)),
    )


def _to_be_reviewed(prose: bool, folder: Path) -> list[str]:
    from pytest_tablebench.generate.annotate import REVIEW, questions_as_table

    params = f"{{ max_tokens = {_PROSE['max_tokens']} }}"
    questions_as_table(folder, {"params": params} if prose else {})
    return [
        f"all answers with their marks: {folder / REVIEW}; correct or remove "
        f"questions in questions.csv in the same folder",
        *check_and_run(folder),
    ]


def _open_questions(folder: Path) -> tuple[str, list[OpenQuestion]]:
    """Return a folder's file of questions, and its questions. Raises `DataError`."""
    from pytest_tablebench.datasets.folder import QUESTION_FILES
    from pytest_tablebench.datasets.folder.questions import open_question, raw_questions
    from pytest_tablebench.datasets.folder.tables import FolderTables
    from pytest_tablebench.datasets.rows import BadRowError

    files = [name for name in QUESTION_FILES if (folder / name).is_file()]
    if len(files) != 1:
        contents = " and ".join(files) if files else "no questions"
        raise DataError(f"{folder}: {contents}; it needs one of {', '.join(QUESTION_FILES)}")
    questions: dict[str, OpenQuestion] = {}
    for number, row in raw_questions(FolderTables(folder), files[0]):
        try:
            if isinstance(row, BadRowError):
                raise row
            question = open_question(number, row)
            if question.id in questions:
                raise BadRowError("id", f"{question.id!r} occurs a second time")
        except BadRowError as error:
            raise DataError(f"{files[0]}, row {number}, {error.field}: {error}") from None
        questions[question.id] = question
    if not questions:
        raise DataError(f"{folder / files[0]}: contains no question")
    return files[0], list(questions.values())


def _origin(folder: Path, file: str, names: Sequence[str], titles: Mapping[str, str]) -> Origin:
    """Return the tables that questions name, each with its title."""
    from pytest_tablebench.datasets.folder.tables import FolderTables
    from pytest_tablebench.generate.folder import TableSource

    def read(name: str) -> Table:
        table = FolderTables(folder).table(name)
        return replace(table, name=name, title=titles.get(name, table.title))

    def sources(tick: Callable[[], object]) -> Iterator[TableSource]:
        for name in names:
            yield TableSource(name, partial(read, name))
            tick()

    return Origin([folder / file], sources, len(names))
