"""A model that answers from a script, for tests, examples and trying out a set-up."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.models.base import Reply, Request
from pytest_tablebench.serializers.content import ToolCall
from pytest_tablebench.util.entries import parsed_json
from pytest_tablebench.util.names import unknown_name

Entry: TypeAlias = str | Reply | ModelError
Replies: TypeAlias = Iterable[Entry] | Mapping[str, Entry] | Callable[[Request], Entry]


class ScriptedModel:
    """A model with prepared answers.

    Each answer is a text, a `Reply`, or a `ModelError` to raise. `requests` contains the received
    requests, in order. Safe to use from several threads.

    Arguments:
        replies: answers in the order of the requests, or a mapping from case id to answer, or
            a function from `Request` to answer. A request without an answer is a
            `ModelError` with reason `not_scripted`.
        remember: whether `requests` is filled; a run of a hundred thousand cases should not.
    """

    stored = False

    def __init__(self, replies: Replies, *, remember: bool = True) -> None:
        if isinstance(replies, str):
            raise TypeError("ScriptedModel takes several replies; for one, write [text]")
        self.requests: list[Request] = []
        self._remember = remember
        self._lock = threading.Lock()
        self._replies = replies
        self._queue: Iterator[Entry] = iter(()) if callable(replies) else iter(replies)

    @classmethod
    def from_file(cls, path: str | Path) -> ScriptedModel:
        """Read a script of JSON lines, in any order.

        `{"case_id": ..., "text": ...}` answers one case. `{"match": ..., "text": ...}` answers each
        prompt that contains the match literally. `{"default": text}` answers all others. The first
        that applies in this sequence wins; of several matches, the earlier line. A line with a
        `text` may have a `finish_reason`. With `"error": reason` instead there is no answer. With
        `"calls": {tool: arguments, ...}` instead the model calls these tools.
        """
        return cls(_read(Path(path)), remember=False)

    def complete(self, request: Request) -> Reply:
        if self._remember:
            with self._lock:
                self.requests.append(request)
        entry = self._find(request)
        if isinstance(entry, ModelError):
            # The same object may have been raised before.
            raise entry.with_traceback(None)
        return entry if isinstance(entry, Reply) else Reply(entry, finish_reason="stop")

    def _find(self, request: Request) -> Entry:
        if callable(self._replies):
            return self._replies(request)
        try:
            if isinstance(self._replies, Mapping):
                entry: Entry = self._replies[request.case_id]
                return entry
            with self._lock:
                return next(self._queue)
        except KeyError:
            return _not_scripted(f"case {request.case_id!r} has no scripted reply")
        except StopIteration:
            return _not_scripted("all scripted replies are used up")


def _not_scripted(message: str) -> ModelError:
    return ModelError(message, reason="not_scripted")


@dataclass
class _Script:
    path: Path
    cases: dict[str, Entry] = field(default_factory=dict)
    matches: dict[str, Entry] = field(default_factory=dict)
    default: Entry | None = None

    def __call__(self, request: Request) -> Entry:
        if request.case_id in self.cases:
            return self.cases[request.case_id]
        for pattern, entry in self.matches.items():
            if pattern in request.text:
                return entry
        if self.default is not None:
            return self.default
        return _not_scripted(f"{self.path} has no reply for case {request.case_id!r}")


def _read(path: Path) -> _Script:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise SettingsError(f"the script {path} does not exist") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"the script {path} cannot be read: {error}") from None
    script = _Script(path)
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                _add(script, parsed_json(line))
            except ValueError as error:  # JSONDecodeError is one
                raise SettingsError(f"{path}, line {number}: {error}") from None
    return script


def _add(script: _Script, line: object) -> None:
    """Add one line of a script file. Raises `ValueError` with the fault of the line."""
    if not isinstance(line, dict):
        raise ValueError('must be a JSON object, as in {"case_id": ..., "text": ...}')
    keys = {"case_id", "match", "default"}
    fields = [*sorted(keys), "text", "finish_reason", "error", "calls"]
    if unknown := sorted(line.keys() - set(fields)):
        raise ValueError(unknown_name("field", unknown[0], fields))
    for name, value in line.items():
        if not isinstance(value, dict if name == "calls" else str):
            raise ValueError(f"{name!r} must be {'an object' if name == 'calls' else 'a text'}")
    if len(chosen := sorted(keys & line.keys())) != 1:
        raise ValueError("exactly one of 'case_id', 'match' and 'default' is needed")
    if chosen == ["default"]:
        if extra := sorted(line.keys() - {"default"}):
            raise ValueError(f"'default' excludes {extra[0]!r}")
        if script.default is not None:
            raise ValueError("a second 'default'")
        script.default = line["default"]
        return
    entries = script.cases if chosen == ["case_id"] else script.matches
    key = line[chosen[0]]
    if key in entries:
        raise ValueError(f"a second line for {chosen[0]} {key!r}")
    entries[key] = _entry(line)


def _entry(line: dict[str, Any]) -> Entry:
    if ("text" in line) + ("error" in line) + ("calls" in line) != 1:
        raise ValueError("exactly one of 'text', 'error' and 'calls' is needed")
    if "calls" in line:
        written = [(name, json.dumps(values)) for name, values in line["calls"].items()]
        calls = tuple(ToolCall(f"call_{n}", *call) for n, call in enumerate(written))
        return Reply("", "tool_calls", calls=calls)
    if "text" in line:
        return Reply(line["text"], finish_reason=line.get("finish_reason", "stop"))
    if "finish_reason" in line:
        raise ValueError("'finish_reason' needs a 'text'")
    return ModelError(f"scripted error: {line['error']}", reason=line["error"])
