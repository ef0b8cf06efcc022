"""Datasets: upstream files in, examples and prompt pieces out.

A folder whose `__init__.py` declares a `BENCHMARK` is a benchmark; each of its modules exports
`DATASETS`. Nothing has to be listed anywhere.
"""

from typing import TYPE_CHECKING

from pytest_tablebench.datasets._benchmark import (
    Benchmark,
    built_in_benchmarks,
    built_in_datasets,
)
from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.datasets._answer_forms import (
        AnswerForm,
        AnswerPlace,
        AskedDataset,
        asked_dataset,
    )
    from pytest_tablebench.datasets._base import (
        Dataset,
        Example,
        Pool,
        Problem,
        PromptParts,
        Render,
        ReplyForm,
        Source,
        SourceFacts,
        metric_of,
        open_dataset,
        render_field,
        text_key,
    )
    from pytest_tablebench.datasets._defaults import Defaults, defaults_of
    from pytest_tablebench.datasets._questions import TableQuestions, table_question
    from pytest_tablebench.datasets._strata import (
        Stratum,
        cluster_of,
        sampled_ids,
        shard_numbers,
        stratum_of,
    )

__all__ = [
    "AnswerForm",
    "AnswerPlace",
    "AskedDataset",
    "Benchmark",
    "Dataset",
    "Defaults",
    "Example",
    "Pool",
    "Problem",
    "PromptParts",
    "Render",
    "ReplyForm",
    "Source",
    "SourceFacts",
    "Stratum",
    "TableQuestions",
    "asked_dataset",
    "built_in_benchmarks",
    "built_in_datasets",
    "cluster_of",
    "defaults_of",
    "metric_of",
    "open_dataset",
    "render_field",
    "sampled_ids",
    "shard_numbers",
    "stratum_of",
    "table_question",
    "text_key",
]

_DEFAULTS = ("Defaults", "defaults_of")
_FORMS = ("AnswerForm", "AskedDataset", "AnswerPlace", "asked_dataset")
_QUESTIONS = ("TableQuestions", "table_question")
_STRATA = ("Stratum", "cluster_of", "sampled_ids", "shard_numbers", "stratum_of")

# The names of benchmarks are wanted in every session, the datasets in those of ours alone.
__getattr__ = lazily(
    __name__,
    {
        "_answer_forms": _FORMS,
        "_defaults": _DEFAULTS,
        "_questions": _QUESTIONS,
        "_strata": _STRATA,
        "_base": set(__all__) - {*_DEFAULTS, *_FORMS, *_QUESTIONS, *_STRATA},
    },
)
