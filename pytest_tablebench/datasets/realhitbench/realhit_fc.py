"""RealHiTBench, Fact Checking: facts and statements, by exact match."""

from pytest_tablebench.datasets.realhitbench._dataset import RealHit

DATASETS = (
    RealHit("realhit_fc", "Fact Checking"),
    RealHit("realhit_fc", "Fact Checking", long=True),
)
