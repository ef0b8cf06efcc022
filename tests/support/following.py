"""Drives the conversations of a maker whose replies a test gives."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from pytest_tablebench.generate.llm import Follow
from pytest_tablebench.metrics.steps import Ask, Execute, Execution, Step
from pytest_tablebench.models import Reply
from pytest_tablebench.running.conversation import follow

Value = TypeVar("Value")


def following(
    reply_to: Callable[[Ask], str | None], run: Callable[[Execute], Execution | None] | None = None
) -> Follow:
    """Return a driver that takes replies from `reply_to`, and outcomes of programs from `run`."""

    def outcome(step: Step, _: int) -> Reply | Execution | None:
        if isinstance(step, Execute):
            assert run is not None
            return run(step)
        text = reply_to(step)
        return None if text is None else Reply(text)

    def drive(conversation: Generator[Step, Any, Value], /) -> Value | None:
        return follow(conversation, outcome)

    return drive
