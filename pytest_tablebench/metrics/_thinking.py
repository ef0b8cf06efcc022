"""What a model wrote for itself before its answer."""

from __future__ import annotations

__all__ = ["after_thinking"]


def after_thinking(reply: str) -> str:
    """Return what stands behind the last `</think>`; the whole reply where there is none."""
    return reply.rpartition("</think>")[2]
