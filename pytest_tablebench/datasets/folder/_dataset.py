"""Folders of the user's own tables and questions as datasets, and the search for them."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._dataset import PromptParts, Render
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._file_dataset import Opened
from pytest_tablebench.datasets._questions import INSTRUCTION
from pytest_tablebench.datasets._source import RowSource
from pytest_tablebench.datasets.described import (
    SETTINGS_FILE,
    DescribedDataset,
    TomlDataset,
    read_description,
)
from pytest_tablebench.datasets.files import PULL_RECORD
from pytest_tablebench.datasets.folder.questions import (
    FolderQuestion,
    question_of,
    raw_questions,
    with_clusters,
)
from pytest_tablebench.datasets.folder.tables import FolderTables
from pytest_tablebench.errors import DataError, SettingsError
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.files import real_path
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
        """Return the example of a question.

        Free text without facts has a verdict only if the question or the folder has a threshold.
        """
        tables, kind, subtype = row.tables, row.context["kind"], row.tags.get("subtype", "")
        if row.title and len(tables) == 1:
            tables = (replace(tables[0], title=row.title),)
        named = {f"table {number}": table for number, table in enumerate(tables, start=1)}
        inputs = {"table": tables[0]} if len(tables) == 1 else named
        for_metric = {"subtype": subtype, "chart_type": subtype} if row.metric else named
        thresholds = (row.threshold, self.description.defaults.threshold)
        return Example(
            id=row.id,
            inputs={"question": row.text, **inputs},
            question=row.text,
            references=row.answers,
            target=", ".join(row.answers),
            context={**row.context, "question": row.text, **for_metric, "aliases": {**row.aliases}},
            tags={"answer": kind, **row.tags},
            metric=row.metric,
            threshold=row.threshold,
            has_verdict=row.metric is not None or kind != "free_text" or thresholds != (None, None),
            cluster=row.cluster,
        )

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


QUESTION_FILES = ("questions.csv", "questions.jsonl", "questions.xlsx")

TABLE_FILES = (".csv", ".tsv", ".xlsx", ".xlsm", ".parquet", ".html", ".htm")


def folder_datasets(
    data: Path, taken: Collection[str] = ()
) -> Iterator[FolderDataset | DescribedDataset]:
    """Yield the datasets of a data folder: `data` itself if it is a dataset, and folders in it.

    A folder with wrong settings is a dataset too, and reports the mistakes when it is opened.
    `taken` are the names of other datasets. Raises `SettingsError` for a name that is taken.
    """
    places: dict[str, str] = {}
    for folder in _places(data):
        dataset = _dataset_in(data, folder)
        name = dataset.name
        if name in places or name in taken:
            other = f"{places[name]} and " if name in places else ""
            both = "have the same name" if other else "has the name of a built-in dataset"
            raise SettingsError(
                f"{data}: {other}{folder} {both}, {name}; set "
                f'another one in {SETTINGS_FILE}: name = "..."'
            )
        places[name] = folder
        yield dataset


def open_folder(folder: Path) -> FolderDataset:
    """Return the dataset in a folder.

    Raises `DataError` for a described dataset, which has no question file of the folder format.
    """
    dataset = _dataset_in(folder, ".")
    if not isinstance(dataset, FolderDataset):
        raise DataError(f"{folder}: {SETTINGS_FILE} describes rows, not your own questions")
    return dataset


def _dataset_in(data: Path, folder_name: str) -> FolderDataset | DescribedDataset:
    folder = data / folder_name
    default = real_path(folder).name if folder_name == "." else folder_name
    description, mistakes = read_description(folder)
    name = _dataset_name(description.name or default)
    problems = [(SETTINGS_FILE, mistake.text) for mistake in mistakes]
    if description.files is not None or description.rows is not None:
        return DescribedDataset(description, name, folder_name, problems, is_own=True)
    files = [name for name in QUESTION_FILES if (folder / name).is_file()]
    if not problems and not files:
        problems.append(("", f"no questions: it needs one of {', '.join(QUESTION_FILES)}"))
    elif not problems and len(files) > 1:
        problems.append(("", f"has {' and '.join(files)}; keep one of them"))
    dataset = FolderDataset(description, name, folder_name, problems, is_own=True)
    dataset.question_file = files[0] if files else QUESTION_FILES[0]
    return dataset


def _places(data: Path) -> list[str]:
    try:
        below = sorted(entry.name for entry in data.iterdir() if not entry.name.startswith("."))
    except OSError:  # the data folder does not exist
        return []
    return [name for name in [".", *below] if _is_dataset(data / name)]


def has_tables_alone(folder: Path) -> bool:
    """Return whether a folder has table files, but no questions and no subfolders."""
    try:
        entries = [entry for entry in folder.iterdir() if not entry.name.startswith(".")]
    except OSError:
        return False
    is_table = any(entry.is_file() and entry.suffix.lower() in TABLE_FILES for entry in entries)
    return is_table and not any(entry.is_dir() for entry in entries) and not _is_dataset(folder)


def _is_dataset(folder: Path) -> bool:
    """Return whether a user wrote a dataset here; downloaded folders have other readers."""
    try:
        if (folder / PULL_RECORD).exists() and not (folder / SETTINGS_FILE).is_file():
            return False
        return any((folder / name).is_file() for name in (SETTINGS_FILE, *QUESTION_FILES))
    except OSError:  # the folder cannot be read
        return False


def _dataset_name(text: str) -> str:
    """Return a name that is valid in options, gates and case ids: letters, digits and `_`."""
    signs = unicodedata.normalize("NFC", text)
    kept = [
        sign if sign == "_" or unicodedata.category(sign)[0] in "LMN" else " " for sign in signs
    ]
    return "_".join("".join(kept).split())[:40].strip("_") or "own"
