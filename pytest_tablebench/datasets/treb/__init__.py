"""TReB (arXiv 2506.18421): 26 subtasks of six skills, in English and Chinese.

What is known of each subtask is data: `subtasks.toml`. The samples are upstream's;
instructions whose keeping a rule can tell are the project's own: `instructions.jsonl`.
"""

from pytest_tablebench.datasets._benchmark import Benchmark

__all__ = ["BENCHMARK"]

BENCHMARK = Benchmark("treb")
