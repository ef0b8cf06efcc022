"""Conversations of metrics, with their programs run in the sandbox."""

from __future__ import annotations

from typing import Any

from pytest_tablebench.metrics import Judgement, Score
from pytest_tablebench.metrics.steps import Execute, Execution, Limits
from tests.support.sandboxes import shared_sandbox

LIMITS = Limits(cpu_s=2, wall_s=10)
"""So that an endless loop of the records costs little."""

_REASONS = {"no_program": "no_code", "program_syntax": "SyntaxError"}


def drawn(conversation: Judgement) -> tuple[Execution | None, Score]:
    """Return the score, and what came of the program, where one was run."""
    ran: Execution | None = None
    try:
        step = next(conversation)
        while True:
            assert isinstance(step, Execute)
            ran = shared_sandbox().run(step)
            step = conversation.send(ran)
    except StopIteration as end:
        return ran, end.value


def values_of(ran: Execution | None) -> Any:
    return ran.value["values"] if ran is not None and ran.outcome == "ok" else None


def reason_of(ran: Execution | None, score: Score) -> str | None:
    """Return why nothing was drawn, as the records name it."""
    if ran is None:
        return _REASONS[score.flags[0]]
    if ran.outcome == "error":
        return ran.error.partition(":")[0]
    return None if ran.outcome == "ok" else ran.outcome
