"""A model's programs over its tables, and the strategy `pot`, which asks for one program.

Spec: treb.md sections 3 and 4. Each program has its own process. The blocks of one
conversation still share their names, because earlier blocks run again without output.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import AnswerPlace
from pytest_tablebench.metrics.steps import Ask, Execute, Execution
from pytest_tablebench.models import Message, Reply
from pytest_tablebench.serializers import Content
from pytest_tablebench.serializers.program_tables import frame_csv, frame_text
from pytest_tablebench.strategies._replies import python_blocks, runnable
from pytest_tablebench.strategies.base import (
    Conversation,
    Said,
    Task,
    system_message,
)
from pytest_tablebench.tables.table import Table

PATH = "/mnt/tmp.csv"
"""The path of the table in the published prompt: no line of a program may name it."""

_STOPPED = {
    "timeout": "The program took too long and was stopped.",
    "memory": "The program needed too much memory and was stopped.",
    "threads": "The program started too many threads and was stopped.",
    "output": "The program printed too much and was stopped.",
}


def frame_names(tables: Sequence[Table], compat: Compat) -> dict[str, Table]:
    """Return the tables by the names of their frames; `reference` has only the first."""
    used_tables = tables[:1] if compat == "reference" else tables
    return {
        f"df{number if number > 1 else ''}": content
        for number, content in enumerate(used_tables, start=1)
    }


def program_step(
    kind: Literal["pot", "icot"],
    code: str,
    tables: Mapping[str, Table],
    compat: Compat,
    earlier: Sequence[str] = (),
) -> Execute:
    """Return the step that runs a program after the earlier ones of its conversation.

    `tables` are keyed by the names of their frames. Raises `TableError` for ragged rows.
    """
    table_files: dict[str, bytes] = {}
    places = {}
    for name, table in tables.items():
        text, lines = frame_csv(table, compat)
        table_files[f"{name}.csv"] = text.encode("utf-8", "surrogatepass")
        places[name] = (f"{name}.csv", lines)
    job = {"kind": kind, "compat": compat, "tables": places, "earlier": list(earlier)}
    table_files["job.json"] = json.dumps(job).encode()
    return Execute(code, table_files, runner=runner_text("_runner.py"))


def observation(execution: Execution) -> str:
    """Return the output of a program as the model sees it, and as `pot` is scored."""
    if execution.outcome in {"ok", "error"}:
        return execution.output
    why = _STOPPED.get(execution.outcome, f"The program was stopped ({execution.outcome}).")
    return f"{execution.output}\n{why}".lstrip("\n")


@cache
def runner_text(name: str) -> str:
    """Return the text of a runner, a module of this package that is never imported."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


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
        reply: Reply = yield Ask((*system, user))
        if task.form.judged == "reply":
            return reply.text
        blocks = python_blocks(reply.text)
        if not blocks:
            return Said("", ("no_program",))
        code = runnable(blocks[-1].code, task.compat)
        ran: Execution = yield program_step("pot", code, frames, task.compat)
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
        if name is None:
            return ""
        path = PATH if task.compat == "reference" else f"{name}.csv"
        text = frame_text(table, task.compat)
        return f"The table lies in {path}, and is loaded as `{name}`.\n{text}"

    return task.rewritten(show)
