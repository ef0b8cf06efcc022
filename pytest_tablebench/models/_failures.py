"""Translate failed calls into a `ModelError`: error responses of servers, and exceptions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_tablebench.config.secrets import redact
from pytest_tablebench.errors import CONTENT_FILTER, REFUSED, ModelError
from pytest_tablebench.models._body import RedirectRefused
from pytest_tablebench.models._completions import FailedReply, MangledBody, count
from pytest_tablebench.models._provider_words import (
    NO_CREDIT,
    NO_QUOTA,
    SEARCHED,
    TOO_LONG,
    error_object,
    meaning_of,
    retry_after_of,
    room_of,
    shown_words,
)
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.models.model_table import flat_price

# Class names of HTTP clients' exceptions: each provider in litellm has its own client.
_UNREACHABLE = frozenset(
    {
        *("ClientConnectorError", "ConnectError", "ConnectTimeout", "ConnectionRefusedError"),
        *("UnsupportedProtocol", "gaierror"),
    }
)
_TOO_SLOW = frozenset({"APITimeoutError", "TimeoutError", "TimeoutException"})
_CUT_OFF = frozenset(
    {
        *("ClientOSError", "ClientPayloadError", "ConnectionError", "NetworkError"),
        *("RemoteProtocolError", "ServerDisconnectedError"),
    }
)
# aiohttp's exceptions for an invalid status line, header or chunk length.
_NO_HTTP = "HttpProcessingError"
# Exceptions for a reply of status 200 that litellm cannot parse.
_UNREADABLE = frozenset({"JSONDecodeError", "RecursionError", "UnicodeDecodeError"})

_NO_MODEL = "model_not_found"
_FILTERED = frozenset({CONTENT_FILTER, "content_policy_violation"})
"""Codes in a server's error."""

