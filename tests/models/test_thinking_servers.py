"""Servers with reasoning models, called by litellm and directly."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import Message, Reply, Request, as_read
from tests.support.both_ways import MESSAGES, Both
from tests.support.calls import QUIETLY, plain
from tests.support.loop_thread import LoopThread
from tests.support.openai_server import Behaviour, OpenAIServer
from tests.support.thinking_replies import (
    CUT_STYLES,
    STYLES,
    THOUGHTS,
    claude_shape,
    gemini_shape,
    openai_cut,
    openai_shape,
)

pytestmark = [QUIETLY, pytest.mark.usefixtures("provider_keys")]

ASK = (Message("user", "Which country?"),)
SILENT = {"qwen3, not thinking", "o-series"}
"""Servers that do not return the thoughts of the model."""


@pytest.mark.parametrize(
    "name", ["hosted_vllm/test", "openai/test-model", "mistral/magistral-small"]
)
def test_thoughts_and_answers_of_chat_completions_are_separated(
    loop_thread: LoopThread, openai_server: OpenAIServer, name: str
) -> None:
    both, wrong = Both(name, openai_server, loop_thread), {}
    for style in STYLES:
        if style == "magistral api" and not name.startswith("mistral/"):
            continue
        openai_server.always(openai_shape(style, "Italy"))
        for _, reply in both.ask(Request(name, MESSAGES["text"], {"max_tokens": 512})):
            assert isinstance(reply, Reply), (style, reply)
            thoughts = "" if style in SILENT else THOUGHTS
            if (reply.text, reply.thinking) != ("Italy", thoughts) or reply.is_cut_off:
                wrong[style] = (reply.text, reply.thinking)
    assert wrong == {}


@pytest.mark.parametrize("name", ["hosted_vllm/test", "openai/test-model"])
def test_replies_that_end_before_the_answer_are_cut_off(
    loop_thread: LoopThread, openai_server: OpenAIServer, name: str
) -> None:
    both = Both(name, openai_server, loop_thread)
    for style in CUT_STYLES:
        openai_server.always(openai_cut(style))
        for _, reply in both.ask(Request(name, MESSAGES["text"], {"max_tokens": 512})):
            assert isinstance(reply, Reply), (style, reply)
            assert (reply.text, reply.is_cut_off) == ("", True), style
            with pytest.raises(ModelError, match="after 30 tokens"):
                as_read(reply, "fixed")
            assert as_read(reply, "reference").text == reply.written


@pytest.mark.parametrize(
    ("name", "shape", "path", "completion", "cost"),
    [
        # 7 tokens at 3 USD and 30 at 15 USD per million. Anthropic counts no tokens of thinking.
        ("anthropic/claude-sonnet-4-5", claude_shape, "/v1/messages", 30, 471e-6),
        # 7 tokens at .30 USD, 3 of the answer and 20 of thinking at 2.50 USD per million.
        ("gemini/gemini-2.5-flash", gemini_shape, ":generateContent", 23, 59.6e-6),
    ],
)
def test_thoughts_of_providers_with_other_protocols_are_separated(
    loop_thread: LoopThread,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    *,
    name: str,
    shape: Callable[[str | None], Behaviour],
    path: str,
    completion: int,
    cost: float,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setenv("GEMINI_API_KEY", "none")
    openai_server.paths = (path,)
    model = plain(name, openai_server)
    openai_server.always(shape("Italy"))
    reply = loop_thread.run(model.acomplete(Request(name, ASK, {"max_tokens": 2048})))
    assert (reply.text, reply.thinking) == ("Italy", THOUGHTS)
    assert reply.completion_tokens == completion
    assert reply.cost_usd == pytest.approx(cost)
    if name.startswith("gemini/"):
        assert reply.reasoning_tokens == 20
    else:  # counted by litellm, from the text
        assert 0 < (reply.reasoning_tokens or 0) < completion
    openai_server.always(shape(None))
    cut = loop_thread.run(model.acomplete(Request(name, ASK, {"max_tokens": 2048})))
    assert (cut.text, cut.is_cut_off) == ("", True)
