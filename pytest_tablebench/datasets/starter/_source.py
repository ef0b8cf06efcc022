"""The starter dataset's two files, as they come with the package."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from pytest_tablebench.datasets._base import Example, Problem, SourceFacts
from pytest_tablebench.errors import DataError
from pytest_tablebench.table import Table

__all__ = ["StarterPool", "StarterSource"]

_FILES = ("tables.jsonl", "questions.jsonl")
_Record = Mapping[str, Any]


def _example(record: _Record, tables: Mapping[str, _Record]) -> Example:
    table = tables[record["table"]]
    answers = tuple(record["answers"])
    return Example(
        record["id"],
        {
            "question": record["question"],
            "table": Table(table["header"], table["rows"], table["title"], name=table["id"]),
        },
        record["question"],
        answers,
        ", ".join(answers),
    )


@dataclass(frozen=True)
class StarterPool:
    """The demonstration questions; their tables are not used by any other question."""

    records: tuple[_Record, ...]
    tables: Mapping[str, _Record]

    def __len__(self) -> int:
        """Number of demonstrations."""
        return len(self.records)

    def key(self, index: int) -> Hashable:
        """Return the question; no two demonstrations share one."""
        question: str = self.records[index]["question"]
        return question

    def __getitem__(self, index: int) -> Example:
        """Load one demonstration."""
        return _example(self.records[index], self.tables)


class StarterSource:
    """The opened dataset; both files are small and read at once."""

    def __init__(self) -> None:
        package = files("pytest_tablebench.datasets.starter")
        contents = {name: (package / name).read_bytes() for name in _FILES}
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
        self._facts = SourceFacts(digests)
        tables, questions = (
            [json.loads(line) for line in contents[name].decode().split("\n") if line]
            for name in _FILES
        )
        self._tables: dict[str, _Record] = {record["id"]: record for record in tables}
        self._tests = {record["id"]: record for record in questions if record["split"] == "test"}
        demos = tuple(record for record in questions if record["split"] == "demo")
        self._pool = StarterPool(demos, self._tables)

    @property
    def facts(self) -> SourceFacts:
        """Return the two files' digests."""
        return self._facts

    @property
    def problems(self) -> Sequence[Problem]:
        """Return nothing: every row was generated and checked."""
        return ()

    @property
    def pool(self) -> StarterPool:
        """Return the demonstrations."""
        return self._pool

    def example_ids(self, limit: int | None) -> Sequence[str]:
        """Return the first `limit` ids in file order, which mixes kinds and tables."""
        return list(self._tests)[:limit]

    def example(self, example_id: str) -> Example:
        """Load one example."""
        record = self._tests.get(example_id)
        if record is None:
            raise DataError(f"questions.jsonl: no question has the id {example_id!r}")
        return _example(record, self._tables)
