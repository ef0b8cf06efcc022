"""Failures as gateways and local servers word them: in text or by a code, not by the status.

The bodies are what litellm 1.106's proxy answers, and one of llama.cpp's server; tests/contract
asks real ones.
"""

from __future__ import annotations

import json

import pytest

from tests.support.calls import QUIETLY, Make, failing
from tests.support.openai_server import Behaviour, OpenAIServer, error

pytestmark = [pytest.mark.usefixtures("api_key"), QUIETLY]

TAIL = "\n\nLiteLLM: model group 'm' failed with the error above. No fallback was attempted."


def said(message: str, kind: str = "invalid_request_error", status: int = 400) -> Behaviour:
    """An error object of the proxy: its code is the status, as text."""
    content = {"message": message, "type": kind, "param": None, "code": str(status)}
    return Behaviour(json.dumps({"error": content}).encode(), status=status)


CASES: dict[str, tuple[Behaviour, str, str]] = {
    # name: what the proxy says, reason, flags (r: retryable, w: whole run)
    "window of the provider": (
        said(f"litellm.ContextWindowExceededError: litellm.BadRequestError: no room{TAIL}"),
        "context_window",
        "",
    ),
    "window known to the proxy": (
        said(
            "litellm.ContextWindowExceededError: litellm.BadRequestError: "
            "litellm._pre_call_checks: Context Window exceeded for given call."
        ),
        "context_window",
        "",
    ),
    "filter": (
        said(f"litellm.BadRequestError: litellm.ContentPolicyViolationError: no{TAIL}"),
        "content_filter",
        "",
    ),
    "no such model": (
        said("/chat/completions: Invalid model name passed in model=m. Call `/v1/models` to view"),
        "not_found",
        "w",
    ),
    "no such model, older": (
        said("completion: Invalid model name passed in model=m. Call `/v1/models` to view"),
        "not_found",
        "w",
    ),
    "no such model, with a code": (
        # llama.cpp's server, of a model whose file has gone.
        error(400, "The model `gone.gguf` does not exist", code="model_not_found"),
        "not_found",
        "w",
    ),
    "wrong key, no database": (said("No connected db.", "no_db_connection"), "auth", "w"),
    "wrong key": (said("Authentication Error, Invalid key", "auth_error", 401), "auth", "w"),
    "limit": (
        said("No deployments available for selected model.", "internal_server_error", 429),
        "rate_limit",
        "r",
    ),
    # What merely speaks of such errors is none of them.
    "a quotation": (
        said("the prompt says: `litellm.ContextWindowExceededError: ` and more"),
        "bad_request",
        "",
    ),
    "a refusal": (
        said("temperature: 3 is too high. Invalid model name passed in"),
        "bad_request",
        "",
    ),
    "a long run of words": (said("word" * 10_000 + ": " * 10_000), "bad_request", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_what_a_gateway_says(make: Make, name: str, openai_server: OpenAIServer, case: str) -> None:
    behaviour, reason, flags = CASES[case]
    openai_server.always(behaviour)
    failure = failing(make(name, openai_server))
    assert failure.reason == reason
    assert (failure.retryable, failure.whole_run) == ("r" in flags, "w" in flags)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"llm_provider-retry-after": "2"}, 2.0),
        # The proxy's own wish is about the proxy, which is who will be asked.
        ({"llm_provider-retry-after": "2", "Retry-After": "7"}, 7.0),
    ],
)
def test_the_wait_that_the_provider_behind_asks_for(
    *,
    make: Make,
    name: str,
    openai_server: OpenAIServer,
    headers: dict[str, str],
    seconds: float,
) -> None:
    openai_server.always(error(429, headers=headers))
    assert failing(make(name, openai_server)).retry_after == seconds
