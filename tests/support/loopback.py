"""HTTP servers on 127.0.0.1 in a thread of the tests."""

from __future__ import annotations

import json
import ssl
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class LoopbackServer:
    """Serves inside a with statement; its handler's `owner` is this object.

    Arguments:
        port: where to listen; 0 lets the system choose. A closed server's port can be reused.
    """

    def __init__(self, handler: type[LoopbackHandler], port: int = 0) -> None:
        self.closing = threading.Event()
        self._http = _HTTPServer(("127.0.0.1", port), handler)
        self._http.owner = self
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}
        )

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop, end waiting replies and wait for every thread."""
        self.closing.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _HTTPServer(ThreadingHTTPServer):
    daemon_threads = False  # server_close() waits for the handlers
    request_queue_size = 128
    owner: Any

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that have gone or do not trust the certificate."""
        if not isinstance(sys.exception(), ssl.SSLError | ConnectionError):
            super().handle_error(request, client_address)


class LoopbackHandler(BaseHTTPRequestHandler):
    """Calls `respond` for the one request of a connection."""

    methods: tuple[str, ...] = ("POST",)
    protocol_version = "HTTP/1.1"
    timeout = 10  # a silent client does not keep the server open
    server: _HTTPServer

    @property
    def owner(self) -> Any:
        return self.server.owner

    def do_GET(self) -> None:
        self.close_connection = True
        if self.command in self.methods:
            self.respond()
        else:
            self.send_error(501)

    do_HEAD = do_PATCH = do_POST = do_GET  # noqa: N815 (names of http.server)

    def respond(self) -> None:
        raise NotImplementedError

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def content(self) -> bytes:
        """Return the body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def reply(self, status: int, body: Any) -> None:
        """Send bytes, or a value as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)
