"""Read the tool calls of a response, and what its provider wants back with their results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_tablebench.serializers.content import ToolCall

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
