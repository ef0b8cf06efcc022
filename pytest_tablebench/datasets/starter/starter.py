"""The dataset `starter`, read from two files of the package."""

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


DATASETS = (Starter(),)
