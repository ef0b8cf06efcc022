"""Sizes, structure, complexity and tokens of a run's tables, with RealHiTBench's Table 8."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from math import ceil
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_tablebench.datasets.statistics import BANDS
from pytest_tablebench.errors import SettingsError, TableError
from pytest_tablebench.papers._published import Noted, beside_published, paper, published
from pytest_tablebench.papers._realhit import BENCHMARK, LONG
from pytest_tablebench.papers.table import PaperTable, Printed, Row, captioned
from pytest_tablebench.results.figures import mean, plain_mean
from pytest_tablebench.results.record import ScoreRow
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.texts import TEXTS, ExampleText, example_key, read_examples
from pytest_tablebench.serializers.structured import latex_tokens
from pytest_tablebench.tables.hierarchy.complexity import (
    StructureMarks,
    TableMeasure,
    complexity,
    marks_of_dimensions,
    measure_table,
)
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.entries import mapping
from pytest_tablebench.util.names import counted
from pytest_tablebench.util.tokens import TOKEN_BUCKETS, token_bucket, tokenizer_name

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
    tables: dict[tuple[str, bytes], tuple[Mapping[str, Any], list[str]]] = {}
    for example in examples:
        if len(example.tables) != 1 or example.id not in datasets:
            continue
        [data] = example.tables
        content = json.dumps(data, sort_keys=True).encode("ascii")
        mark = datasets[example.id], blake2b(content, digest_size=12).digest()
        tables.setdefault(mark, (data, []))[1].append(example.id)
    if not any(isinstance(data.get("structure"), Mapping) for data, _ in tables.values()):
        return []
    mapped = []
    for (dataset, _), (data, ids) in tables.items():
        table = parsed_table(data)
        if table is None:
            continue
        name = ids[0].removeprefix(f"{dataset}/").removesuffix(f"/{_UNPERTURBED}")
        means = [mean(scores[example_id]) for example_id in ids if example_id in scores]
        with suppress(TableError, TypeError, ValueError, IndexError):
            sizes = complexity(table).score, latex_tokens(table)
            mapped.append(MappedTable(dataset, name, *sizes, len(means), mean(means)))
    return mapped


def parsed_table(data: Mapping[str, Any]) -> Table | None:
    """Return a table from an example's text; None if it cannot be parsed."""
    try:
        return Table(data["header"], data["rows"], data.get("title"), **mapping(data, "structure"))
    except (TableError, TypeError, ValueError, KeyError):  # the file may have been edited
        return None


# Table 8

Marks = Mapping[str, StructureMarks]
"""A model's marks of the structure of tables, by the tables' names without a suffix."""

MARK_NAMES: Sequence[str] = paper(BENCHMARK)["tables"]["marks"]
"""The four marks of a table's structure, in the paper's order."""

_BY_MODEL: Sequence[str] = paper(BENCHMARK)["tables"]["by_model"]


