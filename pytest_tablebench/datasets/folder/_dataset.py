"""A folder of the user's own tables and questions as a dataset."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets._prompts import PromptParts, Render
from pytest_tablebench.datasets._questions import INSTRUCTION
from pytest_tablebench.datasets._row_source import RowSource
from pytest_tablebench.datasets.described import TomlDataset
from pytest_tablebench.datasets.folder.questions import (
    FolderQuestion,
    question_of,
    raw_questions,
    with_clusters,
)
from pytest_tablebench.datasets.folder.tables import FolderTables
from pytest_tablebench.errors import DataError
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.names import shortened


class FolderDataset(TomlDataset[FolderQuestion]):
    """A dataset in a folder of the user's own tables and questions, in `question_file`."""

    target_prefix = "Answer: "
    question_file = "questions.csv"

    def open(
        self, folder: Path, *, compat: Compat = "fixed", **options: Any
    ) -> RowSource[FolderQuestion]:
        """Open the folder. Unusable questions become problems, and the others run."""
        tables = self.table_reader(folder)
        opened = self.opened(folder, compat, options)
        questions = self.questions(tables, opened)
        notes = [*tables.notes, *([f"licence: {self.licence}"] if self.licence else [])]
        source = self.opened_source(
            opened,
            questions,
            lambda: questions,
            files=sorted(tables.files),
            notes=notes,
            place=self.file_name(self.question_file),
        )
        source.metrics = {
            question.metric: f"{self.file_name(self.question_file)}, row {question.number}"
            for question in reversed(questions)
            if question.metric is not None
        }
        return source

    def table_reader(self, folder: Path) -> FolderTables:
        """Return the reader of the folder's tables, with the folder's settings."""
        settings = self.description
        return FolderTables(
            folder,
            include_hidden=settings.include_hidden,
            encoding=settings.encoding,
            parts=settings.tables,
        )

    def questions(self, tables: FolderTables, opened: Opened) -> list[FolderQuestion]:
        """Return the usable questions; record the problems of the others in `opened`."""
        if self.mistakes:
            return []
        file, seen, usable = self.file_name(self.question_file), set[str](), list[FolderQuestion]()
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
        return with_clusters(self.name, usable)

    def example(self, row: FolderQuestion) -> Example:
        """Return the example of a question."""
        question, tables = row, row.tables
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
            has_verdict=self._has_verdict(question),
            cluster=question.cluster,
        )

    def _has_verdict(self, question: FolderQuestion) -> bool:
        """Return whether an answer is right or wrong; free text without facts only has a score.

        With a threshold of the question or of the folder, free text is right or wrong too.
        """
        scored_by_words = question.metric is None and question.context["kind"] == "free_text"
        thresholds = (question.threshold, self.description.defaults.threshold)
        return not scored_by_words or thresholds != (None, None)

    def key(self, row: FolderQuestion) -> Hashable:
        """Return the question."""
        return (row.text,)

    def does_not_apply(self, row: FolderQuestion, serializer: str, perturbation: str) -> str | None:  # noqa: ARG002 - a format suits any question
        """Return why a question is skipped under a perturbation; None if it is not."""
        if not row.tables:
            return None if perturbation == "none" else "there is no table to rearrange"
        allowed = row.perturbations
        if allowed is None or not {perturbation, perturbation.partition("[")[0]}.isdisjoint(
            allowed
        ):
            return None
        return "the question does not allow it"

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
        return PromptParts(instruction, source, self.target_prefix)


def _metric_context(question: FolderQuestion, tables: Sequence[Table]) -> dict[str, Any]:
    """Return the part of a metric's context that comes from the question, not from its answer."""
    if question.metric is None:
        shown = {f"table {place}": table for place, table in enumerate(tables, start=1)}
        return {"question": question.text, **shown}
    subtype = question.tags.get("subtype", "")
    return {"question": question.text, "subtype": subtype, "chart_type": subtype}
