"""What models are told of tasks, answers and complexity; the words are data (`prompts.toml`)."""

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
"""Characters of a table, as models are shown it."""

_COVERED = "Summary Analysis"
"""What is rated by what it covers, not by being correct."""


@dataclass(frozen=True)
class QuestionFamily:
    """A family of questions.

    Arguments:
        name, does: what it is called, and what it is.
        subtypes: their names, and what each asks for.
        form: what answers look like.
        metric, threshold: how a dataset judges answers; "" where the form tells.
        survives: perturbations that leave answers true.
        examples: of questions, a line each.
        suffix: what is put behind each question.
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
"""The task whose questions are asked of a table and of its twin."""

_WORDS = data_file("annotate/prompts.toml")
TASKS: Mapping[str, QuestionFamily] = {
    name: QuestionFamily(**(about | {"survives": tuple(about["survives"])}))
    for name, about in data_file("annotate/tasks.toml").items()
}


def text_of(table: Table) -> str:
    """Return a table as models are shown it. Raises `RefusedError` for one that is left out."""
    return shown_whole(table, _latex, _LONGEST)


def _latex(table: Table) -> str:
    """Return a table as in the paper."""
    title = f' "{table.title}"' if table.title else ""
    return str(_WORDS["table"]).format(title=title, table=serialize(table, "latex"))


def ask_for_questions(
    shows: str, task: QuestionFamily, count: int, language: str, model: str
) -> Ask:
    """Return the question for so many questions of a task."""
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
    """Return what a model is asked that answers a question."""
    instructions = _WORDS["answers"].format(form=task.form)
    return ask_model(instructions, _WORDS["asked"].format(shows=shows, question=question), model)


def ask_for_tree(shows: str, model: str) -> Ask:
    """Return the question for the tree of a table's headings, as TreeThinker asks it."""
    question = Message("user", f"{TREE_PROMPT}\n\n{shows}")
    return Ask((question,), model, expected="(C0, 1, 1, heading)\n" * 3)


def ask_by_tree(tree: Ask, drawn: str, task: QuestionFamily, question: str) -> Ask:
    """Return what the model that drew a tree is asked next: a question, by the tree."""
    instructions = _WORDS["by_tree"].format(form=task.form, question=question)
    turns = (*tree.messages, Message("assistant", drawn), Message("user", instructions))
    return replace(tree, messages=turns)


def ask_for_score(shows: str, subtype: str, question: str, answer: str, model: str) -> Ask:
    """Return what a judge is asked about an answer; there is no reference."""
    criterion = _WORDS["coverage" if subtype == _COVERED else "correctness"]
    text = _WORDS["answered"].format(shows=shows, question=question, answer=answer)
    return ask_model(_WORDS["judge"].format(criterion=criterion), text, model)


def ask_for_complexity(shows: str, model: str) -> Ask:
    """Return the question how complex a table is."""
    return ask_model(_WORDS["complexity"].format(), shows, model)
