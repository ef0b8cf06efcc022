"""A folder of the user's own tables and questions as a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._dataset import Dataset
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets._prompts import PromptParts, Render
from pytest_tablebench.datasets._questions import INSTRUCTION
from pytest_tablebench.datasets._row_source import RowSource
from pytest_tablebench.datasets._source import Problem, SourceFacts
from pytest_tablebench.datasets._strata import cluster_name
from pytest_tablebench.datasets.described import DatasetDescription
from pytest_tablebench.datasets.folder.questions import (
    FolderQuestion,
    clusters_of,
    does_not_apply,
    question_of,
    raw_questions,
)
from pytest_tablebench.datasets.folder.tables import FolderTables
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import shortened


@dataclass(frozen=True)
class FolderProblem:
    """A reason why a whole folder cannot be used: the file in it ("" for none), and the message."""

    file: str
    message: str


class FolderDataset(Dataset):
    """A dataset in a folder of the user's own tables and questions.

    Arguments:
        name: its name in options, gates and reports.
        folder: its folder inside the data folder.
        question_file: the name of the file of questions.
        description: the content of its settings file.
        problems: reasons why nothing in it can be used, reported when the dataset is opened.
        is_own: whether it is in the user's data folder.
    """

    metric = "typed_answer"
    parts = ("partial",)  # the other parts only repeat the score, by kind of answer

    def __init__(
        self,
        name: str,
        folder: str,
        question_file: str,
        description: DatasetDescription | None = None,
        *,
        problems: Sequence[FolderProblem] = (),
        is_own: bool = False,
    ) -> None:
        self.description = description or DatasetDescription()
        self.is_own = is_own
        settings = self.description.defaults
        self.name, self.folder, self.question_file = name, folder, question_file
        self.benchmark = self.description.benchmark
        self.licence, self.citation = self.description.licence, self.description.citation
        self.corrections = self.description.corrections
        self.shots, self.limit = settings.shots, settings.limit
        self.threshold = 1.0 if settings.threshold is None else settings.threshold
        self.strategy = settings.strategy or Dataset.strategy
        self.modality = settings.modality or Dataset.modality
        self.params = settings.params
        self.serializers, self.perturbations = settings.serializers, settings.perturbations
        self._problems = tuple(problems)

    def open(
        self,
        folder: Path,
        *,
        compat: Compat = "fixed",  # noqa: ARG002 - there is no reference
        **options: Any,  # noqa: ARG002 - it uses none
    ) -> RowSource[FolderQuestion]:
        """Open the folder. Unusable questions become problems, and the others run."""
        tables = self.table_reader(folder)
        questions, problems = self.questions(tables)
        clusters = clusters_of(self.name, questions)
        licence = self.licence
        notes = [*tables.notes, *([f"licence: {licence}"] if licence else [])]
        return RowSource(
            questions,
            lambda: questions,
            make=lambda question: replace(
                self.example(question), cluster=cluster_name(clusters[question.id])
            ),
            key=lambda question: (question.text,),
            does_not_apply=does_not_apply,
            facts=lambda: SourceFacts(dict(sorted(tables.digests.items())), tuple(notes)),
            problems=problems,
            place=self._file(self.question_file),
            metrics={
                question.metric: f"{self._file(self.question_file)}, row {question.number}"
                for question in reversed(questions)
                if question.metric is not None
            },
        )

    def table_reader(self, folder: Path) -> FolderTables:
        """Return the reader of the folder's tables, with the folder's settings."""
        settings = self.description
        return FolderTables(
            folder,
            include_hidden=settings.include_hidden,
            encoding=settings.encoding,
            parts=settings.tables,
        )

    def questions(self, tables: FolderTables) -> tuple[list[FolderQuestion], list[Problem]]:
        """Return the usable questions, and the problems of the others."""
        file, seen, usable = self._file(self.question_file), set[str](), list[FolderQuestion]()
        opened = Opened(tables.folder, "fixed", self.name)
        for problem in self._problems:
            place = self._file(problem.file) if problem.file else shortened(self.folder, 120)
            opened.bad(place, None, "", problem.message)
        if self._problems:
            return usable, opened.problems
        try:
            for number, row in raw_questions(tables, self.question_file):
                make = partial(question_of, tables, number, row)
                question = opened.checked(file, number, make, seen)
                if question is not None:
                    usable.append(question)
        except DataError as error:
            message = str(error).removeprefix(f"{shortened(self.question_file, 80)}: ")
            opened.bad(file, None, "", message)
        tables.note_unused()
        if not usable and not opened.problems:
            opened.bad(file, None, "question", "there are no questions")
        return usable, opened.problems

    def _file(self, name: str) -> str:
        """Return a file's name as messages show it."""
        return shortened(name if self.folder == "." else f"{self.folder}/{name}", 120)

    def example(self, question: FolderQuestion) -> Example:
        """Return the example of a question."""
        tables = question.tables
        if question.title and len(tables) == 1:
            tables = (replace(tables[0], title=question.title),)
        names = ["table"] if len(tables) == 1 else [f"table {n + 1}" for n in range(len(tables))]
        return Example(
            id=question.id,
            inputs={"question": question.text, **dict(zip(names, tables, strict=True))},
            question=question.text,
            references=question.answers,
            target=", ".join(question.answers),
            context={
                **question.context,
                **_metric_context(question, tables),
                "aliases": dict(question.aliases),
            },
            tags={"answer": question.context["kind"], **question.tags},
            metric=question.metric,
            threshold=question.threshold,
            has_verdict=self.has_verdict(question),
        )

    def has_verdict(self, question: FolderQuestion) -> bool:
        """Return whether an answer is right or wrong; free text without facts only has a score.

        With a threshold of the question or of the folder, free text is right or wrong too.
        """
        scored_by_words = question.metric is None and question.context["kind"] == "free_text"
        thresholds = (question.threshold, self.description.defaults.threshold)
        return not scored_by_words or thresholds != (None, None)

    def chain(self, compat: Compat) -> tuple[str, ...]:  # noqa: ARG002 - there is no reference
        """Return the post-processors, which keep the whole reply: the metric handles its lines."""
        return ("to_string_stripped",)

    def prompt(self, example: Example, render: Render) -> PromptParts:
        """Return the prompt: each table with its title, then the question."""
        tables = [value for value in example.inputs.values() if isinstance(value, Table)]
        parts = []
        for number, table in enumerate(tables, start=1):
            title = f"Title: {table.title}\n" if table.title else ""
            which = "Table" if len(tables) == 1 else f"Table {number}"
            parts.append(f"{title}{which}:\n{render(table)}\n\n")
        instruction = self.description.instruction
        if not tables and instruction == INSTRUCTION:
            instruction = instruction.partition(". ")[2]  # its first sentence is about a table
        source = f"{''.join(parts)}Question: {example.inputs['question']}\n"
        return PromptParts(instruction, source, "Answer: ")


def _metric_context(question: FolderQuestion, tables: Sequence[Table]) -> dict[str, Any]:
    """Return the part of a metric's context that comes from the question, not from its answer."""
    if question.metric is None:
        shown = {f"table {place}": table for place, table in enumerate(tables, start=1)}
        return {"question": question.text, **shown}
    subtype = question.tags.get("subtype", "")
    return {"question": question.text, "subtype": subtype, "chart_type": subtype}
