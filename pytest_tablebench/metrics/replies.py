"""Parts of replies: thinking before the answer, and RealHiTBench's marker (realhitbench.md, 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


def after_thinking(reply: str) -> str:
    """Return the text after the last `</think>`, or the whole reply without it."""
    return reply.rpartition("</think>")[2]


def oddities(reply: str) -> tuple[str, ...]:
    """Return the flags of a reply: thinking that does not end, more than one box."""
    text = after_thinking(reply)
    unclosed = ("unclosed_thinking",) * ("<think>" in text)
    return unclosed + ("several_boxes",) * (text.count("\\boxed{") > 1)


_MARKER, _FALLBACK = "[Final Answer]:", "Final Answer:"


@dataclass(frozen=True)
class Reading:
    """The answer of a reply, None without a marker, and how it was found."""

    outcome: Literal["marker", "fallback", "missing"]
    answer: str | None


def read_reply(reply: str) -> Reading:
    """Return the text after the last `[Final Answer]:`, or else after the last `Final Answer:`."""
    _, marker, answer = reply.rpartition(_MARKER)
    if marker:
        return Reading("marker", answer.strip())
    _, marker, answer = reply.rpartition(_FALLBACK)
    return Reading("fallback", answer.strip()) if marker else Reading("missing", None)


def realhit_answer_or_reply(value: object) -> str:
    """Return a reply's marked answer, or the whole reply without a marker (`reference`)."""
    answer = read_reply(str(value)).answer
    return str(value) if answer is None else answer


def realhit_answer_or_nothing(value: object) -> str:
    """Return a reply's marked answer, or "" without a marker (`fixed`)."""
    return read_reply(str(value)).answer or ""
