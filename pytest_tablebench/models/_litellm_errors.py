"""Translate exceptions of litellm into the reasons of a `ModelError`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pytest_tablebench.config.secrets import redact
from pytest_tablebench.errors import CONTENT_FILTER, REFUSED, ModelError
from pytest_tablebench.models._body import MangledBody, RedirectRefused
from pytest_tablebench.models._completions import FailedReply
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

SEARCHED = 2000
"""Characters of an error that are searched; a tenth of them is shown."""


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
        origin, target = _shown(refused.origin, frozenset()), _shown(refused.target, frozenset())
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
        chain = list(_causes(error))
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
        response = _response(chain)
        where = f" at {redact(self.api_base, placed)}" if self.api_base else ""
        failure = self._failure(_detail(error, response, placed), where)
        if kinds & NO_HTTP and "ClientPayloadError" not in kinds:
            return failure("server_error", "what the server sent is not HTTP", retryable=True)
        codes = {getattr(link, "code", None) for link in chain} | {_error_field(response, "code")}
        # litellm's proxy names the class of its own error only in the text.
        kinds |= _kinds_named(response)
        text = _words(error, response)
        status = _status(error, chain, response)
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
        keyless = _error_field(response, "type") == "no_db_connection"
        if keyless or (response is None and _misses_key(error)):
            status = 401
        if _names_no_model(response):
            codes.add(NO_MODEL)
        named_error = self._by_status(status, codes, kinds, failure, _retry_after(response))
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
        failure = self._failure(_shown(text, placed))
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


def _words(error: Exception, response: Any) -> str:
    """Return the beginning of a server's error: its body, or the text of the exception."""
    try:
        words = str(response.text) if response is not None else str(error)
    except Exception:  # the body is not text
        words = str(error)
    return words[:SEARCHED]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception, its cause, and so on down to the root."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def body_of(error: BaseException) -> str:
    """Return the body of the server's error response; without one, the text of the error."""
    response = _response(list(_causes(error)))
    try:
        return str(response.text) if response is not None else str(error)
    except Exception:  # the body is not text
        return str(error)


def forget_frames(error: BaseException) -> None:
    """Drop an exception's tracebacks, which keep whole replies alive in reference cycles."""
    for link in list(_causes(error)):
        link.__traceback__ = None


def _response(chain: list[BaseException]) -> Any:
    """Return the server's HTTP response that led to the error, or None.

    Only the HTTP client's own exception has it: litellm's exceptions have invented responses.
    """
    for link in chain:
        if any(cls.__name__ in {"HTTPStatusError", "APIStatusError"} for cls in type(link).__mro__):
            response = getattr(link, "response", None)
            if response is not None and not type(link).__module__.startswith("litellm.exceptions"):
                return response
    return None


def _status(error: Exception, chain: list[BaseException], response: Any) -> int | None:
    """Return the HTTP status; without a response litellm's, unless it is its default 500."""
    if response is not None:
        return int(response.status_code)
    for link in chain:
        # Some gateways send an error object in a reply of status 200.
        if type(link) is Exception and isinstance(getattr(link, "status_code", None), int):
            return int(link.status_code)  # type: ignore[attr-defined]
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status >= 400 and status != 500 else None


def _broke_off(kinds: set[str]) -> bool:
    if kinds & TOO_SLOW:
        return False
    # litellm reports a reset connection as one that could not be made; aiohttp does not.
    reset = "ClientOSError" in kinds and "ClientConnectorError" not in kinds
    return reset or bool(kinds & CUT_OFF and not kinds & UNREACHABLE)


def _misses_key(error: Exception) -> bool:
    """Return whether a call failed before it was sent because no key was found.

    Each provider of litellm raises another class, but the words are similar.
    """
    return bool(
        re.search(r"(?i)\bmissing\b.{0,40}\b(credentials|api.?key|token)", _start(str(error)))
    )


def _retry_after(response: Any) -> float | None:
    """Return the seconds in the Retry-After header, which has a number or an HTTP date.

    litellm's proxy passes on the provider's header under a different name.
    """
    headers = response.headers if response is not None else {}
    value = headers.get("retry-after", headers.get("llm_provider-retry-after"))
    if value is None:
        return None
    from email.utils import parsedate_to_datetime

    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
            seconds = (when.astimezone(UTC) - datetime.now(UTC)).total_seconds()
        except Exception:  # invalid dates raise many errors
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _error_field(response: Any, name: str) -> Any:
    """Return a text field of the error object in a response body; None without it."""
    try:
        value = json.loads(response.text)["error"][name]
    except Exception:  # an error response may have any body
        return None
    return value if isinstance(value, str) else None


def _kinds_named(response: Any) -> set[str]:
    """Return the classes before an error's text, as in `litellm.BadRequestError: AError: text`."""
    message = _error_field(response, "message") or ""
    named = re.match(r"(?:[\w.]{1,80}: )*", message)
    return {name.rpartition(".")[2] for name in named[0].split(": ")} if named else set()


def _names_no_model(response: Any) -> bool:
    """Return whether litellm's proxy reports, with status 400, that it has no such model."""
    message = _error_field(response, "message") or ""
    return re.match(r"[\w/]{0,80}:? ?Invalid model name passed in", message) is not None


def _start(text: str) -> str:
    """Return the beginning of a text up to a whole word; half a key would not be redacted."""
    text = " ".join(text[: 10 * SEARCHED].split())
    if len(text) <= SEARCHED:
        return text
    return text[:SEARCHED].rpartition(" ")[0]


def _detail(error: Exception, response: Any, placed: frozenset[str]) -> str:
    message = _error_field(response, "message") or str(error).split("\nTraceback", 1)[0]
    return _shown(message, placed)


def _shown(text: str, placed: frozenset[str]) -> str:
    """Return the beginning of an untrusted text for a message, without secrets."""
    text = re.sub(r"^(litellm\.\w+: |\w+Error: |\w+Exception - )+", "", _start(text))
    text = " ".join(redact(text, placed).split())
    return text if len(text) <= 200 else text[:199] + "…"
