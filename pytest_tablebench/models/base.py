"""The protocol of providers: a request goes in, a reply or an error comes out."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Protocol

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.config.secrets import keys_in_use, without_keys
from pytest_tablebench.errors import (
    CONTENT_FILTER,
    CUT_OFF,
    EMPTY,
    REFUSED_ANSWER,
    THOUGHTS_ALONE,
    ModelError,
)
from pytest_tablebench.models._completions import REFUSAL, amount, count
from pytest_tablebench.models.thinking import joined, split_thoughts
from pytest_tablebench.serializers.content import (
    Content,
    Image,
    Message,
    SentBack,
    ToolCall,
    ToolResult,
    text_of,
    to_fields,
)
from pytest_tablebench.util.names import printable

__all__ = ["MAX_REPLY", "Message", "Provider", "Reply", "Request", "limited"]

FILE = "sha256:"
"""Prefix of `Request.api_base` for a model in a file; the file's digest follows."""

MAX_REPLY = 1_000_000
"""Bytes of UTF-8 that an answer keeps, unless an option sets another limit."""


@dataclass(frozen=True)
class Request:
    """A request to a model, with everything that can change the answer and nothing else.

    Arguments:
        model: the name as the user wrote it.
        messages: the whole conversation so far.
        params: every parameter that is sent.
        api_base: the endpoint; None for the provider's default.
        strategy: the strategy that conducts the conversation.
        step: 0 for the first request of a conversation, 1 for the next, and so on.
        repeat: 1 for the first repeat of a case, 2 for the second, and so on.
        generation: a name that separates this run's answers from earlier ones; "" to reuse those.
        case_id: the case, for scripted models and messages. It is not sent and not part of the
            key.
    """

    model: str
    messages: tuple[Message, ...]
    params: Mapping[str, Any] = field(default_factory=dict)
    api_base: str | None = None
    strategy: str = "direct"
    step: int = 0
    repeat: int = 1
    generation: str = ""
    case_id: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        """All message texts, joined by newlines."""
        return "\n".join(text_of(message.content) for message in self.messages)

    def key(self) -> str:
        """Return the SHA-256, as 64 hexadecimal digits, of all that can change the answer.

        Two requests have the same key exactly when all their compared fields are equal as JSON.
        """
        return self._key

    @cached_property
    def _key(self) -> str:
        values = [getattr(self, name) for name in _KEY_FIELDS]
        if self.generation:
            values.append(self.generation)
        if (self.api_base or "").startswith(FILE):
            values[0] = ""  # the same file is the same model under any name
        return hashlib.sha256(_ENCODE(values).encode("ascii")).hexdigest()


def _plain(value: object) -> object:
    """Return messages and mappings as values of JSON."""
    if isinstance(value, Message):
        return {"role": value.role, "content": to_fields(value.content)}
    if isinstance(value, Mapping):
        return dict(value)
    return str(value)


_KEY_FIELDS = tuple(
    item.name for item in fields(Request) if item.compare and item.name != "generation"
)
"""The generation is appended only if there is one, so that older keys stay valid."""
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=_plain).encode


