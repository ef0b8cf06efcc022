"""Errors of failing calls to a server on 127.0.0.1."""

from __future__ import annotations

import socket
import time

import pytest

from pytest_tablebench.config.parameters import RESERVED
from tests.support.calls import GENEROUS_S, MODELS, QUIETLY, Make, asking, failing
from tests.support.openai_server import (
    Behaviour,
    OpenAIServer,
    completed,
    drip,
    drop,
    drop_midway,
    error,
    hang,
    no_choices,
    nonsense,
    null_content,
    text,
)

pytestmark = [pytest.mark.usefixtures("api_key"), QUIETLY]

FAULTS: dict[str, tuple[Behaviour, str, str]] = {
    # name: what the server does, reason, flags (r: retryable, w: whole run)
    "400": (error(400), "bad_request", ""),
    "401": (error(401), "auth", "w"),
    "403": (error(403), "auth", "w"),
    "404": (error(404), "not_found", "w"),
    "405": (error(405), "bad_request", ""),
    "408": (error(408), "timeout", "r"),
    "413": (error(413), "bad_request", ""),
    "422": (error(422), "bad_request", ""),
    "429": (error(429), "rate_limit", "r"),
    "quota": (error(429, "no", code="insufficient_quota"), "rate_limit", "w"),
    "500": (error(500), "server_error", "r"),
    "502": (error(502), "server_error", "r"),
    "503": (error(503), "server_error", "r"),
    "504": (error(504), "server_error", "r"),
    "529": (error(529), "server_error", "r"),
    "500 in HTML": (
        Behaviour(b"<html>oops</html>", status=500, content_type="text/html"),
        "server_error",
        "r",
    ),
    "429 inside 200": (
        nonsense(b'{"error": {"message": "slow down", "code": 429}}'),
        "rate_limit",
        "r",
    ),
    "context": (
        error(
            400,
            "This model's maximum context length is 4096 tokens. However, your messages "
            "resulted in 5000 tokens.",
            code="context_length_exceeded",
        ),
        "context_window",
        "",
    ),
    "no credit": (error(402, "Insufficient credits"), "no_credit", "w"),
    "no credit, 400": (error(400, "Your credit balance is too low"), "no_credit", "w"),
    "filtered in words": (error(400, "Content Exists Risk"), "content_filter", ""),
    "long for Groq": (
        error(413, "Request too large for model `m`: Limit 6000, Requested 9000"),
        "context_window",
        "",
    ),
    "long, 500": (error(500, "the input length exceeds the context length"), "context_window", ""),
    "filtered prompt": (error(400, "filtered", code="content_filter"), "content_filter", ""),
    "cut JSON": (nonsense(), "bad_reply", "r"),
    "no body": (nonsense(b""), "bad_reply", "r"),
    "a list": (nonsense(b"[1, 2]"), "bad_reply", "r"),
    "another object": (nonsense(b'{"a": 1}'), "bad_reply", "r"),
    "no message": (nonsense(b'{"choices": [{"index": 0}]}'), "bad_reply", "r"),
    "HTML": (nonsense(b"<html>hi</html>", content_type="text/html"), "bad_reply", "r"),
    "ended by an error": (text("2", finish_reason="error"), "server_error", "r"),
    "aborted": (text("2", finish_reason="abort"), "server_error", "r"),
    "no network": (text("2", finish_reason="network_error"), "server_error", "r"),
    "error in a choice": (
        completed({"content": "2"}, error={"code": 502, "message": "upstream"}),
        "server_error",
        "r",
    ),
    "limit in a choice": (completed({"content": ""}, error={"code": 429}), "rate_limit", "r"),
    "key in a choice": (completed({"content": ""}, error={"code": 401}), "auth", "w"),
    "drop": (drop(), "server_error", "r"),
    "drop midway": (drop_midway(), "server_error", "r"),
}


FULL = (
    "'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum context "
    "length is 600 tokens and your request has 150 input tokens (512 > 600 - 150)."
)

