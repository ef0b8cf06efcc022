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
    render_field,
    text_key,
)
from pytest_tablebench.datasets._questions import TableQuestions, table_question

__all__ = [
    "Dataset",
    "Example",
    "Pool",
    "Problem",
    "PromptParts",
    "Render",
    "Source",
    "SourceFacts",
    "TableQuestions",
    "render_field",
    "table_question",
    "text_key",
]
