"""Interleaved chain of thought: text and programs in turn (spec: treb.md section 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import AnswerPlace
from pytest_tablebench.errors import REFUSED, ModelError
from pytest_tablebench.metrics.replies import oddities
from pytest_tablebench.metrics.steps import Ask, Execution
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

MAX_PROGRAMS = 3
"""The default of the parameter `icot_max_exec`: the largest number of programs."""

MAX_OUTPUT = 10_000
"""Characters of a program's output that `fixed` shows the model; `reference` shows all."""


@dataclass(frozen=True)
class Interleaved:
    """A conversation so far.

    If `program` is a text, it is the next program to run, and `ran` receives its output. Otherwise
    the model is asked next, unless the conversation is `finished`, and `said` receives its reply.

    Arguments:
        compat: `reference` takes the next block of the whole text, where a fence that a program
            printed counts as the model's; `fixed` the first block of the reply.
        max_programs: the largest number of programs. Later code in a reply counts as text.
        text: the assistant's turn so far, which the model is asked to continue.
        programs: the programs so far, in the form that is run.
        finished: whether `text` is the whole conversation.
        program: the next program.
        begins: where in `text` the model's last words begin, after all output.
    """

    compat: Compat = "fixed"
    max_programs: int = MAX_PROGRAMS
    text: str = ""
    programs: tuple[str, ...] = ()
    finished: bool = False
    program: str | None = None
    begins: int = 0

    def said(self, reply: str) -> Interleaved:
        """Continue with the model's reply.

        Text after the code that runs now (invented results, an early box) is discarded.
        """
        text = self.text + reply
        count = len(self.programs)
        if count >= self.max_programs:
            return replace(self, text=text, finished=True)
        if self.compat == "reference":
            start, blocks = 0, python_blocks(text)[count:]
        else:
            start, blocks = self.begins, python_blocks(reply)
        if not blocks:
            return replace(self, text=text, finished=True)
        program = runnable(blocks[0].code, self.compat)
        return replace(
            self,
            text=text[: start + blocks[0].end],
            programs=(*self.programs, program),
            program=program,
        )

    def ran(self, output: str) -> Interleaved:
        """Continue with the output of the program."""
        visible = output if self.compat == "reference" else output[:MAX_OUTPUT]
        text = f"{self.text}\n{RESULT}\n{visible}\n{FENCE}\n"
        return replace(self, text=text, program=None, begins=len(text))

    @property
    def answer(self) -> str:
        """The text that is judged. `fixed` finds the model's last words without a fence."""
        if self.compat == "reference":
            return boxed_answer(self.text, self.compat)
        return last_box(self.text) or self.text[self.begins :] or self.text


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
        frames = frame_names(task.tables, task.compat)
        instruction = SYSTEM.format(frames=frames_text(frames), ask=task.form.ask)
        system, user = system_message(task.form, instruction), user_content(task, frames)
        state = Interleaved(task.compat, task.params.get("max_exec", MAX_PROGRAMS))
        continues = task.continues is not False
        failed = restated = False
        while not state.finished:
            if state.program is not None:
                earlier = state.programs[:-1]
                ran: Execution = yield program_step(
                    "icot", state.program, frames, task.compat, earlier
                )
                failed = failed or ran.outcome != "ok"
                state = state.ran(observation(ran))
                continue
            messages = (*system, Message("user", user))
            reply: Reply | None = None
            if state.text and continues:
                try:
                    reply = yield Ask((*messages, Message("assistant", state.text)))
                except ModelError as error:
                    if error.reason != REFUSED:
                        raise
                    continues = False
            if reply is None and state.text:
                restated = True
                text = f"\n\n{SO_FAR}{state.text}{GO_ON}"
                content = user + text if isinstance(user, str) else (*user, text)
                messages = (*system, Message("user", content))
            if reply is None:
                reply = yield Ask(messages)
            state = state.said(reply.text)
        flags = ("program_failed",) * failed + ("turn_restated",) * restated
        flags += oddities(state.text)
        return Said(state.text if task.form.judged == "reply" else state.answer, flags)
