"""Statistics of a dataset: numbers, kinds and sizes of its questions and tables.

RealHiTBench reports such statistics in Table 1 and Figures 5 and 6.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from math import ceil, fsum
from typing import Any

from pytest_tablebench.datasets._example import Example, cluster_of
from pytest_tablebench.datasets._source import Source
from pytest_tablebench.errors import DataError, TableError
from pytest_tablebench.serializers.structured import latex_tokens
from pytest_tablebench.tables.hierarchy.complexity import StructureMarks, complexity, measure_table
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile
from pytest_tablebench.util.tokens import TOKEN_BUCKETS, token_bucket

__all__ = ["DatasetFacts", "DatasetStatistics", "joined_facts", "read_facts", "statistics_of"]

SIZES = ("rows", "columns", "cells", "cell_length", "tokens", "question_words", "answer_words")
"""Measures of tables; the last two are measures of questions."""

BANDS = ("0-25", "25-50", "50-75", "75-100")
FEATURES: Mapping[str, str] = {
    "header_levels": "header_rows",
    "sections": "sections",
    "merged_cells": "spans",
    "captions": "captions",
    "notes": "notes",
}
"""Features of a table's structure, each with the field of `Table` that it fills."""

_WORD = re.compile(r"[㐀-鿿]|[^\s㐀-鿿]+")
"""A word or a Chinese character."""


@dataclass(frozen=True)
class TableFacts:
    """The measures of a table.

    `features` are names in `FEATURES`, and `row_levels` or `several_tables`.
    """

    sizes: Mapping[str, float]
    features: frozenset[str]
    marks: StructureMarks | None
    band: str | None


@dataclass(frozen=True)
class QuestionFacts:
    """The measures of a question; `tables` are digests, `cluster` is (benchmark, name)."""

    tables: tuple[bytes, ...]
    cluster: tuple[str, str]
    tags: Mapping[str, str]
    words: int
    answer_words: int


@dataclass(frozen=True)
class DatasetFacts:
    """A dataset's questions, and its tables by the digest of their content.

    `unusable` is the number of unusable rows; `problem` describes the first.
    """

    questions: Sequence[QuestionFacts]
    tables: Mapping[bytes, TableFacts]
    unusable: int
    problem: str = ""


@dataclass(frozen=True)
class SizeSummary:
    """A distribution; percentiles are by nearest rank."""

    mean: float
    median: float
    percentile_70: float
    percentile_90: float
    largest: float


@dataclass(frozen=True)
class TagCount:
    """The number of questions with a value of a tag, and of their tables."""

    questions: int
    tables: int


@dataclass(frozen=True)
class DatasetStatistics:
    """The statistics of a dataset.

    Arguments:
        dataset, benchmark: names.
        questions, tables: their numbers. Tables with the same content count once.
        clusters: the number of clusters by name; a table and its rearranged twin share one.
        unusable: the number of unusable rows.
        sizes: distributions by the names in `SIZES`, without those that no table has.
        features: the number of tables with each feature.
        marks: the mean marks of structure, from 0 to 100; None without a table.
        complexity: the number of tables in each quarter of the scale from 0 to 100.
        tokens: the number of tables in each range of tokens.
        tags: the counts of each value, by tag; ranges by size, other values by frequency.
        values: all measured values by the names in `SIZES`, for figures.
    """

    dataset: str
    benchmark: str
    questions: int
    tables: int
    clusters: int
    unusable: int
    sizes: Mapping[str, SizeSummary]
    features: Mapping[str, int]
    marks: StructureMarks | None
    complexity: Mapping[str, int]
    tokens: Mapping[str, int]
    tags: Mapping[str, Mapping[str, TagCount]]
    values: Mapping[str, Sequence[float]] = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return the statistics as JSON data, without `values`."""
        data = asdict(self)
        del data["values"]
        data["marks"] = None if self.marks is None else self.marks._asdict()
        return data


def read_facts(source: Source, benchmark: str, limit: int | None = None) -> DatasetFacts:
    """Return the facts of a dataset's first `limit` questions (None: of all).

    Datasets of one benchmark share clusters. Raises `DataError` if the files cannot be read.
    """
    questions: list[QuestionFacts] = []
    tables: dict[bytes, TableFacts] = {}
    failures: list[str] = []
    for name in source.example_ids(limit):
        try:
            example = source.example(name)
        except DataError as error:
            failures.append(str(error))
            continue
        digests = []
        for table in _tables_of(example):
            digest = _digest(table)
            digests.append(digest)
            if digest not in tables:
                tables[digest] = _table_facts(table)
        answer = " ".join(example.references) or example.target
        questions.append(
            QuestionFacts(
                tables=tuple(digests),
                cluster=(benchmark, cluster_of(example)),
                tags=dict(example.tags),
                words=len(_WORD.findall(example.question)),
                answer_words=len(_WORD.findall(answer)),
            )
        )
    problems = [*map(str, source.problems), *failures]
    return DatasetFacts(questions, tables, len(problems), problems[0] if problems else "")


def joined_facts(facts: Mapping[str, DatasetFacts]) -> DatasetFacts:
    """Join the facts of several datasets; each question gets the tag `dataset`."""
    questions = [
        replace(question, tags={"dataset": name, **question.tags})
        for name, part in facts.items()
        for question in part.questions
    ]
    tables: dict[bytes, TableFacts] = {}
    for part in facts.values():
        tables.update(part.tables)
    return DatasetFacts(questions, tables, sum(part.unusable for part in facts.values()))


def statistics_of(dataset: str, benchmark: str, facts: DatasetFacts) -> DatasetStatistics:
    """Return the statistics of a dataset's facts."""
    tables = list(facts.tables.values())
    values: dict[str, list[float]] = {
        name: [table.sizes[name] for table in tables if name in table.sizes] for name in SIZES[:-2]
    }
    values["question_words"] = [float(question.words) for question in facts.questions]
    values["answer_words"] = [float(question.answer_words) for question in facts.questions]
    marks = [table.marks for table in tables if table.marks is not None]
    bands = Counter(table.band for table in tables)
    buckets = Counter(token_bucket(int(tokens)) for tokens in values["tokens"])
    features = Counter(feature for table in tables for feature in table.features)
    return DatasetStatistics(
        dataset=dataset,
        benchmark=benchmark,
        questions=len(facts.questions),
        tables=len(tables),
        clusters=len({question.cluster for question in facts.questions}),
        unusable=facts.unusable,
        sizes={name: _summary(measured) for name, measured in values.items() if measured},
        features={name: features[name] for name in (*FEATURES, "row_levels", "several_tables")},
        marks=_mean_marks(marks),
        complexity={band: bands[band] for band in BANDS},
        tokens={bucket: buckets[bucket] for bucket in TOKEN_BUCKETS},
        tags=_tag_counts(facts.questions),
        values=values,
    )


