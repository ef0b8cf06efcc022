"""Translate exceptions of litellm into the reasons of a `ModelError`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.config.secrets import redact
from pytest_tablebench.errors import CONTENT_FILTER, REFUSED, ModelError
from pytest_tablebench.models._body import MangledBody, RedirectRefused
from pytest_tablebench.models._completions import FailedReply
from pytest_tablebench.models._error_responses import (
    causes_of,
    detail_of,
    error_field,
    kinds_named,
    misses_key,
    names_no_model,
    response_of,
    retry_after_of,
    shown_words,
    status_of,
    words_of,
)
from pytest_tablebench.models._provider_words import (
    is_account_empty,
    is_filtered,
    is_too_long,
    room_of,
)
from pytest_tablebench.models._usage import count

# Class names of HTTP clients' exceptions: each provider in litellm has its own client.
UNREACHABLE = frozenset(
    {"ConnectError", "ConnectTimeout", "ConnectionRefusedError", "UnsupportedProtocol", "gaierror"}
)
TOO_SLOW = frozenset({"APITimeoutError", "TimeoutError", "TimeoutException"})
CUT_OFF = frozenset({"ConnectionError", "NetworkError", "RemoteProtocolError"})
# aiohttp's exceptions for an invalid status line, header or chunk length.
NO_HTTP = frozenset({"HttpProcessingError"})
# Exceptions for a reply of status 200 that cannot be parsed.
UNREADABLE = frozenset({"JSONDecodeError", "RecursionError", "UnicodeDecodeError"})

# The code in a server's error.
NO_MODEL = "model_not_found"

TOO_LONG_CODE = "context_length_exceeded"
NO_CREDIT = "insufficient_credit"
NO_QUOTA = "insufficient_quota"

TOO_LONG = "the prompt is longer than the model can read"


@dataclass(frozen=True)
class Failures:
    """Make the errors for calls to one model, each a `ModelError` that names the model.

    Arguments:
        model: the name as litellm takes it.
        api_base: address of the server; None leaves it to litellm.
        timeout: seconds one call may take.
    """

    model: str
    api_base: str | None
    timeout: float

    def timed_out(self) -> ModelError:
        return ModelError(
            f"{self.model} did not answer within {self.timeout:g} s; allow more time or check "
            "the server",
            reason="timeout",
            retryable=True,
        )

    def bad_reply(self, description: str) -> ModelError:
        return ModelError(
            f"{self.model} sent {description}; check that the address is an OpenAI-compatible API",
            reason="bad_reply",
            retryable=True,
        )

    def redirected(self, refused: RedirectRefused) -> ModelError:
        origin, target = (
            shown_words(refused.origin, frozenset()),
            shown_words(refused.target, frozenset()),
        )
        return ModelError(
            f"{self.model}: the server at {origin} redirects to {target}; prompts and keys are "
            "not sent to another host, port or scheme; if that server is the right one, set "
            "its address",
            reason="redirected",
            whole_run=True,
        )

    def unguarded(self, provider: str) -> ModelError:
        return ModelError(
            f"{self.model}: the call is not made, because litellm would send prompts and keys to "
            f"any server that {provider}'s server redirects to; if it has an OpenAI-compatible "
            "address, use openai/NAME with --bench-api-base",
            reason="bad_request",
            whole_run=True,
        )

    def filtered(self) -> ModelError:
        return ModelError(
            f"{self.model}: the provider's content filter withheld the answer",
            reason="content_filter",
        )

    def explain(self, litellm: Any, error: Exception, placed: frozenset[str]) -> ModelError:
        """Return the `ModelError` for an exception of litellm; `placed` are known secrets.

        litellm's classes are too coarse: a refused connection, a missing key and invalid JSON are
        all an InternalServerError with status 500. The cause is further down the chain: an
        exception of the HTTP client, or the server's response.
        """
        chain = list(causes_of(error))
        mangled = next((link for link in chain if isinstance(link, MangledBody)), None)
        if mangled is not None:
            return self.bad_reply(f"a reply that is no chat completion: {mangled}")
        refused = next((link for link in chain if isinstance(link, RedirectRefused)), None)
        if refused is not None:
            return self.redirected(refused)
        failed = next((link for link in chain if isinstance(link, FailedReply)), None)
        if failed is not None:
            inside = self.of_status(failed.status, failed.code, str(failed), placed)
            inside.spent = self._spent(litellm, failed.body)
            return inside
        kinds = {cls.__name__ for link in chain for cls in type(link).__mro__}
        response = response_of(chain)
        where = f" at {redact(self.api_base, placed)}" if self.api_base else ""
        failure = self._failure(detail_of(error, response, placed), where)
        if kinds & NO_HTTP and "ClientPayloadError" not in kinds:
            return failure("server_error", "what the server sent is not HTTP", retryable=True)
        codes = {getattr(link, "code", None) for link in chain} | {error_field(response, "code")}
        # litellm's proxy names the class of its own error only in the text.
        kinds |= kinds_named(response)
        text = words_of(error, response)
        status = status_of(error, chain, response)
        room = room_of(text) if status == 400 else None
        if room is not None:
            full = failure(REFUSED, f"the prompt leaves room for only {room:,} tokens of a reply")
            full.room = room
            return full
        codes.add(_meaning(status, text))
        if "ContextWindowExceededError" in kinds or TOO_LONG_CODE in codes:
            return failure("context_window", TOO_LONG)
        if "ContentPolicyViolationError" in kinds or CONTENT_FILTER in codes:
            return self.filtered()
        if response is None:
            if _broke_off(kinds):
                return failure(
                    "server_error",
                    "the connection was closed before the reply was complete",
                    retryable=True,
                )
            if kinds & UNREACHABLE:
                return failure(
                    "unreachable",
                    "no connection; check that the server runs and the address is right",
                    retryable=True,
                    whole_run=True,
                )
            if kinds & TOO_SLOW:
                return self.timed_out()
            if isinstance(error, litellm.BadRequestError) and not self._provider_known(litellm):
                return ModelError(
                    f"litellm knows no provider for the model name {self.model!r}; names look "
                    "like gpt-4o, ollama/llama3.2 or hosted_vllm/NAME",
                    reason="unknown_model",
                    whole_run=True,
                )
        # litellm's proxy without a database refuses each key but its master key with 400.
        keyless = error_field(response, "type") == "no_db_connection"
        if keyless or (response is None and misses_key(error)):
            status = 401
        if names_no_model(response):
            codes.add(NO_MODEL)
        named_error = self._by_status(status, codes, kinds, failure, retry_after_of(response))
        if named_error is not None:
            return named_error
        # litellm reports an unreadable reply as a bare Exception or as an error of its own.
        unread = type(chain[-1]).__module__.startswith("litellm")
        if unread or kinds & UNREADABLE or any(type(link) is Exception for link in chain):
            return self.bad_reply("a reply that is no chat completion")
        return failure("error", "the call failed")

    def _spent(self, litellm: Any, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return tokens and cost of a response with an error; None if it names no tokens."""
        usage = body.get("usage")
        if not isinstance(usage, Mapping) or not usage.get("prompt_tokens"):
            return None
        tokens = {name: count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")}
        try:
            costs = litellm.cost_per_token(
                model=self.model, **{name: number or 0 for name, number in tokens.items()}
            )
        except Exception:  # litellm raises many errors for an unknown price
            costs = ()
        return {**tokens, "cost_usd": sum(costs) or None}

    def of_status(
        self, status: int | None, code: str, text: str, placed: frozenset[str] = frozenset()
    ) -> ModelError:
        """Return the `ModelError` for an error with a status, a code and a text."""
        failure = self._failure(shown_words(text, placed))
        codes = {code, _meaning(status, text)}
        if TOO_LONG_CODE in codes:
            return failure("context_window", TOO_LONG)
        if CONTENT_FILTER in codes:
            return self.filtered()
        error = self._by_status(status, codes, set(), failure, None)
        return error or self.bad_reply("a reply that is no chat completion")

    def _failure(self, detail: str, where: str = "") -> Callable[..., ModelError]:
        """Return a function that makes an error from reason and message and appends the detail."""

        def failure(reason: str, message: str, **flags: Any) -> ModelError:
            text = f"{self.model}{where}: {message}" + (f" [{detail}]" if detail else "")
            return ModelError(text, reason=reason, **flags)

        return failure

    def _by_status(
        self,
        status: int | None,
        codes: set[Any],
        kinds: set[str],
        failure: Callable[..., ModelError],
        retry_after: float | None,
    ) -> ModelError | None:
        """Return the `ModelError` for an HTTP status; None if the status explains nothing."""
        if status == 402 or NO_CREDIT in codes:
            return failure(
                "no_credit",
                "the account has no credit left; add some, or use another key",
                whole_run=True,
            )
        if status in {401, 403}:
            return failure(
                "auth",
                "the API key is missing, wrong or not allowed to use this model; set the "
                "provider's key in the environment",
                whole_run=True,
            )
        if status == 404 or (status == 400 and NO_MODEL in codes):
            text = "unknown model or wrong address; check both"
            return failure("not_found", text, whole_run=True)
        if status == 408:
            return self.timed_out()
        if status == 429:
            # The one error of status 429 that does not end by waiting.
            spent = NO_QUOTA in codes
            return failure(
                "rate_limit",
                "the account's quota is used up" if spent else "too many requests",
                retryable=not spent,
                whole_run=spent,
                retry_after=retry_after,
            )
        if status is not None and status >= 500:
            return failure(
                "server_error",
                f"the server failed with status {status}",
                retryable=True,
                retry_after=retry_after,
            )
        if status is not None and 400 <= status < 500:
            return failure(
                "bad_request",
                f"the request was refused with status {status}; check the model parameters",
                # litellm itself refused parameters that each request of the run has.
                whole_run="UnsupportedParamsError" in kinds,
            )
        return None

    def _provider_known(self, litellm: Any) -> bool:
        try:
            litellm.get_llm_provider(model=self.model, api_base=self.api_base)
        except litellm.BadRequestError:
            return False
        return True


def _meaning(status: int | None, text: str) -> str | None:
    """Return the code that an error's words mean; None if they mean none."""
    if status is None or not (400 <= status < 500 or status == 500):
        return None
    if status == 429:
        return NO_QUOTA if is_account_empty(text) else None
    if is_filtered(text):
        return CONTENT_FILTER
    if status < 500 and is_account_empty(text):
        return NO_CREDIT
    if status in {400, 413, 422, 500} and is_too_long(text):
        return TOO_LONG_CODE
    return None


def _broke_off(kinds: set[str]) -> bool:
    if kinds & TOO_SLOW:
        return False
    # litellm reports a reset connection as one that could not be made; aiohttp does not.
    reset = "ClientOSError" in kinds and "ClientConnectorError" not in kinds
    return reset or bool(kinds & CUT_OFF and not kinds & UNREACHABLE)
