"""Interleaved chain of thought: text and programs in turn (spec: treb.md section 3)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, ClassVar

from pytest_tablebench.datasets import AnswerPlace
from pytest_tablebench.errors import REFUSED, ModelError
from pytest_tablebench.metrics.replies import oddities
from pytest_tablebench.metrics.steps import Ask, Execution, Step
from pytest_tablebench.models import Message, Reply
from pytest_tablebench.strategies._programs import (
    frame_names,
    frames_text,
    observation,
    program_step,
    user_content,
)
from pytest_tablebench.strategies._replies import (
    FENCE,
    RESULT,
    Block,
    boxed_answer,
    last_box,
    python_blocks,
    runnable,
)
from pytest_tablebench.strategies.base import (
    Conversation,
    Said,
    Task,
    at_least,
    system_message,
)
from pytest_tablebench.tables.table import Table

MAX_PROGRAMS = 3
"""The default of the parameter `icot_max_exec`: the largest number of programs."""

MAX_OUTPUT = 10_000
"""Characters of a program's output that `fixed` shows the model; `reference` shows all."""

SYSTEM = """\
You are an expert in analysing tables with Python. Work on the task step by step: write what you \
think, and where something has to be looked up or computed, a block of code fenced as ```python. \
Each block is run, and what it prints is given to you behind it, in a block fenced as \
```CodeExecuteResult; never write such a block yourself. Names hold on from block to block. Where \
a block fails, correct it.
{frames}
When you are done, give the final answer once, in \\boxed{{}}: put into it {ask}, in the language \
of the question."""

SO_FAR = "This is what you have written so far, with what your programs printed:\n\n"
GO_ON = "\n\nGo on right where it ends, without repeating any of it."


class ICoT:
    """The model writes text and programs in one turn, and sees the output of each program.

    If a model cannot continue its own turn, the text so far is sent in the user's turn, and the
    record has the flag `turn_restated`.
    """

    name = "icot"
    answer_place: AnswerPlace = "box"
    serializer = "frame"
    parameters: ClassVar[Mapping[str, Callable[[Any], Any]]] = {"max_exec": at_least(0)}

    def rounds(self, params: Mapping[str, Any]) -> tuple[int, int]:
        """Return the smallest and largest number of questions: the first, and one per program."""
        return 1, params.get("max_exec", MAX_PROGRAMS) + 1

    def converse(self, task: Task) -> Conversation:
        # `text` is the assistant's turn so far; the model's last words begin after all output.
        text, begins = "", 0
        programs: list[str] = []
        failed = False
        frames = frame_names(task.tables, task.compat)
        asking = _Continuation(task, frames)
        while True:
            reply = yield from asking.of(text)
            text += reply
            block = _next_block(task, text, reply, begins, programs)
            if block is None:
                break
            text = text[: block.end]
            program = runnable(block.code, task.compat)
            ran: Execution = yield program_step("icot", program, frames, task.compat, programs)
            programs.append(program)
            failed = failed or ran.outcome != "ok"
            output = observation(ran)
            visible = output if task.compat == "reference" else output[:MAX_OUTPUT]
            text += f"\n{RESULT}\n{visible}\n{FENCE}\n"
            begins = len(text)
        flags = ("program_failed",) * failed + ("turn_restated",) * asking.restated
        flags += oddities(text)
        if task.form.judged == "reply":
            return Said(text, flags)
        if task.compat == "reference":
            return Said(boxed_answer(text, task.compat), flags)
        # Without a fence: the output may contain one.
        return Said(last_box(text) or text[begins:] or text, flags)


def _next_block(
    task: Task, text: str, reply: str, begins: int, programs: Sequence[str]
) -> Block | None:
    """Return the block of code to run now, with its end in the whole text.

    Text after it (invented results, an early box) is discarded. `reference` takes the next block of
    the whole text, where a fence that a program printed counts as the model's; `fixed` the first
    block of the reply. After the last program, code counts as text.
    """
    if len(programs) >= task.params.get("max_exec", MAX_PROGRAMS):
        return None
    if task.compat == "reference":
        return next(iter(python_blocks(text)[len(programs) :]), None)
    first = next(iter(python_blocks(reply)), None)
    return None if first is None else Block(first.code, begins + first.end)


class _Continuation:
    """Asks a model to continue its own turn."""

    def __init__(self, task: Task, frames: Mapping[str, Table]) -> None:
        instruction = SYSTEM.format(frames=frames_text(frames), ask=task.form.ask)
        self._system = system_message(task.form, instruction)
        self._user = user_content(task, frames)
        self._is_refused = task.continues is False
        self.restated = False

    def of(self, so_far: str) -> Generator[Step, Reply, str]:
        """Return the model's continuation of the text so far."""
        messages = (*self._system, Message("user", self._user))
        if so_far and not self._is_refused:
            try:
                return (yield Ask((*messages, Message("assistant", so_far)))).text
            except ModelError as error:
                if error.reason != REFUSED:
                    raise
                self._is_refused = True
        if so_far:
            self.restated = True
            user, text = self._user, f"\n\n{SO_FAR}{so_far}{GO_ON}"
            content = user + text if isinstance(user, str) else (*user, text)
            messages = (*self._system, Message("user", content))
        return (yield Ask(messages)).text
