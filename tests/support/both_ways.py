"""Call a model at the same server through litellm and directly."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import LiteLLMModel, Message, Reply, Request
from pytest_tablebench.models._sessions import close
from pytest_tablebench.models.model_table import litellm_version, not_tested
from pytest_tablebench.models.openai_wire import WireModel
from pytest_tablebench.serializers.content import Image, SentBack, ToolCall, ToolResult
from tests.support.calls import plain
from tests.support.loop_thread import LoopThread
from tests.support.openai_server import OpenAIServer, Received

# One model of each provider without a table in litellm, and some with special treatment.
NAMES = ["openai/test-model", "hosted_vllm/test", "openai/gpt-4o", "openai/o3-mini", "openai/gpt-5"]
HOSTED = [
    "deepseek/deepseek-chat",
    "groq/llama-3.3-70b-versatile",
    "mistral/mistral-small-latest",
    "openrouter/openai/gpt-4o",
    "together_ai/meta-llama/Llama-3.3-70B-Instruct-Turbo",
    "xai/grok-3",
    "cerebras/llama3.1-8b",
    "lm_studio/test",
    "nvidia_nim/meta/llama3-70b-instruct",
]
"""One model of each other provider."""

PICTURE = Image("image/png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))

CALL = ToolCall("call_aaa", "query", '{"sql": "SELECT 1"}')

MESSAGES: dict[str, tuple[Message, ...]] = {
    "text": (Message("user", "How old is Sophia?"),),
    "system": (Message("system", "Be short."), Message("user", "Wie hoch? 高い ✓ \\u0000")),
    "turns": (
        Message("system", "Be short."),
        Message("user", "How old?"),
        Message("assistant", "Who?"),
        Message("user", ""),
    ),
    "picture": (Message("user", ("What is this?", PICTURE, "And that?")),),
    "tools": (
        Message("user", "How old?"),
        Message("assistant", ("I look.", CALL)),
        Message("tool", (ToolResult("call_aaa", "40"),)),
        Message("assistant", (SentBack('{"reasoning_content": "Hm."}'), CALL)),
        Message("tool", (ToolResult("call_aaa", ""),)),
    ),
    "pictures": (Message("system", "Look."), Message("user", (PICTURE, PICTURE, "Compare."))),
}

Seen = tuple[Received | None, Reply | tuple[Any, ...]]


class Both:
    """A model that is called in both ways."""

    def __init__(self, name: str, server: OpenAIServer | str, loop: LoopThread | Fresh) -> None:
        if why := not_tested(litellm_version()):
            pytest.skip(why)
        self.told: list[str] = []
        self._server = server
        self._loop = loop
        self._plain = plain(name, server)
        self._direct = WireModel(self._plain, connections=4, tell=self.told.append, insist=True)

    def ask(self, request: Request) -> tuple[Seen, Seen]:
        """Return the server's requests and the outcomes: through litellm and directly."""
        return self._one(self._plain, request), self._one(self._direct, request)

    def _one(self, model: LiteLLMModel | WireModel, request: Request) -> Seen:
        server = self._server
        before = len(server.requests) if isinstance(server, OpenAIServer) else 0
        outcome: Reply | tuple[Any, ...]
        try:
            outcome = self._loop.run(model.acomplete(request))
            assert outcome.latency_s is not None
            outcome = Reply(**{**vars(outcome), "latency_s": None})
        except ModelError as failed:
            outcome = (str(failed), failed.reason, failed.retryable, failed.whole_run)
            outcome += (failed.retry_after,)
        if not isinstance(server, OpenAIServer) or len(server.requests) == before:
            return None, outcome
        return server.requests[-1], outcome


class Fresh:
    """Runs each call in a new event loop, as in a new process."""

    def run(self, call: Any) -> Any:
        async def closing() -> Any:
            try:
                return await call
            finally:
                await close()

        return asyncio.run(closing())
