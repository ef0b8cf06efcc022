"""An OpenAI chat-completions server on 127.0.0.1 that only waits, then gives a fixed answer.

    python -m benchmarks.load_server --wait 0.5 --reply entailed [--log FILE]

It prints its base URL when it listens and runs until it is terminated (with `--stdin`, until its
standard input closes). Its own CPU per request is far below any client's, so that a load test
measures the client. From Python::

    with running(wait=0.5) as server:
        ...                       # send requests to server.url
        server.stats()["max_in_flight"]

`GET /stats` returns JSON: `requests`, `answered` (written to a connected client), `unread`
(answered, but the client ended without reading), `gone` (the client left before its answer was
due), `in_flight`, `max_in_flight`, `mean_in_flight` (from the first request to the last answer),
`prompts` (distinct), `repeated` (prompts with more than one request), `body_bytes` (the mean
request), `first_request`, `last_request`, `last_answer` (Unix time in seconds, null before) and
`cpu_s` (of the server). `GET /stats?prompts` adds `by_prompt`: digest -> [requests, answered]; a
prompt's digest is `prompt_digest(messages)`.

The log has one line for each answer, `digest time answered`, and a later `digest time unread` if
a client did not read it. It is complete after any `GET /stats` and at the end.

    python -m benchmarks.load_server --measure

prints the server's own CPU and rate.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

__all__ = ["Running", "prompt_digest", "running"]

MAX_HEAD_BYTES = 65_536
FLUSH_S = 0.1


def prompt_digest(messages: Sequence[Any]) -> str:
    """Return 32 hexadecimal digits that identify a prompt, independent of the client."""
    try:
        text = "\0".join([part for m in messages for part in (m["role"], m["content"])])
    except TypeError:  # content in parts, or null
        text = json.dumps(messages, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def http_reply(status: str, payload: object, *, close: bool = False) -> bytes:
    """Return a whole HTTP response with a JSON body."""
    body = json.dumps(payload).encode()
    ending = b"Connection: close\r\n\r\n" if close else b"\r\n"
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + ending + body


def completion(reply: str) -> bytes:
    """Return the server's only answer, as a whole HTTP response."""
    message = {"role": "assistant", "content": reply}
    return http_reply(
        "200 OK",
        {
            "id": "chatcmpl-load",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "test-model",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 50, "completion_tokens": 3, "total_tokens": 53},
        },
    )


class Load:
    """The state that all connections share: the answer, the wait and the counts."""

    def __init__(self, wait: float, reply: str, log: TextIO | None) -> None:
        self.wait = wait
        self.answer = completion(reply)
        self.log = log
        self.loop = asyncio.get_running_loop()
        self.requests = self.answered = self.unread = self.gone = 0
        self.in_flight = self.max_in_flight = 0
        self.repeated = 0
        self.body_bytes = 0
        self.prompts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        self.first_request: float | None = None
        self.last_request: float | None = None
        self.last_answer: float | None = None
        self._call_seconds = 0.0  # the integral of in_flight up to `_changed`
        self._changed = 0.0
        self._flushing = False

    def begin(self, digest: str, size: int) -> None:
        now = time.time()
        if self.first_request is None:
            self.first_request = self._changed = now
        self.last_request = now
        self._count(now, 1)
        self.requests += 1
        self.body_bytes += size
        self.prompts[digest][0] += 1
        self.repeated += self.prompts[digest][0] == 2
        self.max_in_flight = max(self.max_in_flight, self.in_flight)

    def end(self, digest: str, *, delivered: bool) -> None:
        now = time.time()
        self._count(now, -1)
        if not delivered:
            self.gone += 1
            return
        self.answered += 1
        self.last_answer = now
        self.prompts[digest][1] += 1
        self.note(f"{digest} {now:.6f} answered\n")

    def take_back(self, digest: str) -> None:
        self.unread += 1
        self.note(f"{digest} {time.time():.6f} unread\n")

    def note(self, line: str) -> None:
        if self.log is None:
            return
        self.log.write(line)
        if not self._flushing:
            self._flushing = True
            self.loop.call_later(FLUSH_S, self.flush)

    def flush(self) -> None:
        self._flushing = False
        if self.log is not None:
            self.log.flush()

    def _count(self, now: float, change: int) -> None:
        self._call_seconds += self.in_flight * (now - self._changed)
        self._changed = now
        self.in_flight += change

    def stats(self, *, prompts: bool) -> dict[str, Any]:
        self.flush()
        span = (self.last_answer or 0.0) - (self.first_request or 0.0)
        found: dict[str, Any] = {
            "requests": self.requests,
            "answered": self.answered,
            "unread": self.unread,
            "gone": self.gone,
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "mean_in_flight": self._call_seconds / span if span > 0 else None,
            "prompts": len(self.prompts),
            "repeated": self.repeated,
            "body_bytes": self.body_bytes / self.requests if self.requests else None,
            "first_request": self.first_request,
            "last_request": self.last_request,
            "last_answer": self.last_answer,
            "cpu_s": time.process_time(),
        }
        if prompts:
            found["by_prompt"] = self.prompts
        return found


