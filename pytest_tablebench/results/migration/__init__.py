"""Judge whether a new model may replace an old one, from one run of each."""

from pytest_tablebench.results.migration._judge import judge_migration
from pytest_tablebench.results.migration._types import (
    Change,
    Difference,
    JudgedScope,
    Latency,
    Migration,
    Side,
    Verdict,
    cheapest,
    exit_code_of,
)

__all__ = [
    "Change",
    "Difference",
    "JudgedScope",
    "Latency",
    "Migration",
    "Side",
    "Verdict",
    "cheapest",
    "exit_code_of",
    "judge_migration",
]
