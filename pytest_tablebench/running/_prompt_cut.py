"""Cut prompts to a model's context, as TReB's published code does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pytest_tablebench.models import Message
from pytest_tablebench.util.tokens import first_tokens

PROMPT_CUT = "prompt_cut"
"""The flag of a case with a prompt that was cut to the model's context."""

RESERVED_TOKENS = 128
"""The tokens of the context that a prompt leaves free (spec: treb.md section 3)."""


def cut_messages(messages: Sequence[Message], context: int | None) -> tuple[Message, ...]:
    """Return the first (context - 128) tokens of a prompt; all of it if the context is unknown.

    Only texts count, not pictures. Everything after the cut is dropped.
    """
    if context is None:
        return tuple(messages)
    room = context - RESERVED_TOKENS
    kept: list[Message] = []
    for message in messages:
        content = message.content
        parts: list[object] = []
        for part in (content,) if isinstance(content, str) else content:
            if not isinstance(part, str):
                parts.append(part)
                continue
            start, count = first_tokens(part, room)
            room -= count
            if len(start) == len(part):
                parts.append(part)
                continue
            if start:
                parts.append(start)
            if parts or not kept:  # a request needs at least one message
                texts = tuple(parts or [""])
                begun = texts[0] if isinstance(content, str) else texts
                kept.append(replace(message, content=begun))  # type: ignore[arg-type]
            return tuple(kept)
        kept.append(message)
    return tuple(kept)