class Connection(asyncio.Protocol):
    """One client: HTTP/1.1 with keep-alive, one request at a time."""

    transport: asyncio.Transport

    def __init__(self, load: Load) -> None:
        self.load = load
        self.buffer = b""
        self.waiting: str | None = None  # digest of the request in flight
        self.last: str | None = None  # digest of the last answer, until the next request
        self.timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data
        if self.waiting is None:
            self._next()

    def _next(self) -> None:
        """Start the request at the front of the buffer, if it is complete."""
        head_end = self.buffer.find(b"\r\n\r\n")
        if head_end < 0:
            if len(self.buffer) > MAX_HEAD_BYTES:
                self._refuse("431 Request Header Fields Too Large")
            return
        head = self.buffer[:head_end].lower()
        length = 0
        at = head.find(b"\r\ncontent-length:")
        if at >= 0:
            value = head[at + 17 :].split(b"\r\n", 1)[0].strip()
            if not value.isdigit():
                self._refuse("400 Bad Request")
                return
            length = int(value)
        elif b"\r\ntransfer-encoding:" in head:
            self._refuse("411 Length Required")
            return
        end = head_end + 4 + length
        if len(self.buffer) < end:
            return
        body = self.buffer[head_end + 4 : end]
        self.buffer = self.buffer[end:]
        target = head[: head.find(b"\r\n")].split(b" ")[1:2]
        self._handle(target[0] if target else b"", body)

    def _handle(self, target: bytes, body: bytes) -> None:
        self.last = None
        path, _, query = target.partition(b"?")
        if path == b"/stats":
            stats = self.load.stats(prompts=query == b"prompts")
            self.transport.write(http_reply("200 OK", stats))
        elif not path.endswith(b"/chat/completions"):
            error = {"error": {"message": f"no such path: {path.decode(errors='replace')}"}}
            self.transport.write(http_reply("404 Not Found", error))
        else:
            try:
                digest = prompt_digest(json.loads(body)["messages"])
            except (ValueError, KeyError, TypeError):
                self._refuse("400 Bad Request")
                return
            self.waiting = digest
            self.load.begin(digest, len(body))
            self.timer = self.load.loop.call_later(self.load.wait, self._answer)
            return
        if self.buffer:
            self._next()

    def _refuse(self, status: str) -> None:
        self.transport.write(http_reply(status, {"error": {"message": status}}, close=True))
        self.transport.close()

    def _answer(self) -> None:
        digest, self.waiting = self.waiting, None
        assert digest is not None
        self.transport.write(self.load.answer)
        self.last = digest
        self.load.end(digest, delivered=True)
        if self.buffer:
            self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        if self.timer is not None:
            self.timer.cancel()
        if self.waiting is not None:
            self.load.end(self.waiting, delivered=False)
            self.waiting = None
        elif self.last is not None and isinstance(exc, ConnectionError):
            # A socket that closes with unread bytes resets the connection; after reading all
            # bytes it closes the connection in order.
            self.load.take_back(self.last)
            self.last = None


async def serve(given: argparse.Namespace) -> None:
    """Serve until SIGTERM, Ctrl-C or, with `--stdin`, the end of standard input."""
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    with contextlib.ExitStack() as stack:
        log = stack.enter_context(given.log.open("a", encoding="ascii")) if given.log else None
        load = Load(given.wait, given.reply, log)
        server = await loop.create_server(
            lambda: Connection(load), "127.0.0.1", given.port, backlog=4096
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, done.set)
        if given.stdin:
            loop.add_reader(0, lambda: None if os.read(0, 4096) else done.set())
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
        await done.wait()
        server.close()


class Running:
    """A handle of a server in another process; made by `running`."""

    def __init__(self, url: str, process: subprocess.Popen[str]) -> None:
        self.url = url
        self.process = process

    def stats(self, *, prompts: bool = False) -> dict[str, Any]:
        """Return the server's counts."""
        address = self.url.removesuffix("/v1") + "/stats" + "?prompts" * prompts
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(address, timeout=30) as reply:
            found: dict[str, Any] = json.load(reply)
        return found


@contextlib.contextmanager
def running(
    *, wait: float = 0.5, reply: str = "entailed", log: Path | None = None
) -> Iterator[Running]:
    """Run a server in another process for the duration of a with statement."""
    command = [sys.executable, __file__, "--stdin", f"--wait={wait}", f"--reply={reply}"]
    if log is not None:
        command.append(f"--log={log}")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError("the load server did not start")
            yield Running(url, process)
        finally:
            process.stdin.close()
            process.wait(10)


async def _ask(url: str, requests: int, connections: int) -> None:
    """Send small requests over many connections, each as soon as the last one is answered."""
    port = int(url.removesuffix("/v1").rpartition(":")[2])
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: "
    numbers = iter(range(requests))

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            message = {"role": "user", "content": f"{number} " + "row of a small table " * 20}
            body = json.dumps({"model": "test-model", "messages": [message]}).encode()
            writer.write(head + str(len(body)).encode() + b"\r\n\r\n" + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
        writer.close()

    await asyncio.gather(*(client() for _ in range(connections)))


def measure(wait: float, requests: int = 20_000, connections: int = 64) -> None:
    """Print the server's own CPU per request and its requests a second."""
    with running(wait=wait) as server:
        before = server.stats()["cpu_s"]
        started = time.perf_counter()
        asyncio.run(_ask(server.url, requests, connections))
        wall = time.perf_counter() - started
        stats = server.stats()
    each = (stats["cpu_s"] - before) / requests * 1000
    print(
        f"load server: {stats['answered']} answers after {wait:g} s each over {connections} "
        f"connections: {each:.3f} ms of its CPU a request, {requests / wall:.0f} requests/s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--wait", type=float, default=0.5, help="seconds before each answer")
    parser.add_argument("--reply", default="entailed", help="the text of every answer")
    parser.add_argument("--port", type=int, default=0, help="0 lets the system choose")
    parser.add_argument("--log", type=Path, help="append a line for each answered prompt")
    parser.add_argument("--stdin", action="store_true", help="end when standard input closes")
    parser.add_argument("--measure", action="store_true", help="measure the server and end")
    given = parser.parse_args()
    if given.measure:
        measure(0.0)
        measure(0.5, 2_000, 128)
    else:
        asyncio.run(serve(given))


if __name__ == "__main__":
    main()
