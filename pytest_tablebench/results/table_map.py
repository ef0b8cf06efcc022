"""Compute the complexity, the size and the mean score of each table of a run.

RealHiTBench's paper plots the complexity of tables against their tokens (spec: realhitbench.md
section 8). Here a rule gives the complexity (`tables.hierarchy.complexity`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

from pytest_tablebench.errors import TableError
from pytest_tablebench.results.figures import mean
from pytest_tablebench.results.record import ScoreRow
from pytest_tablebench.results.texts import ExampleText, example_key
from pytest_tablebench.serializers.structured import latex_tokens
from pytest_tablebench.tables.hierarchy.complexity import complexity
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.entries import mapping

_UNPERTURBED = "none"


@dataclass(frozen=True)
class MappedTable:
    """A table with the mean score of the questions about it.

    Args:
        dataset: the dataset of the questions.
        table: the first example about the table, which serves as its name.
        complexity: the complexity of its structure, from 0 to 100.
        tokens: the number of tokens of the table in LaTeX.
        questions: the number of answered questions.
        score: the mean over questions of their mean over cases; None without an answer.
    """

    dataset: str
    table: str
    complexity: int
    tokens: int
    questions: int = 0
    score: float | None = None


def table_map(examples: Iterable[ExampleText], rows: Iterable[ScoreRow]) -> list[MappedTable]:
    """Return the unperturbed tables of a run; none if no table has a structure.

    Tables that cannot be parsed and examples with several tables are left out.

    Args:
        examples: the examples in the run's `texts.jsonl.gz`.
        rows: the cases of the same run.
    """
    scores: dict[str, list[float]] = {}
    datasets: dict[str, str] = {}
    for row in rows:
        key = example_key(row.dataset, row.example_id, _UNPERTURBED)
        datasets[key] = row.dataset
        if row.score is not None and row.preserves_meaning:
            scores.setdefault(key, []).append(row.score)
    tables: dict[tuple[str, bytes], tuple[str, Mapping[str, Any]]] = {}
    questions: dict[tuple[str, bytes], list[str]] = {}
    for example in examples:
        if len(example.tables) != 1 or example.id not in datasets:
            continue
        [data] = example.tables
        content = json.dumps(data, sort_keys=True).encode("ascii")
        mark = datasets[example.id], blake2b(content, digest_size=12).digest()
        tables.setdefault(mark, (example.id, data))
        questions.setdefault(mark, []).append(example.id)
    if not any(isinstance(data.get("structure"), Mapping) for _, data in tables.values()):
        return []
    mapped = []
    for mark, (name, data) in tables.items():
        table = _mapped(mark[0], name, data)
        if table is not None:
            means = [
                mean(scores[example_id]) for example_id in questions[mark] if example_id in scores
            ]
            mapped.append(replace(table, questions=len(means), score=mean(means)))
    return mapped


def parsed_table(data: Mapping[str, Any]) -> Table | None:
    """Return a table from an example's text; None if it cannot be parsed."""
    try:
        return Table(data["header"], data["rows"], data.get("title"), **mapping(data, "structure"))
    except (TableError, TypeError, ValueError, KeyError):  # the file may have been edited
        return None


def _mapped(dataset: str, name: str, data: Mapping[str, Any]) -> MappedTable | None:
    example = name.removeprefix(f"{dataset}/").removesuffix(f"/{_UNPERTURBED}")
    table = parsed_table(data)
    if table is None:
        return None
    try:
        return MappedTable(dataset, example, complexity(table).score, latex_tokens(table))
    except (TableError, TypeError, ValueError, IndexError):
        return None
