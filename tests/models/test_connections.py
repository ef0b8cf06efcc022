"""Replies sent twice and redirects to other servers, with both transports."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import MAX_REPLY, LiteLLMModel, Reply
from pytest_tablebench.models._body import RedirectRefused
from pytest_tablebench.models._completions import MangledBody
from pytest_tablebench.models._sessions import SoleRequest, in_one_exchange
from pytest_tablebench.models.batch_service import BatchService
from pytest_tablebench.models.litellm_model import UNGUARDED, close
from pytest_tablebench.models.openai_wire import WireModel
from tests.support.both_ways import Fresh
from tests.support.calls import GENEROUS_S, QUIETLY, Make, asking, direct, failing, plain
from tests.support.loop_thread import Blocking, LoopThread
from tests.support.openai_server import Behaviour, OpenAIServer, text
from tests.support.tls import make_certificate, server_context

pytestmark = [pytest.mark.usefixtures("api_key"), QUIETLY]

Connected = Callable[[socket.socket, int], None]


def reply(answer: str) -> bytes:
    """Return a complete response that keeps the connection open."""
    body = text(answer).body
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def read_request(connection: socket.socket) -> bool:
    """Read a request; return False if the connection was closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (piece := connection.recv(1 << 16)):
            return False
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = (
        int(line.split(b":")[1])
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"content-length")
    )
    length = next(lengths, 0)
    while len(body) < length:
        body += connection.recv(1 << 16)
    return True


