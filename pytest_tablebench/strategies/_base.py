"""The seam between a prompt and what is done about it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import Example
from pytest_tablebench.metrics.steps import Ask, Execution, Step
from pytest_tablebench.models import Message, Reply
from pytest_tablebench.serializers import Content
from pytest_tablebench.tables.table import Table

__all__ = ["Conversation", "Direct", "Strategy", "Task"]

Conversation = Generator[Step, Reply | Execution, str]
"""Yields steps, is sent what came of each, and returns the text to judge.

A plain question is one step; two are a tree and then an answer; a loop runs programs between its
questions. Whoever drives it (a call, an executor with hundreds in flight) need not know which.
"""


@dataclass(frozen=True)
class Task:
    """What a strategy is given.

    Arguments:
        example: as the model is asked it: perturbed.
        prompt: instruction, demonstrations and question, with the table as the format shows it.
        compat: `fixed`, or `reference` for the published code to the letter.
        params: the strategy's own parameters, by name.
    """

    example: Example
    prompt: Content
    compat: Compat = "fixed"
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The example's tables, in the order of its inputs."""
        return tuple(value for value in self.example.inputs.values() if isinstance(value, Table))


class Strategy(Protocol):
    """How one task becomes an answer.

    `name` is used in options, keys and records. `converse` must do nothing slow by itself: that
    is what its steps are for. One whose conversations have one step alone may say so, `rounds = 1`:
    the plan of a run then prices all of it.
    """

    name: str

    def converse(self, task: Task) -> Conversation:
        """Start the conversation about a task."""
        ...


class Direct:
    """One request holding the prompt; the reply is the answer."""

    name = "direct"
    rounds = 1

    def converse(self, task: Task) -> Conversation:
        """Ask once."""
        reply = yield Ask((Message("user", task.prompt),))
        if not isinstance(reply, Reply):
            raise TypeError("a question was answered by a program")
        return reply.text
