"""Further public benchmarks, each described by one TOML file without code."""

from pytest_tablebench.datasets import Benchmark

__all__ = ["BENCHMARK"]

BENCHMARK = Benchmark("other")
