"""`tablebench generate questions`, `answers` and `review`: RealHiTBench's annotation of tables."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pytest_tablebench.commands.generate import ask_and_write, chosen_names, named_tables, tables_of
from pytest_tablebench.commands.outputs import check_and_run, quoted
from pytest_tablebench.datasets.files import BadRowError
from pytest_tablebench.datasets.folder import open_folder
from pytest_tablebench.datasets.folder.questions import open_question, raw_questions
from pytest_tablebench.datasets.folder.tables import FolderTables
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.generate.annotate.answers import AnswerGenerator
from pytest_tablebench.generate.annotate.questions import TASKS, QuestionGenerator
from pytest_tablebench.generate.annotate.review import (
    CRITERIA,
    REVIEW,
    STATES,
    Reviewed,
    questions_as_table,
    read_review,
    write_accepted,
)
from pytest_tablebench.generate.pair import OpenQuestion
from pytest_tablebench.results.judges import weighted_kappa
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.files import real_path
from pytest_tablebench.util.names import counted
from pytest_tablebench.util.programs import program

_PROSE = {"max_tokens": 4096}
"""Parameters of a run with summaries or programs, as in RealHiTBench."""


def unanswered_questions(options: argparse.Namespace) -> tuple[list[str], int]:
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
    questions_as_table(folder, {})
    shown = quoted(folder)
    return [
        f"review {folder / 'questions.csv'}: remove or correct questions that are not "
        f"relevant, complete, feasible and clear",
        f"then: {program('tablebench')} generate answers {shown} -o DIR --model NAME --model NAME "
        f"--judge NAME",
    ]


def rated_answers(options: argparse.Namespace) -> tuple[list[str], int]:
    if real_path(options.out) == real_path(options.folder):
        raise SettingsError("--out: must differ from the folder of the questions")
    twice = next((name for name in options.model if options.model.count(name) > 1), None)
    if twice is not None:
        raise SettingsError(f"--model: {twice} is given twice; name each model once")
    file, questions = _open_questions(options.folder)
    questions_of: dict[str, list[OpenQuestion]] = {}
    for question in questions:
        questions_of.setdefault(question.file, []).append(question)
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
        named_tables(
            options.folder / file,
            [
                (name, partial(_read_table, options.folder, name, titles.get(name)))
                for name in questions_of
            ],
        ),
        {
            "way": "answers",
            "models": ",".join(options.model),
            "judge": options.judge,
            "strategy": options.strategy,
        },
        then=partial(_to_be_reviewed, any(question.metric for question in questions)),
    )


def _to_be_reviewed(prose: bool, folder: Path) -> list[str]:
    params = f"{{ max_tokens = {_PROSE['max_tokens']} }}"
    questions_as_table(folder, {"params": params} if prose else {})
    return [
        f"all answers with their marks: {folder / REVIEW}; correct or remove "
        f"questions in questions.csv in the same folder",
        *check_and_run(folder),
    ]


def _open_questions(folder: Path) -> tuple[str, list[OpenQuestion]]:
    """Return a folder's file of questions, and its questions. Raises `DataError`."""
    dataset = open_folder(folder)
    for file, mistake in dataset.mistakes:
        raise DataError(f"{folder / file}: {mistake}")
    file = dataset.question_file
    questions: dict[str, OpenQuestion] = {}
    for number, row in raw_questions(dataset.table_reader(folder), file):
        try:
            if isinstance(row, BadRowError):
                raise row
            question = open_question(number, row)
            if question.id in questions:
                raise BadRowError("id", f"{question.id!r} occurs a second time")
        except BadRowError as error:
            raise DataError(f"{file}, row {number}, {error.field}: {error}") from None
        questions[question.id] = question
    if not questions:
        raise DataError(f"{folder / file}: contains no question")
    return file, list(questions.values())


def _read_table(folder: Path, name: str, title: str | None) -> Table:
    table = FolderTables(folder).table(name)
    return replace(table, name=name, title=title or table.title)


_SHOWN = 10


def summarized_review(options: argparse.Namespace) -> tuple[list[str], int]:
    questions = read_review(options.folder)
    counts = Counter(question.state for question in questions)
    states = ", ".join(f"{state} {counts[state]:,}" for state in STATES if counts[state])
    total = counted(len(questions), "question")
    lines = [f"{options.folder / REVIEW}: {total}: {states}", *_agreement(questions)]
    if disputed := [question.id for question in questions if question.state == "disputed"]:
        more = f" and {len(disputed) - _SHOWN:,} more" if len(disputed) > _SHOWN else ""
        lines.append(f"to be discussed: {', '.join(disputed[:_SHOWN])}{more}")
    if options.out is not None:
        count = write_accepted(options.folder, options.out, questions)
        lines.append(f"{options.out}: {counted(count, 'question')}")
        lines += check_and_run(options.out)
    elif counts["accepted"]:
        shown = quoted(options.folder)
        lines.append(f"for the accepted ones: tablebench generate review {shown} -o DIR")
    return lines, 0


def _agreement(questions: Sequence[Reviewed]) -> list[str]:
    """Return a line for each criterion that both reviewers have marked."""
    lines = []
    for criterion in CRITERIA:
        all_pairs = (question.pair(criterion) for question in questions)
        pairs = [(float(a), float(b)) for a, b in all_pairs if a is not None and b is not None]
        if not pairs:
            continue
        alike = sum(first == second for first, second in pairs)
        kappa = weighted_kappa(*zip(*pairs, strict=True))
        shown = (
            "undefined, because one reviewer gave a single mark"
            if kappa is None
            else f"{kappa:.2f}"
        )
        lines.append(f"agreement on {criterion}: {alike:,} of {len(pairs):,}, kappa {shown}")
    return lines
