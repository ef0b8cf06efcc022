"""Parameters of a request: those that our options set, and those that limit a reply."""

from __future__ import annotations

__all__ = ["REPLY_LIMITS", "RESERVED", "WINDOW", "is_ollama"]

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
