"""Messages in the form of the OpenAI protocol, which litellm takes for every provider."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import Any

from pytest_tablebench.models.base import Message
from pytest_tablebench.serializers.content import Content


def as_openai(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return the messages; pictures are `data:` URLs, the one form that all providers take."""
    return [{"role": m.role, "content": _content(m.content)} for m in messages]


def _content(content: Content) -> Any:
    if isinstance(content, str):
        return content
    parts: list[dict[str, Any]] = []
    for part in content:
        if isinstance(part, str):
            parts.append({"type": "text", "text": part})
        else:
            data = base64.b64encode(part.data).decode("ascii")
            url = f"data:{part.media_type};base64,{data}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
    return parts
