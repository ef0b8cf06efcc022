"""Compare two run folders (spec: statistics.md sections 3, 4, 5 and 7)."""

from pytest_tablebench.results.compare._compare import compare_runs
from pytest_tablebench.results.compare._sides import check_alike, latest_run, setting_differences
from pytest_tablebench.results.compare._types import (
    MEASURES,
    Measure,
    MeasureDifference,
    RunComparison,
    RunFacts,
    ScopeComparison,
)

__all__ = [
    "MEASURES",
    "Measure",
    "MeasureDifference",
    "RunComparison",
    "RunFacts",
    "ScopeComparison",
    "check_alike",
    "compare_runs",
    "latest_run",
    "setting_differences",
]