@dataclass(frozen=True)
class Reply:
    """The reply of a model. Token counts and cost are None when unknown, never 0.

    The constructor sets invalid numbers to None: token counts that are not whole numbers from 0 to
    10^9, costs and times outside 0 to 10^9. `from_store` marks an answer that an earlier call paid
    for; its counts, cost and latency are those of that call, and `stored_at` is when it was stored
    (ISO 8601 in UTC). `cut` means that the text was longer.
    `reasoning_tokens` counts the thinking, a part of `completion_tokens`. `fingerprint` is the
    provider's name for the version that answered; None if it sent none. `served_model` is the model
    that the response names, and `served_by` the provider behind an aggregator's address.

    `text` is the answer without the model's thoughts. Pass the whole text: the constructor moves
    leading thoughts to `thinking`, after those that a server sends in a separate field, and keeps
    the whole text in `raw`. Without such thoughts `raw` is None.

    `calls` are the tools that the model calls. `sent_back` is JSON of the fields of its message
    that the provider wants back with their results; "" without any.
    """

    text: str
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None
    latency_s: float | None = None
    from_store: bool = False
    cut: bool = False
    thinking: str = ""
    raw: str | None = None
    reasoning_tokens: int | None = None
    fingerprint: str | None = None
    served_model: str | None = None
    served_by: str | None = None
    calls: tuple[ToolCall, ...] = ()
    sent_back: str = ""
    stored_at: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        fields_of_reply = vars(self)  # writable, although the dataclass is frozen
        fields_of_reply["calls"] = tuple(ToolCall(*map(str, call)) for call in self.calls)
        if not isinstance(self.thinking, str):
            fields_of_reply["thinking"] = ""
        if self.raw is None and isinstance(self.text, str):
            parts = split_thoughts(self.text)
            # Servers with a reasoning parser leave the empty lines after the thoughts.
            answer = parts.text.lstrip("\r\n") if self.thinking else parts.text
            if answer != self.text:
                thinking = joined(self.thinking, parts.thinking)
                fields_of_reply.update(raw=self.text, text=answer, thinking=thinking)
        fields_of_reply["thinking"] = fields_of_reply["thinking"].strip()
        for name in ("prompt_tokens", "completion_tokens", "reasoning_tokens"):
            fields_of_reply[name] = count(fields_of_reply[name])
        for name in ("cost_usd", "latency_s"):
            fields_of_reply[name] = amount(fields_of_reply[name])
        for name in ("finish_reason", "fingerprint", "served_model", "served_by"):
            if not isinstance(fields_of_reply[name], str):
                fields_of_reply[name] = None

    @property
    def written(self) -> str:
        """The whole text as the model wrote it, with its leading thoughts."""
        return self.text if self.raw is None else self.raw

    @property
    def shown(self) -> str:
        """The whole text, and a line for each tool call, for readers."""
        written = (self.written,) if self.written else ()
        return text_of((*written, *self.calls)) if self.calls else self.written

    @property
    def turn(self) -> Message:
        """The message with which a conversation continues after the reply."""
        back = (SentBack(self.sent_back),) if self.sent_back else ()
        text = (self.text,) if self.text else ()
        return Message("assistant", (*back, *text, *self.calls))

    @property
    def beside(self) -> str:
        """The thoughts that a server sent in a separate field."""
        inline = "" if self.raw is None else split_thoughts(self.raw).thinking
        return self.thinking.removesuffix(inline).rstrip()

    @property
    def missing(self) -> str | None:
        """The reason why the reply is no answer; None for an answer."""
        if self.finish_reason == REFUSAL:
            return REFUSED_ANSWER
        if self.finish_reason == CONTENT_FILTER:
            return CONTENT_FILTER
        if self.text.strip() or self.calls:
            return None
        if self.finish_reason == "length":
            return CUT_OFF
        return THOUGHTS_ALONE if self.thinking or self.raw is not None else EMPTY

    @property
    def is_cut_off(self) -> bool:
        """Whether the token limit ended the reply before any answer."""
        return self.missing == CUT_OFF


def limited(reply: Reply, most: int, keys: frozenset[str] | None = None) -> Reply:
    """Return a reply as it may be kept: without keys, and at most `most` bytes of UTF-8 a text.

    `keys` are the secrets that it must not contain; None: the keys of the environment.

    Raises:
        ModelError: a registered provider returned an object that is not a `Reply` with a text.
    """
    if not isinstance(reply, Reply) or not isinstance(reply.text, str):
        kind = type(reply.text if isinstance(reply, Reply) else reply).__name__
        raise ModelError(
            f"the provider returned {kind}; it has to return a Reply with a text",
            reason="bad_reply",
        )
    reply = _redacted(reply, keys_in_use() if keys is None else keys)
    text, beside = _shortened(reply.written, most), _shortened(reply.thinking, most)
    if text is not None:
        beside = _shortened(reply.beside, most) or reply.beside
        return replace(reply, text=text, raw=None, thinking=beside, cut=True)
    return reply if beside is None else replace(reply, thinking=beside, cut=True)


def _redacted(reply: Reply, keys: frozenset[str]) -> Reply:
    texts: dict[str, Any] = {
        name: text for name, text in vars(reply).items() if isinstance(text, str)
    }
    redacted: dict[str, Any] = {name: without_keys(text, keys) for name, text in texts.items()}
    if reply.calls:
        texts["calls"] = reply.calls
        redacted["calls"] = tuple(
            ToolCall(*(without_keys(text, keys) for text in call)) for call in reply.calls
        )
    return reply if redacted == texts else replace(reply, **redacted)


