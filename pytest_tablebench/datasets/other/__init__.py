"""Further public benchmarks, each described in one file without code."""

from pytest_tablebench.datasets._benchmark import Benchmark

__all__ = ["BENCHMARK"]

BENCHMARK = Benchmark("other")
