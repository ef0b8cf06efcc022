"""Questions written by models: one proposes them, others examine each before it is kept.

The subtasks are in `subtasks.toml`, the prompts in `en.toml` and `zh.toml`.
"""

from pytest_tablebench.generate.llm._prompts import SOLVERS, SUBTASKS, invented
from pytest_tablebench.generate.llm._proposing import (
    COMPARED,
    AttackedQuestion,
    Examine,
    MarkedQuestion,
    ProposedQuestions,
)
from pytest_tablebench.generate.llm._translated import Translator, language_of

__all__ = [
    "COMPARED",
    "SOLVERS",
    "SUBTASKS",
    "AttackedQuestion",
    "Examine",
    "MarkedQuestion",
    "ProposedQuestions",
    "Translator",
    "invented",
    "language_of",
]