def _shortened(text: str, most: int) -> str | None:
    """Return the beginning of a text of more than `most` bytes; None for a shorter text."""
    # No character takes more than four bytes.
    if len(text) * 4 <= most:
        return None
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= most:
        return None
    while data[most] & 0xC0 == 0x80:  # inside a character
        most -= 1
    return data[:most].decode("utf-8", "surrogatepass")


class Provider(Protocol):
    """An object that answers requests.

    `complete` returns one reply or raises `ModelError`. It is called from one thread at a time and
    makes one attempt; the engine retries. The reply contains the cost of the call in `cost_usd`.
    Thoughts at the beginning of its text are separated; a provider that receives them separately
    returns `Reply(text, thinking=...)`.

    A registered provider runs in separate processes, one object for each concurrent call. For that
    its maker must be importable by name: a function or class of a module or a conftest.py, or
    `maker.reference = "package.module:attribute"`. If the maker or class has `in_process = True`,
    or the maker is a lambda or an inner function, the provider stays in the test process. There it
    answers one call at a time, and the options about concurrent calls have no effect.

    `sees = False`: the provider never receives pictures. `stored = False`: its answers are not
    stored. `at_once = N`: it receives at most N concurrent calls. `identity`: a text that replaces
    the endpoint in the keys of answers.
    """

    def complete(self, request: Request) -> Reply:
        """Answer one request."""
        ...


def as_read(reply: Reply, compat: Compat) -> Reply:
    """Return a reply as strategies and metrics receive it.

    `fixed` reads the answer without the model's thoughts. `reference` reads the whole text, as the
    published code does, even if it is empty or was cut off.

    Raises `ModelError` for a reply without an answer: in `reference` only for a refusal that the
    provider marks, and for an answer that its filter withheld.
    """
    missing = reply.missing
    if compat == "reference" and missing not in {REFUSED_ANSWER, CONTENT_FILTER}:
        return reply if reply.raw is None else replace(reply, text=reply.raw)
    if missing is not None:
        raise ModelError(_without_answer(reply, missing), reason=missing)
    return reply


def _without_answer(reply: Reply, missing: str) -> str:
    if missing == REFUSED_ANSWER:
        return f"the model refused to answer: {printable(reply.text.strip(), 200)!r}"
    if missing == CONTENT_FILTER:
        return "the provider's content filter withheld the answer"
    if missing == CUT_OFF:
        tokens = reply.completion_tokens
        after = "" if tokens is None else f" after {tokens} tokens"
        content = "thoughts alone" if reply.written.strip() or reply.thinking else "no text"
        return f"the token limit ended the reply{after}, which contains {content}"
    content = "thoughts alone" if missing == THOUGHTS_ALONE else "no text"
    return f"the reply is complete and contains {content}"


def as_openai(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return messages of OpenAI's protocol. Pictures are `data:` URLs, which all providers take."""
    return [_turn(message) for message in messages]


def _turn(message: Message) -> dict[str, Any]:
    role, content = message.role, message.content
    if isinstance(content, str) or role not in {"assistant", "tool"}:
        return {"role": role, "content": _content(content)}
    turn: dict[str, Any] = {"role": role}
    calls = [_call(part) for part in content if isinstance(part, ToolCall)]
    for part in content:
        if isinstance(part, ToolResult):
            turn |= {"tool_call_id": part.id, "content": part.text}
        elif isinstance(part, SentBack):
            turn |= json.loads(part.fields)
    if texts := tuple(part for part in content if isinstance(part, str | Image)):
        turn["content"] = (
            texts[0] if isinstance(texts[0], str) and not texts[1:] else _content(texts)
        )
    return {**turn, "tool_calls": calls} if calls else turn


def _call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments}
    further = json.loads(call.further) if call.further else {}
    return {"id": call.id, "type": "function", "function": function, **further}


def _content(content: Content) -> Any:
    if isinstance(content, str):
        return content
    parts: list[dict[str, Any]] = []
    for part in content:
        if isinstance(part, Image):
            data = base64.b64encode(part.data).decode("ascii")
            url = f"data:{part.media_type};base64,{data}"
            parts.append({"type": "image_url", "image_url": {"url": url}})
        else:
            parts.append({"type": "text", "text": str(part)})
    return parts
