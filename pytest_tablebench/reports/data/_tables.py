"""The tables of `tablebench stats`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_tablebench.papers.table import PaperTable, Printed, Value
from pytest_tablebench.util.tokens import TOKEN_BUCKETS, tokenizer_name

if TYPE_CHECKING:
    from pytest_tablebench.datasets.statistics import DatasetStatistics

_MARKS = ("header hierarchy", "content partition", "implicit multi table", "supplement information")


def statistics_tables(statistics: Sequence[DatasetStatistics]) -> list[PaperTable]:
    """Return the tables: datasets, sizes, structure, complexity and tokens, tags."""
    return [
        _datasets(statistics),
        _sizes(statistics),
        _structure(statistics),
        _complexity(statistics),
        _tags(statistics),
    ]


def _datasets(statistics: Sequence[DatasetStatistics]) -> PaperTable:
    rows: list[tuple[Value, ...]] = [
        (
            dataset.dataset,
            dataset.benchmark,
            dataset.questions,
            dataset.tables,
            dataset.clusters,
            dataset.questions / dataset.clusters if dataset.clusters else None,
            dataset.unusable,
        )
        for dataset in statistics
    ]
    return PaperTable(
        "datasets",
        "Questions and tables",
        ("dataset", "benchmark", "questions", "tables", "clusters", "questions per cluster",
         "unusable rows"),
        tuple(rows),
        notes=(
            "tables with the same content count once; a cluster is the table, document or group "
            "that questions share, so that a table and its rearranged twin are one",
        ),
    )  # fmt: skip


def _sizes(statistics: Sequence[DatasetStatistics]) -> PaperTable:
    rows: list[tuple[Value, ...]] = [
        (
            dataset.dataset,
            name.replace("_", " "),
            *map(
                Printed,
                (size.mean, size.median, size.percentile_70, size.percentile_90, size.largest),
            ),
        )
        for dataset in statistics
        for name, size in dataset.sizes.items()
    ]
    return PaperTable(
        "sizes",
        "Sizes of tables and lengths of questions",
        ("dataset", "of", "mean", "median", "70th percentile", "90th percentile", "largest"),
        tuple(rows),
        notes=(
            f"tokens are those of LaTeX, counted by {tokenizer_name()}; cell length is the mean "
            "number of characters of a table's cells that are not empty",
            "words are separated by blanks; a Chinese character is a word",
        ),
    )


def _structure(statistics: Sequence[DatasetStatistics]) -> PaperTable:
    features = list(dict.fromkeys(name for dataset in statistics for name in dataset.features))
    rows: list[tuple[Value, ...]] = []
    for dataset in statistics:
        marks = (None,) * len(_MARKS) if dataset.marks is None else map(Printed, dataset.marks)
        rows.append((dataset.dataset, dataset.tables, *map(dataset.features.get, features), *marks))
    return PaperTable(
        "structure",
        "Structure of tables",
        ("dataset", "tables", *(name.replace("_", " ") for name in features), *_MARKS),
        tuple(rows),
        notes=(
            "the first columns count tables; the last four are means of marks by rule, from 0 to "
            "100, in the layout of RealHiTBench's Table 8",
        ),
    )


def _complexity(statistics: Sequence[DatasetStatistics]) -> PaperTable:
    bands = list(dict.fromkeys(band for dataset in statistics for band in dataset.complexity))
    rows: list[tuple[Value, ...]] = [
        (
            dataset.dataset,
            *map(dataset.complexity.get, bands),
            *map(dataset.tokens.get, TOKEN_BUCKETS),
        )
        for dataset in statistics
    ]
    return PaperTable(
        "complexity_tokens",
        "Tables by complexity and by tokens",
        (
            "dataset",
            *(f"complexity {band}" for band in bands),
            *(f"{bucket} tokens" for bucket in TOKEN_BUCKETS),
        ),
        tuple(rows),
    )


def _tags(statistics: Sequence[DatasetStatistics]) -> PaperTable:
    rows: list[tuple[Value, ...]] = [
        (dataset.dataset, tag, value, count.questions, count.tables)
        for dataset in statistics
        for tag, values in dataset.tags.items()
        for value, count in values.items()
    ]
    return PaperTable(
        "tags",
        "Questions by kind",
        ("dataset", "tag", "value", "questions", "tables"),
        tuple(rows),
    )
