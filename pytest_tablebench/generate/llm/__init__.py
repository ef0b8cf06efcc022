"""Questions from tables by models: what one proposes, others examine before it is kept.

What is asked is data (`subtasks.toml`), what models are told too (`en.toml`, `zh.toml`).
"""

from pytest_tablebench.generate.llm._adversarial import COMPARED, AdversarialGenerator
from pytest_tablebench.generate.llm._asking import AskingMaker, Follow, reply_text
from pytest_tablebench.generate.llm._invented import invented
from pytest_tablebench.generate.llm._marked import LlmGenerator
from pytest_tablebench.generate.llm._prompts import SOLVERS, SUBTASKS
from pytest_tablebench.generate.llm._proposing import Proposer
from pytest_tablebench.generate.llm._translated import Questions, Translator, language_of

__all__ = [
    "COMPARED",
    "SOLVERS",
    "SUBTASKS",
    "AdversarialGenerator",
    "AskingMaker",
    "Follow",
    "LlmGenerator",
    "Proposer",
    "Questions",
    "Translator",
    "invented",
    "language_of",
    "reply_text",
]
