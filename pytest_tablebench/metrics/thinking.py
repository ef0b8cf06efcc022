"""What a model wrote for itself before its answer, and what is odd about a reply."""

from __future__ import annotations


def after_thinking(reply: str) -> str:
    """Return what stands behind the last `</think>`; the whole reply where there is none."""
    return reply.rpartition("</think>")[2]


def oddities(reply: str) -> tuple[str, ...]:
    """Return the flags of a reply: thoughts that never end, boxes of which one is taken."""
    text = after_thinking(reply)
    unclosed = ("unclosed_thinking",) * ("<think>" in text)
    return unclosed + ("several_boxes",) * (text.count("\\boxed{") > 1)
