"""Questions from tables by models: what one proposes, others examine before it is kept.

What is asked is data (`subtasks.toml`), what models are told too (`en.toml`, `zh.toml`).
"""

from pytest_tablebench.generate.llm._adversarial import COMPARED, AttackedQuestion
from pytest_tablebench.generate.llm._invented import invented
from pytest_tablebench.generate.llm._marked import MarkedQuestion
from pytest_tablebench.generate.llm._prompts import SOLVERS, SUBTASKS
from pytest_tablebench.generate.llm._proposing import Examine, ProposedQuestions
from pytest_tablebench.generate.llm._translated import Questions, Translator, language_of

__all__ = [
    "COMPARED",
    "SOLVERS",
    "SUBTASKS",
    "AttackedQuestion",
    "Examine",
    "MarkedQuestion",
    "ProposedQuestions",
    "Questions",
    "Translator",
    "invented",
    "language_of",
]
