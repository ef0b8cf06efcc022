"""Parameters of a request: those that our options set, those that limit a reply, and efforts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import shortened, unknown_name

RESERVED = frozenset(
    {
        "acompletion",
        "additional_drop_params",
        "api_base",
        "api_key",
        "base_url",
        "cache",
        "caching",
        "client",
        "context_window_fallback_dict",
        "drop_params",
        "fallbacks",
        "max_retries",
        "messages",
        "mock_response",
        "model",
        "model_list",
        "n",
        "num_retries",
        "request_timeout",
        "shared_session",
        "stream",
        "timeout",
    }
)

REPLY_LIMITS = ("max_tokens", "max_completion_tokens")
"""litellm's names of the parameters that limit a reply."""

WINDOW = "num_ctx"
"""Ollama's name of the tokens that it reads of prompt and reply together."""


def is_ollama(model: str) -> bool:
    """Return whether litellm calls a model by Ollama's own protocol."""
    return model.startswith(("ollama/", "ollama_chat/"))


EFFORT = "reasoning_effort"
"""litellm's parameter for how much a model thinks, in words."""

BUDGET = "thinking"
"""litellm's parameter for how much a model thinks, in tokens."""

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""litellm's words for how much a model thinks, the least first."""

NONE = EFFORTS[0]

SCOPE = "effort="
"""The start of an effort's name in the brackets of a gate: `wikitq[effort=none]`."""

MOST_TOKENS = 10_000_000


def check_efforts(source: str, names: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct efforts in their order, with budgets as plain decimal numbers.

    Raises `SettingsError` for another name, and for words together with budgets, which no order
    covers; only `none` may join budgets.
    """
    efforts = dict.fromkeys(_checked(source, name) for name in names)
    if not efforts:
        raise SettingsError(f"{source} needs an effort, such as {', '.join(EFFORTS)}")
    words = [name for name in efforts if not is_budget(name) and name != NONE]
    budgets = [name for name in efforts if is_budget(name)]
    if words and budgets:
        raise SettingsError(
            f"{source}: {words[0]} is a word and {budgets[0]} a number of tokens; give words, or "
            f"{NONE} and numbers"
        )
    return tuple(efforts)


def _checked(source: str, name: str) -> str:
    if name in EFFORTS:
        return name
    if not (name.isascii() and name.isdecimal()):
        choices = (*EFFORTS, "a number of tokens")
        raise SettingsError(f"{source}: {unknown_name('effort', name, choices)}")
    if len(name) > len(str(MOST_TOKENS)) or not 1 <= int(name) <= MOST_TOKENS:
        raise SettingsError(
            f"{source}: {shortened(name, 40)} is no number of tokens from 1 to {MOST_TOKENS:,}; "
            f"{NONE} asks for no thinking"
        )
    return str(int(name))


def is_budget(effort: str) -> bool:
    """Return whether an effort is a number of tokens."""
    return effort.isascii() and effort.isdecimal()


def effort_params(effort: str) -> dict[str, Any]:
    """Return the parameters with which litellm requests an effort from any provider."""
    if is_budget(effort):
        return {BUDGET: {"type": "enabled", "budget_tokens": int(effort)}}
    return {EFFORT: effort}


def by_effort(efforts: Iterable[str]) -> list[str]:
    """Return efforts from the least to the most; unknown names come first, by code point."""
    return sorted(efforts, key=_rank)


def _rank(effort: str) -> tuple[int, int, str]:
    if is_budget(effort):
        return 1, int(effort), effort
    is_word = effort in EFFORTS
    # "none" comes before budgets, and words are never mixed with them.
    return int(is_word and effort != NONE), EFFORTS.index(effort) if is_word else -1, effort


def highest(efforts: Sequence[str]) -> str:
    """Return the effort that thinks most."""
    return by_effort(efforts)[-1]
