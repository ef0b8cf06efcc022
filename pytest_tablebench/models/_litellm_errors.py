"""What an exception out of litellm means: one of the reasons of a `ModelError`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pytest_tablebench.config.secrets import redact
from pytest_tablebench.errors import ModelError
from pytest_tablebench.models._body import MangledBody, RedirectRefused

# Exceptions of HTTP clients, by name because each provider in litellm has its own client.
UNREACHABLE = frozenset(
    {"ConnectError", "ConnectTimeout", "ConnectionRefusedError", "UnsupportedProtocol", "gaierror"}
)
TOO_SLOW = frozenset({"APITimeoutError", "TimeoutError", "TimeoutException"})
CUT_OFF = frozenset({"ConnectionError", "NetworkError", "RemoteProtocolError"})
# aiohttp's for what is no HTTP: a status line, a header, the length of a chunk.
NO_HTTP = frozenset({"HttpProcessingError"})
# A reply of status 200 that breaks whoever reads it.
UNREADABLE = frozenset({"JSONDecodeError", "RecursionError", "UnicodeDecodeError"})

# The code of a server's error.
NO_MODEL = "model_not_found"

TOO_LONG = "the prompt is longer than the model can read"

SEARCHED = 2000
"""Characters of an error that are looked into; what is shown of it is a tenth of that."""


@dataclass(frozen=True)
class Failures:
    """The failures of calls to one model, each a `ModelError` that names it.

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
        origin, target = _said(refused.origin, frozenset()), _said(refused.target, frozenset())
        return ModelError(
            f"{self.model}: the server at {origin} redirects to {target}; prompts and keys are "
            "not sent to another host, port or scheme; if that server is the right one, set "
            "its address",
            reason="redirected",
            whole_run=True,
        )

    def unguarded(self, provider: str) -> ModelError:
        return ModelError(
            f"{self.model}: litellm follows redirects of {provider}'s server to any other, with "
            "prompts and keys, so it is not asked; if it has an OpenAI-compatible address, ask "
            "for openai/NAME with --bench-api-base",
            reason="bad_request",
            whole_run=True,
        )

    def filtered(self) -> ModelError:
        return ModelError(
            f"{self.model}: the provider's content filter withheld the answer",
            reason="content_filter",
        )

    def explain(self, litellm: Any, error: Exception, placed: frozenset[str]) -> ModelError:
        """Tell which of our reasons an exception out of litellm is; `placed` are known secrets.

        litellm's classes alone do not say: a refused connection, a missing key and nonsense
        JSON are all an InternalServerError with status 500. What really happened is further
        down the chain of causes: the HTTP client's exceptions and the server's response.
        """
        chain = list(_causes(error))
        mangled = next((link for link in chain if isinstance(link, MangledBody)), None)
        if mangled is not None:
            return self.bad_reply(f"a reply that is no chat completion: {mangled}")
        refused = next((link for link in chain if isinstance(link, RedirectRefused)), None)
        if refused is not None:
            return self.redirected(refused)
        kinds = {cls.__name__ for link in chain for cls in type(link).__mro__}
        response = _response(chain)
        where = f" at {redact(self.api_base, placed)}" if self.api_base else ""
        failure = self._failure(_detail(error, response, placed), where)
        if kinds & NO_HTTP and "ClientPayloadError" not in kinds:
            return failure("server_error", "what the server sent is not HTTP", retryable=True)
        codes = {getattr(link, "code", None) for link in chain} | {_error_field(response, "code")}
        # litellm's proxy names the class of its own error in the text, and nowhere else.
        kinds |= _kinds_named(response)
        if "ContextWindowExceededError" in kinds or "context_length_exceeded" in codes:
            return failure("context_window", TOO_LONG)
        if "ContentPolicyViolationError" in kinds or "content_filter" in codes:
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
        status = _status(error, chain, response)
        # litellm's proxy without a database says so of any key but its master key, with 400.
        keyless = _error_field(response, "type") == "no_db_connection"
        if keyless or (response is None and _misses_key(error)):
            status = 401
        if _names_no_model(response):
            codes.add(NO_MODEL)
        named_error = self._by_status(status, codes, kinds, failure, _retry_after(response))
        if named_error is not None:
            return named_error
        # litellm reports a reply that it cannot read by a bare Exception or an error of its own.
        unread = type(chain[-1]).__module__.startswith("litellm")
        if unread or kinds & UNREADABLE or any(type(link) is Exception for link in chain):
            return self.bad_reply("a reply that is no chat completion")
        return failure("error", "the call failed")

    def of_status(self, status: int | None, code: str, text: str) -> ModelError:
        """Tell what an error means of which there is a status, a code and a text, and no more."""
        failure = self._failure(_said(text, frozenset()))
        if code == "context_length_exceeded":
            return failure("context_window", TOO_LONG)
        if code == "content_filter":
            return self.filtered()
        error = self._by_status(status, {code}, set(), failure, None)
        return error or self.bad_reply("a reply that is no chat completion")

    def _failure(self, detail: str, where: str = "") -> Callable[..., ModelError]:
        """Return what makes an error of its reason and message, with what somebody else said."""

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
        """Tell what an HTTP status means; None where it says nothing."""
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
            # The one 429 that waiting does not cure.
            spent = "insufficient_quota" in codes
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
                # Refused by litellm itself: the same parameters go with every request.
                whole_run="UnsupportedParamsError" in kinds,
            )
        return None

    def _provider_known(self, litellm: Any) -> bool:
        """Whether litellm finds a provider for the model; the failed call does not say so."""
        try:
            litellm.get_llm_provider(model=self.model, api_base=self.api_base)
        except litellm.BadRequestError:
            return False
        return True


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, what caused it, and so on down to the root."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def body_of(error: BaseException) -> str:
    """Return what the server said with an error, else what the error says."""
    response = _response(list(_causes(error)))
    try:
        return str(response.text) if response is not None else str(error)
    except Exception:  # a body that is no text
        return str(error)


