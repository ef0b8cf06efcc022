"""Error responses of servers become errors with a reason; no call is made."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import openai
import pytest

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models._failures import Failures

FAILURES = Failures("openai/m", "http://127.0.0.1:1/v1", 30)
TAIL = "\n\nLiteLLM: model group 'm' failed with the error above. No fallback was attempted."


def failed(
    message: str,
    status: int = 400,
    headers: dict[str, str] | None = None,
    placed: frozenset[str] = frozenset(),
    **fields: Any,
) -> ModelError:
    """Return the error for a response in OpenAI's form."""
    body = json.dumps({"error": {"message": message, "param": None, "code": None, **fields}})
    return FAILURES.of_response(status, body, headers or {}, placed)


# Messages of litellm 1.106's proxy, whose code is the status as text, and one of llama.cpp's
# server: message, status, type, code, reason, flags (r: retryable, w: whole run).
GATEWAYS: dict[str, tuple[str, int, str, str, str, str]] = {
    "window of the provider": (
        f"litellm.ContextWindowExceededError: litellm.BadRequestError: no room{TAIL}",
        *(400, "", "400", "context_window", ""),
    ),
    "window known to the proxy": (
        "litellm.ContextWindowExceededError: litellm.BadRequestError: "
        "litellm._pre_call_checks: Context Window exceeded for given call.",
        *(400, "", "400", "context_window", ""),
    ),
    "filter": (
        f"litellm.BadRequestError: litellm.ContentPolicyViolationError: no{TAIL}",
        *(400, "", "400", "content_filter", ""),
    ),
    "no such model": (
        "/chat/completions: Invalid model name passed in model=m. Call `/v1/models` to view",
        *(400, "", "400", "not_found", "w"),
    ),
    "no such model, older": (
        "completion: Invalid model name passed in model=m. Call `/v1/models` to view",
        *(400, "", "400", "not_found", "w"),
    ),
    "no such model, with a code": (
        "The model `gone.gguf` does not exist",
        *(400, "", "model_not_found", "not_found", "w"),
    ),
    "wrong key, no database": (
        "No connected db.",
        *(400, "no_db_connection", "400", "auth", "w"),
    ),
    "limit": (
        "No deployments available for selected model.",
        *(429, "internal_server_error", "429", "rate_limit", "r"),
    ),
    # Messages that only mention such errors.
    "a quotation": (
        "the prompt says: `litellm.ContextWindowExceededError: ` and more",
        *(400, "", "400", "bad_request", ""),
    ),
    "a refusal": (
        "temperature: 3 is too high. Invalid model name passed in",
        *(400, "", "400", "bad_request", ""),
    ),
    "a long run of words": ("word" * 10_000 + ": " * 10_000, 400, "", "400", "bad_request", ""),
}


@pytest.mark.parametrize("case", GATEWAYS)
def test_each_failure_of_a_gateway_has_its_reason_and_flags(case: str) -> None:
    message, status, kind, code, reason, flags = GATEWAYS[case]
    failure = failed(message, status, type=kind, code=code)
    assert failure.reason == reason
    assert (failure.retryable, failure.whole_run) == ("r" in flags, "w" in flags)


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        *(("7", 7), ("0.5", 0.5), ("-3", 0), ("soon", None), ("nan", None), ("inf", None)),
        *(("1e400", None), ("9" * 5000, None), (",,,,", None), ("", None)),
        ("Fri, 31 Dec 99999 23:59:59 GMT", None),
        ("Fri, 31 Dec 9999 23:59:59 -2359", None),
        ("Fri, 31 Dec 2026 23:59:59 +999999", None),
    ],
)
def test_the_header_retry_after_is_read_in_seconds(
    status: int, header: str, seconds: float | None
) -> None:
    failure = failed("no", status, {"retry-after": header})
    assert (failure.retryable, failure.retry_after) == (True, seconds)


@pytest.mark.parametrize(("minutes", "low", "high"), [(10, 590, 600), (-10, 0, 0)])
def test_the_header_retry_after_is_read_as_a_date(minutes: int, low: float, high: float) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(minutes=minutes), usegmt=True)
    seconds = failed("no", 429, {"retry-after": date}).retry_after
    assert seconds is not None
    assert low <= seconds <= high


def test_the_wait_of_the_provider_behind_a_gateway_is_read() -> None:
    behind = {"llm_provider-retry-after": "2"}
    assert failed("no", 429, behind).retry_after == 2
    # The header of the proxy is about the proxy, which receives the next call.
    assert failed("no", 429, {**behind, "retry-after": "7"}).retry_after == 7


def test_the_message_of_the_server_is_in_the_error() -> None:
    assert "[temperature has to be below 2]" in str(failed("temperature has to be\nbelow 2"))
    assert "[oops]" in str(FAILURES.of_response(500, "oops", {}, frozenset()))


@pytest.mark.parametrize(
    "message",
    [
        *("x?" + "a" * 100_000, "://" * 33_000, "?" * 50_000 + "a" * 50_000, "key " * 25_000),
        "no " * 5000,
    ],
)
def test_a_long_error_is_read_quickly_and_truncated(message: str) -> None:
    start = time.process_time()
    failure = failed(message, code="context_length_exceeded")
    assert time.process_time() - start < 1  # seconds of this process
    assert failure.reason == "context_window"
    assert len(str(failure)) < 500


@pytest.mark.parametrize(
    "text",
    [
        "key {key} is wrong",
        "Incorrect API key provided: {key}.",
        "{{'api_key': '{key}', 'x': 1}}",
    ],
)
@pytest.mark.parametrize(
    "secret", ["sk-local-0123456789abcdef", "sk-other-98765", "hunter2hunter2"]
)
def test_secrets_are_not_in_the_message(
    monkeypatch: pytest.MonkeyPatch, text: str, secret: str
) -> None:
    if secret.startswith("hunter"):  # not recognizable, but set in the environment
        monkeypatch.setenv("SOME_API_KEY", secret)
    message = str(failed(text.format(key=secret)))
    assert secret not in message
    assert "***" in message


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer {key}",
        "{{'authorization': 'Basic {key}'}}",
        "api_key={key}",
        '{{"x-api-key": "{key}"}}',
        "access token: {key}, expired",
        "https://example.org/v1?key={key}&x=1",
        "https://me:{key}@example.org/v1",
    ],
)
def test_a_secret_is_recognized_by_its_place_in_the_message(text: str) -> None:
    message = str(failed(text.format(key="abc.DEF_123")))
    assert "DEF" not in message
    assert "***" in message


def test_a_call_that_fails_for_an_unknown_reason_names_the_cause() -> None:
    error = ValueError("Connection error.")
    error.__cause__ = RuntimeError("Session is closed")
    failure = Failures("openai/m", None, 1.0).explain(error, frozenset())
    assert failure.reason == "error"
    assert str(failure) == (
        "openai/m: the call failed (RuntimeError: Session is closed) [Connection error.]"
    )
    error.__cause__ = None
    failure = Failures("openai/m", None, 1.0).explain(error, frozenset())
    assert str(failure) == "openai/m: the call failed [Connection error.]"


def test_a_request_that_was_interrupted_is_retried() -> None:
    error = openai.APIConnectionError(request=httpx.Request("POST", "http://127.0.0.1:1/v1"))
    error.__cause__ = RuntimeError("Session is closed")
    failure = Failures("openai/m", None, 1.0).explain(error, frozenset())
    assert (failure.reason, failure.retryable, failure.whole_run) == ("error", True, False)
    other = Failures("openai/m", None, 1.0).explain(RuntimeError("no"), frozenset())
    assert not other.retryable
