"""RealHiTBench, Data Analysis: short and free answers of six sub-types, by ROUGE-L."""

from pytest_tablebench.datasets.realhitbench._dataset import RealHit

__all__ = ["DATASETS"]


class Analysis(RealHit):
    """Data analysis; what kind is asked for is the tag `subtype`."""

    metric = "realhit_analysis"
    threshold = 0.3


DATASETS = (
    Analysis("realhit_da", "Data Analysis"),
    Analysis("realhit_da", "Data Analysis", long=True),
)
