"""RealHiTBench's annotation: questions by task, answers of several models, rated by a judge.

The tasks are in `tasks.toml`, the prompts in `prompts.toml`. Spec: realhitbench.md section 8.
"""

from pytest_tablebench.generate.annotate._answers import AnswerGenerator
from pytest_tablebench.generate.annotate._questions import (
    DIMENSIONS,
    TASKS,
    QuestionGenerator,
    ask_for_complexity,
    read_complexity,
    text_of,
)
from pytest_tablebench.generate.annotate._review import (
    CRITERIA,
    REVIEW,
    STATES,
    Review,
    questions_as_table,
    read_review,
    write_accepted,
)

__all__ = [
    "CRITERIA",
    "DIMENSIONS",
    "REVIEW",
    "STATES",
    "TASKS",
    "AnswerGenerator",
    "QuestionGenerator",
    "Review",
    "ask_for_complexity",
    "questions_as_table",
    "read_complexity",
    "read_review",
    "text_of",
    "write_accepted",
]
