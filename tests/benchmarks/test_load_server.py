"""The counts of the load server: the speed and kill measurements rest on them."""

from __future__ import annotations

import json
import select
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.load_server import Running, prompt_digest, running

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of the server are POSIX")


def messages(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def request(text: str) -> bytes:
    body = json.dumps({"model": "test-model", "messages": messages(text)}).encode()
    return b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def connect(server: Running) -> socket.socket:
    port = int(server.url.removesuffix("/v1").rpartition(":")[2])
    return socket.create_connection(("127.0.0.1", port), timeout=10)


def read_reply(sock: socket.socket) -> tuple[str, dict[str, Any]]:
    with sock.makefile("rb") as stream:
        status = stream.readline().decode().split(" ", 1)[1].strip()
        length = 0
        while (line := stream.readline().strip()) != b"":
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return status, json.loads(stream.read(length))


def until(server: Running, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    for _ in range(10_000):
        if holds(stats := server.stats()):
            return stats
    pytest.fail(f"it never came to that: {stats}")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with running(wait=0.0, reply="refuted", log=tmp_path / "log") as made:
        yield made


@pytest.fixture
def patient() -> Iterator[Running]:
    with running(wait=60.0) as made:
        yield made


def test_an_answer_is_a_chat_completion_with_usage(server: Running) -> None:
    with connect(server) as sock:
        sock.sendall(request("who won?"))
        status, body = read_reply(sock)
    assert status == "200 OK"
    assert body["choices"][0]["message"]["content"] == "refuted"
    assert body["choices"][0]["finish_reason"] == "stop"
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


def test_every_request_is_counted_by_its_prompt(server: Running, tmp_path: Path) -> None:
    with connect(server) as sock:
        for text in ("one", "two", "one"):
            sock.sendall(request(text))
            read_reply(sock)
    stats = server.stats(prompts=True)
    assert (stats["requests"], stats["answered"], stats["in_flight"]) == (3, 3, 0)
    assert (stats["prompts"], stats["repeated"], stats["max_in_flight"]) == (2, 1, 1)
    one, two = prompt_digest(messages("one")), prompt_digest(messages("two"))
    assert stats["by_prompt"] == {one: [2, 2], two: [1, 1]}
    assert stats["first_request"] <= stats["last_request"] <= stats["last_answer"]
    logged = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert [(digest, what) for digest, _, what in logged] == [
        (one, "answered"),
        (two, "answered"),
        (one, "answered"),
    ]


def test_requests_are_read_however_they_are_cut(server: Running) -> None:
    data = request("é" * 200)
    with connect(server) as sock:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(data), 7):
            sock.sendall(data[start : start + 7])
        assert read_reply(sock)[0] == "200 OK"
        sock.sendall(data + data)  # two at once: the second waits for its turn
        with sock.makefile("rb") as stream:
            answers = b""
            while answers.count(b"HTTP/1.1 200 OK") < 2:
                answers += stream.read1()
    assert until(server, lambda s: s["answered"] == 3)["max_in_flight"] == 1


def test_waiting_requests_are_in_flight_until_the_client_goes(patient: Running) -> None:
    socks = [connect(patient) for _ in range(5)]
    for number, sock in enumerate(socks):
        sock.sendall(request(str(number)))
    stats = until(patient, lambda s: s["in_flight"] == 5)
    assert (stats["answered"], stats["gone"], stats["max_in_flight"]) == (0, 0, 5)
    for sock in socks[:3]:
        sock.close()
    stats = until(patient, lambda s: s["in_flight"] == 2)
    assert (stats["answered"], stats["gone"]) == (0, 3)
    for sock in socks[3:]:
        sock.close()


@pytest.mark.parametrize("reads", [True, False])
def test_an_answer_nobody_read_is_no_delivered_answer(server: Running, reads: bool) -> None:
    sock = connect(server)
    sock.sendall(request("who won?"))
    assert select.select([sock], [], [], 10)[0], "no answer came"
    if reads:
        read_reply(sock)
    sock.close()
    if reads:
        with connect(server) as other:  # after this reply the server has seen the end of `sock`
            other.sendall(request("another"))
            read_reply(other)
        assert server.stats()["unread"] == 0
    else:
        assert until(server, lambda s: s["unread"] == 1)["answered"] == 1


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /v1/other HTTP/1.1\r\n\r\n", "404 Not Found"),
        (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", "400 Bad Request"),
        (b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: -2\r\n\r\n", "400 Bad Request"),
        (
            b"POST /v1/chat/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "411 Length Required",
        ),
    ],
)
def test_what_is_no_question_is_refused_and_not_counted(
    server: Running, data: bytes, status: str
) -> None:
    with connect(server) as sock:
        sock.sendall(data)
        assert read_reply(sock)[0] == status
    assert server.stats()["requests"] == 0
