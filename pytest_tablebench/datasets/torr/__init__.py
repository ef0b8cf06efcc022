"""ToRR (arXiv 2502.19412): ten datasets, one module each."""

from pytest_tablebench.datasets._benchmark import Benchmark

__all__ = ["BENCHMARK"]

BENCHMARK = Benchmark("torr")
