"""Messages between the processes of a run: one line each, a JSON header and a JSON body.

    {"do": "ask", "key": "..."}<TAB>{"messages": [...]}<NEWLINE>

The body is optional. A process that only forwards a message need not parse its body, because JSON
as written here contains no raw tab or newline.
"""

from __future__ import annotations

import base64
import json
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import ModelError, StoreError
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Execute, Limits
from pytest_tablebench.models.base import Message, Reply, Request
from pytest_tablebench.serializers.content import read_fields, to_fields
from pytest_tablebench.util.leftovers import SharedFile

PROBLEMS = "problems"
"""First word of the names of notes about problems; such a note contains all of one source."""

REFUSALS = "refusals"
"""First word of the names of notes about request parts: a model, the part, and why it refuses."""

_encode = json.JSONEncoder(separators=(",", ":"), default=str).encode


def to_json(value: object) -> bytes:
    """Encode a value as one line of ASCII JSON."""
    return _encode(value).encode("ascii")


def pack(head: Mapping[str, Any], body: bytes | None = None) -> bytes:
    line = to_json(head)
    return line + b"\n" if body is None else b"".join((line, b"\t", body, b"\n"))


def header(line: bytes) -> tuple[dict[str, Any], bytes]:
    """Split a line into its header and its body, which is empty if there is none."""
    head, _, body = line.partition(b"\t")
    return json.loads(head), body


class LineSplitter:
    """Joins the pieces that a socket receives into lines."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        """Return the lines that this piece completes."""
        if b"\n" not in data:
            self._parts.append(data)
            return []
        *whole, rest = data.split(b"\n")
        if self._parts:
            whole[0] = b"".join((*self._parts, whole[0]))
        self._parts = [rest] if rest else []
        return whole


_REQUEST_FIELDS = tuple(item.name for item in fields(Request))


def request_body(request: Request, media: Path | None = None) -> bytes:
    """Encode a request for a caller, which reads its pictures from the folder `media`."""
    messages = [[m.role, to_fields(m.content)] for m in request.messages]
    folder = {} if media is None else {"media": str(media)}
    values = {name: getattr(request, name) for name in _REQUEST_FIELDS}
    return to_json({**values, "messages": messages, **folder})


def read_request(body: bytes) -> Request:
    """Decode `request_body`. Raises `OSError` or `ValueError` for a lost or changed picture."""
    values = json.loads(body)
    media = Path(values.pop("media", ""))
    values["messages"] = tuple(
        Message(role, read_fields(content, media)) for role, content in values["messages"]
    )
    return Request(**values)


SHARED = 1 << 16
"""Bytes from which on a shared file is passed on by its path."""


def execute_body(task: Execute, *, whole: bool = False) -> bytes:
    """Encode a program for the process that runs it; `whole` for one on another machine."""

    def field(data: bytes) -> object:
        if isinstance(data, SharedFile) and len(data) > SHARED and not whole:
            return [str(data.path)]
        return base64.b64encode(data).decode("ascii")

    files = {name: field(data) for name, data in task.files.items()}
    fields = {name: value for name, value in vars(task).items() if name != "expected"}
    return to_json({**fields, "files": files, "limits": asdict(task.limits)})


def read_execute(body: bytes) -> Execute:
    fields = json.loads(body)
    fields["files"] = {
        name: SharedFile(Path(*data).read_bytes() if isinstance(data, list) else b64decode(data))
        for name, data in fields["files"].items()
    }
    fields["limits"] = Limits(**fields["limits"])
    fields["keeps"] = tuple(fields["keeps"])
    return Execute(**fields)


def reply_fields(reply: Reply) -> dict[str, Any]:
    """Convert a reply to JSON values."""
    if reply.raw is None:
        return vars(reply)
    return {**vars(reply), "text": reply.raw, "raw": None, "thinking": reply.beside}


def score_fields(scored: Score) -> dict[str, Any]:
    """Convert a score to JSON values, which keep all digits of each number."""
    return {**vars(scored), "parts": dict(scored.parts)}


def read_score(fields: Mapping[str, Any]) -> Score:
    return Score(**{**fields, "flags": tuple(fields["flags"])})


def not_stored(error: StoreError, request: Request) -> dict[str, Any]:
    """Return header fields that report why an answer was not stored."""
    why = str(error)
    if not error.whole_run:
        why = f"{request.case_id or ''}: {why}"
    return {"unstored": why, "whole_run": error.whole_run}


def error_fields(error: ModelError) -> dict[str, Any]:
    values = {name: getattr(error, name) for name in ("reason", "retryable", "whole_run")}
    rare = {name: getattr(error, name) for name in ("refused", "given_up", "spent")}
    values |= {name: value for name, value in rare.items() if value is not None}
    return {"message": str(error), "retry_after": error.retry_after, **values}


def read_error(fields: Mapping[str, Any]) -> ModelError:
    values = dict(fields)
    return ModelError(values.pop("message"), **values)
