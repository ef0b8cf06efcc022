"""The tables of `tablebench stats`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

from pytest_tablebench.papers.table import PaperTable, Printed, Row, captioned
from pytest_tablebench.util.tokens import TOKEN_BUCKETS, tokenizer_name

if TYPE_CHECKING:
    from pytest_tablebench.datasets.statistics import DatasetStatistics

_MARKS = ("header hierarchy", "content partition", "implicit multi table", "supplement information")


def statistics_tables(
    statistics: Sequence[DatasetStatistics], most: int | None = None
) -> list[PaperTable]:
    """Return the tables: datasets, sizes, structure, complexity and tokens, tags.

    `most` is the number of values of each tag; None for all.
    """
    datasets: Iterable[Row] = (
        (
            *(dataset.dataset, dataset.benchmark, dataset.questions, dataset.tables),
            dataset.clusters,
            dataset.questions / dataset.clusters if dataset.clusters else None,
            dataset.unusable,
        )
        for dataset in statistics
    )
    sizes: Iterable[Row] = (
        (dataset.dataset, name.replace("_", " "), *map(Printed, astuple(size)))
        for dataset in statistics
        for name, size in dataset.sizes.items()
    )
    words = {"tokenizer": tokenizer_name()}
    return [
        captioned("stats_datasets", datasets),
        captioned("stats_sizes", sizes, words=words),
        _structure(statistics),
        _complexity(statistics),
        _tags(statistics, most),
    ]


def _structure(statistics: Sequence[DatasetStatistics]) -> PaperTable:
    features = list(dict.fromkeys(name for dataset in statistics for name in dataset.features))
    rows: list[Row] = []
    for dataset in statistics:
        marks = (None,) * len(_MARKS) if dataset.marks is None else map(Printed, dataset.marks)
        rows.append((dataset.dataset, dataset.tables, *map(dataset.features.get, features), *marks))
    columns = (*(name.replace("_", " ") for name in features), *_MARKS)
    return captioned("stats_structure", rows, columns)


def _complexity(statistics: Sequence[DatasetStatistics]) -> PaperTable:
    bands = list(dict.fromkeys(band for dataset in statistics for band in dataset.complexity))
    columns = [f"complexity {band}" for band in bands]
    columns += [f"{bucket} tokens" for bucket in TOKEN_BUCKETS]
    rows = (
        (
            dataset.dataset,
            *map(dataset.complexity.get, bands),
            *map(dataset.tokens.get, TOKEN_BUCKETS),
        )
        for dataset in statistics
    )
    return captioned("stats_complexity_tokens", rows, columns)


def _tags(statistics: Sequence[DatasetStatistics], most: int | None) -> PaperTable:
    rows: list[Row] = []
    left = 0
    for dataset in statistics:
        for tag, values in dataset.tags.items():
            counts = list(values.items())
            left += len(counts[most:]) if most else 0
            rows += (
                (dataset.dataset, tag, value, count.questions, count.tables)
                for value, count in counts[:most]
            )
    note = (f"{left:,} less frequent values are in the file (-o DIR)",) if left else ()
    return captioned("stats_tags", rows, notes=note)
