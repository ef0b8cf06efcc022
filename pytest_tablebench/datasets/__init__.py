"""Datasets: upstream files in, examples and prompt pieces out."""

from pytest_tablebench.datasets._base import (
    Dataset,
    Example,
    Pool,
    Problem,
    PromptParts,
    Render,
    Source,
    SourceFacts,
    metric_of,
    render_field,
    text_key,
)
from pytest_tablebench.datasets._questions import TableQuestions, table_question
from pytest_tablebench.datasets._strata import Stratum, sampled_ids, stratum_of

__all__ = [
    "Dataset",
    "Example",
    "Pool",
    "Problem",
    "PromptParts",
    "Render",
    "Source",
    "SourceFacts",
    "Stratum",
    "TableQuestions",
    "metric_of",
    "render_field",
    "sampled_ids",
    "stratum_of",
    "table_question",
    "text_key",
]