_NO_COMPLETION = "a reply that is no chat completion"


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

    def bad_reply(self, description: str = _NO_COMPLETION) -> ModelError:
        """Return the error for a response of status 200 that is no valid reply."""
        return ModelError(
            f"{self.model} sent {description}; check that the address is an OpenAI-compatible API",
            reason="bad_reply",
            retryable=True,
        )

    def unguarded(self, provider: str) -> ModelError:
        """Return the error for a provider whose redirects cannot be refused."""
        return ModelError(
            f"{self.model}: the call is not made, because litellm would send prompts and keys to "
            f"any server that {provider}'s server redirects to; if it has an OpenAI-compatible "
            "address, use openai/NAME with --bench-api-base",
            reason="bad_request",
            whole_run=True,
        )

    def of_response(
        self,
        status: int,
        body: str,
        headers: Mapping[str, str],
        placed: frozenset[str],
        *,
        kinds: frozenset[str] = frozenset(),
        codes: frozenset[object] = frozenset(),
    ) -> ModelError:
        """Return the `ModelError` for a server's error response.

        Arguments:
            status: of the response.
            body: its text, as far as it was read.
            headers: of the response.
            placed: secrets that the message must not contain.
            kinds: class names of litellm's exceptions about it.
            codes: the codes in these exceptions.
        """
        error = error_object(body)
        message = error.get("message")
        message = message if isinstance(message, str) else ""
        words = shown_words(message or body, placed) or f"status {status}"
        failure = self._failure(words, self._where(placed))
        codes |= {code for code in (error.get("code"),) if isinstance(code, str)}
        # litellm's proxy names the class of its own error only in the text.
        if named := re.match(r"(?:[\w.]{1,80}: )*", message):
            kinds |= {name.rpartition(".")[2] for name in named[0].split(": ")}
        if re.match(r"[\w/]{0,80}:? ?Invalid model name passed in", message):
            codes |= {_NO_MODEL}
        # litellm's proxy without a database refuses each key but its master key with 400.
        if error.get("type") == "no_db_connection":
            status = 401
        codes |= {meaning_of(status, body[:SEARCHED])}
        return (
            self._by_words(status, body[:SEARCHED], codes, kinds, failure)
            or self._by_status(status, codes, failure, retry_after_of(headers))
            or failure("error", "the call failed")
        )

    def of_status(
        self, status: int | None, code: str, text: str, placed: frozenset[str] = frozenset()
    ) -> ModelError:
        """Return the `ModelError` for an error with a status, a code and a text in a reply."""
        failure = self._failure(shown_words(text, placed))
        codes = frozenset({code, meaning_of(status, text)})
        return (
            self._by_words(None, text, codes, frozenset(), failure)
            or self._by_status(status, codes, failure)
            or self.bad_reply()
        )

    def explain(self, error: Exception, placed: frozenset[str]) -> ModelError:
        """Return the `ModelError` for an exception of a call; `placed` are known secrets.

        litellm's classes are too coarse: a refused connection, a missing key and invalid JSON are
        all an InternalServerError with status 500. The cause is further down the chain: an
        exception of the HTTP client, or the server's response.
        """
        chain = list(_causes_of(error))
        for link in chain:
            if isinstance(link, MangledBody):
                return self.bad_reply(f"{_NO_COMPLETION}: {link}")
            if isinstance(link, RedirectRefused):
                return self._redirected(link)
            if isinstance(link, FailedReply):
                inside = self.of_status(link.status, link.code, str(link), placed)
                inside.spent = self._spent(link.body)
                return inside
        kinds = frozenset(cls.__name__ for link in chain for cls in type(link).__mro__)
        codes: frozenset[object] = frozenset(
            code for link in chain if isinstance(code := vars(link).get("code"), str)
        )
        response = _response_of(chain)
        if response is not None:
            return self.of_response(
                int(response.status_code),
                body_of(error),
                response.headers,
                placed,
                kinds=kinds - {_NO_HTTP},
                codes=codes,
            )
        text = str(error).split("\nTraceback", 1)[0]
        failure = self._failure(shown_words(text, placed), self._where(placed))
        if _NO_HTTP in kinds and "ClientPayloadError" not in kinds:
            return failure("server_error", "what the server sent is not HTTP", retryable=True)
        # 500 is litellm's default for everything else.
        named = getattr(error, "status_code", None)
        status = named if isinstance(named, int) and named >= 400 and named != 500 else None
        codes |= {meaning_of(status, text[:SEARCHED])}
        named_error = (
            self._by_words(status, text[:SEARCHED], codes, kinds, failure)
            or self._of_connection(kinds, failure)
            or self._by_status(401 if _misses_key(text) else status, codes, failure)
        )
        if named_error is not None:
            # litellm itself refused parameters that each request of the run has.
            named_error.whole_run |= "UnsupportedParamsError" in kinds
            return named_error
        # litellm reports an unreadable reply as a bare Exception or as an error of its own.
        is_own = type(chain[-1]).__module__.startswith("litellm")
        if is_own or kinds & _UNREADABLE or any(type(link) is Exception for link in chain):
            return self.bad_reply()
        # openai's client wraps whatever interrupts a request, and retries it.
        is_interrupted = any(
            cls.__name__ == "APIConnectionError" and cls.__module__.partition(".")[0] == "openai"
            for cls in map(type, chain)
        )
        message, root = "the call failed", chain[-1]
        if root is not error:
            message += f" ({type(root).__name__}: {shown_words(str(root), placed)})"
        return failure("error", message, retryable=is_interrupted)

    def _redirected(self, refused: RedirectRefused) -> ModelError:
        origin, target = (
            shown_words(address, frozenset()) for address in (refused.origin, refused.target)
        )
        return ModelError(
            f"{self.model}: the server at {origin} redirects to {target}; prompts and keys are "
            "not sent to another host, port or scheme; if that server is the right one, set "
            "its address",
            reason="redirected",
            whole_run=True,
        )

    def _spent(self, body: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return tokens and cost of a response with an error; None if it names no tokens."""
        usage = body.get("usage")
        if not isinstance(usage, Mapping) or not usage.get("prompt_tokens"):
            return None
        prompt, completion = (
            count(usage.get(f"{kind}_tokens")) for kind in ("prompt", "completion")
        )
        cost = flat_price(self.model, prompt or 0, completion or 0)
        return {"prompt_tokens": prompt, "completion_tokens": completion, "cost_usd": cost}

    def _where(self, placed: frozenset[str]) -> str:
        return f" at {redact(self.api_base, placed)}" if self.api_base else ""

    def _failure(self, detail: str, where: str = "") -> Callable[..., ModelError]:
        """Return a function that makes an error from reason and message and appends the detail."""

        def failure(reason: str, message: str, **flags: Any) -> ModelError:
            text = f"{self.model}{where}: {message}" + (f" [{detail}]" if detail else "")
            return ModelError(text, reason=reason, **flags)

        return failure

    def _by_words(
        self,
        status: int | None,
        text: str,
        codes: frozenset[object],
        kinds: frozenset[str],
        failure: Callable[..., ModelError],
    ) -> ModelError | None:
        """Return the `ModelError` for a prompt that is too long or filtered; None for others."""
        room = room_of(text) if status == 400 else None
        if room is not None:
            full = failure(REFUSED, f"the prompt leaves room for only {room:,} tokens of a reply")
            full.room = room
            return full
        if "ContextWindowExceededError" in kinds or TOO_LONG in codes:
            return failure("context_window", "the prompt is longer than the model can read")
        if "ContentPolicyViolationError" in kinds or codes & _FILTERED:
            return ModelError(
                f"{self.model}: the provider's content filter withheld the answer",
                reason=CONTENT_FILTER,
            )
        return None

    def _of_connection(
        self, kinds: frozenset[str], failure: Callable[..., ModelError]
    ) -> ModelError | None:
        """Return the `ModelError` for a call without any response; None if there was one."""
        # litellm reports a reset connection as one that could not be made; aiohttp does not.
        is_reset = "ClientOSError" in kinds and "ClientConnectorError" not in kinds
        if not kinds & _TOO_SLOW and (is_reset or (kinds & _CUT_OFF and not kinds & _UNREACHABLE)):
            text = "the connection was closed before the reply was complete"
            return failure("server_error", text, retryable=True)
        if kinds & _UNREACHABLE:
            text = "no connection; check that the server runs and the address is right"
            return failure("unreachable", text, retryable=True, whole_run=True)
        if kinds & _TOO_SLOW:
            return self.timed_out()
        if "BadRequestError" in kinds and not self._is_provider_known():
            return ModelError(
                f"litellm knows no provider for the model name {self.model!r}; names look "
                "like gpt-4o, ollama/llama3.2 or hosted_vllm/NAME",
                reason="unknown_model",
                whole_run=True,
            )
        return None

    def _by_status(
        self,
        status: int | None,
        codes: frozenset[object],
        failure: Callable[..., ModelError],
        retry_after: float | None = None,
    ) -> ModelError | None:
        """Return the `ModelError` for an HTTP status; None if the status explains nothing."""
        if status == 402 or NO_CREDIT in codes:
            text = "the account has no credit left; add some, or use another key"
            return failure("no_credit", text, whole_run=True)
        if status in {401, 403}:
            text = (
                "the API key is missing, wrong or not allowed to use this model; set the "
                "provider's key in the environment"
            )
            return failure("auth", text, whole_run=True)
        if status == 404 or (status == 400 and _NO_MODEL in codes):
            text = "unknown model or wrong address; check both"
            return failure("not_found", text, whole_run=True)
        if status == 408:
            return self.timed_out()
        if status == 429:
            # The one error of status 429 that does not end by waiting.
            is_spent = NO_QUOTA in codes
            text = "the account's quota is used up" if is_spent else "too many requests"
            flags = {"retryable": not is_spent, "whole_run": is_spent}
            return failure("rate_limit", text, retry_after=retry_after, **flags)
        if status is not None and status >= 500:
            text = f"the server failed with status {status}"
            return failure("server_error", text, retryable=True, retry_after=retry_after)
        if status is not None and 400 <= status < 500:
            text = f"the request was refused with status {status}; check the model parameters"
            return failure("bad_request", text)
        return None

    def _is_provider_known(self) -> bool:
        litellm = load()
        try:
            litellm.get_llm_provider(model=self.model, api_base=self.api_base)
        except litellm.BadRequestError:
            return False
        return True


def body_of(error: BaseException) -> str:
    """Return the body of the server's error response; without one, the text of the error."""
    response = _response_of(list(_causes_of(error)))
    try:
        return str(response.text) if response is not None else str(error)
    except Exception:  # the body is not text
        return str(error)


def forget_frames(error: BaseException) -> None:
    """Drop an exception's tracebacks, which keep whole replies alive in reference cycles."""
    for link in list(_causes_of(error)):
        link.__traceback__ = None


def _causes_of(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception, its cause, and so on down to the root."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _response_of(chain: list[BaseException]) -> Any:
    """Return the server's HTTP response that led to the error, or None.

    Only the HTTP client's own exception has it: litellm's exceptions have invented responses.
    """
    for link in chain:
        if any(cls.__name__ in {"HTTPStatusError", "APIStatusError"} for cls in type(link).__mro__):
            response = getattr(link, "response", None)
            if response is not None and not type(link).__module__.startswith("litellm.exceptions"):
                return response
    return None


def _misses_key(text: str) -> bool:
    """Return whether a call failed before it was sent because no key was found.

    Each provider of litellm raises another class, but the words are similar.
    """
    return bool(re.search(r"(?i)\bmissing\b.{0,40}\b(credentials|api.?key|token)", text[:SEARCHED]))
