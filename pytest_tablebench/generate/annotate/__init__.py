"""RealHiTBench's annotation: questions by task, answers of several models, rated by a judge.

What is asked is data (`tasks.toml`), what models are told too (`prompts.toml`). Spec:
realhitbench.md section 8.
"""

from pytest_tablebench.generate.annotate._answers import AnswerGenerator, Asked
from pytest_tablebench.generate.annotate._prompts import TASKS
from pytest_tablebench.generate.annotate._questions import QuestionGenerator
from pytest_tablebench.generate.annotate._review import REVIEW, questions_as_table

__all__ = [
    "REVIEW",
    "TASKS",
    "AnswerGenerator",
    "Asked",
    "QuestionGenerator",
    "questions_as_table",
]
