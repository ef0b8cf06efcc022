"""Questions from tables by rule: drawn from a seed, answered in two independent ways.

No answer depends on the order of rows or columns, on inserted empty rows or on which of the
two directions a table runs in, so every perturbation of a table keeps its questions valid.
"""

from pytest_tablebench.generate._answer import answer
from pytest_tablebench.generate._check import recompute, verify
from pytest_tablebench.generate._plan import (
    KINDS,
    AmbiguousError,
    CheckError,
    Condition,
    Plan,
    Question,
)
from pytest_tablebench.generate._rules import generate_questions

__all__ = [
    "KINDS",
    "AmbiguousError",
    "CheckError",
    "Condition",
    "Plan",
    "Question",
    "answer",
    "generate_questions",
    "recompute",
    "verify",
]
