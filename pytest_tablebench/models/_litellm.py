"""Models behind litellm: every hosted API and local server, asked once per call."""

from __future__ import annotations

import json
import math
import os
import queue
import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.models._base import Reply, Request

__all__ = ["RESERVED", "LiteLLMModel"]

# Read by litellm when it is imported: no download of price tables, no log lines of its own.
ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOG": "CRITICAL",
}

# What belongs to the plugin in a call: as model parameters these would send the call elsewhere,
# repeat it, or (the key) end up in the record of the run.
RESERVED = frozenset(
    {
        "api_base",
        "api_key",
        "base_url",
        "cache",
        "caching",
        "fallbacks",
        "max_retries",
        "messages",
        "mock_response",
        "model",
        "n",
        "num_retries",
        "request_timeout",
        "stream",
        "timeout",
    }
)

# Exceptions of HTTP clients, by name because each provider in litellm has its own client.
UNREACHABLE = frozenset(
    {"ConnectError", "ConnectTimeout", "ConnectionRefusedError", "UnsupportedProtocol", "gaierror"}
)
TOO_SLOW = frozenset({"APITimeoutError", "TimeoutError", "TimeoutException"})
CUT_OFF = frozenset({"ConnectionError", "NetworkError", "RemoteProtocolError"})

# litellm's own time limit is per read, so a server that keeps dripping never meets it. The
# margin lets litellm, which knows more, speak first.
MARGIN_S = 1.0


