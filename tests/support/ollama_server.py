"""A server on 127.0.0.1 with the part of Ollama's protocol that runs need."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = 4
"""Characters of a token of this server."""


class OllamaServer:
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
        self.options: list[dict[str, Any]] = []
        self.shown = 0
        self._reply, self._limit, self._window = reply, limit, window
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = outer._answer(self.path, body)
                content = json.dumps(answer).encode()
                self.send_response(404 if answer is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)

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

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> OllamaServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
