"""Assembly of a prompt (spec: torr.md section 4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import PromptParts
from pytest_tablebench.serializers.content import Content, Message, images_of

_SOFT = "\\N"
"""The reference's soft newline: a line end that removes the line ends right before it."""


@dataclass(frozen=True)
class Demonstration:
    """A worked example: its source text and the answer shown for it."""

    source: str
    target: str


def assemble(
    parts: PromptParts, demonstrations: Sequence[Demonstration] = (), *, compat: Compat = "fixed"
) -> str:
    """Return the prompt: instruction, demonstrations, source, target prefix.

    Pieces are joined by soft newlines. `reference` resolves them in the finished text, as the
    published code does. This also removes brackets, backslashes and a capital N at the end of a
    piece, and turns a backslash and N inside data into a line end. `fixed` removes only line ends.
    """
    instruction = parts.instruction
    if compat == "reference" and parts.reference_instruction is not None:
        instruction = parts.reference_instruction
    pieces = [instruction]
    opening = ""
    for demonstration in demonstrations:
        # Only its own two line ends separate a demonstration from what follows it.
        pieces.append(opening + demonstration.source)
        opening = f"{parts.target_prefix}{demonstration.target}\n\n"
    pieces += [opening + parts.source, parts.target_prefix]
    if compat == "reference":
        text = _SOFT + _SOFT.join(pieces)
        start = re.match(r"(?:\n|\\N)*\\N", text)
        return _join(text[start.end() if start else 0 :].split(_SOFT), "\n\\N()")
    # The soft newline that follows would remove line ends before the first text.
    while pieces and not pieces[0].strip("\n"):
        pieces.pop(0)
    return _join(pieces, "\n")


def published_turns(parts: PromptParts, prompt: Content, question: Content) -> tuple[Message, ...]:
    """Return the messages of the published scripts, which contain an invented reply.

    There are three turns. A prompt with pictures is one message, with the pictures at its end
    (spec: realhitbench.md section 2).

    Arguments:
        parts: the prompt's pieces.
        prompt: all pieces joined.
        question: the same without the instruction.
    """
    if pictures := images_of(prompt):
        text = "".join(part for part in prompt if isinstance(part, str))
        return (Message("user", (text, *pictures)),)
    reply = Message("assistant", parts.reference_reply)
    return Message("user", parts.instruction), reply, Message("user", question)


def _join(pieces: Sequence[str], swallowed: str) -> str:
    text = pieces[0] if pieces else ""
    for piece in pieces[1:]:
        text = f"{text.rstrip(swallowed)}\n{piece}"
    return text
