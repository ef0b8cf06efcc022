"""Read what a chat completion says, and put it into its plain form.

litellm sets a reason that it does not know to `stop`, refuses content in parts from most servers,
and ignores an error inside of a choice. So a completion of OpenAI's protocol is put into its plain
form before litellm or this package reads it. An invalid number counts as unknown; the answer of the
same reply stays valid.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.models.thinking import read_blocks
from pytest_tablebench.serializers.content import ToolCall

MOST = 10**9
"""Upper limit for tokens, seconds and US dollars; a larger number is not plausible."""

# The field of OpenAI, Anthropic and Bedrock, and that of Gemini.
_USAGE = ("usage", "usageMetadata")
# Ollama puts the counts into the reply itself.
_IN_REPLY = ("prompt_eval_count", "eval_count")
_COUNTS = re.compile(r"(_tokens|Tokens|_count|Count)$")
_DETAILS = re.compile(r"details$", re.IGNORECASE)
_BASIC_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")

_VERSION_HEADERS = ("openai-version", "azureml-model-session", "x-model-version")
"""The response headers that name a version of the model or of the service."""

_PREFIXES = ("", "llm_provider-")
"""litellm repeats the headers of a provider with this prefix."""

REFUSAL = "refusal"
"""Why a reply ended that contains the words of a refusal."""

LONGEST_NAME = 200
"""Characters that are kept of a name that a server sends."""

_LENGTH = frozenset(
    {
        *("max_tokens", "model_length", "model_context_window_exceeded", "max_output_tokens"),
        *("token_limit", "context_length", "context_window_exceeded", "max_length"),
    }
)
_FILTER = frozenset(
    {
        *("sensitive", "safety", "content_filtered", "guardrail_intervened", "recitation"),
        *("blocklist", "prohibited_content", "spii", "image_safety", "risk", "moderation"),
    }
)
_REFUSAL = frozenset({"refusal", "refused"})
_ROLES = ("assistant", "user", "system", "tool", "function")
_FAILURE = re.compile(
    r"error|abort|fail|cancel|time_?d?_?out|interrupt|insufficient|unavailable|overload|preempt|"
    r"exception|network|disconnect|malformed|killed|crash|^other$|unspecified",
    re.IGNORECASE,
)


class MangledBody(Exception):
    """A body that is not a valid reply; the text gives the reason."""


class FailedReply(Exception):
    """A response of status 200 in which the provider reports an error.

    Arguments:
        message: the provider's words.
        status: the HTTP status that they name; 500 without one.
        code: the error's code, a word.
        body: the response, with the usage that was paid.
    """

    def __init__(self, message: str, status: int, code: str, body: Mapping[str, Any]) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.body = body


@dataclass(frozen=True)
class CompletionFacts:
    """What a response says in addition to litellm's translation.

    Arguments:
        finish: why the reply ended, if litellm has no word for it.
        model: the name of the model that answered.
        provider: of the servers behind an aggregator's address, the one that answered.
    """

    finish: str | None = None
    model: str | None = None
    provider: str | None = None


def read_completion(body: Any) -> tuple[CompletionFacts, bool]:
    """Put a parsed response into its plain form, in place; return its facts and whether it changed.

    Raises `FailedReply` if the provider reports an error in it, `MangledBody` for choices that are
    none.
    """
    if not isinstance(body, dict):
        return CompletionFacts(), False
    finish, changed = None, False
    choices = body.get("choices")
    if not choices and body.get("error"):
        raise _failure(body["error"], body)
    if choices is not None:
        if choices == []:
            empty = {"role": "assistant", "content": ""}
            choices.append({"index": 0, "message": empty, "finish_reason": "stop"})
            changed = True
        if not isinstance(choices, list) or not isinstance(choices[0], dict):
            raise MangledBody("it has no choices")
        _check(body, choices[0])
        finish, in_choice = _plain_choice(choices[0])
        changed |= in_choice
    return CompletionFacts(finish, _name(body.get("model")), _name(body.get("provider"))), changed


def _plain_choice(choice: dict[str, Any]) -> tuple[str | None, bool]:
    """Put a choice into its plain form; return why it ended, if litellm has no word for it."""
    message, finish, changed = choice.get("message"), None, False
    if message is not None:  # text completions have none
        if not isinstance(message, dict):
            raise MangledBody("it has no message")
        content = message.get("content")
        if isinstance(content, dict):
            content = [content]
        if isinstance(content, list):
            text, thoughts = read_blocks(content)
            parts = [part for part in content if isinstance(part, Mapping)]
            refusals = [part["refusal"] for part in parts if isinstance(part.get("refusal"), str)]
            if refusals and not message.get("refusal"):
                message["refusal"] = "".join(refusals)
            message["content"] = content = text
            if thoughts and not message.get("reasoning_content"):
                message["reasoning_content"] = thoughts
            changed = True
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal.strip() and not content:
            message["content"] = message.pop("refusal")
            finish, changed = REFUSAL, True
        elif content is None:
            message["content"] = ""
            changed = True
        if message.get("role") not in _ROLES:
            message["role"], changed = "assistant", True
    word = choice.get("finish_reason")
    if word is not None and not isinstance(word, str):
        choice["finish_reason"], changed = None, True
    elif word is not None:
        plain = word.lower()
        if plain in _LENGTH:
            choice["finish_reason"], changed = "length", True
        elif plain in _FILTER:
            choice["finish_reason"], changed = "content_filter", True
        elif plain in _REFUSAL:
            choice["finish_reason"], finish, changed = "stop", REFUSAL, True
    return finish, changed


def _check(body: Mapping[str, Any], first: Mapping[str, Any]) -> None:
    """Raise `FailedReply` if the response reports an error."""
    message = first.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    error = first.get("error") or (None if content else body.get("error"))
    word = first.get("finish_reason")
    if error:
        raise _failure(error, body)
    if isinstance(word, str) and _FAILURE.search(word):
        raise FailedReply(f"the reply ended with {word[:LONGEST_NAME]!r}", 500, word, body)


def _failure(error: object, body: Mapping[str, Any]) -> FailedReply:
    fields = error if isinstance(error, Mapping) else {}
    code = fields.get("code") or fields.get("status") or ""
    text = fields.get("message") or (error if isinstance(error, str) else "an error")
    digits = str(code)
    status = int(digits) if re.fullmatch(r"[45]\d\d", digits) else 500
    return FailedReply(str(text), status, str(fields.get("type") or code), body)


def _name(value: object) -> str | None:
    return value[:LONGEST_NAME] if isinstance(value, str) and value else None


def fingerprint_of(named: object, headers: Mapping[str, object] | None = None) -> str | None:
    """Return the fingerprint in one line of text; None if the response names no version.

    Arguments:
        named: the field `system_fingerprint` of the response.
        headers: the headers of the response, or litellm's copy of them.
    """
    parts = [named] if isinstance(named, str) and named else []
    if headers:
        present = {str(name).lower(): value for name, value in headers.items()}
        for name in _VERSION_HEADERS:
            values = (present.get(prefix + name) for prefix in _PREFIXES)
            text = next((value for value in values if isinstance(value, str) and value), None)
            if text is not None:
                parts.append(f"{name} {text}")
    return "; ".join(parts)[:LONGEST_NAME] or None


def count(value: object) -> int | None:
    """Return a whole number from 0 to 10^9; None for any other value."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
    return int(value) if is_count else None  # type: ignore[call-overload]


