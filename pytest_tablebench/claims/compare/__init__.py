"""Compare two run folders (spec: statistics.md sections 3, 4, 5 and 7)."""

from pytest_tablebench.claims.compare._compare import compare_runs
from pytest_tablebench.claims.compare._pair import (
    RunComparison,
    ScopeComparison,
)

__all__ = [
    "RunComparison",
    "ScopeComparison",
    "compare_runs",
]
