"""RealHiTBench, Fact Checking and Numerical Reasoning: short answers, scored by exact match."""

from pytest_tablebench.datasets.realhitbench._dataset import RealHit

DATASETS = (
    RealHit("realhit_fc", "Fact Checking"),
    RealHit("realhit_fc", "Fact Checking", long=True),
    RealHit("realhit_nr", "Numerical Reasoning"),
    RealHit("realhit_nr", "Numerical Reasoning", long=True),
)
