"""Every test goes through litellm to a server on 127.0.0.1."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.models import Message, Reply, Request, ask
from pytest_tablebench.models._litellm import RESERVED, LiteLLMModel
from tests.support.openai_server import (
    Behaviour,
    OpenAIServer,
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

MODELS = ["openai/test-model", "hosted_vllm/test"]
GENEROUS_S = 30.0

pytestmark = pytest.mark.usefixtures("api_key")


@pytest.fixture(params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make(name: str, server: OpenAIServer | str, *, timeout: float = GENEROUS_S) -> LiteLLMModel:
    url = server if isinstance(server, str) else server.url
    return LiteLLMModel(model=name, api_base=url, timeout=timeout)


def asking(**params: Any) -> Request:
    messages = (Message("system", "Be short."), Message("user", "How old is Sophia?"))
    return Request("test", messages, params)


def failing(model: LiteLLMModel, request: Request | None = None) -> ModelError:
    with pytest.raises(ModelError) as caught:
        model.complete(request or asking())
    failure = caught.value
    assert "\n" not in str(failure)
    # A traceback shows the causes too, and those hold headers and keys.
    assert failure.__cause__ is None
    assert failure.__context__ is None or failure.__suppress_context__
    return failure


# Answers


def test_answer_with_tokens_and_time(name: str, openai_server: OpenAIServer) -> None:
    openai_server.always(text("26", usage=(11, 2)))
    start = time.perf_counter()
    reply = make(name, openai_server).complete(asking())
    assert reply.latency_s is not None
    assert 0 < reply.latency_s <= time.perf_counter() - start
    assert reply == Reply("26", "stop", 11, 2, None, reply.latency_s)
    assert openai_server.calls == 1


def test_unknown_token_counts_are_none(name: str, openai_server: OpenAIServer) -> None:
    openai_server.always(text("26", usage=None))
    reply = make(name, openai_server).complete(asking())
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost_usd) == (None, None, None)


def test_known_price_is_reported(openai_server: OpenAIServer) -> None:
    openai_server.always(text("26", usage=(1000, 100), model="gpt-4o"))
    reply = make("openai/gpt-4o", openai_server).complete(asking())
    # 2.50 and 10.00 dollars for a million tokens in and out.
    assert reply.cost_usd == pytest.approx(0.0025 + 0.001)


def test_known_price_without_token_counts_is_unknown(openai_server: OpenAIServer) -> None:
    openai_server.always(text("26", usage=None, model="gpt-4o"))
    assert make("openai/gpt-4o", openai_server).complete(asking()).cost_usd is None


def test_sent_is_what_was_asked_and_nothing_else(name: str, openai_server: OpenAIServer) -> None:
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


def test_key_of_the_environment_is_sent(
    name: str, openai_server: OpenAIServer, api_key: str
) -> None:
    make(name, openai_server).complete(asking())
    assert openai_server.requests[0].headers["Authorization"] == f"Bearer {api_key}"


def test_same_request_twice_is_asked_twice(name: str, openai_server: OpenAIServer) -> None:
    openai_server.queue(text("first"), text("second"))
    model = make(name, openai_server)
    assert [model.complete(asking()).text for _ in range(2)] == ["first", "second"]


def test_empty_string_is_an_answer(name: str, openai_server: OpenAIServer) -> None:
    openai_server.always(text(""))
    reply = make(name, openai_server).complete(asking())
    assert (reply.text, reply.finish_reason) == ("", "stop")


@pytest.mark.parametrize("content", ["The answer is", None])
def test_cut_off_by_the_token_limit(
    name: str, openai_server: OpenAIServer, content: str | None
) -> None:
    openai_server.always(text(content, finish_reason="length"))
    reply = make(name, openai_server).complete(asking())
    assert (reply.text, reply.finish_reason) == (content or "", "length")


def test_content_type_does_not_matter(name: str, openai_server: OpenAIServer) -> None:
    openai_server.always(text("26", content_type="text/plain"))
    assert make(name, openai_server).complete(asking()).text == "26"


def test_calls_in_several_threads(name: str, openai_server: OpenAIServer) -> None:
    all_here = threading.Barrier(4)

    def decide(_: dict[str, Any]) -> Behaviour:
        return text("26", after=all_here)

    openai_server.decide = decide
    model = make(name, openai_server)
    answers: list[str] = []
    threads = [
        threading.Thread(target=lambda: answers.append(model.complete(asking()).text))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == ["26"] * 4
    assert openai_server.max_in_flight == 4


# Failures

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
    "filtered prompt": (error(400, "filtered", code="content_filter"), "content_filter", ""),
    "filtered reply": (text("", finish_reason="content_filter"), "content_filter", ""),
    "filtered half": (text("Sop", finish_reason="content_filter"), "content_filter", ""),
    "filtered null": (text(None, finish_reason="content_filter"), "content_filter", ""),
    "cut JSON": (nonsense(), "bad_reply", "r"),
    "no body": (nonsense(b""), "bad_reply", "r"),
    "a list": (nonsense(b"[1, 2]"), "bad_reply", "r"),
    "another object": (nonsense(b'{"a": 1}'), "bad_reply", "r"),
    "no message": (nonsense(b'{"choices": [{"index": 0}]}'), "bad_reply", "r"),
    "HTML": (nonsense(b"<html>hi</html>", content_type="text/html"), "bad_reply", "r"),
    "no choices": (no_choices(), "bad_reply", "r"),
    "null content": (null_content(), "bad_reply", "r"),
    "drop": (drop(), "server_error", "r"),
    "drop midway": (drop_midway(), "server_error", "r"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(name: str, openai_server: OpenAIServer, fault: str, api_key: str) -> None:
    behaviour, reason, flags = FAULTS[fault]
    openai_server.always(behaviour)
    failure = failing(make(name, openai_server))
    assert failure.reason == reason
    assert (failure.retryable, failure.whole_run) == ("r" in flags, "w" in flags)
    assert failure.retry_after is None
    assert name in str(failure)
    assert api_key not in str(failure)
    assert openai_server.calls == 1


def test_what_the_server_says_is_in_the_message(name: str, openai_server: OpenAIServer) -> None:
    openai_server.always(error(400, "temperature has to be\nbelow 2"))
    assert "[temperature has to be below 2]" in str(failing(make(name, openai_server)))


def test_long_words_of_the_server_are_cut(name: str, openai_server: OpenAIServer) -> None:
    openai_server.always(error(400, "no " * 5000))
    assert len(str(failing(make(name, openai_server)))) < 500


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7), ("0.5", 0.5), ("-3", 0), ("soon", None), ("nan", None), ("inf", None)],
)
def test_retry_after(
    name: str, openai_server: OpenAIServer, status: int, header: str, seconds: float | None
) -> None:
    openai_server.always(error(status, headers={"Retry-After": header}))
    assert failing(make(name, openai_server)).retry_after == seconds


@pytest.mark.parametrize(("minutes", "low", "high"), [(10, 590, 600), (-10, 0, 0)])
def test_retry_after_a_date(
    name: str, openai_server: OpenAIServer, minutes: int, low: float, high: float
) -> None:
    when = datetime.now(UTC) + timedelta(minutes=minutes)
    header = format_datetime(when, usegmt=True)
    openai_server.always(error(429, headers={"Retry-After": header}))
    retry_after = failing(make(name, openai_server)).retry_after
    assert retry_after is not None
    assert low <= retry_after <= high


def test_used_up_quota_is_not_retried(name: str, openai_server: OpenAIServer) -> None:
    openai_server.always(error(429, "check your plan", code="insufficient_quota"))
    failure = failing(make(name, openai_server))
    assert (failure.reason, failure.retryable, failure.whole_run) == ("rate_limit", False, True)


@pytest.mark.parametrize("behaviour", [hang(), drip()], ids=["hang", "drip"])
def test_timeout(name: str, openai_server: OpenAIServer, behaviour: Behaviour) -> None:
    openai_server.always(behaviour)
    start = time.perf_counter()
    failure = failing(make(name, openai_server, timeout=0.5))
    assert time.perf_counter() - start < GENEROUS_S / 3  # without the guard it never ends
    assert (failure.reason, failure.retryable, failure.whole_run) == ("timeout", True, False)
    assert "0.5 s" in str(failure)
    assert openai_server.calls == 1


def test_nobody_listens(name: str) -> None:
    with socket.socket() as taken:  # bound and not listening: no one else gets the port
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        failure = failing(make(name, url))
    assert (failure.reason, failure.retryable, failure.whole_run) == ("unreachable", True, True)
    assert url in str(failure)


def test_unknown_host(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)  # the network's part, without a network
    failure = failing(make(name, "http://nowhere.invalid/v1"))
    assert (failure.reason, failure.retryable, failure.whole_run) == ("unreachable", True, True)


def test_unknown_model_name(openai_server: OpenAIServer) -> None:
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
def test_missing_key(
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


def test_parameter_that_the_provider_does_not_take(openai_server: OpenAIServer) -> None:
    failure = failing(make("ollama_chat/llama3.2", openai_server), asking(logit_bias={"1": 2}))
    assert (failure.reason, failure.retryable, failure.whole_run) == ("bad_request", False, True)
    assert "logit_bias" in str(failure)
    assert openai_server.calls == 0


def test_parameter_that_is_no_json(name: str, openai_server: OpenAIServer) -> None:
    failure = failing(make(name, openai_server), asking(top_p=object()))
    assert (failure.reason, failure.retryable, failure.whole_run) == ("error", False, False)
    assert openai_server.calls == 0


@pytest.mark.parametrize("parameter", sorted(RESERVED))
def test_parameter_that_the_plugin_sets(openai_server: OpenAIServer, parameter: str) -> None:
    failure = failing(make(MODELS[0], openai_server), asking(**{parameter: "mine"}))
    assert (failure.reason, failure.whole_run) == ("bad_request", True)
    assert parameter in str(failure)
    assert openai_server.calls == 0


# Secrets


@pytest.mark.parametrize(
    "said",
    [
        "key {key} is wrong",
        "Incorrect API key provided: {key}.",
        "header Authorization: Bearer {key}",
        "{{'api_key': '{key}', 'x': 1}}",
        "see https://me:{key}@example.org/v1",
        "see https://example.org/v1?key={key}&x=1",
    ],
)
@pytest.mark.parametrize(
    "secret", ["sk-local-0123456789abcdef", "sk-other-98765", "hunter2hunter2"]
)
def test_secrets_stay_out_of_the_message(
    name: str,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    said: str,
    secret: str,
) -> None:
    if secret.startswith("hunter"):  # no recognisable shape: known from the environment
        monkeypatch.setenv("SOME_API_KEY", secret)
    openai_server.always(error(400, said.format(key=secret)))
    message = str(failing(make(name, openai_server)))
    assert secret not in message
    assert "***" in message


@pytest.mark.parametrize(
    "said",
    [
        "Authorization: Bearer {key}",
        "{{'authorization': 'Basic {key}'}}",
        "api_key={key}",
        '{{"x-api-key": "{key}"}}',
        "access token: {key}, expired",
        "https://example.org/v1?key={key}&x=1",
        "https://me:{key}@example.org/v1",
    ],
)
def test_secret_known_by_its_place_stays_out(
    name: str, openai_server: OpenAIServer, said: str
) -> None:
    openai_server.always(error(400, said.format(key="abc.DEF_123")))
    message = str(failing(make(name, openai_server)))
    assert "DEF" not in message
    assert "***" in message


def test_password_of_the_address_stays_out(name: str, openai_server: OpenAIServer) -> None:
    url = openai_server.url.replace("://", "://me:hunter2@")
    openai_server.always(error(404))
    message = str(failing(make(name, url)))
    assert "hunter2" not in message
    assert f"://***@127.0.0.1:{openai_server.port}" in message


# Set-up


@pytest.mark.parametrize("url", ["127.0.0.1:8000/v1", "localhost", "", "ftp://x", "http://"])
def test_address_that_is_no_url(url: str) -> None:
    with pytest.raises(SettingsError, match=r"http://localhost:8000/v1"):
        make(MODELS[0], url)


def test_password_of_an_address_that_is_no_url() -> None:
    with pytest.raises(SettingsError) as caught:
        make(MODELS[0], "ftp://me:hunter2@host")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_time_limit_has_to_be_positive(seconds: float) -> None:
    with pytest.raises(SettingsError, match="above 0"):
        make(MODELS[0], "http://127.0.0.1:1/v1", timeout=seconds)


def test_litellm_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    failure = failing(make(MODELS[0], "http://127.0.0.1:1/v1"))
    assert (failure.reason, failure.retryable, failure.whole_run) == (
        "litellm_missing",
        False,
        True,
    )
    assert "pip install litellm" in str(failure)


def test_retry_loop_around_a_real_call(name: str, openai_server: OpenAIServer) -> None:
    openai_server.queue(error(429, headers={"Retry-After": "3"}), drop(), text("26"))
    waits: list[float] = []
    reply = ask(make(name, openai_server), asking(), retries=5, sleep=waits.append)
    assert reply.text == "26"
    assert openai_server.calls == 3
    assert waits[0] == 3
    assert 0 <= waits[1] <= 2


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="POSIX signals")
def test_ctrl_c_passes_at_once(name: str, openai_server: OpenAIServer) -> None:
    main = threading.main_thread().ident
    assert main is not None

    def decide(_: dict[str, Any]) -> Behaviour:
        signal.pthread_kill(main, signal.SIGINT)
        return hang()

    openai_server.decide = decide
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        make(name, openai_server).complete(asking())
    assert time.perf_counter() - start < GENEROUS_S / 3


QUIET = """
import json, logging, sys
reached = set()
def watch(event, args):
    if event == "socket.connect":
        reached.add(args[1][0])
    elif event == "socket.getaddrinfo":
        reached.add(args[0])
