"""Validate the numbers that servers report about a call.

An invalid number counts as unknown; the answer of the same reply stays valid.
"""

from __future__ import annotations

import re
from typing import Any

MOST = 10**9
"""Upper limit for tokens, seconds and US dollars; a larger number is not plausible."""

# The field of OpenAI, Anthropic and Bedrock, and that of Gemini.
_USAGE = ("usage", "usageMetadata")
# Ollama puts the counts into the reply itself.
_IN_REPLY = ("prompt_eval_count", "eval_count")
_COUNT = re.compile(r"(_tokens|Tokens|_count|Count)$")
_DETAILS = re.compile(r"details$", re.IGNORECASE)
_BASIC = ("prompt_tokens", "completion_tokens", "total_tokens")


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
            reply[name] = dict.fromkeys((*_BASIC, *filter(_COUNT.search, fields)), 0)
            changed = True
    present = [name for name in _IN_REPLY if name in reply]
    if any(count(reply[name]) is None for name in present):
        reply.update(dict.fromkeys(present, 0))
        changed = True
    return changed


def _is_sound(usage: object) -> bool:
    if not isinstance(usage, dict):
        return False
    counts = [count(value) or 0 for name, value in usage.items() if _COUNT.search(name)]
    # A part of a count (cached, reasoning) cannot exceed the sum of all counts.
    most = sum(counts) if counts else MOST
    return all(_may_be(name, value, most) for name, value in usage.items())


def _may_be(name: str, value: object, most: int) -> bool:
    """Return whether a field of a usage has a plausible value."""
    if value is None:
        return True
    if _COUNT.search(name):
        number = count(value)
        return number is not None and number <= most
    if isinstance(value, dict):
        return all(_may_be(*item, most) for item in value.items())
    if isinstance(value, list):
        return all(isinstance(item, dict) and _may_be("", item, most) for item in value)
    if isinstance(value, str | bool):
        return not _DETAILS.search(name)
    return amount(value) is not None