@contextmanager
def serving(talk: Connected, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Run a server that calls `talk` with each connection and its number, from 0."""
    listening = socket.create_server(("127.0.0.1", 0))
    talks: list[threading.Thread] = []
    opened: list[socket.socket] = []

    def talk_to(connection: socket.socket, number: int) -> None:
        try:
            if tls is not None:
                connection = tls.wrap_socket(connection, server_side=True)
            opened.append(connection)
            talk(connection, number)
        except OSError:
            pass  # the client closed the connection
        finally:
            connection.close()

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            talks.append(threading.Thread(target=talk_to, args=(connection, len(talks))))
            talks[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        port = listening.getsockname()[1]
        yield f"http{'s' if tls else ''}://127.0.0.1:{port}/v1"
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for connection in opened:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        accepting.join(GENEROUS_S)
        for thread in talks:
            thread.join(GENEROUS_S)


class Twice:
    """A server that replies `first` twice on the first connection and `next` on later ones.

    Arguments:
        pause: whether the second copy is sent only after `again` is set.
    """

    def __init__(self, *, pause: bool) -> None:
        self.again, self.sent = threading.Event(), threading.Event()
        self.closed = threading.Event()
        self._pause = pause

    def __call__(self, connection: socket.socket, number: int) -> None:
        while read_request(connection):
            if number:
                connection.sendall(reply("next"))
            elif self._pause:
                connection.sendall(reply("first"))
                self.again.wait(GENEROUS_S)
                connection.sendall(reply("first"))
                self.sent.set()
            else:
                connection.sendall(2 * reply("first"))
        self.closed.set()


def model_at(name: str, url: str, transport: str) -> LiteLLMModel | WireModel:
    model = plain(name, url)
    return direct(model) if transport == "direct" else model


@pytest.mark.parametrize("encrypted", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("case", ["at once", "while idle", "unread by the loop"])
def test_a_reply_sent_twice_answers_one_question(
    *,
    name: str,
    transport: str,
    case: str,
    encrypted: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = None
    if encrypted:
        certificate = make_certificate(tmp_path)
        monkeypatch.setenv("SSL_VERIFY", "False")
        context = server_context(certificate)
    server = Twice(pause=case != "at once")
    with serving(server, context) as url:
        model = model_at(name, url, transport)

        async def ask_twice() -> list[str]:
            answers = [(await model.acomplete(asking())).text]
            server.again.set()
            if case == "while idle":
                # The connection is closed as soon as the copy arrives.
                await asyncio.get_running_loop().run_in_executor(None, server.sent.wait, GENEROUS_S)
            elif case == "unread by the loop":
                server.sent.wait(GENEROUS_S)  # the loop reads nothing before the next question
            answers.append((await model.acomplete(asking())).text)
            return answers

        assert Fresh().run(ask_twice()) == ["first", "next"]


def test_an_idle_connection_is_closed_at_the_first_byte(
    loop_thread: LoopThread, name: str, transport: str
) -> None:
    server = Twice(pause=True)
    with serving(server) as url:
        model = model_at(name, url, transport)
        assert loop_thread.run(model.acomplete(asking())).text == "first"
        server.again.set()
        assert server.closed.wait(GENEROUS_S)  # no further request is needed


def test_a_connection_without_leftover_bytes_is_kept(
    loop_thread: LoopThread, name: str, transport: str
) -> None:
    numbers: list[int] = []

    def talk(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            numbers.append(number)
            connection.sendall(reply("26"))

    with serving(talk) as url:
        model = model_at(name, url, transport)

        async def ask() -> None:
            for _ in range(3):
                assert (await model.acomplete(asking())).text == "26"

        loop_thread.run(ask())
    assert numbers == [0, 0, 0]


def test_a_reply_before_the_request_is_discarded() -> None:
    sent = threading.Event()

    def talk(connection: socket.socket, _: int) -> None:
        connection.sendall(reply("early"))
        sent.set()
        read_request(connection)

    async def wait_for_server(*_: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(None, sent.wait, GENEROUS_S)

    async def ask(url: str) -> None:
        trace = aiohttp.TraceConfig()
        trace.on_connection_create_end.append(wait_for_server)
        async with aiohttp.ClientSession(
            request_class=SoleRequest, middlewares=(in_one_exchange,), trace_configs=[trace]
        ) as session:
            await session.post(url, data=b"{}")

    with serving(talk) as url, pytest.raises(MangledBody, match="before the request"):
        asyncio.run(ask(url))


REDIRECTS = [301, 302, 303, 307, 308]


@pytest.mark.parametrize("status", REDIRECTS)
def test_no_redirect_to_another_server_is_followed(
    make: Make, name: str, openai_server: OpenAIServer, status: int
) -> None:
    with OpenAIServer() as other:
        place = f"{other.url}/chat/completions?key=1"
        openai_server.always(Behaviour(b"{}", status=status, headers={"Location": place}))
        asked = asking(extra_headers=dict.fromkeys(("x-api-key", "api-key"), "a secret"))
        failure = failing(make(name, openai_server), asked)
        assert other.calls == 0
    assert openai_server.calls == 1
    assert (failure.reason, failure.whole_run, failure.retryable) == ("redirected", True, False)
    assert f"http://127.0.0.1:{openai_server.port} redirects to" in str(failure)
    assert f"http://127.0.0.1:{other.port};" in str(failure)


def azure_at(url: str, max_reply: int = MAX_REPLY) -> LiteLLMModel:
    return LiteLLMModel("azure/test", url, GENEROUS_S, max_reply, api_key="sk-azure")


@pytest.mark.parametrize("status", REDIRECTS)
def test_the_azure_client_follows_no_redirect_to_another_server(
    loop_thread: LoopThread, status: int
) -> None:
    with OpenAIServer() as other, serving(redirecting_to(other, status)) as url:
        failure = failing(Blocking(azure_at(url), loop_thread))
        assert other.calls == 0
        assert (failure.reason, failure.whole_run, failure.retryable) == ("redirected", True, False)
        origin = url.removesuffix("/v1")
        assert f"{origin} redirects to http://127.0.0.1:{other.port};" in str(failure)


def test_the_azure_client_uses_the_session_of_each_event_loop() -> None:
    """litellm keeps one client, but each event loop has separate connections with our limits."""

    def answer(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            connection.sendall(reply("26" if number == 0 else "x" * 5000))

    async def ask(url: str) -> Reply:
        try:
            return await azure_at(url, max_reply=1000).acomplete(asking())
        finally:
            await close()

    with serving(answer) as url:
        first, second = (asyncio.run(ask(url)) for _ in range(2))
    assert (first.text, first.cut) == ("26", False)
    assert (second.text, second.cut) == ("x" * 1000, True)


def redirecting_to(other: OpenAIServer, status: int) -> Connected:
    head = f"HTTP/1.1 {status} Moved\r\nLocation: {other.url}/files\r\n"

    def redirect(connection: socket.socket, _: int) -> None:
        while read_request(connection):
            connection.sendall(f"{head}Content-Length: 0\r\n\r\n".encode())

    return redirect


@pytest.mark.parametrize(
    "name",
    [
        *("huggingface/test", "databricks/test", "compactifai/test", "datarobot/test"),
        *("lemonade/test", "ovhcloud/test", "azure_ai/test", "azure_ai/claude-test"),
        *("watsonx/test", "text-completion-openai/test", "azure_text/test"),
        *("cohere/test", "ollama_chat/test", "mistral/test", "groq/test"),
    ],
)
def test_no_provider_is_redirected_to_another_server(
    loop_thread: LoopThread, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("WATSONX_TOKEN", "WATSONX_PROJECT_ID"):
        monkeypatch.setenv(variable, "x")
    with OpenAIServer() as other, serving(redirecting_to(other, 307)) as url:
        model = LiteLLMModel(name, url, GENEROUS_S, api_key="sk-none")
        assert failing(Blocking(model, loop_thread)).reason == "redirected"
        assert other.calls == 0


@pytest.mark.parametrize("name", sorted(UNGUARDED))
def test_a_provider_whose_redirects_litellm_follows_is_refused(
    loop_thread: LoopThread, openai_server: OpenAIServer, name: str
) -> None:
    model = LiteLLMModel(f"{name}/test", openai_server.url, GENEROUS_S, api_key="sk-none")
    failure = failing(Blocking(model, loop_thread))
    assert openai_server.calls == 0
    assert failure.whole_run
    assert "redirects to" in str(failure)


@pytest.mark.parametrize("name", ["openai/test", "azure/test", "hosted_vllm/test"])
@pytest.mark.parametrize("status", [302, 307])
def test_a_batch_service_follows_no_redirect_to_another_server(
    name: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_API_KEY", "sk-azure")
    with OpenAIServer() as other, serving(redirecting_to(other, status)) as url:
        service = BatchService(name, url, GENEROUS_S)
        for call in (lambda: service.upload(b"{}", "a.jsonl"), lambda: service.look("batch_1")):
            with pytest.raises(ModelError) as caught:
                call()
            assert caught.value.reason == "redirected"
        assert other.calls == 0


@pytest.mark.parametrize(
    "place",
    [
        "https://127.0.0.1:{port}/v1/chat/completions",  # another scheme
        "http://localhost:{port}/v1/chat/completions",  # another host
        "//localhost:{port}/v1/chat/completions",
        "ftp://127.0.0.1:{port}/v1/chat/completions",
        "http://[::1/",
        "http://127.0.0.1:{port}@localhost:{port}/v1/chat/completions",
    ],
)
def test_other_schemes_and_hosts_are_other_servers(
    make: Make, name: str, openai_server: OpenAIServer, place: str
) -> None:
    place = place.format(port=openai_server.port)
    redirect = Behaviour(b"{}", status=307, headers={"Location": place})
    openai_server.queue(redirect, text("followed"))
    failure = failing(make(name, openai_server))
    assert failure.reason == "redirected"
    assert openai_server.calls == 1


def test_a_redirect_on_the_same_server_is_followed(
    make: Make, name: str, openai_server: OpenAIServer
) -> None:
    redirect = Behaviour(b"{}", status=308, headers={"Location": "/v2/chat/completions"})
    openai_server.queue(redirect, text("26"))
    assert make(name, openai_server).complete(asking()).text == "26"
    assert [received.path for received in openai_server.requests] == [
        "/v1/chat/completions",
        "/v2/chat/completions",
    ]


def test_the_session_refuses_a_redirect_whoever_follows_it(
    loop_thread: LoopThread, openai_server: OpenAIServer
) -> None:
    """A client may parse an address differently; the session checks it too."""
    from pytest_tablebench.models import _sessions as sessions

    redirect = Behaviour(b"{}", status=308, headers={"Location": "/v2/chat/completions"})
    openai_server.always(redirect)

    async def follow(other: str) -> Any:
        sessions.CALL_STATE.set(sessions.CallState())
        options: dict[str, Any] = {"json": {}, "allow_redirects": False}
        await sessions.litellm_session().post(f"{openai_server.url}/chat/completions", **options)
        await sessions.litellm_session().post(f"{other}/chat/completions", **options)

    with OpenAIServer() as other, pytest.raises(RedirectRefused):
        loop_thread.run(follow(other.url))
    assert other.calls == 0
