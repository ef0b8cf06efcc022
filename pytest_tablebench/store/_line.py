"""One line of a segment: an answer, a program's outcome, or a resolution, with a checksum.

    {"schema": 1, "key": "<64 hex>", "check": "<16 hex>", "request": {...}, "reply": {...},
     "written": "..."}
    {"schema": 1, "key": "<64 hex>", "check": "<16 hex>", "program": {...}, "execution": {...},
     "written": "..."}
    {"schema": 1, "kind": "resolution", "check": "<16 hex>", "key": "<text>",
     "resolution": {...}, "written": "..."}

A line is written by `json.dumps` in ASCII, with the fields in this order. The check is the first 16
digits of the SHA-256 of the line without its check field. Key and check have fixed places, so that
answers can be indexed without parsing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from pytest_tablebench.config.addresses import without_credentials
from pytest_tablebench.config.secrets import without_secrets
from pytest_tablebench.metrics.steps import (
    Execute,
    Execution,
    execution_fields,
    read_execution,
)
from pytest_tablebench.models.base import Message, Reply, Request
from pytest_tablebench.serializers.content import text_of, to_fields

SCHEMA = 1
"""Version of a line; raised when readers would misread it otherwise."""

ANSWER = b'{"schema": %d, "key": "' % SCHEMA
RESOLUTION = b'{"schema": %d, "kind": "resolution' % SCHEMA
CHECK = b'", "check": "'
AFTER_CHECK = b'", '
DIGITS = 16
KEY_AT = len(ANSWER)
CHECK_AT = KEY_AT + 64

# In one JSON text, such a pair of surrogates would be read back as one character.
_PAIR = re.compile("(?<=[\ud800-\udbff])(?=[\udc00-\udfff])")


class BadLine(ValueError):
    """The problem of a line that must not be served."""


def answer_line(key: str, facts: Mapping[str, Any], reply: Reply) -> bytes:
    """Return the line of a reply; `facts` are the fields from `describe`."""
    fields: dict[str, Any] = {
        "text": _text_field(reply.written),
        **{name: getattr(reply, name) for name in _FIELDS},
    }
    if reply.reasoning_tokens is None:
        del fields["reasoning_tokens"]
    for name in _NAMES:
        if (value := getattr(reply, name)) is not None:
            fields[name] = value
    for name in ("cut", *_OF_TOOLS):
        if value := getattr(reply, name):
            fields[name] = value
    if beside := reply.beside:
        fields["thinking"] = _text_field(beside)
    return _store_line(CHECK_AT, key=key, request=facts, reply=fields)


def _text_field(text: str) -> str | list[str]:
    return _PAIR.split(text) if _PAIR.search(text) else text


def _read_text(field: object) -> str | None:
    if isinstance(field, list) and all(isinstance(part, str) for part in field):
        return "".join(field)
    return field if isinstance(field, str) else None


def execution_line(task: Execute, ran: Execution) -> tuple[str, bytes]:
    """Return the key of a program, and the line of its outcome."""
    key = task.key()
    program = {
        "sha256": hashlib.sha256(task.program.encode("utf-8", "surrogatepass")).hexdigest(),
        "characters": len(task.program),
        "files": sorted(task.files),
    }
    return key, _store_line(CHECK_AT, key=key, program=program, execution=execution_fields(ran))


def resolution_line(key: str, resolution: Mapping[str, Any]) -> bytes:
    content = {**without_secrets(resolution), "key": key}
    return _store_line(len(RESOLUTION), kind="resolution", key=key, resolution=content)


def read_answer(line: bytes) -> dict[str, Any]:
    """Parse and check the line of an answer, without its line end. Raises `BadLine`."""
    line = line.removesuffix(b"\r")  # version control may have changed the line ends
    if not line.startswith(ANSWER):
        raise BadLine("it is not the line of an answer")
    return _verified(line, CHECK_AT)


def read_other(line: bytes) -> dict[str, Any]:
    """Parse the line of a resolution. Raises `BadLine` for any other line."""
    line = line.removesuffix(b"\r")
    if line.startswith(RESOLUTION + CHECK):
        data = _verified(line, len(RESOLUTION))
        kinds = {"key": str, "resolution": dict, "written": str}
        if not all(isinstance(data.get(name), kind) for name, kind in kinds.items()):
            raise BadLine("it is damaged")
        return data
    data = _parsed(line)
    schema = data.get("schema")
    if type(schema) is int and schema > SCHEMA:
        raise BadLine(
            f"it has schema {schema}, this version reads up to {SCHEMA}: upgrade pytest-tablebench"
        )
    if schema == SCHEMA and "reply" in data:
        raise BadLine("its key is not 64 hexadecimal digits, or its fields are not in order")
    raise BadLine("it is not a line of an answer store")


def written_at(data: Mapping[str, Any]) -> str:
    """Return when a line was written, as ISO 8601 in UTC; "" if it does not say."""
    written = data.get("written")
    return written if isinstance(written, str) else ""


REPLACES = "replaces"
"""A fact about a request whose older answers were too old: its answer is served from now on."""


def replaces(data: Mapping[str, Any]) -> bool:
    """Return whether the line of an answer replaces older ones."""
    request = data.get("request")
    return isinstance(request, dict) and request.get(REPLACES) is True


def reply_of(data: Mapping[str, Any]) -> Reply:
    """Return the reply in the line of an answer. Raises `BadLine`."""
    fields = data.get("reply")
    if not isinstance(fields, dict):
        raise BadLine("it contains no reply")
    text, thinking = _read_text(fields.get("text")), _read_text(fields.get("thinking")) or ""
    if not isinstance(text, str):
        raise BadLine("its reply has no text")
    # `Reply` treats an invalid number as unknown, because the answer is valid and was paid for.
    rest: dict[str, Any] = {name: fields.get(name) for name in (*_FIELDS, *_NAMES)}
    rest |= {name: fields[name] for name in _OF_TOOLS if name in fields}
    cut = fields.get("cut") is True
    written = written_at(data) or None
    return Reply(text, from_store=True, cut=cut, thinking=thinking, stored_at=written, **rest)


def execution_of(data: Mapping[str, Any]) -> Execution:
    """Return the outcome in the line of a program. Raises `BadLine`."""
    try:
        return read_execution(data["execution"], from_store=True)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise BadLine("it contains no outcome of a program") from None


_FIELDS = (
    *("finish_reason", "prompt_tokens", "completion_tokens", "cost_usd", "latency_s"),
    "reasoning_tokens",
)
_NAMES = ("fingerprint", "served_model", "served_by")
"""What answered, written if it is known."""
_OF_TOOLS = ("calls", "sent_back")
"""Written if the model called tools."""


def _store_line(at: int, **fields: Any) -> bytes:
    """Return the line of the fields in this order, with the check at byte `at`."""
    written = datetime.now(UTC).isoformat(timespec="microseconds")
    content = {"schema": SCHEMA, **fields, "written": written}
    body = json.dumps(content, allow_nan=False).encode("ascii")
    check = hashlib.sha256(body).hexdigest()[:DIGITS].encode("ascii")
    return body[:at] + CHECK + check + body[at:] + b"\n"


def _verified(line: bytes, at: int) -> dict[str, Any]:
    end = at + len(CHECK) + DIGITS
    after = line[end : end + len(AFTER_CHECK)]
    if line[at : at + len(CHECK)] != CHECK or after != AFTER_CHECK:
        raise BadLine("it is damaged")
    digest = hashlib.sha256(line[:at])
    digest.update(memoryview(line)[end:])
    if digest.hexdigest()[:DIGITS].encode("ascii") != line[end - DIGITS : end]:
        raise BadLine("it is damaged: its checksum differs")
    return _parsed(line)


def _parsed(line: bytes) -> dict[str, Any]:
    try:
        data = json.loads(line.decode("ascii"))
    except (ValueError, RecursionError):
        raise BadLine("it is not JSON: torn, or damaged") from None
    if not isinstance(data, dict):
        raise BadLine("it is not a line of an answer store")
    return data


def describe(request: Request) -> dict[str, Any]:
    """Return the fields of a request that the store keeps, ready for JSON.

    A message is its role, the SHA-256 of its content in UTF-8 (lone surrogates as they are; with
    pictures, of its parts as JSON) and its length in characters. The texts are not stored, because
    they are large and their licences may forbid it.
    """
    return {
        "case_id": request.case_id,
        "model": request.model,
        "api_base": None if request.api_base is None else _endpoint(request.api_base),
        "params": _params(request.params),
        "strategy": request.strategy,
        "step": request.step,
        "repeat": request.repeat,
        **({"generation": request.generation} if request.generation else {}),
        "messages": [_message(message) for message in request.messages],
    }


def _endpoint(addresses: str) -> str:
    return " ".join(map(without_credentials, addresses.split(" ")))


def _params(params: Mapping[str, Any]) -> Any:
    """Return the parameters without secrets, cached because a run has only a few sets of them."""
    try:
        text = json.dumps(dict(params))
    except (TypeError, ValueError):
        return without_secrets(params)
    return json.loads(_scrubbed(text))


@lru_cache(maxsize=64)
def _scrubbed(text: str) -> str:
    return json.dumps(without_secrets(json.loads(text)))


def _message(message: Message) -> dict[str, Any]:
    content = to_fields(message.content)
    text = content if isinstance(content, str) else json.dumps(content)
    return {
        "role": message.role,
        "sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "characters": len(text_of(message.content)),
    }
