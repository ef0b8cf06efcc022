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

__all__ = [
    "Dataset",
    "Example",
    "Pool",
    "Problem",
    "PromptParts",
    "Render",
    "Source",
    "SourceFacts",
    "render_field",
    "text_key",
]
