"""The embedded datasets: `starter` is two files of the package, the others are dataset folders.

Each of the others is its own benchmark, so that the figures of `starter` do not change.
"""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._example import Example
from pytest_tablebench.datasets._questions import TableQuestions, memory_source, table_question
from pytest_tablebench.datasets._source import RowSource, SourceFacts
from pytest_tablebench.datasets.described._description import DatasetDescription, DefaultsSection
from pytest_tablebench.datasets.folder import FolderDataset
from pytest_tablebench.datasets.folder.questions import FolderQuestion
from pytest_tablebench.tables.table import Table

_FILES = ("tables.jsonl", "questions.jsonl")


class Starter(TableQuestions):
    """Small tables from many fields, and questions with one short, unambiguous answer."""

    def __init__(self) -> None:
        super().__init__("starter", (), benchmark="starter", shots=1)

    def open(
        self,
        folder: Path,  # noqa: ARG002 - the files come with the package
        *,
        compat: Compat = "fixed",  # noqa: ARG002 - there is no reference
        **options: Any,  # noqa: ARG002 - it uses none
    ) -> RowSource[Example]:
        """Open the package's own files; questions and demonstrations share no table."""
        contents = {name: (files(__package__) / name).read_bytes() for name in _FILES}
        tables, questions = (
            [json.loads(line) for line in content.decode().split("\n") if line]
            for content in contents.values()
        )
        by_id = {
            record["id"]: Table(
                record["header"], record["rows"], record["title"], name=record["id"]
            )
            for record in tables
        }
        split: dict[str, list[Example]] = {"test": [], "demo": []}
        for record in questions:
            split[record["split"]].append(
                table_question(
                    record["id"],
                    by_id[record["table"]],
                    record["question"],
                    record["answers"],
                    ordered=record["ordered"],
                    tags={"kind": record["kind"]},
                    cluster=f"starter/{record['table']}",
                )
            )
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
        return memory_source(split["test"], split["demo"], SourceFacts(digests))


_CHINESE = (
    "请只根据表格回答问题，不要使用其他知识。只给出答案，不要解释，也不要写成句子。"
    "答案有多项时，用英文逗号加空格分隔。名称、日期和数字的写法与表格一致。"
)


class EmbeddedFolder(FolderDataset):
    """A dataset folder in the package.

    Arguments:
        name: the name of the dataset and of its benchmark.
        folder: the name of the folder, next to this file.
        instruction: the instruction of its prompts; None for the default.
    """

    question_file = "questions.jsonl"

    def __init__(self, name: str, folder: str, instruction: str | None = None) -> None:
        description = DatasetDescription(
            benchmark=name, licence="MIT", defaults=DefaultsSection(instruction=instruction)
        )
        super().__init__(description, name, folder)

    def open(
        self,
        folder: Path,  # noqa: ARG002 - the files come with the package
        *,
        compat: Compat = "fixed",
        **options: Any,
    ) -> RowSource[FolderQuestion]:
        """Open the package's own files."""
        return super().open(Path(__file__).parent / self.folder, compat=compat, **options)


DATASETS = (
    EmbeddedFolder("starter_skills", "skills"),
    EmbeddedFolder("starter_zh", "skills_zh", _CHINESE),
    Starter(),
)
