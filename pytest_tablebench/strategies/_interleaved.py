"""A conversation in which a model writes text, programs are run, and it continues (TReB's ICoT).

Nothing is asked or run here: a value says what was written so far, and what is due next (spec:
treb.md section 3).
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
"""How many programs are run, unless the parameter `icot_max_exec` says otherwise."""

MAX_OUTPUT = 10_000
"""How many characters of a program's output `fixed` shows the model; `reference` shows all."""


@dataclass(frozen=True)
class Interleaved:
    """A conversation so far.

    Where `program` is a text, that program is to be run and its output given to `ran`. Else the
    model is asked, unless the conversation is `finished`; its reply is given to `said`.

    Arguments:
        compat: `reference` takes the next block of the whole text, where a fence that a program
            printed counts as the model's; `fixed` the first block of the reply.
        max_programs: how many programs are run. Code in the reply behind the last is text.
        text: the assistant's turn so far, which the model is asked to continue.
        programs: the programs so far, as they are run.
        finished: whether `text` is the whole conversation.
        program: the program that is due.
        begins: where in `text` the model's last words begin, behind all output.
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

        What it wrote behind the code that is run now (results it made up, an early box) is lost.
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
        """The text that is judged.

        `fixed` knows which text is the model's, and needs no fence to find its last words.
        """
        if self.compat == "reference":
            return boxed_answer(self.text, self.compat)
        return last_box(self.text) or self.text[self.begins :] or self.text
