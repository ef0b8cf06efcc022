"""The seam between the benchmark and whatever answers: requests in, replies or errors out."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = ["Message", "Provider", "Reply", "Request"]


@dataclass(frozen=True)
class Message:
    """One turn of a conversation. Images will join as further parts beside `content`."""

    role: str
    content: str


@dataclass(frozen=True)
class Request:
    """What is asked of a model: everything that can change the answer, and nothing else.

    `case_id` only tells scripted models and messages which case is asking; it is not sent.
    """

    model: str
    messages: tuple[Message, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    case_id: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        """All message texts, joined by newlines: what a text-only model sees."""
        return "\n".join(message.content for message in self.messages)

    def digest(self) -> str:
        """SHA-256 over model, messages and parameters, as 16 hexadecimal digits."""
        payload = json.dumps(
            [
                self.model,
                [[message.role, message.content] for message in self.messages],
                self.params,
            ],
            sort_keys=True,
            default=str,
        )
        return hashlib.sha256(payload.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Reply:
    """What a model said. Token counts and cost are None when unknown, never 0."""

    text: str
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    latency_s: float | None = None


class Provider(Protocol):
    """Something that answers requests.

    `complete` returns one reply or raises `ModelError`; it is called from one thread at a
    time and asks exactly once (retrying is the caller's business).
    """

    def complete(self, request: Request) -> Reply:
        """Answer one request."""
        ...
