"""ToRR (arXiv 2502.19412): ten datasets; `datasets.toml` has their settings."""

from pytest_tablebench.datasets import Benchmark

__all__ = ["BENCHMARK", "SKILLS"]

BENCHMARK = Benchmark("torr")

SKILLS = ("knowledge extraction", "textual reasoning", "numerical reasoning")
"""The tags of the skills of the paper's Table 1, from the easiest to the hardest."""