def _tables_of(example: Example) -> Iterable[Table]:
    """Return the tables in a question's prompt, or without any the tables of its files."""
    tables = [value for value in example.inputs.values() if isinstance(value, Table)]
    return tables or [
        value.table for value in example.context.values() if isinstance(value, TableFile)
    ]


def _digest(table: Table) -> bytes:
    """Return a digest of a table's texts, so that the number 1 and the text "1" are equal."""
    lines = [[_cell_text(cell) for cell in line] for line in table.lines]
    return blake2b(repr(lines).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _cell_text(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return "" if cell is None else str(cell)


def _table_facts(table: Table) -> TableFacts:
    measure = measure_table(table)
    sizes = {
        "rows": float(measure.rows),
        "columns": float(measure.columns),
        "cells": float(sum(map(len, table.rows))),
        "cell_length": measure.cell_length,
    }
    features = {name for name, part in FEATURES.items() if getattr(table, part)}
    band = None
    try:
        sizes["tokens"] = float(latex_tokens(table))
        band = complexity(table).band
        several = len(table.parts()) > 1
    except (TableError, IndexError):  # lines of different lengths have no readable structure
        several = False
    if table.row_headers > 1 or len(set(table.row_levels)) > 1:
        features.add("row_levels")
    if several:
        features.add("several_tables")
    return TableFacts(sizes, frozenset(features), measure.marks, band)


def _summary(values: Sequence[float]) -> SizeSummary:
    ordered = sorted(values)

    def percentile(tenths: int) -> float:
        return ordered[ceil(tenths * len(ordered) / 10) - 1]

    mean = fsum(ordered) / len(ordered)
    return SizeSummary(mean, percentile(5), percentile(7), percentile(9), ordered[-1])


def _mean_marks(marks: Sequence[StructureMarks]) -> StructureMarks | None:
    if not marks:
        return None
    return StructureMarks(*(fsum(values) / len(marks) for values in zip(*marks, strict=True)))


def _tag_counts(questions: Sequence[QuestionFacts]) -> dict[str, dict[str, TagCount]]:
    counts: dict[str, Counter[str]] = {}
    tables: dict[tuple[str, str], set[bytes]] = {}
    for question in questions:
        for tag, value in question.tags.items():
            counts.setdefault(tag, Counter())[value] += 1
            tables.setdefault((tag, value), set()).update(question.tables)
    return {
        tag: {
            value: TagCount(count, len(tables[tag, value])) for value, count in _ordered(by_value)
        }
        for tag, by_value in counts.items()
    }


_SPAN = re.compile(r"([<>]?)(\d+)")
"""The start of a range, such as `25-50%` or `<10K`."""


def _ordered(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return the values of a tag: ranges by size, other values by frequency."""
    spans = {value: _SPAN.match(value) for value in counts}
    sizes = {
        value: (int(span[2]), "< >".find(span[1] or " ")) for value, span in spans.items() if span
    }
    if len(sizes) == len(counts):
        return sorted(counts.items(), key=lambda item: sizes[item[0]])
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