def read_marks(path: Path) -> dict[str, StructureMarks]:
    """Return a model's marks from the `complexity.csv` that `tablebench complexity` wrote.

    Raises `SettingsError` for a file without them.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise SettingsError(f"--marks: {path} cannot be read: {error}") from None
    marks = {}
    for line in lines:
        figures = [line.get(name) or "" for name in _BY_MODEL]
        if all(figure.isdecimal() and 1 <= int(figure[:3]) <= 10 for figure in figures):
            name = PurePosixPath(line.get("table") or "").stem
            marks[name] = marks_of_dimensions(list(map(int, figures)))
    if not marks:
        raise SettingsError(
            f"--marks: {path} has no marks of a model; write it with: tablebench complexity "
            f"TABLES --model NAME --yes -o DIR"
        )
    return marks


def realhit_tables(runs: Sequence[Run], marks: Marks | None = None) -> PaperTable | None:
    """Return size and structure of the tables that runs asked about, then Table 8 as printed.

    Sizes are the 70th percentiles over the unperturbed tables of a run, oversized ones included;
    structure is the mean of the marks. With the marks of a model there is a second row for each
    run, over the tables that the model has marked.
    """
    rows: list[Noted] = []
    for run in runs:
        benchmark_rows = [row for row in run.rows if row.benchmark in {BENCHMARK, LONG}]
        measures = _measures(run, {row.dataset for row in benchmark_rows})
        if not measures:
            continue
        sizes = _percentiles(measures)
        by_rule = [table.marks for table in measures if table.marks is not None]
        rows.append(((run.model, "tables of this run, by rule", *sizes, *_mean_marks(by_rule)), ""))
        if marks is not None:
            # The tables' names are the clusters of the questions.
            names = dict.fromkeys(row.cluster for row in benchmark_rows if row.cluster)
            by_model = [marks[name] for name in names if name in marks]
            note = f"marks of {counted(len(by_model), 'table')} of {len(measures):,}"
            row = (run.model, "tables of this run, by a model", *sizes, *_mean_marks(by_model))
            rows.append((row, note))
    others = map(_printed, published("realhitbench_tables"))
    return beside_published("realhit_tables", MARK_NAMES, rows, others)


def _printed(line: Mapping[str, str]) -> Row:
    benchmark, rows, columns, *marks = line.values()
    return benchmark, "published, Table 8", int(rows), int(columns), *map(Printed, marks)


def _measures(run: Run, datasets: set[str]) -> list[TableMeasure]:
    """Return each unperturbed table of the datasets once, by its content."""
    measures: dict[str, TableMeasure] = {}
    for text in read_examples(run.path / TEXTS) if datasets else ():
        if text.id.partition("/")[0] not in datasets or not text.id.endswith("/none"):
            continue
        for fields in text.tables:
            content = json.dumps([fields.get("header"), fields.get("rows")])
            table = None if content in measures else parsed_table(fields)
            if table is not None:
                measures[content] = measure_table(table)
    return list(measures.values())


def _percentiles(tables: Sequence[TableMeasure]) -> Row:
    """Return the 70th percentiles of rows, columns and cell length, by nearest rank."""
    index = ceil(7 * len(tables) / 10) - 1
    sizes = ((table.rows, table.columns, table.cell_length) for table in tables)
    rows, columns, lengths = (sorted(values)[index] for values in zip(*sizes, strict=True))
    return int(rows), int(columns), Printed(lengths)


def _mean_marks(marks: Sequence[StructureMarks]) -> Row:
    """Return the mean of each mark; None for each if no table has marks."""
    if not marks:
        return (None,) * len(MARK_NAMES)
    means = (plain_mean(values) for values in zip(*marks, strict=True))
    return tuple(None if mean is None else Printed(mean) for mean in means)


# Complexity and tokens


def mapped_tables(runs: Sequence[Run], benchmark: str) -> dict[str, list[MappedTable]]:
    """Return the tables of a benchmark by model; empty if none of them has structure."""
    by_model = {}
    for run in runs:
        rows = [row for row in run.rows if row.benchmark == benchmark]
        tables = table_map(read_examples(run.path / TEXTS), rows) if rows else []
        if tables:
            by_model[run.model] = tables
    return by_model


def map_tables(by_model: Mapping[str, Sequence[MappedTable]]) -> list[PaperTable]:
    """Return the scores by complexity and tokens, and all tables; none without a map."""
    if not by_model:
        return []
    rows: list[Row] = []
    for model, tables in by_model.items():
        for number, band in enumerate(BANDS):
            members = [t for t in tables if min(t.complexity // 25, len(BANDS) - 1) == number]
            means = [
                plain_mean(
                    t.score for t in members if token_bucket(t.tokens) == bucket and t.questions
                )
                for bucket in TOKEN_BUCKETS
            ]
            if members:
                rows.append((model, band, *means, len(members)))
    listed = (
        (model, t.dataset, t.table, t.complexity, t.tokens, t.questions, t.score)
        for model, tables in by_model.items()
        for t in tables
    )
    words = {"tokenizer": tokenizer_name()}
    return [
        captioned("complexity_tokens", rows, [*TOKEN_BUCKETS, "tables"], words=words),
        captioned("tables", listed),
    ]
