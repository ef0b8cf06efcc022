"""The figures of a run: the content of `summary.json`, and what is notable in it."""

from pytest_tablebench.claims.summary._repeats import (
    FORMER,
    informative_parts,
    is_memory_test,
)
from pytest_tablebench.claims.summary._scopes import (
    Spread,
    informative_checks,
    same_meaning,
    spread,
    summarize,
)
from pytest_tablebench.claims.summary._summary import THINKING, add_spending, spent_on, summary_of

__all__ = [
    "FORMER",
    "THINKING",
    "Spread",
    "add_spending",
    "informative_checks",
    "informative_parts",
    "is_memory_test",
    "same_meaning",
    "spent_on",
    "spread",
    "summarize",
    "summary_of",
]
