"""TReB (arXiv 2506.18421): 26 subtasks of six skills, in English and Chinese.

`subtasks.toml` describes the subtasks. The samples are upstream's, except for the instructions that
a rule can check: these are the project's own, in `instructions.jsonl`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_tablebench.datasets import Benchmark
from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.datasets.treb._tables import html_table, markdown_lines

__all__ = ["BENCHMARK", "html_table", "markdown_lines", "subtask_names"]

BENCHMARK = Benchmark("treb")

__getattr__ = lazily(__name__, {"_tables": ("html_table", "markdown_lines")})


def subtask_names() -> dict[str, str]:
    """Return a mapping from dataset names to upstream's names of the listed subtasks."""
    from pytest_tablebench.datasets.treb._samples import dataset_name, known_subtasks

    return {dataset_name(subtask.name): subtask.name for subtask in known_subtasks()}
