"""A server on 127.0.0.1 with the part of Ollama's protocol that runs need."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.support.loopback import LoopbackHandler, LoopbackServer

TOKEN = 4
"""Characters of a token of this server."""


class OllamaServer(LoopbackServer):
    """Reads half a window of a prompt that is longer than the window, without its front.

    Arguments:
        reply: the answer to what is read of a prompt.
        limit: the context length that `/api/show` names; None: it knows no such address.
        window: a window that replaces the one of requests; None: that in requests, else 4,096.
    """

    def __init__(
        self,
        reply: Callable[[str], str] = lambda _: "1969",
        *,
        limit: int | None = None,
        window: int | None = None,
    ) -> None:
        super().__init__(_Handler)
        self.options: list[dict[str, Any]] = []
        self.shown = 0
        self._reply, self._limit, self._window = reply, limit, window

    def _answer(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        if path == "/api/show":
            self.shown += 1
            family = {"general.architecture": "llama", "llama.context_length": self._limit}
            return None if self._limit is None else {"model_info": family}
        self.options.append(body.get("options", {}))
        prompt = body.get("prompt") or "\n".join(m["content"] for m in body["messages"])
        window = self._window or self.options[-1].get("num_ctx", 4096)
        count = len(prompt) // TOKEN
        if count > window:
            count = window // 2
            prompt = prompt[-count * TOKEN :]
        reply = self._reply(prompt)
        facts = {"model": body["model"], "created_at": "2026-11-28T00:00:00Z", "done": True}
        facts |= {"done_reason": "stop", "prompt_eval_count": count, "eval_count": 2}
        message = {"role": "assistant", "content": reply}
        return {**facts, "response": reply, "message": message}


class _Handler(LoopbackHandler):
    def respond(self) -> None:
        answer = self.owner._answer(self.path, json.loads(self.content()))
        self.reply(404 if answer is None else 200, answer)
