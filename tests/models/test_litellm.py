"""Calls to a server on 127.0.0.1 with each transport."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
import threading
import time
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.models import Reply
from pytest_tablebench.models.litellm_model import CALL
from tests.support.calls import GENEROUS_S, MODELS, QUIETLY, Make, asking, failing, plain
from tests.support.loop_thread import Blocking, LoopThread
from tests.support.openai_server import (
    Behaviour,
    OpenAIServer,
    completion,
    hang,
    text,
)

pytestmark = [pytest.mark.usefixtures("api_key"), QUIETLY]

# Answers


def test_a_reply_has_text_tokens_and_time(
    make: Make, name: str, openai_server: OpenAIServer
) -> None:
    choice = {"index": 0, "message": {"content": "26"}, "finish_reason": "stop"}
    openai_server.always(Behaviour(completion([choice], (11, 2), "m-2026", provider="DeepInfra")))
    start = time.perf_counter()
    reply = make(name, openai_server).complete(asking())
    assert reply.latency_s is not None
    assert 0 < reply.latency_s <= time.perf_counter() - start
    expected = Reply("26", "stop", 11, 2, None, served_model="m-2026", served_by="DeepInfra")
    assert reply == dataclasses.replace(expected, latency_s=reply.latency_s)
    assert openai_server.calls == 1


def test_unknown_token_counts_are_none(make: Make, name: str, openai_server: OpenAIServer) -> None:
    openai_server.always(text("26", usage=None))
    reply = make(name, openai_server).complete(asking())
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost_usd) == (None, None, None)


def test_the_cost_of_a_known_model_is_reported(make: Make, openai_server: OpenAIServer) -> None:
    openai_server.always(text("26", usage=(1000, 100), model="gpt-4o"))
    reply = make("openai/gpt-4o", openai_server).complete(asking())
    # 2.50 and 10.00 dollars for a million tokens in and out.
    assert reply.cost_usd == pytest.approx(0.0025 + 0.001)


def test_only_the_requested_parameters_are_sent(
    make: Make, name: str, openai_server: OpenAIServer
) -> None:
    make(name, openai_server).complete(asking(temperature=0, max_tokens=64, seed=7))
    (received,) = openai_server.requests
    assert received.path == "/v1/chat/completions"
    assert received.body == {
        "model": name.split("/")[1],
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "How old is Sophia?"},
        ],
        "temperature": 0,
        "max_tokens": 64,
        "seed": 7,
    }


def test_the_key_of_the_environment_is_sent(
    make: Make, name: str, openai_server: OpenAIServer, api_key: str
) -> None:
    make(name, openai_server).complete(asking())
    headers = {name.lower(): value for name, value in openai_server.requests[0].headers.items()}
    assert headers["authorization"] == f"Bearer {api_key}"


def test_the_same_request_twice_makes_two_calls(
    make: Make, name: str, openai_server: OpenAIServer
) -> None:
    openai_server.queue(text("first"), text("second"))
    model = make(name, openai_server)
    assert [model.complete(asking()).text for _ in range(2)] == ["first", "second"]


def test_the_content_type_does_not_matter(
    make: Make, name: str, openai_server: OpenAIServer
) -> None:
    openai_server.always(text("26", content_type="text/plain"))
    assert make(name, openai_server).complete(asking()).text == "26"


def test_calls_run_concurrently(
    loop_thread: LoopThread, name: str, openai_server: OpenAIServer
) -> None:
    all_here = threading.Barrier(32)
    openai_server.always(text("26", after=all_here))
    model = plain(name, openai_server)

    async def together() -> list[Reply]:
        return await asyncio.gather(*(model.acomplete(asking()) for _ in range(32)))

    # No reply is sent before all 32 requests have arrived.
    assert [reply.text for reply in loop_thread.run(together())] == ["26"] * 32
    assert openai_server.max_in_flight == 32


# Cancelled and timed-out calls


def test_a_cancelled_call_ends_at_once(
    loop_thread: LoopThread, name: str, openai_server: OpenAIServer
) -> None:
    arrived = threading.Event()

    def decide(_: dict[str, Any]) -> Behaviour:
        arrived.set()
        return hang()

    openai_server.decide = decide
    asked = asyncio.run_coroutine_threadsafe(
        plain(name, openai_server).acomplete(asking()), loop_thread.loop
    )
    assert arrived.wait(GENEROUS_S)
    assert len(loop_thread.pending(CALL)) == 1
    asked.cancel()
    assert loop_thread.emptied(
        CALL, GENEROUS_S / 3
    )  # the server hangs, so only the cancellation ends it
    assert openai_server.calls == 1


def test_a_call_that_ignores_its_cancellation_does_not_block_the_caller(
    loop_thread: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = asyncio.Event()

    async def stubborn(**_: object) -> None:
        while not release.is_set():
            with suppress(asyncio.CancelledError):
                await release.wait()

    monkeypatch.setattr(
        "pytest_tablebench.models.litellm_model.load", lambda: SimpleNamespace(acompletion=stubborn)
    )
    monkeypatch.setattr("pytest_tablebench.models.litellm_model.MARGIN_S", 0.0)
    monkeypatch.setattr("pytest_tablebench.models.litellm_model.CLOSING_S", 0.05)
    failure = failing(
        Blocking(plain(MODELS[0], "http://127.0.0.1:1/v1", timeout=0.05), loop_thread)
    )
    assert failure.reason == "timeout"
    assert len(loop_thread.pending(CALL)) == 1
    loop_thread.loop.call_soon_threadsafe(release.set)
    assert loop_thread.emptied(CALL, GENEROUS_S)


def test_warming_up_makes_no_call(
    loop_thread: LoopThread, name: str, openai_server: OpenAIServer
) -> None:
    loop_thread.run(plain(name, openai_server).warm_up())
    assert openai_server.calls == 0


def test_warming_up_an_unknown_model_prints_nothing(
    loop_thread: LoopThread, openai_server: OpenAIServer, capfd: pytest.CaptureFixture[str]
) -> None:
    loop_thread.run(plain("no-such-thing", openai_server).warm_up())
    assert capfd.readouterr() == ("", "")


# Set-up


@pytest.mark.parametrize("url", ["127.0.0.1:8000/v1", "localhost", "", "ftp://me:hunter2@x"])
def test_an_invalid_address_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match=r"http://localhost:8000/v1") as caught:
        plain(MODELS[0], url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_the_time_limit_must_be_positive(seconds: float) -> None:
    with pytest.raises(SettingsError, match="above 0"):
        plain(MODELS[0], "http://127.0.0.1:1/v1", timeout=seconds)


def test_a_missing_litellm_is_named(
    loop_thread: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    failure = failing(Blocking(plain(MODELS[0], "http://127.0.0.1:1/v1"), loop_thread))
    assert (failure.reason, failure.retryable, failure.whole_run) == (
        "litellm_missing",
        False,
        True,
    )
    assert "pip install litellm" in str(failure)
