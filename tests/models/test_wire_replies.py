"""Direct calls read replies as litellm does: answers, prices, failures."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from pytest_tablebench.models import Reply, Request
from tests.support.both_ways import HOSTED, MESSAGES, Both
from tests.support.calls import QUIETLY, TESTED_LITELLM
from tests.support.loop_thread import LoopThread
from tests.support.matrix import draws, reduced
from tests.support.openai_server import (
    Behaviour,
    OpenAIServer,
    completed,
    error,
    nonsense,
    text,
)

pytestmark = [QUIETLY, TESTED_LITELLM, pytest.mark.usefixtures("provider_keys")]


DETAILS = b"""{"prompt_tokens_details": {"cached_tokens": 600, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 64}, """
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}

REPLIES: dict[str, Behaviour] = {
    "usage in detail": nonsense(
        text("26", usage=(1000, 100), model="gpt-4o-2024-08-06").body.replace(
            b'"usage": {', b'"service_tier": "default", "usage": ' + DETAILS
        )
    ),
    "ticks": nonsense(
        text("26", usage=(1000, 100), model="grok-3").body.replace(
            b'"usage": {', b'"usage": {"cost_in_usd_ticks": 37756000, '
        )
    ),
    "thoughts in the text": text("<think>hm</think>26"),
    "cut off": text(None, finish_reason="length"),
    "filtered": text("26", finish_reason="content_filter"),
    "another reason": text("26", finish_reason="eos_token"),
    "no reason": text("26", finish_reason=None),  # type: ignore[arg-type]
    "tool calls": completed({"content": None, "tool_calls": [CALL]}, finish_reason="tool_calls"),
    "another model": text("26", usage=(1000, 100), model="gpt-4o-mini"),
    "an unknown model": text("26", usage=(1000, 100), model="no-such-thing"),
    "a price from a gateway": Behaviour(
        text("26", usage=(1000, 100)).body, headers={"x-litellm-response-cost": "0.125"}
    ),
    "thoughts beside the text": nonsense(
        text("26").body.replace(b'"content"', b'"reasoning_content": "hm", "content"')
    ),
    "a version": text("26", fingerprint="fp_1", headers={"openai-version": "2026-01-01"}),
    "a redirect": Behaviour(b"{}", status=307, headers={"Location": "/elsewhere"}),
    "another success": Behaviour(text("26").body, status=203),
    "in a hurry": error(429, headers={"Retry-After": "3"}),
    "policy": error(400, "Invalid prompt: limited access", code="content_policy_violation"),
    "vLLM's words": nonsense(b'{"object": "error", "message": "gone", "code": 404}'),
}


# For Groq litellm loses prices and versions in headers, and fails without a service tier.
READ = [name for name in HOSTED if not name.startswith("groq/")]


@pytest.mark.parametrize("name", ["openai/gpt-4o", "hosted_vllm/test", *READ])
def test_replies_are_read_as_by_litellm(
    loop_thread: LoopThread, openai_server: OpenAIServer, name: str
) -> None:
    both = Both(name, openai_server, loop_thread)
    wrong = {}
    for case, behaviour in REPLIES.items():
        openai_server.always(behaviour)
        (_, theirs), (_, ours) = both.ask(Request(name, MESSAGES["text"], {"max_tokens": 9}))
        if theirs != ours:
            wrong[case] = (theirs, ours)
    assert wrong == {}
    assert both.told == []


def unlike(theirs: Any, ours: Any) -> bool:
    """Return whether two outcomes differ in more than a price or count that one does not know.

    Errors inside of litellm about odd fields (reason `error`) are no contract.
    """
    if isinstance(theirs, tuple) and theirs[1] == "error":
        return isinstance(ours, tuple) and ours[1] != "bad_reply"
    if isinstance(theirs, Reply) and isinstance(ours, Reply):
        pairs = [(getattr(theirs, name), getattr(ours, name)) for name in vars(theirs)]
        return any(one != other for one, other in pairs if other not in {None, 0})
    return theirs != ours


@pytest.mark.parametrize("name", ["openai/gpt-4o", "hosted_vllm/test", *reduced(READ)])
def test_replies_with_an_unusual_value_are_read_as_by_litellm(
    loop_thread: LoopThread, openai_server: OpenAIServer, name: str
) -> None:
    """Replace a random part of a valid reply; both transports must return the same."""
    both = Both(name, openai_server, loop_thread)
    draw = random.Random(0)
    values: list[Any] = [None, 0, -1, 2.5, True, "", "x", [], {}, [None], {"a": None}]
    wrong = []
    for _ in range(draws(240)):
        body = json.loads(text("26", usage=(1000, 100), model="gpt-4o").body)
        place: Any = body
        while True:
            key = draw.choice(list(place) if isinstance(place, dict) else range(len(place)))
            if isinstance(place[key], dict | list) and place[key] and draw.random() < 0.7:
                place = place[key]
                continue
            if draw.random() < 0.2 and isinstance(place, dict):
                del place[key]
            else:
                place[key] = draw.choice(values)
            break
        openai_server.always(nonsense(json.dumps(body).encode()))
        (_, theirs), (_, ours) = both.ask(Request(name, MESSAGES["text"], {"max_tokens": 9}))
        if unlike(theirs, ours):
            wrong.append((body, theirs, ours))
    assert wrong == []


@pytest.mark.parametrize("name", ["openai/gpt-4o", "hosted_vllm/test"])
def test_the_version_that_a_server_names_is_kept(
    loop_thread: LoopThread, openai_server: OpenAIServer, name: str
) -> None:
    openai_server.always(REPLIES["a version"])
    both = Both(name, openai_server, loop_thread)
    direct = loop_thread.run(both._direct.acomplete(Request(name, MESSAGES["text"], {})))
    assert direct.fingerprint == "fp_1; openai-version 2026-01-01"
