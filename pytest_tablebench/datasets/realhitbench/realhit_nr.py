"""RealHiTBench, Numerical Reasoning: calculating, comparing and counting, by exact match."""

from pytest_tablebench.datasets.realhitbench._dataset import RealHit

DATASETS = (
    RealHit("realhit_nr", "Numerical Reasoning"),
    RealHit("realhit_nr", "Numerical Reasoning", long=True),
)
