"""The seam between a prompt and the requests it becomes."""

from __future__ import annotations

from collections.abc import Generator
from typing import Protocol

from pytest_tablebench.models import Message, Reply
from pytest_tablebench.serializers import Content

__all__ = ["Conversation", "Direct", "Strategy"]

Conversation = Generator[tuple[Message, ...], Reply, str]
"""Yields the messages of each request, is sent its reply, and returns the text to judge.

One step is a plain question; two are a tree and then an answer; a loop runs programs between
steps. Whoever drives it (a call, an engine with hundreds in flight) need not know which.
"""


class Strategy(Protocol):
    """How one prompt becomes model requests."""

    name: str

    def converse(self, prompt: Content) -> Conversation:
        """Start the conversation about a prompt."""
        ...


class Direct:
    """One request holding the prompt; the reply is the answer."""

    name = "direct"

    def converse(self, prompt: Content) -> Conversation:
        """Ask once."""
        reply = yield (Message("user", prompt),)
        return reply.text