UNANSWERED: dict[str, tuple[Behaviour, str]] = {
    # name: what the server does, the reason why its reply is no answer
    "filtered reply": (text("", finish_reason="content_filter"), "content_filter"),
    "filtered half": (text("Sop", finish_reason="content_filter"), "content_filter"),
    "filtered null": (text(None, finish_reason="content_filter"), "content_filter"),
    "filtered in other words": (text("", finish_reason="SAFETY"), "content_filter"),
    "no choices": (no_choices(), "empty"),
    "null content": (null_content(), "empty"),
    "no text": (text(""), "empty"),
    "blanks": (text(" \n"), "empty"),
    "refusal": (completed({"content": None, "refusal": "I cannot help."}), "refused"),
    "refusal and empty text": (completed({"content": "", "refusal": "I cannot."}), "refused"),
    "refusal as a part": (
        completed({"content": [{"type": "refusal", "refusal": "I cannot."}]}),
        "refused",
    ),
    "refusal as a reason": (text("I cannot.", finish_reason="refusal"), "refused"),
    "thoughts": (completed({"content": "", "reasoning_content": "hm"}), "thoughts_alone"),
    "thoughts in the text": (text("<think>hm</think>"), "thoughts_alone"),
    "full": (text("", finish_reason="model_length"), "cut_off"),
    "full context": (text(None, finish_reason="model_context_window_exceeded"), "cut_off"),
}


@pytest.mark.parametrize("kind", UNANSWERED)
def test_a_paid_reply_without_an_answer_is_kept_with_its_reason(
    make: Make, name: str, openai_server: OpenAIServer, kind: str
) -> None:
    behaviour, reason = UNANSWERED[kind]
    openai_server.always(behaviour)
    reply = make(name, openai_server).complete(asking())
    assert reply.missing == reason
    assert reply.prompt_tokens == 7
    assert openai_server.calls == 1


def test_openais_error_for_a_reply_of_thoughts_is_a_cut_off_reply(
    make: Make, openai_server: OpenAIServer
) -> None:
    openai_server.always(
        error(
            400,
            "Could not finish the message because max_tokens or model output limit was reached.",
        )
    )
    assert make("openai/gpt-4o", openai_server).complete(asking()).missing == "cut_off"


