"""Failures that gateways and local servers report by text or code instead of the status.

The bodies are those of litellm 1.106's proxy, and one of llama.cpp's server. tests/contract calls
real servers.
"""

from __future__ import annotations

import json

import pytest

from tests.support.calls import QUIETLY, Make, failing
from tests.support.openai_server import Behaviour, OpenAIServer, error

pytestmark = [pytest.mark.usefixtures("api_key"), QUIETLY]

TAIL = "\n\nLiteLLM: model group 'm' failed with the error above. No fallback was attempted."


def proxy_error(message: str, kind: str = "invalid_request_error", status: int = 400) -> Behaviour:
    """Return an error of the proxy, whose code is the status as text."""
    content = {"message": message, "type": kind, "param": None, "code": str(status)}
    return Behaviour(json.dumps({"error": content}).encode(), status=status)


CASES: dict[str, tuple[Behaviour, str, str]] = {
    # name: response of the proxy, reason, flags (r: retryable, w: whole run)
    "window of the provider": (
        proxy_error(f"litellm.ContextWindowExceededError: litellm.BadRequestError: no room{TAIL}"),
        "context_window",
        "",
    ),
    "window known to the proxy": (
        proxy_error(
            "litellm.ContextWindowExceededError: litellm.BadRequestError: "
            "litellm._pre_call_checks: Context Window exceeded for given call."
        ),
        "context_window",
        "",
    ),
    "filter": (
        proxy_error(f"litellm.BadRequestError: litellm.ContentPolicyViolationError: no{TAIL}"),
        "content_filter",
        "",
    ),
    "no such model": (
        proxy_error(
            "/chat/completions: Invalid model name passed in model=m. Call `/v1/models` to view"
        ),
        "not_found",
        "w",
    ),
    "no such model, older": (
        proxy_error("completion: Invalid model name passed in model=m. Call `/v1/models` to view"),
        "not_found",
        "w",
    ),
    "no such model, with a code": (
        # llama.cpp's server, for a model whose file is missing.
        error(400, "The model `gone.gguf` does not exist", code="model_not_found"),
        "not_found",
        "w",
    ),
    "wrong key, no database": (proxy_error("No connected db.", "no_db_connection"), "auth", "w"),
    "wrong key": (proxy_error("Authentication Error, Invalid key", "auth_error", 401), "auth", "w"),
    "limit": (
        proxy_error("No deployments available for selected model.", "internal_server_error", 429),
        "rate_limit",
        "r",
    ),
    # Messages that only mention such errors.
    "a quotation": (
        proxy_error("the prompt says: `litellm.ContextWindowExceededError: ` and more"),
        "bad_request",
        "",
    ),
    "a refusal": (
        proxy_error("temperature: 3 is too high. Invalid model name passed in"),
        "bad_request",
        "",
    ),
    "a long run of words": (proxy_error("word" * 10_000 + ": " * 10_000), "bad_request", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_each_failure_of_a_gateway_has_its_reason_and_flags(
    make: Make, name: str, openai_server: OpenAIServer, case: str
) -> None:
    behaviour, reason, flags = CASES[case]
    openai_server.always(behaviour)
    failure = failing(make(name, openai_server))
    assert failure.reason == reason
    assert (failure.retryable, failure.whole_run) == ("r" in flags, "w" in flags)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"llm_provider-retry-after": "2"}, 2.0),
        # The header of the proxy is about the proxy, which receives the next call.
        ({"llm_provider-retry-after": "2", "Retry-After": "7"}, 7.0),
    ],
)
def test_the_wait_requested_by_the_provider_behind_the_gateway_is_read(
    *,
    make: Make,
    name: str,
    openai_server: OpenAIServer,
    headers: dict[str, str],
    seconds: float,
) -> None:
    openai_server.always(error(429, headers=headers))
    assert failing(make(name, openai_server)).retry_after == seconds
