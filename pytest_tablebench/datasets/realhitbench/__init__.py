"""RealHiTBench (arXiv 2506.13405): questions about hierarchical tables, one module per task."""

from pytest_tablebench.datasets import Benchmark

__all__ = ["BENCHMARK"]

BENCHMARK = Benchmark("realhitbench")