sys.addaudithook(watch)
from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import Message, Request, make_provider

reasons = []
# Makes litellm read its list of such headers.
params = {"anthropic/claude": {"extra_headers": {"anthropic-beta": "context-1m-2025-08-07"}}}
for name in ("openai/test-model", "hosted_vllm/test", "no-such-thing", "anthropic/claude"):
    provider = make_provider(name, api_base=sys.argv[1], timeout=30)
    for _ in range(2):
        try:
            provider.complete(Request(name, (Message("user", "hi"),), params.get(name, {})))
        except ModelError as error:
            reasons.append(error.reason)
        else:
            reasons.append("answer")
logging.getLogger("LiteLLM").error("a line of litellm's log")
print(json.dumps([reasons, sorted(reached)]))
"""


def test_new_process_prints_nothing_and_reaches_only_the_server(
    openai_server: OpenAIServer,
    run_python: Callable[..., subprocess.CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    openai_server.queue(error(401), text("26"), nonsense(), text("26"))
    done = run_python(QUIET, openai_server.url)
    assert done.stderr == ""
    reasons, reached = json.loads(done.stdout)
    assert reasons == (
        ["auth", "answer", "bad_reply", "answer"] + ["unknown_model"] * 2 + ["not_found"] * 2
    )
    assert reached == ["127.0.0.1"]


ROOT = Path(__file__).parents[2]


@contextmanager
def server_process(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.support.openai_server", *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_server_as_a_process(name: str, tmp_path: Path) -> None:
    port_file = tmp_path / "port"
    with server_process("--port-file", str(port_file), "--reply", "26") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        url = process.stdout.readline().strip()  # ready
        assert url == f"http://127.0.0.1:{port_file.read_text()}/v1"
        assert make(name, url).complete(asking()).text == "26"
        process.stdin.close()
        assert process.wait(GENEROUS_S) == 0


def test_server_process_stops_after_its_time_limit(tmp_path: Path) -> None:
    arguments = ["--port-file", str(tmp_path / "port"), "--reply", "26", "--limit", "0.05"]
    with server_process(*arguments) as process:
        assert process.wait(GENEROUS_S) == 0
