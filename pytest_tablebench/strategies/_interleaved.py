"""The state of a conversation in which a model's text and programs alternate (TReB's ICoT).

This module sends no request and runs no program. A state contains the text so far and the next step
(spec: treb.md section 3).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.strategies._replies import (
    FENCE,
    RESULT,
    boxed_answer,
    last_box,
    python_blocks,
    runnable,
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
        shown = output if self.compat == "reference" else output[:MAX_OUTPUT]
        text = f"{self.text}\n{RESULT}\n{shown}\n{FENCE}\n"
        return replace(self, text=text, program=None, begins=len(text))

    @property
    def answer(self) -> str:
        """The text that is judged. `fixed` finds the model's last words without a fence."""
        if self.compat == "reference":
            return boxed_answer(self.text, self.compat)
        return last_box(self.text) or self.text[self.begins :] or self.text