class LiteLLMModel:
    """A model called through litellm.

    Arguments:
        model: the name exactly as litellm takes it (`gpt-4o`, `ollama/llama3.2`).
        api_base: address of the server; None leaves it to litellm.
        timeout: seconds one call may take, by the wall clock.
    """

    def __init__(self, *, model: str, api_base: str | None, timeout: float) -> None:
        if api_base is not None and not re.match(r"https?://[^/]", api_base):
            raise SettingsError(
                f"the API address {_redact(api_base)!r} is not a URL: it has to start with "
                "http:// or https://, as in http://localhost:8000/v1"
            )
        if not timeout > 0:
            raise SettingsError(f"the time limit of a call has to be above 0, got {timeout}")
        self.model = model
        self.api_base = api_base
        self.timeout = timeout

    def complete(self, request: Request) -> Reply:
        """Answer one request with one call; every failure is a `ModelError`."""
        if taken := sorted(RESERVED.intersection(request.params)):
            raise ModelError(
                f"{', '.join(taken)} cannot be a model parameter; there are options and "
                "environment variables for the address, the time limit, retries and keys",
                reason="bad_request",
                whole_run=True,
            )
        litellm = _load()
        call: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            "timeout": self.timeout,
            "max_retries": 0,
            "num_retries": 0,
            "caching": False,
        }
        if self.api_base is not None:
            call["api_base"] = self.api_base
        outcome, latency_s = _within(
            self.timeout + MARGIN_S, lambda: litellm.completion(**request.params, **call)
        )
        if outcome is None:
            raise self._timed_out()
        if isinstance(outcome, Exception):
            # Raised here and not from it: its traceback carries headers and keys.
            raise self._failure(litellm, outcome)
        if isinstance(outcome, BaseException):
            raise outcome
        return self._reply(outcome, latency_s)

    def _timed_out(self) -> ModelError:
        return ModelError(
            f"{self.model} did not answer within {self.timeout:g} s; allow more time or check "
            "the server",
            reason="timeout",
            retryable=True,
        )

    def _reply(self, response: Any, latency_s: float) -> Reply:
        """Read litellm's response; what holds no answer is an error, not an empty answer."""
        try:
            choice = response.choices[0]
            content, finish_reason = choice.message.content, choice.finish_reason
        except (AttributeError, IndexError, TypeError):
            raise self._bad_reply("a reply without any choice") from None
        if finish_reason == "content_filter":
            raise self._filtered()
        if content is None and finish_reason == "length":
            content = ""  # a reasoning model spent all its tokens before the first word
        if not isinstance(content, str):
            raise self._bad_reply("a reply without content")
        usage = getattr(response, "usage", None)
        # Where the server sent no usage litellm says 0, and no prompt has 0 tokens.
        known = bool(getattr(usage, "prompt_tokens", None))
        cost = getattr(response, "_hidden_params", {}).get("response_cost")
        return Reply(
            text=content,
            finish_reason=finish_reason,
            prompt_tokens=usage.prompt_tokens if known and usage else None,
            completion_tokens=usage.completion_tokens if known and usage else None,
            # 0 is no price: litellm says so without usage, and its table for self-hosted models.
            cost_usd=float(cost) if cost else None,
            latency_s=latency_s,
        )

    def _bad_reply(self, what: str) -> ModelError:
        return ModelError(
            f"{self.model} sent {what}; check that the address is an OpenAI-compatible API",
            reason="bad_reply",
            retryable=True,
        )

    def _filtered(self) -> ModelError:
        return ModelError(
            f"{self.model}: the provider's content filter withheld the answer",
            reason="content_filter",
        )

    def _failure(self, litellm: Any, error: Exception) -> ModelError:
        """Tell which of our reasons an exception out of litellm is.

        litellm's classes alone do not say: a refused connection, a missing key and nonsense
        JSON are all an InternalServerError with status 500. What really happened is further
        down the chain of causes: the HTTP client's exceptions and the server's response.
        """
        chain = list(_causes(error))
        kinds = {cls.__name__ for link in chain for cls in type(link).__mro__}
        response = _response(chain)
        detail = _detail(error, response)
        codes = {getattr(link, "code", None) for link in chain} | {_error_field(response, "code")}
        where = f" at {_redact(self.api_base)}" if self.api_base else ""

        def failure(reason: str, message: str, **flags: Any) -> ModelError:
            text = f"{self.model}{where}: {message}" + (f" [{detail}]" if detail else "")
            return ModelError(text, reason=reason, **flags)

        if "ContextWindowExceededError" in kinds or "context_length_exceeded" in codes:
            return failure("context_window", "the prompt is longer than the model can read")
        if "ContentPolicyViolationError" in kinds or "content_filter" in codes:
            return self._filtered()
        if response is None:
            if kinds & UNREACHABLE:
                return failure(
                    "unreachable",
                    "no connection; check that the server runs and the address is right",
                    retryable=True,
                    whole_run=True,
                )
            if kinds & TOO_SLOW:
                return self._timed_out()
            if kinds & CUT_OFF:
                return failure(
                    "server_error",
                    "the connection was closed before the reply was complete",
                    retryable=True,
                )
            if isinstance(error, litellm.BadRequestError) and not self._provider_known(litellm):
                return ModelError(
                    f"litellm knows no provider for the model name {self.model!r}; names look "
                    "like gpt-4o, ollama/llama3.2 or hosted_vllm/NAME",
                    reason="unknown_model",
                    whole_run=True,
                )
        status = _status(error, chain, response)
        if status in {401, 403} or (response is None and _misses_key(error)):
            return failure(
                "auth",
                "the API key is missing, wrong or not allowed to use this model; set the "
                "provider's key in the environment",
                whole_run=True,
            )
        if status == 404:
            return failure(
                "not_found",
                "unknown model or wrong address; check both",
                whole_run=True,
            )
        if status == 408:
            return self._timed_out()
        if status == 429:
            # The one 429 that waiting does not cure.
            spent = "insufficient_quota" in codes
            return failure(
                "rate_limit",
                "the account's quota is used up" if spent else "too many requests",
                retryable=not spent,
                whole_run=spent,
                retry_after=_retry_after(response),
            )
        if status is not None and status >= 500:
            return failure(
                "server_error",
                f"the server failed with status {status}",
                retryable=True,
                retry_after=_retry_after(response),
            )
        if status is not None and 400 <= status < 500:
            return failure(
                "bad_request",
                f"the request was refused with status {status}; check the model parameters",
                # Refused by litellm itself: the same parameters go with every request.
                whole_run="UnsupportedParamsError" in kinds,
            )
        # litellm reports a reply that it cannot read by a bare Exception or an error of its own.
        unread = type(chain[-1]).__module__.startswith("litellm")
        if unread or "JSONDecodeError" in kinds or any(type(link) is Exception for link in chain):
            return self._bad_reply("a reply that is no chat completion")
        return failure("error", "the call failed")

    def _provider_known(self, litellm: Any) -> bool:
        """Whether litellm finds a provider for the model; the failed call does not say so."""
        try:
            litellm.get_llm_provider(model=self.model, api_base=self.api_base)
        except litellm.BadRequestError:
            return False
        return True


