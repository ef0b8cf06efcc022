"""A scripted HTTP server on 127.0.0.1 that speaks the OpenAI chat-completions protocol.

In a test::

    with OpenAIServer() as server:
        server.queue(error(429, headers={"Retry-After": "3"}), text("42"))
        ...                                     # send requests to server.url
        assert server.calls == 2
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tests.support.loopback import LoopbackHandler, LoopbackServer


@dataclass(frozen=True)
class Behaviour:
    """How the server treats one request; made by the functions below."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    way: Literal["reply", "hang", "drip", "drop", "drop_midway", "raw", "endless"] = "reply"
    after: threading.Event | threading.Barrier | None = None
    """Wait for this before answering; it holds calls in flight without sleeping."""
    thinks: float = 0.0
    """Seconds until the answer."""
    answer: bool = False
    """Whether this is an answer that a user pays for."""
    piece: bytes = b""
    """The repeated part of an endless reply."""


@dataclass(frozen=True)
class Received:
    """One request as it arrived."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


def completion(
    choices: list[dict[str, Any]],
    usage: tuple[int, int] | None,
    model: str = "test-model",
    thought: int | None = None,
    **fields: str,
) -> bytes:
    """Return a chat-completion object as bytes; `usage` is (prompt tokens, completion tokens)."""
    payload: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": choices,
        **fields,
    }
    if usage is not None:
        payload["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": sum(usage),
        }
        if thought is not None:
            payload["usage"]["completion_tokens_details"] = {"reasoning_tokens": thought}
    return json.dumps(payload).encode()


def text(
    content: str | None,
    *,
    finish_reason: str = "stop",
    usage: tuple[int, int] | None = (7, 3),
    model: str = "test-model",
    content_type: str = "application/json",
    after: threading.Event | threading.Barrier | None = None,
    thinks: float = 0.0,
    fingerprint: str | None = None,
    thought: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> Behaviour:
    """Answer with `content`; so many tokens of the reply are thoughts."""
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    version = {} if fingerprint is None else {"system_fingerprint": fingerprint}
    return Behaviour(
        completion([choice], usage, model, thought, **version),
        headers=headers or {},
        content_type=content_type,
        after=after,
        thinks=thinks,
        answer=content is not None or finish_reason == "length",
    )


def completed(
    message: Mapping[str, Any], *, usage: tuple[int, int] | None = (7, 3), **choice: Any
) -> Behaviour:
    """Answer with the fields of a message and of its choice."""
    usual = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return Behaviour(completion([usual | choice], usage))


def null_content() -> Behaviour:
    """Answer with a message whose content is null."""
    return text(None)


def no_choices() -> Behaviour:
    """Answer with an empty list of choices."""
    return Behaviour(completion([], (7, 0)))


def error(
    status: int,
    message: str = "scripted error",
    *,
    headers: Mapping[str, str] | None = None,
    code: str | None = None,
) -> Behaviour:
    """Answer with an HTTP status and the error object that OpenAI sends with it."""
    payload = {"error": {"message": message, "type": "scripted", "param": None, "code": code}}
    return Behaviour(json.dumps(payload).encode(), status=status, headers=dict(headers or {}))


def nonsense(
    body: bytes = b'{"choices": [{"mess', *, content_type: str = "application/json"
) -> Behaviour:
    """Answer with status 200 and a body that is not a chat completion."""
    return Behaviour(body, content_type=content_type)


def hang() -> Behaviour:
    """Send nothing until the server closes."""
    return Behaviour(way="hang")


def drip() -> Behaviour:
    """Send headers, then one blank every 20 ms until the server closes."""
    return Behaviour(way="drip")


def drop() -> Behaviour:
    """Close the connection without a reply."""
    return Behaviour(way="drop")


def drop_midway() -> Behaviour:
    """Close the connection in the middle of a reply."""
    return Behaviour(text("never finished").body, way="drop_midway")


def packed(body: bytes, encoding: str = "gzip", *, status: int = 200) -> Behaviour:
    """Answer with a body and a Content-Encoding, which need not fit."""
    return Behaviour(body, status=status, headers={"Content-Encoding": encoding})


def raw(reply: bytes) -> Behaviour:
    """Send these bytes unchanged, including status line and headers, and close."""
    return Behaviour(reply, way="raw")


def endless(start: bytes, piece: bytes, *, headers: Mapping[str, str] | None = None) -> Behaviour:
    """Send a start, then a piece repeatedly, in chunks, until the client closes."""
    return Behaviour(start, headers=dict(headers or {}), way="endless", piece=piece)


class OpenAIServer(LoopbackServer):
    """The server; by default it answers every request with `text("ok")`.

    Arguments:
        decide: returns the behaviour for the body of a request.
        port: where to listen; 0 lets the system choose. A closed server's port can be reused.
        tls: the certificate's context; None for plain HTTP.
    """

    def __init__(
        self,
        decide: Callable[[dict[str, Any]], Behaviour] | None = None,
        *,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(_Handler, port)
        if tls is not None:
            # The handler makes the handshake, so that a failing one does not block others.
            self._http.socket = tls.wrap_socket(
                self._http.socket, server_side=True, do_handshake_on_connect=False
            )
        self._scheme = "http" if tls is None else "https"
        self.decide: Callable[[dict[str, Any]], Behaviour] = decide or (lambda _: text("ok"))
        self.requests: list[Received] = []
        self.repeated: list[Received] = []
        """Requests that repeat a completely answered one."""
        self.paths: tuple[str, ...] = ("/chat/completions",)
        """Endings of the served paths."""
        self.max_in_flight = 0
        """Most calls at once; a call ends just before the last part of its reply is sent."""
        self.sent = 0
        """Bytes that endless replies have sent."""
        self._answered: set[str] = set()
        self._in_flight = 0
        self._lock = threading.Lock()

    def always(self, behaviour: Behaviour) -> None:
        """Treat every request alike."""
        self.decide = lambda _: behaviour

    def queue(self, *behaviours: Behaviour) -> None:
        """Treat the next requests in this order; later ones get status 500."""
        waiting = deque(behaviours)
        exhausted = error(500, "nothing more is scripted")
        self.decide = lambda _: waiting.popleft() if waiting else exhausted

    @property
    def calls(self) -> int:
        """The number of received requests."""
        return len(self.requests)

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"{self._scheme}://127.0.0.1:{self.port}/v1"

    def _begin(self, received: Received) -> Behaviour:
        with self._lock:
            self.requests.append(received)
            if _messages(received) in self._answered:
                self.repeated.append(received)
            self._in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self._in_flight)
            return self.decide(received.body)

    def _end(self) -> None:
        with self._lock:
            self._in_flight -= 1

    def _note_answer(self, received: Received) -> None:
        with self._lock:
            self._answered.add(_messages(received))


def _messages(received: Received) -> str:
    return json.dumps([received.path, received.body.get("messages")])


class _Handler(LoopbackHandler):
    def respond(self) -> None:
        body = json.loads(self.content() or b"{}")
        owner = self.owner
        received = Received(self.path, dict(self.headers.items()), body)
        behaviour = owner._begin(received)
        self._under_way = True
        if not self.path.endswith(owner.paths):
            behaviour = error(404, f"no such path: {self.path}")
        try:
            self._behave(behaviour, owner.closing)
            if behaviour.answer and behaviour.way == "reply":
                self.wfile.flush()
                owner._note_answer(received)
        except ConnectionError:
            pass  # the client has gone
        finally:
            self._end()

    def _end(self) -> None:
        """Count the call as ended before the client can know it and start another one."""
        if self._under_way:
            self._under_way = False
            self.owner._end()

    def _behave(self, behaviour: Behaviour, closing: threading.Event) -> None:
        if behaviour.after is not None:
            behaviour.after.wait(self.timeout)
        if behaviour.thinks:
            closing.wait(behaviour.thinks)
        if behaviour.way == "hang":
            closing.wait()
        if behaviour.way in {"hang", "drop"}:
            self._end()
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if behaviour.way == "raw":
            self._end()
            self.wfile.write(behaviour.body)
            return
        self.send_response(behaviour.status)
        self.send_header("Content-Type", behaviour.content_type)
        if behaviour.way == "endless":
            self._send_endless(behaviour, closing)
            return
        length = 1_000_000 if behaviour.way == "drip" else len(behaviour.body)
        self.send_header("Content-Length", str(length))
        self.send_header("Connection", "close")
        for name, value in behaviour.headers.items():
            self.send_header(name, value)
        if behaviour.way == "drip":
            self.end_headers()
            while not closing.wait(0.02):
                self.wfile.write(b" ")
            return
        self._end()
        self.end_headers()
        end = len(behaviour.body) // 2 if behaviour.way == "drop_midway" else None
        self.wfile.write(behaviour.body[:end])

    def _send_endless(self, behaviour: Behaviour, closing: threading.Event) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        for name, value in behaviour.headers.items():
            self.send_header(name, value)
        self.end_headers()
        piece = behaviour.body
        while not closing.is_set():
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.owner.sent += len(piece)
            piece = behaviour.piece
