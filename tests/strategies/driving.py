"""Drives a strategy's conversation with what a test says, and runs its programs for the test."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.datasets import AnswerForm, Example
from pytest_tablebench.metrics.steps import Ask, Execute, Execution, Step
from pytest_tablebench.models import Reply
from pytest_tablebench.strategies import Said, Strategy, Task
from pytest_tablebench.tables.table import Table

PEOPLE = Table(["Name", "Age"], [["Ada", "36"], ["Bo", "41"]])


def task(*tables: Table, question: str = "How old is Bo?", **further: Any) -> Task:
    """A task whose prompt is each table, as it is shown, and the question."""
    inputs = {f"table{number}": table for number, table in enumerate(tables)}
    example = Example("1", {**inputs, "question": question}, question, ("41",), "41")

    def write(show: Any) -> str:
        return "\n".join([*(f"<{show(table)}>" for table in tables), question])

    def show(table: Table) -> str:
        return f"table of {len(table.rows)}"

    given = {"form": AnswerForm("the number"), "show": show, "write": write, **further}
    return Task(example, write(show), **given)


def drive(
    strategy: Strategy, given: Task, outcomes: Sequence[str | Execution | Exception]
) -> tuple[list[Step], Said]:
    """Return the steps of a conversation that gets these outcomes, and what it came to."""
    conversation = strategy.converse(given)
    steps: list[Step] = [next(conversation)]
    for outcome in outcomes:
        try:
            if isinstance(outcome, Exception):
                steps.append(conversation.throw(outcome))
            else:
                found = Reply(outcome) if isinstance(outcome, str) else outcome
                steps.append(conversation.send(found))
        except StopIteration as end:
            assert outcome is outcomes[-1], "it ended before its outcomes did"
            said = end.value if isinstance(end.value, Said) else Said(end.value)
            return steps, said
    raise AssertionError("it asks for more than its outcomes")


def transcript(step: Step) -> list[tuple[str, str]]:
    """Roles and texts of a question."""
    assert isinstance(step, Ask)
    return [(message.role, str(message.content)) for message in step.messages]


def executed(step: Step) -> Execute:
    assert isinstance(step, Execute)
    return step


STARTER = """
import sys
space = {"__name__": "runner", "program": open("program.txt", encoding="utf-8").read()}
try:
    exec(compile(open("runner.txt", encoding="utf-8").read(), "<runner>", "exec"), space)
except BaseException:
    sys.exit(1)
"""


def run(step: Execute, folder: Path) -> Execution:
    """Run a program of this test, which is trusted, in a process of its own."""
    folder.mkdir()
    for name, data in step.files.items():
        (folder / name).write_bytes(data)
    (folder / "program.txt").write_text(step.program, encoding="utf-8")
    (folder / "runner.txt").write_text(step.runner, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", STARTER], cwd=folder, capture_output=True, timeout=60, check=False
    )
    return Execution("error" if ran.returncode else "ok", ran.stdout.decode())