def amount(value: object) -> float | None:
    """Return a number from 0 to 10^9; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
        return None  # including NaN
    return float(value)


def sound_usage(reply: Any) -> bool:
    """Set a reply's usage to 0, in place, if any of its numbers is invalid; return whether.

    litellm reads a prompt of 0 tokens as an unknown usage. One wrong number makes the whole usage
    unknown: a price computed from the others would be wrong.
    """
    if not isinstance(reply, dict):
        return False
    changed = False
    for name in _USAGE:
        usage = reply.get(name)
        if usage is not None and not _is_sound(usage):
            fields = usage if isinstance(usage, dict) else {}
            reply[name] = dict.fromkeys((*_BASIC_COUNTS, *filter(_COUNTS.search, fields)), 0)
            changed = True
    present = [name for name in _IN_REPLY if name in reply]
    if any(count(reply[name]) is None for name in present):
        reply.update(dict.fromkeys(present, 0))
        changed = True
    return changed


def _is_sound(usage: object) -> bool:
    if not isinstance(usage, dict):
        return False
    counts = [count(value) or 0 for name, value in usage.items() if _COUNTS.search(name)]
    # A part of a count (cached, reasoning) cannot exceed the sum of all counts.
    most = sum(counts) if counts else MOST
    return all(_may_be(name, value, most) for name, value in usage.items())


def _may_be(name: str, value: object, most: int) -> bool:
    """Return whether a field of a usage has a plausible value."""
    if value is None:
        return True
    if _COUNTS.search(name):
        number = count(value)
        return number is not None and number <= most
    if isinstance(value, dict):
        return all(_may_be(*item, most) for item in value.items())
    if isinstance(value, list):
        return all(isinstance(item, dict) and _may_be("", item, most) for item in value)
    if isinstance(value, str | bool):
        return not _DETAILS.search(name)
    return amount(value) is not None


_SENT_BACK = ("thinking_blocks", "reasoning_items", "reasoning_content")
"""The fields of thoughts, as litellm takes them back."""

_SIGNATURES = ("thought_signature", "thought_signatures")
"""Gemini's signatures of thoughts, in litellm's further fields."""


def tools_called(message: Any) -> dict[str, Any]:
    """Return `calls` and `sent_back` of a reply; empty if it calls no tool.

    `message` is litellm's, or of a response of OpenAI's protocol.
    """
    values = message if isinstance(message, Mapping) else getattr(message, "model_dump", dict)()
    entries = values.get("tool_calls")
    calls = [_call(entry) for entry in entries] if isinstance(entries, list) else []
    if not calls:
        return {}
    fields = {name: values[name] for name in _SENT_BACK if values.get(name)}
    if signatures := _signed(values.get("provider_specific_fields")):
        fields["provider_specific_fields"] = signatures
    return {"calls": calls, "sent_back": json.dumps(fields, default=str) if fields else ""}


def _call(entry: Mapping[str, Any]) -> ToolCall:
    """Return a call; a name that is no text is empty, other arguments are written as JSON."""
    function = entry.get("function") or {}
    name, arguments = function.get("name"), function.get("arguments")
    signed = _signed(entry.get("provider_specific_fields"))
    signed = signed or _signed(function.get("provider_specific_fields"))
    return ToolCall(
        str(entry.get("id") or ""),
        name if isinstance(name, str) else "",
        arguments if isinstance(arguments, str) else json.dumps(arguments or {}, default=str),
        json.dumps({"provider_specific_fields": signed}) if signed else "",
    )


def _signed(fields: Any) -> dict[str, Any]:
    fields = fields if isinstance(fields, Mapping) else {}
    return {name: fields[name] for name in _SIGNATURES if fields.get(name)}
