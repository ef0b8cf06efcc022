"""Judge whether a new model may replace an old one, from one run of each."""

from pytest_tablebench.claims.migration._judge import judge_migration
from pytest_tablebench.claims.migration._types import (
    Change,
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
    "JudgedScope",
    "Latency",
    "Migration",
    "Side",
    "Verdict",
    "cheapest",
    "exit_code_of",
    "judge_migration",
]
