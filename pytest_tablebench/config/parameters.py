"""Parameters of a request that our options set, so that `--bench-param` may not."""

from __future__ import annotations

__all__ = ["RESERVED"]

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
