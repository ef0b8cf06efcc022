"""Datasets: they read upstream files and make examples and the pieces of prompts.

A package here whose `__init__.py` declares a `BENCHMARK` is a benchmark. Each of its modules
exports `DATASETS`. No other module lists them.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.datasets._dataset import (
        AnswerForm,
        AnswerPlace,
        AskedDataset,
        Dataset,
        Defaults,
        PromptParts,
        Render,
        ReplyForm,
        asked_dataset,
        defaults_of,
        open_dataset,
        render_field,
    )
    from pytest_tablebench.datasets._example import (
        Example,
        OtherGold,
        Stratum,
        cluster_of,
        row_digest,
        stratum_of,
        text_key,
    )
    from pytest_tablebench.datasets._file_dataset import FileDataset, Opened, PoolFiles
    from pytest_tablebench.datasets._questions import TableQuestions, table_question
    from pytest_tablebench.datasets._source import (
        ExamplePool,
        Pool,
        Problem,
        RowSource,
        Source,
        SourceFacts,
        sampled_ids,
        shard_numbers,
    )

__all__ = [
    "AnswerForm",
    "AnswerPlace",
    "AskedDataset",
    "Benchmark",
    "Dataset",
    "Defaults",
    "Example",
    "ExamplePool",
    "FileDataset",
    "Opened",
    "OtherGold",
    "Pool",
    "PoolFiles",
    "Problem",
    "PromptParts",
    "Render",
    "ReplyForm",
    "RowSource",
    "Source",
    "SourceFacts",
    "Stratum",
    "TableQuestions",
    "asked_dataset",
    "built_in_benchmarks",
    "built_in_datasets",
    "cluster_of",
    "defaults_of",
    "open_dataset",
    "render_field",
    "row_digest",
    "sampled_ids",
    "shard_numbers",
    "stratum_of",
    "table_question",
    "text_key",
]

# Every pytest session needs the names of benchmarks; only a benchmark session needs datasets.
__getattr__ = lazily(
    __name__,
    {
        "_dataset": (
            *("AnswerForm", "AnswerPlace", "AskedDataset", "Dataset", "Defaults"),
            *("PromptParts", "Render", "ReplyForm", "asked_dataset", "defaults_of"),
            *("open_dataset", "render_field"),
        ),
        "_example": (
            *("Example", "OtherGold", "Stratum", "cluster_of", "row_digest", "stratum_of"),
            *("text_key",),
        ),
        "_file_dataset": ("FileDataset", "Opened", "PoolFiles"),
        "_questions": ("TableQuestions", "table_question"),
        "_source": (
            *("ExamplePool", "Pool", "Problem", "RowSource", "Source", "SourceFacts"),
            *("sampled_ids", "shard_numbers"),
        ),
    },
)


@dataclass(frozen=True)
class Benchmark:
    """A benchmark: all datasets whose `benchmark` is its name.

    Its figures are unweighted means over these datasets. A registered benchmark has a marker of its
    name; a dataset may also name a benchmark that is not registered.
    """

    name: str


def _benchmark_packages() -> Iterator[tuple[str, Benchmark]]:
    path = import_module(__name__).__path__
    for module in pkgutil.iter_modules(path, f"{__name__}."):
        if module.ispkg:
            benchmark = getattr(import_module(module.name), "BENCHMARK", None)
            if benchmark is not None:
                yield module.name, benchmark


def built_in_benchmarks() -> list[Benchmark]:
    """Return the built-in benchmarks, without importing their datasets."""
    return [benchmark for _, benchmark in _benchmark_packages()]


def built_in_datasets(data: Path | None = None) -> list[Dataset]:
    """Return the `DATASETS` of all public modules of the benchmark packages.

    With a data folder, also return the datasets that a module's function `datasets_in(data)` finds
    in its files.
    """
    datasets: list[Dataset] = []
    for name, _ in _benchmark_packages():
        package = import_module(name)
        for module in pkgutil.iter_modules(package.__path__, f"{name}."):
            if not module.name.rpartition(".")[2].startswith("_"):
                exports = import_module(module.name)
                datasets += exports.DATASETS
                if data is not None and hasattr(exports, "datasets_in"):
                    datasets += exports.datasets_in(data)
    return datasets
