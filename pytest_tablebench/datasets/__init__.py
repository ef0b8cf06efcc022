"""Datasets: they read upstream files and make examples and the pieces of prompts.

A package here whose `__init__.py` declares a `BENCHMARK` is a benchmark. Each of its modules
exports `DATASETS`. No other module lists them.
"""

from typing import TYPE_CHECKING

from pytest_tablebench.datasets._benchmark import (
    Benchmark,
    built_in_benchmarks,
    built_in_datasets,
)
from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.datasets._asked import AskedDataset, asked_dataset
    from pytest_tablebench.datasets._dataset import Dataset, open_dataset
    from pytest_tablebench.datasets._defaults import Defaults, defaults_of
    from pytest_tablebench.datasets._example import Example, text_key
    from pytest_tablebench.datasets._file_dataset import FileDataset, Opened, PoolFiles
    from pytest_tablebench.datasets._prompts import (
        AnswerForm,
        AnswerPlace,
        PromptParts,
        Render,
        ReplyForm,
        render_field,
    )
    from pytest_tablebench.datasets._questions import TableQuestions, table_question
    from pytest_tablebench.datasets._row_source import RowSource
    from pytest_tablebench.datasets._sampling import sampled_ids, shard_numbers
    from pytest_tablebench.datasets._source import (
        ExamplePool,
        Pool,
        Problem,
        Source,
        SourceFacts,
    )
    from pytest_tablebench.datasets._strata import Stratum, cluster_of, stratum_of

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
        "_asked": ("AskedDataset", "asked_dataset"),
        "_dataset": ("Dataset", "open_dataset"),
        "_defaults": ("Defaults", "defaults_of"),
        "_example": ("Example", "text_key"),
        "_file_dataset": ("FileDataset", "Opened", "PoolFiles"),
        "_prompts": (
            *("AnswerForm", "AnswerPlace", "PromptParts", "Render", "ReplyForm", "render_field"),
        ),
        "_questions": ("TableQuestions", "table_question"),
        "_row_source": ("RowSource",),
        "_sampling": ("sampled_ids", "shard_numbers"),
        "_source": ("ExamplePool", "Pool", "Problem", "Source", "SourceFacts"),
        "_strata": ("Stratum", "cluster_of", "stratum_of"),
    },
)
