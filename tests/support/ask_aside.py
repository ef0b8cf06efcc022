"""A registered provider that asks a loopback server itself, and tells it which process asks.

Callers make it by its name: they need no litellm for it, and start in a fraction of a second.
"""

from __future__ import annotations

import json
import os
import urllib.request

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.models import Reply, Request

__all__ = ["AskAside", "make"]


class AskAside:
    """Posts the prompt to an address, as OpenAI's clients do; the process is the `user`."""

    def __init__(self, address: str) -> None:
        self._url = f"{address}/chat/completions"
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def complete(self, request: Request) -> Reply:
        messages = [{"role": m.role, "content": m.content} for m in request.messages]
        body = {"model": request.model, "messages": messages, "user": str(os.getpid())}
        # Of the process that asks: on a cluster that is the worker's own.
        key = os.environ.get("OPENAI_API_KEY", "")
        headers = {"Authorization": f"Bearer {key}"}
        asked = urllib.request.Request(self._url, json.dumps(body).encode(), headers)
        with self._opener.open(asked, timeout=60) as answer:
            found = json.load(answer)
        text = found["choices"][0]["message"]["content"]
        return Reply(text, finish_reason="stop", cost_usd=0.0)


def make(model: str, settings: Settings) -> AskAside:
    """Return the provider of a model."""
    assert settings.api_base is not None
    return AskAside(settings.api_base)
