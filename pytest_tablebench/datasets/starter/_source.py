"""The starter dataset's two files, as they come with the package."""

from __future__ import annotations

import hashlib
import json
from importlib.resources import files

from pytest_tablebench.datasets._base import Example, SourceFacts
from pytest_tablebench.datasets._questions import memory_source, table_question
from pytest_tablebench.datasets._sources import RowSource
from pytest_tablebench.tables.table import Table

__all__ = ["open_starter"]

_FILES = ("tables.jsonl", "questions.jsonl")


def open_starter() -> RowSource[Example]:
    """Read both files; the demonstrations' tables are not used by any other question."""
    package = files("pytest_tablebench.datasets.starter")
    contents = {name: (package / name).read_bytes() for name in _FILES}
    tables, questions = (
        [json.loads(line) for line in contents[name].decode().split("\n") if line]
        for name in _FILES
    )
    by_id = {
        record["id"]: Table(record["header"], record["rows"], record["title"], name=record["id"])
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
            )
        )
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    return memory_source(split["test"], split["demo"], SourceFacts(digests))
