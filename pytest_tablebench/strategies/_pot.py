"""Program of thought: one program, whose output is the answer (spec: treb.md section 3)."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import AnswerPlace
from pytest_tablebench.metrics.steps import Ask, Execution
from pytest_tablebench.models import Message
from pytest_tablebench.serializers import Content
from pytest_tablebench.serializers.program_tables import frame_text
from pytest_tablebench.strategies._programs import PATH, frame_names, observation, program_step
from pytest_tablebench.strategies._replies import python_blocks, runnable
from pytest_tablebench.strategies.base import Conversation, Said, Task, system_message, the_reply
from pytest_tablebench.tables.table import Table

FRAMES = """\
The table is loaded already, as the pandas data frame `df`{more}; do not load it again, and do not \
make one up. Of libraries there are pandas (`pd`), numpy (`np`) and what comes with Python."""
MORE = "; further tables are `df2`, `df3` and so on"

SYSTEM = """\
You are an expert in analysing tables with Python. Write a short plan, and then one complete \
program that computes the answer, in one block of code fenced as ```python.
{frames}
The program has to print the answer with print(), and nothing else: what it prints is what you are \
judged by. Have it print {ask}, in the language of the question."""


class PoT:
    """One request for a program, which runs once; its output is scored."""

    name = "pot"
    rounds = 1
    answer_place: AnswerPlace = "printed"
    serializer = "frame"

    def converse(self, task: Task) -> Conversation:
        """Ask, and run the last block of Python in the reply."""
        frames = frame_names(task.tables, task.compat)
        described = frames_text(frames)
        system = system_message(task.form, SYSTEM.format(frames=described, ask=task.form.ask))
        user = Message("user", user_content(task, frames))
        reply = the_reply((yield Ask((*system, user))))
        if task.form.judged == "reply":
            return reply.text
        blocks = python_blocks(reply.text)
        if not blocks:
            return Said("", ("no_program",))
        code = runnable(blocks[-1].code, task.compat)
        ran = yield program_step("pot", code, frames, task.compat)
        if not isinstance(ran, Execution):
            raise TypeError("a program was answered by a reply")
        return Said(observation(ran), () if ran.outcome == "ok" else ("program_failed",))


def frames_text(frames: Mapping[str, Table]) -> str:
    """Return the description of the data frames that a model's programs find."""
    if not frames:
        return "There is no table."
    return FRAMES.format(more=MORE if len(frames) > 1 else "")


def user_content(task: Task, frames: Mapping[str, Table]) -> Content:
    """Return the task's prompt, with each table shown as its data frame.

    `reference` shows no table but the first.
    """
    names = {id(table): name for name, table in frames.items()}

    def show(table: Table) -> Content:
        name = names.get(id(table))
        return "" if name is None else shown_frame(name, table, task.compat)

    return task.rewritten(show)


def shown_frame(name: str, table: Table, compat: Compat) -> str:
    """Return the description of a table's file and data frame."""
    path = PATH if compat == "reference" else f"{name}.csv"
    return f"The table lies in {path}, and is loaded as `{name}`.\n{frame_text(table, compat)}"