def forget_frames(error: BaseException) -> None:
    """Let go of what an exception's tracebacks hold: whole replies, in circles that stay long."""
    for link in list(_causes(error)):
        link.__traceback__ = None


def _response(chain: list[BaseException]) -> Any:
    """The server's HTTP response, where one led to the error.

    Only the HTTP client's own exception holds it: litellm's carry responses made up by litellm.
    """
    for link in chain:
        if any(cls.__name__ in {"HTTPStatusError", "APIStatusError"} for cls in type(link).__mro__):
            response = getattr(link, "response", None)
            if response is not None and not type(link).__module__.startswith("litellm.exceptions"):
                return response
    return None


def _status(error: Exception, chain: list[BaseException], response: Any) -> int | None:
    """The HTTP status; without a response, the one litellm gives unless it is its stopgap 500."""
    if response is not None:
        return int(response.status_code)
    for link in chain:
        # An error object inside a reply of status 200, as some gateways send it.
        if type(link) is Exception and isinstance(getattr(link, "status_code", None), int):
            return int(link.status_code)  # type: ignore[attr-defined]
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status >= 400 and status != 500 else None


def _broke_off(kinds: set[str]) -> bool:
    if kinds & TOO_SLOW:
        return False
    # litellm calls a connection that was reset one that could not be made; aiohttp knows better.
    reset = "ClientOSError" in kinds and "ClientConnectorError" not in kinds
    return reset or bool(kinds & CUT_OFF and not kinds & UNREACHABLE)


def _misses_key(error: Exception) -> bool:
    """Whether a call failed before it was sent because no key was found.

    Each provider of litellm says so in an exception of another class; the words are common.
    """
    return bool(
        re.search(r"(?i)\bmissing\b.{0,40}\b(credentials|api.?key|token)", _start(str(error)))
    )


def _retry_after(response: Any) -> float | None:
    """The seconds a Retry-After header asks for: a number or an HTTP date.

    litellm's proxy hands on what the provider behind it asks for under a name of its own.
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
        except Exception:  # what is no date fails in many ways
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _error_field(response: Any, name: str) -> Any:
    """A text field of the error object in a response body, where there is one."""
    try:
        value = json.loads(response.text)["error"][name]
    except Exception:  # any body may come with an error status
        return None
    return value if isinstance(value, str) else None


def _kinds_named(response: Any) -> set[str]:
    """The classes named before the text of an error: `litellm.BadRequestError: AError: text`."""
    message = _error_field(response, "message") or ""
    named = re.match(r"(?:[\w.]{1,80}: )*", message)
    return {name.rpartition(".")[2] for name in named[0].split(": ")} if named else set()


def _names_no_model(response: Any) -> bool:
    """Whether litellm's proxy says, with status 400, that it has no model of that name."""
    message = _error_field(response, "message") or ""
    return re.match(r"[\w/]{0,80}:? ?Invalid model name passed in", message) is not None


def _start(text: str) -> str:
    """The beginning of a text, up to a word that is whole: half a key is not known as one."""
    text = " ".join(text[: 10 * SEARCHED].split())
    if len(text) <= SEARCHED:
        return text
    return text[:SEARCHED].rpartition(" ")[0]


def _detail(error: Exception, response: Any, placed: frozenset[str]) -> str:
    message = _error_field(response, "message") or str(error).split("\nTraceback", 1)[0]
    return _said(message, placed)


def _said(text: str, placed: frozenset[str]) -> str:
    """What is shown of a text of somebody else's: its beginning, without secrets."""
    text = re.sub(r"^(litellm\.\w+: |\w+Error: |\w+Exception - )+", "", _start(text))
    text = " ".join(redact(text, placed).split())
    return text if len(text) <= 200 else text[:199] + "…"