def test_content_in_parts_is_an_answer(make: Make, name: str, openai_server: OpenAIServer) -> None:
    thoughts = {"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]}
    parts = [thoughts, {"type": "text", "text": "2"}, {"type": "text", "text": "6"}]
    openai_server.always(completed({"content": parts}))
    reply = make(name, openai_server).complete(asking())
    assert (reply.text, reply.thinking, reply.missing) == ("26", "hmm", None)


def test_a_prompt_that_leaves_little_room_names_it(
    make: Make, name: str, openai_server: OpenAIServer
) -> None:
    openai_server.always(error(400, FULL))
    failure = failing(make(name, openai_server))
    assert (failure.reason, failure.room, failure.refused) == ("bad_request", 450, None)


def test_an_error_that_was_paid_for_names_its_price(
    make: Make, openai_server: OpenAIServer
) -> None:
    openai_server.always(text("2", finish_reason="error", usage=(1000, 100), model="gpt-4o"))
    spent = dict(failing(make("openai/gpt-4o", openai_server)).spent or {})
    # 2.50 and 10.00 dollars for a million tokens in and out.
    assert spent.pop("cost_usd") == pytest.approx(0.0025 + 0.001)
    assert spent == {"prompt_tokens": 1000, "completion_tokens": 100}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_failure_has_its_reason_and_flags(
    make: Make, name: str, openai_server: OpenAIServer, fault: str, api_key: str
) -> None:
    behaviour, reason, flags = FAULTS[fault]
    openai_server.always(behaviour)
    failure = failing(make(name, openai_server))
    assert failure.reason == reason, failure
    assert (failure.retryable, failure.whole_run) == ("r" in flags, "w" in flags)
    assert failure.retry_after is None
    assert name in str(failure)
    assert api_key not in str(failure)
    assert openai_server.calls == 1


@pytest.mark.parametrize("behaviour", [hang(), drip()], ids=["hang", "drip"])
def test_a_slow_reply_times_out(
    make: Make, name: str, openai_server: OpenAIServer, behaviour: Behaviour
) -> None:
    openai_server.always(behaviour)
    start = time.perf_counter()
    failure = failing(make(name, openai_server, timeout=0.5))
    assert time.perf_counter() - start < GENEROUS_S / 3  # without the time limit it never ends
    assert (failure.reason, failure.retryable, failure.whole_run) == ("timeout", True, False)
    assert "0.5 s" in str(failure)
    assert openai_server.calls == 1


def test_a_closed_port_is_a_connection_error(make: Make, name: str) -> None:
    with socket.socket() as taken:  # bound and not listening, so the port stays closed
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        failure = failing(make(name, url))
    assert (failure.reason, failure.retryable, failure.whole_run) == ("unreachable", True, True)
    assert url in str(failure)


def test_an_unknown_host_is_a_connection_error(
    make: Make, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)  # instead of a network
    failure = failing(make(name, "http://nowhere.invalid/v1"))
    assert (failure.reason, failure.retryable, failure.whole_run) == ("unreachable", True, True)


def test_an_unknown_model_name_is_named(make: Make, openai_server: OpenAIServer) -> None:
    failure = failing(make("no-such-thing", openai_server))
    assert (failure.reason, failure.retryable, failure.whole_run) == ("unknown_model", False, True)
    for valid in ("no-such-thing", "gpt-4o", "ollama/llama3.2", "hosted_vllm/NAME"):
        assert valid in str(failure)
    assert openai_server.calls == 0


@pytest.mark.parametrize(
    ("model", "variables"),
    [
        ("openai/test-model", ["OPENAI_API_KEY"]),
        ("anthropic/claude-3-5-haiku-20241022", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"]),
        ("gemini/gemini-2.0-flash", ["GEMINI_API_KEY", "GOOGLE_API_KEY"]),
    ],
)
def test_a_missing_key_is_named(
    make: Make,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
    variables: list[str],
) -> None:
    for variable in variables:
        monkeypatch.delenv(variable, raising=False)
    failure = failing(make(model, openai_server))
    assert (failure.reason, failure.retryable, failure.whole_run) == ("auth", False, True)
    assert variables[0] in str(failure)
    assert openai_server.calls == 0


def test_a_parameter_that_the_provider_does_not_take_is_named(
    make: Make, openai_server: OpenAIServer
) -> None:
    failure = failing(make("ollama_chat/llama3.2", openai_server), asking(logit_bias={"1": 2}))
    assert (failure.reason, failure.retryable, failure.whole_run) == ("bad_request", False, True)
    assert "logit_bias" in str(failure)
    assert openai_server.calls == 0


def test_a_parameter_that_is_no_json_is_named(
    make: Make, name: str, openai_server: OpenAIServer
) -> None:
    failure = failing(make(name, openai_server), asking(top_p=object()))
    assert (failure.reason, failure.retryable, failure.whole_run) == ("error", False, False)
    assert openai_server.calls == 0


@pytest.mark.parametrize("parameter", sorted(RESERVED))
def test_a_parameter_that_the_plugin_sets_is_refused(
    make: Make, openai_server: OpenAIServer, parameter: str
) -> None:
    failure = failing(make(MODELS[0], openai_server), asking(**{parameter: "mine"}))
    assert (failure.reason, failure.whole_run) == ("bad_request", True)
    assert parameter in str(failure)
    assert openai_server.calls == 0


# Secrets


def test_values_of_extra_headers_and_queries_are_not_in_the_message(
    make: Make, name: str, openai_server: OpenAIServer
) -> None:
    openai_server.always(error(400, "no such session: crumb-1 of pwd word-2"))
    request = asking(extra_headers={"Cookie": "crumb-1"}, extra_query={"pwd": "word-2"})
    message = str(failing(make(name, openai_server), request))
    assert "no such session: *** of pwd ***" in message


def test_the_password_of_the_address_is_not_in_the_message(
    make: Make, name: str, openai_server: OpenAIServer
) -> None:
    url = openai_server.url.replace("://", "://me:hunter2@")
    openai_server.always(error(404))
    message = str(failing(make(name, url)))
    assert "hunter2" not in message
    assert f"://***@127.0.0.1:{openai_server.port}" in message
