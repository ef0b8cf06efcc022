"""A loopback server of OpenAI's batch protocol: files, batches, output and error files.

It answers a batch only when a test calls `finish`, which also chooses the answered requests.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.loopback import LoopbackHandler, LoopbackServer
from tests.support.openai_server import completion

Answer = str | dict[str, dict[str, Any]]
HANDLED = ("/files", "/batches")


@dataclass
class Handed:
    """A submitted batch."""

    batch_id: str
    rows: list[dict[str, Any]]
    metadata: dict[str, str]
    status: str = "validating"
    files: dict[str, str] = field(default_factory=dict)
    errors: list[dict[str, str]] = field(default_factory=list)

    def body(self, input_file: str) -> dict[str, Any]:
        return {
            "id": self.batch_id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "input_file_id": input_file,
            "completion_window": "24h",
            "created_at": 1_700_000_000,
            "status": self.status,
            "metadata": self.metadata,
            "errors": {"object": "list", "data": self.errors} if self.errors else None,
            "output_file_id": self.files.get("output"),
            "error_file_id": self.files.get("error"),
        }


class BatchServer(LoopbackServer):
    """The server.

    Arguments:
        answer: returns the text that answers the body of a request, or calls of tools: the
            arguments by the name of each.
        usage: tokens of a prompt and of a reply.
    """

    def __init__(
        self, answer: Callable[[dict[str, Any]], Answer], usage: tuple[int, int] = (1000, 10)
    ) -> None:
        super().__init__(_Handler)
        self.answer = answer
        self.usage = usage
        self.batches: list[Handed] = []
        self.files: dict[str, bytes] = {}
        self.inputs: dict[str, str] = {}
        self.keys: set[str | None] = set()
        self.break_off: str | None = None
        """`before` or `after`: creating a batch fails before or after the batch exists."""
        self.page = 100
        """Most batches in one list."""
        self.reading = 0
        """How many times an uploaded file is not ready yet, as on Azure."""
        self.paths: set[str] = set()

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    @property
    def asked(self) -> list[str]:
        """The keys of all submitted requests, including repetitions."""
        return [row["custom_id"] for batch in self.batches for row in batch.rows]

    def finish(
        self,
        status: str = "completed",
        *,
        answered: Callable[[int], bool] = lambda number: True,
        failing: dict[int, tuple[int, str]] | None = None,
        extra: Iterable[bytes] = (),
        errors: Iterable[str] = (),
    ) -> None:
        """End the running batches.

        Arguments:
            status: the status of the batches.
            answered: returns whether the request with this number has an answer.
            failing: status and code of errors, by the number of the request.
            extra: further lines of the output file.
            errors: why the whole batch was refused.
        """
        for batch in self.batches:
            if batch.status != "validating":
                continue
            batch.status = status
            batch.errors = [{"code": "invalid", "message": message} for message in errors]
            good, bad = list(extra), []
            for number, row in enumerate(batch.rows):
                if failing and number in failing:
                    bad.append(_failed(row, *failing[number]))
                elif answered(number):
                    good.append(_answered(row, self.answer(row["body"]), self.usage))
            for name, lines in (("output", good), ("error", bad)):
                if lines:
                    batch.files[name] = self._keep(b"\n".join(lines) + b"\n")

    def _keep(self, data: bytes) -> str:
        name = f"file-{len(self.files) + 1}"
        self.files[name] = data
        return name

    def _file(self, name: str) -> dict[str, Any]:
        self.reading -= 1
        return {
            "id": name,
            "object": "file",
            "purpose": "batch",
            "bytes": len(self.files[name]),
            "created_at": 1_700_000_000,
            "filename": "batch.jsonl",
            "status": "processed" if self.reading < 0 else "pending",
        }

    def post(self, path: str, data: bytes, kind: str) -> tuple[int, Any]:
        if path.endswith("/files"):
            name = self._keep(_uploaded(data, kind))
            return 200, self._file(name)
        if self.break_off == "before":
            return 500, {"error": {"message": "no batch was made", "code": None}}
        content = json.loads(data)
        rows = [json.loads(line) for line in self.files[content["input_file_id"]].splitlines()]
        batch = Handed(f"batch_{len(self.batches) + 1}", rows, content.get("metadata") or {})
        self.batches.append(batch)
        self.inputs[batch.batch_id] = content["input_file_id"]
        if self.break_off == "after":
            return 500, {"error": {"message": "unknown state", "code": None}}
        return 200, batch.body(content["input_file_id"])

    def get(self, path: str, after: str | None) -> tuple[int, Any]:
        content = re.search(r"/files/([^/]+)/content$", path)
        if content:
            return 200, self.files[content[1]]
        file = re.search(r"/files/([^/]+)$", path)
        if file:
            return 200, self._file(file[1])
        batch_match = re.search(r"/batches/([^/]+)$", path)
        batches = {batch.batch_id: batch for batch in self.batches}
        if batch_match:
            batch = batches.get(batch_match[1])
            if batch is None:
                return 404, {"error": {"message": "no such batch", "code": None}}
            return 200, batch.body(self.inputs[batch.batch_id])
        rows = [batch.body(self.inputs[batch.batch_id]) for batch in reversed(self.batches)]
        first = 1 + max((n for n, row in enumerate(rows) if row["id"] == after), default=-1)
        more = len(rows) > first + self.page
        rows = rows[first : first + self.page]
        return 200, {"object": "list", "data": rows, "has_more": more}


def _answered(row: dict[str, Any], answer: Answer, usage: tuple[int, int]) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": answer}
    if not isinstance(answer, str):
        functions = [{"name": name, "arguments": json.dumps(of)} for name, of in answer.items()]
        message |= {
            "content": None,
            "tool_calls": [
                {"id": f"call_{number}", "type": "function", "function": function}
                for number, function in enumerate(functions)
            ],
        }
    reason = "stop" if isinstance(answer, str) else "tool_calls"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    body = json.loads(completion([choice], usage, row["body"]["model"]))
    return _line(row, {"status_code": 200, "request_id": "r", "body": body}, None)


def _failed(row: dict[str, Any], status: int, code: str) -> bytes:
    error = {"message": f"scripted {code}", "code": code}
    if status == 0:
        return _line(row, None, error)
    return _line(row, {"status_code": status, "body": {"error": error}}, None)


def _line(row: dict[str, Any], response: Any, error: Any) -> bytes:
    line = {"id": "x", "custom_id": row["custom_id"], "response": response, "error": error}
    return json.dumps(line).encode()


def _uploaded(data: bytes, kind: str) -> bytes:
    """Return the content of a form's part named `file`."""
    boundary = b"--" + re.search(r"boundary=([^;]+)", kind)[1].strip('"').encode()  # type: ignore[index]
    for part in data.split(boundary):
        head, _, content = part.partition(b"\r\n\r\n")
        if b'name="file"' in head:
            return content.removesuffix(b"\r\n")
    raise AssertionError("no file was uploaded")


class _Handler(LoopbackHandler):
    methods = ("GET", "POST")

    def respond(self) -> None:
        owner: BatchServer = self.owner
        parts = urlsplit(self.path)
        owner.keys.add(self.headers.get("Authorization") or self.headers.get("api-key"))
        owner.paths.add(parts.path)
        if self.command == "POST":
            kind = self.headers.get("Content-Type", "")
            self.reply(*owner.post(parts.path, self.content(), kind))
        else:
            self.reply(*owner.get(parts.path, parse_qs(parts.query).get("after", [None])[0]))