def _load() -> Any:
    """Import litellm, which costs seconds, on the first call and not before."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    try:
        import litellm
    except Exception as error:  # a broken installation fails in many ways
        raise ModelError(
            f"litellm cannot be imported ({_redact(f'{type(error).__name__}: {error}')}); "
            "install it with: pip install litellm",
            reason="litellm_missing",
            whole_run=True,
        ) from None
    # litellm prints "Give Feedback / Get Help" on standard output for every error; this module
    # attribute is its only switch (no environment variable, no argument), and its own Router
    # sets it likewise: https://github.com/BerriAI/litellm/issues/5942
    litellm.suppress_debug_info = True
    return litellm


def _within(seconds: float, call: Callable[[], Any]) -> tuple[Any, float]:
    """Run a call for at most so long; its result or exception (None: no end), and its time.

    A call that does not end keeps its daemon thread, which ends with the connection.
    """
    ended: queue.SimpleQueue[tuple[Any, float]] = queue.SimpleQueue()

    def run() -> None:
        start = time.perf_counter()
        outcome: Any
        try:
            outcome = call()
        except BaseException as error:  # handed to the caller's thread
            outcome = error
        ended.put((outcome, time.perf_counter() - start))

    threading.Thread(target=run, name="tablebench-call", daemon=True).start()
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        try:
            # In slices, because Windows delivers Ctrl-C only between two waits.
            return ended.get(timeout=min(left, 0.5))
        except queue.Empty:
            continue
    return None, seconds


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, what caused it, and so on down to the root."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


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


def _misses_key(error: Exception) -> bool:
    """Whether a call failed before it was sent because no key was found.

    Each provider of litellm says so in an exception of another class; the words are common.
    """
    return bool(re.search(r"(?i)\bmissing\b.{0,40}\b(credentials|api.?key|token)", str(error)))


def _retry_after(response: Any) -> float | None:
    """The seconds a Retry-After header asks for: a number or an HTTP date."""
    value = response.headers.get("retry-after") if response is not None else None
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (when.astimezone(UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _error_field(response: Any, name: str) -> Any:
    """A text field of the error object in a response body, where there is one."""
    try:
        value = json.loads(response.text)["error"][name]
    except Exception:  # any body may come with an error status
        return None
    return value if isinstance(value, str) else None


def _detail(error: Exception, response: Any) -> str:
    """What the server or litellm says, on one short line."""
    said = _error_field(response, "message") or str(error).split("\nTraceback", 1)[0]
    said = re.sub(r"^(litellm\.\w+: |\w+Error: |\w+Exception - )+", "", said)
    said = " ".join(_redact(said).split())
    return said if len(said) <= 200 else said[:199] + "…"


def _redact(text: str) -> str:
    """Take keys, tokens and passwords out of a text."""
    for name, value in os.environ.items():
        if len(value) >= 6 and re.search(r"(?i)key|token|secret|password|credential", name):
            text = text.replace(value, "***")
    for pattern, replacement in (
        (r"://[^/\s@]*@", "://***@"),
        (r"(?i)\b(bearer|basic)\s+[^\s'\",;}]+", r"\1 ***"),
        (
            r"(?i)((?:api|access|secret|auth)[-_ ]?(?:key|token)|authorization|[?&]key)"
            r"(['\"]?\s*[:=]\s*['\"]?)(?!bearer|basic)[^\s'\",;&}]+",
            r"\1\2***",
        ),
        (r"\bsk-[\w*.-]{4,}", "***"),
    ):
        text = re.sub(pattern, replacement, text)
    return text
