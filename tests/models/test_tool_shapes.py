"""Tool calls of five providers, in the shapes of their public documentation.

The same conversation, through litellm and directly, gives the same turns and steps.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from pytest_tablebench.metrics.steps import Ask, Execution
from pytest_tablebench.models import LiteLLMModel, Reply, Request
from pytest_tablebench.models.openai_wire import WireModel
from pytest_tablebench.running.answer import step_facts, turns_of
from pytest_tablebench.strategies import Tools
from tests.strategies.driving import PEOPLE, task
from tests.support.calls import QUIETLY, plain
from tests.support.loop_thread import LoopThread
from tests.support.openai_server import Behaviour, OpenAIServer, completed
from tests.support.sandboxes import shared_sandbox
from tests.support.thinking_replies import claude, gemini

pytestmark = [QUIETLY, pytest.mark.usefixtures("provider_keys")]

ARGUMENTS = {"sql": "SELECT max(Age) AS m FROM df"}
SIGNATURE = "c2lnbmF0dXJl"


def chat(message: dict[str, Any], reason: str) -> Behaviour:
    return completed(message, usage=(70, 30), finish_reason=reason)


def called(number: str, **further: Any) -> dict[str, Any]:
    function = {"name": "query", "arguments": json.dumps(ARGUMENTS)}
    return {"tool_calls": [{"id": number, "type": "function", "function": function}], **further}


SHAPES: dict[str, tuple[Behaviour, Behaviour, str]] = {
    "openai/gpt-4o": (
        chat(called("call_9pQ", content=None), "tool_calls"),
        chat({"content": "41"}, "stop"),
        "call_9pQ",
    ),
    "hosted_vllm/Qwen/Qwen3-32B": (
        chat(called("chatcmpl-tool-7", content="", reasoning_content="Hm."), "tool_calls"),
        chat({"content": "41", "tool_calls": []}, "stop"),
        '"reasoning_content": "Hm."',
    ),
    "mistral/mistral-small-latest": (
        chat(called("D681PevKs", content=""), "tool_calls"),
        chat({"content": "41", "tool_calls": None}, "stop"),
        "D681PevKs",
    ),
    "anthropic/claude-sonnet-4-5": (
        claude(
            [
                {"type": "thinking", "thinking": "Hm.", "signature": SIGNATURE},
                {"type": "tool_use", "id": "toolu_1", "name": "query", "input": ARGUMENTS},
            ],
            "tool_use",
            (70, 30),
        ),
        claude([{"type": "text", "text": "41"}], "end_turn", (70, 30)),
        f'"signature": "{SIGNATURE}"',
    ),
    "gemini/gemini-2.5-flash": (
        gemini(
            [
                {
                    "functionCall": {"name": "query", "args": ARGUMENTS},
                    "thoughtSignature": SIGNATURE,
                }
            ]
        ),
        gemini([{"text": "41"}]),
        f'"thoughtSignature": "{SIGNATURE}"',
    ),
}
"""By model: a call, an answer, and a text of the request between them."""


def conversation(
    model: LiteLLMModel | WireModel, name: str, loop: LoopThread
) -> tuple[list[Any], Any]:
    strategy = Tools().converse(task(PEOPLE))
    step, kept = next(strategy), list[Any]()
    try:
        while True:
            outcome: Reply | Execution
            if isinstance(step, Ask):
                params = {"max_tokens": 64, "tools": list(step.tools)}
                if "claude" in name:
                    params["thinking"] = {"type": "enabled", "budget_tokens": 1024}
                    params["max_tokens"] = 2000
                outcome = loop.run(model.acomplete(Request(name, step.messages, params)))
            else:
                outcome = shared_sandbox().run(step)
            facts = step_facts(step, outcome)
            tokens = facts.prompt_tokens, facts.completion_tokens
            kept.append((turns_of(step, outcome, first=not kept), facts.outcome, *tokens))
            kept[-1] += (facts.digest, facts.key)
            step = strategy.send(outcome)
    except StopIteration as end:
        return kept, end.value


def test_five_shapes_give_the_same_records_on_both_transports(
    loop_thread: LoopThread, openai_server: OpenAIServer
) -> None:
    openai_server.paths += ("/messages", ":generateContent")
    records = {}
    for name, (call, answer, sent) in SHAPES.items():
        model = replace(plain(name, openai_server), api_key="sk-test")
        direct = WireModel(model, connections=4, tell=lambda _: None)
        for transport, caller in (("litellm", model), ("direct", direct)):
            openai_server.queue(call, answer)
            records[name, transport] = conversation(caller, name, loop_thread)
            assert sent in json.dumps(openai_server.requests[-1].body), (name, transport)
    first = records["openai/gpt-4o", "direct"]
    assert first[1].text == "41"
    assert [turns for turns, *_ in first[0]] == [
        [("reply", f"query({json.dumps(ARGUMENTS)})")],
        [("program", ARGUMENTS["sql"]), ("output", "m\n41")],
        [("reply", "41")],
    ]
    for key, record in records.items():
        assert record == first, key
