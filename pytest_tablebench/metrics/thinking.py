"""A model's thinking before its answer, and what is odd about a reply."""

from __future__ import annotations


def after_thinking(reply: str) -> str:
    """Return the text after the last `</think>`, or the whole reply without it."""
    return reply.rpartition("</think>")[2]


def oddities(reply: str) -> tuple[str, ...]:
    """Return the flags of a reply: thinking that does not end, more than one box."""
    text = after_thinking(reply)
    unclosed = ("unclosed_thinking",) * ("<think>" in text)
    return unclosed + ("several_boxes",) * (text.count("\\boxed{") > 1)
