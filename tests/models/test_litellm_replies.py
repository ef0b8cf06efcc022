"""Replies of any size and shape from a server on 127.0.0.1."""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
import resource
import socket
import struct
import threading
import zlib
from functools import cache

import pytest

from pytest_tablebench.models._body import Body
from tests.support.calls import QUIETLY, Make, asking, failing
from tests.support.openai_server import (
    Behaviour,
    OpenAIServer,
    endless,
    nonsense,
    packed,
    raw,
    text,
)

pytestmark = [pytest.mark.usefixtures("api_key"), QUIETLY]

ANSWER = text("26").body
BEFORE = ANSWER.split(b"26")[0]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def with_field(field: bytes) -> bytes:
    """Return a valid completion with a further field."""
    return ANSWER[:-1] + b', "x": ' + field + b"}"


def with_usage(usage: bytes) -> Behaviour:
    """Return the answer 26 with this usage."""
    body = json.loads(ANSWER)
    body["usage"] = "HERE"
    return nonsense(json.dumps(body).encode().replace(b'"HERE"', usage))


def test_a_long_answer_is_truncated(make: Make, name: str, openai_server: OpenAIServer) -> None:
    openai_server.always(text("x" * 5_000_000))
    reply = make(name, openai_server).complete(asking())
    assert (len(reply.text), reply.cut) == (1_000_000, True)
    assert (reply.finish_reason, reply.prompt_tokens, reply.completion_tokens) == ("stop", 7, 3)


@cache
def bomb() -> Behaviour:
    """Return 300 kilobytes that unpack to 300 megabytes."""
    squeeze = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    megabytes = (squeeze.compress(b"x" * 1_000_000) for _ in range(300))
    whole = b"".join((squeeze.compress(BEFORE), *megabytes, squeeze.compress(b'"}}]}')))
    return packed(whole + squeeze.flush())


@pytest.mark.parametrize("kind", ["bomb", "endless"])
def test_memory_is_bounded_if_a_reply_never_ends(
    make: Make, name: str, openai_server: OpenAIServer, kind: str
) -> None:
    openai_server.always(bomb() if kind == "bomb" else endless(BEFORE, b"x" * 65536))
    model = make(name, openai_server)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    failure = failing(model)
    assert failure.reason == "bad_reply"
    assert kind == "bomb" or "it is longer than 8,000,000 bytes" in str(failure)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before  # KiB
    assert grown < 200_000
    assert openai_server.sent < 100_000_000


def test_a_reply_that_failed_is_not_kept(
    make: Make, name: str, openai_server: OpenAIServer
) -> None:
    whole = text("x" * 5_000_000).body
    openai_server.always(raw(HEAD + b"Content-Length: 9999999\r\n\r\n" + whole))
    model = make(name, openai_server)
    gc.collect()
    gc.disable()  # with litellm loaded it runs too rarely
    try:
        failing(model)
        alive = [one for one in gc.get_objects() if isinstance(one, Body)]
    finally:
        gc.enable()
    assert not alive


NO_HTTP: dict[str, Behaviour] = {
    "short body": raw(HEAD + b"Content-Length: 9999\r\n\r\n" + ANSWER),
    "bad chunk": raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + ANSWER),
    "short chunk": raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\nfff\r\n" + ANSWER),
    "bad length": raw(HEAD + b"Content-Length: soon\r\n\r\n" + ANSWER),
    "two lengths": raw(HEAD + b"Content-Length: 5\r\nContent-Length: 9\r\n\r\n" + ANSWER),
    "bad status": raw(b"HTTP/1.1 banana\r\n\r\n"),
    "another protocol": raw(b"SSH-2.0-OpenSSH\r\n"),
    "long header": raw(HEAD + b"X-A: " + b"x" * 1_000_000 + b"\r\n\r\n" + ANSWER),
    "bad header": raw(HEAD + b"X y\r\n\r\n" + ANSWER),
    "bad gzip with 503": packed(b"nonsense", status=503),
}


@pytest.mark.parametrize("kind", NO_HTTP)
def test_unusual_http_is_accepted(
    make: Make, name: str, openai_server: OpenAIServer, kind: str
) -> None:
    openai_server.always(NO_HTTP[kind])
    failure = failing(make(name, openai_server))
    assert (failure.reason, failure.retryable, failure.whole_run) == ("server_error", True, False)


def test_a_reset_connection_is_no_refused_connection(make: Make, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def reset() -> None:
            there, _ = listening.accept()
            there.recv(65536)
            # Closed without lingering, so the client receives a reset.
            there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            there.close()

        def reset_twice() -> None:
            with contextlib.suppress(OSError):  # the test may end before a second connection
                reset()
                reset()

        thread = threading.Thread(target=reset_twice, daemon=True)
        thread.start()
        failure = failing(make(name, f"http://127.0.0.1:{listening.getsockname()[1]}/v1"))
    assert (failure.reason, failure.retryable, failure.whole_run) == ("server_error", True, False)


USAGES = {
    "more digits": b'{"prompt_tokens": 7, "completion_tokens": %s}' % (b"7" * 10_000),
    "a text": b'"lots"',
    "negative": b'{"prompt_tokens": -7, "completion_tokens": -3, "total_tokens": -10}',
}


@pytest.mark.parametrize("model", ["openai/gpt-4o", "hosted_vllm/test"])
@pytest.mark.parametrize("kind", USAGES)
def test_an_answer_with_a_damaged_usage_is_kept(
    make: Make, openai_server: OpenAIServer, model: str, kind: str
) -> None:
    openai_server.always(with_usage(USAGES[kind]))
    reply = make(model, openai_server).complete(asking())
    assert reply.text == "26"
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost_usd) == (None, None, None)


@pytest.mark.parametrize("usage", [b'{"input_tokens": 7, "output_tokens": 3}', USAGES["negative"]])
@pytest.mark.parametrize("content", ["26", "x" * 5000])
def test_replies_of_a_provider_without_our_session_are_read_and_truncated(
    make: Make,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    usage: bytes,
    content: str,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude",
        "content": [{"type": "text", "text": content}],
        "stop_reason": "end_turn",
        "usage": json.loads(usage),
    }
    openai_server.paths = ("/messages",)
    openai_server.always(nonsense(json.dumps(body).encode()))
    url = openai_server.url.removesuffix("/v1")
    model = make("anthropic/claude-3-5-haiku-20241022", url, max_reply=1000)
    reply = model.complete(asking(max_tokens=9))
    assert (reply.text, reply.cut) == (content[:1000], len(content) > 1000)
    counts = (7, 3) if b"-" not in usage else (None, None)
    assert (reply.prompt_tokens, reply.completion_tokens) == counts


def test_only_supported_compressions_are_requested(
    make: Make, name: str, openai_server: OpenAIServer
) -> None:
    openai_server.always(packed(gzip.compress(ANSWER)))
    assert make(name, openai_server).complete(asking()).text == "26"
    headers = {name.lower(): value for name, value in openai_server.requests[0].headers.items()}
    assert headers["accept-encoding"] == "gzip, deflate"
