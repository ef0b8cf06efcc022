"""TReB (arXiv 2506.18421): 26 subtasks of six skills, in English and Chinese.

What is known of each subtask is data: `subtasks.toml`. The samples are upstream's;
instructions whose keeping a rule can tell are the project's own: `instructions.jsonl`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_tablebench.datasets._benchmark import Benchmark
from pytest_tablebench.util.lazy import lazily

if TYPE_CHECKING:
    from pytest_tablebench.datasets.treb._written import write_samples

__all__ = ["BENCHMARK", "subtask_names", "write_samples"]

BENCHMARK = Benchmark("treb")

__getattr__ = lazily(__name__, {"_written": ("write_samples",)})


def subtask_names() -> dict[str, str]:
    """Return upstream's name of each known subtask, by the name of its dataset."""
    from pytest_tablebench.datasets.treb._subtasks import dataset_name, known_subtasks

    return {dataset_name(subtask.name): subtask.name for subtask in known_subtasks()}
