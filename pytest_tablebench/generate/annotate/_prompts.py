"""Requests about tasks, answers and complexity; the texts are in `prompts.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_tablebench.generate._shared import data_file
from pytest_tablebench.generate.llm._prompts import ask_model, shown_whole
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.serializers import serialize
from pytest_tablebench.serializers.content import Message
from pytest_tablebench.tables.hierarchy.tree import TREE_PROMPT
from pytest_tablebench.tables.table import Table

_LONGEST = 60_000
"""Characters of the longest table that models receive."""

_COVERED = "Summary Analysis"
"""The subtype that is rated by coverage instead of correctness."""


@dataclass(frozen=True)
class QuestionFamily:
    """A family of questions.

    Arguments:
        name, does: its name and description.
        subtypes: descriptions by name.
        form: the form of answers.
        metric, threshold: how a dataset judges answers; "" if the form determines it.
        survives: perturbations that keep answers correct.
        examples: of questions, one a line.
        suffix: appended to each question.
    """

    name: str
    does: str
    subtypes: Mapping[str, str]
    form: str
    metric: str
    survives: tuple[str, ...]
    threshold: str = ""
    examples: str = ""
    suffix: str = ""


STRUCTURE = "sc"
"""The task whose questions are asked about a table and its twin."""

_WORDS = data_file("annotate/prompts.toml")
TASKS: Mapping[str, QuestionFamily] = {
    name: QuestionFamily(**(about | {"survives": tuple(about["survives"])}))
    for name, about in data_file("annotate/tasks.toml").items()
}


def text_of(table: Table) -> str:
    """Return a table as models receive it. Raises `RefusedError` for one that is left out."""
    return shown_whole(table, _latex, _LONGEST)


def _latex(table: Table) -> str:
    title = f' "{table.title}"' if table.title else ""
    return str(_WORDS["table"]).format(title=title, table=serialize(table, "latex"))


def ask_for_questions(
    shows: str, task: QuestionFamily, count: int, language: str, model: str
) -> Ask:
    """Return the request for `count` questions of a task."""
    instructions = _WORDS["questions"].format(
        name=task.name,
        does=task.does,
        subtypes="\n".join(f"- {name}: {meaning}" for name, meaning in task.subtypes.items()),
        count=count,
        language=_WORDS["languages"][language],
        form=task.form,
        examples=_WORDS["examples"].format(examples=task.examples) if task.examples else "",
    )
    return ask_model(instructions, shows, model)


def ask_for_answer(shows: str, task: QuestionFamily, question: str, model: str) -> Ask:
    """Return the request for the answer to a question."""
    instructions = _WORDS["answers"].format(form=task.form)
    return ask_model(instructions, _WORDS["asked"].format(shows=shows, question=question), model)


def ask_for_tree(shows: str, model: str) -> Ask:
    """Return the request for the tree of a table's headings, with TreeThinker's prompt."""
    question = Message("user", f"{TREE_PROMPT}\n\n{shows}")
    return Ask((question,), model, expected="(C0, 1, 1, heading)\n" * 3)


def ask_by_tree(tree: Ask, drawn: str, task: QuestionFamily, question: str) -> Ask:
    """Return the next request to the model that drew a tree: answer a question with the tree."""
    instructions = _WORDS["by_tree"].format(form=task.form, question=question)
    turns = (*tree.messages, Message("assistant", drawn), Message("user", instructions))
    return replace(tree, messages=turns)


def ask_for_score(shows: str, subtype: str, question: str, answer: str, model: str) -> Ask:
    """Return the request to a judge for marks of an answer, without a reference answer."""
    criterion = _WORDS["coverage" if subtype == _COVERED else "correctness"]
    text = _WORDS["answered"].format(shows=shows, question=question, answer=answer)
    return ask_model(_WORDS["judge"].format(criterion=criterion), text, model)


def ask_for_complexity(shows: str, model: str) -> Ask:
    """Return the request for marks of a table's complexity."""
    return ask_model(_WORDS["complexity"].format(), shows, model)
