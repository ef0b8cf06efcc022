"""Read a server's error response, and the exception of litellm that it led to."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from pytest_tablebench.config.secrets import redact

SEARCHED = 2000
"""Characters of an error that are searched; a tenth of them is shown."""


def words_of(error: Exception, response: Any) -> str:
    """Return the beginning of a server's error: its body, or the text of the exception."""
    try:
        words = str(response.text) if response is not None else str(error)
    except Exception:  # the body is not text
        words = str(error)
    return words[:SEARCHED]


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception, its cause, and so on down to the root."""
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def body_of(error: BaseException) -> str:
    """Return the body of the server's error response; without one, the text of the error."""
    response = response_of(list(causes_of(error)))
    try:
        return str(response.text) if response is not None else str(error)
    except Exception:  # the body is not text
        return str(error)


def forget_frames(error: BaseException) -> None:
    """Drop an exception's tracebacks, which keep whole replies alive in reference cycles."""
    for link in list(causes_of(error)):
        link.__traceback__ = None


def response_of(chain: list[BaseException]) -> Any:
    """Return the server's HTTP response that led to the error, or None.

    Only the HTTP client's own exception has it: litellm's exceptions have invented responses.
    """
    for link in chain:
        if any(cls.__name__ in {"HTTPStatusError", "APIStatusError"} for cls in type(link).__mro__):
            response = getattr(link, "response", None)
            if response is not None and not type(link).__module__.startswith("litellm.exceptions"):
                return response
    return None


def status_of(error: Exception, chain: list[BaseException], response: Any) -> int | None:
    """Return the HTTP status; without a response litellm's, unless it is its default 500."""
    if response is not None:
        return int(response.status_code)
    for link in chain:
        # Some gateways send an error object in a reply of status 200.
        if type(link) is Exception and isinstance(getattr(link, "status_code", None), int):
            return int(link.status_code)  # type: ignore[attr-defined]
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status >= 400 and status != 500 else None


def misses_key(error: Exception) -> bool:
    """Return whether a call failed before it was sent because no key was found.

    Each provider of litellm raises another class, but the words are similar.
    """
    return bool(
        re.search(
            r"(?i)\bmissing\b.{0,40}\b(credentials|api.?key|token)", start_of_words(str(error))
        )
    )


def retry_after_of(response: Any) -> float | None:
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


def error_field(response: Any, name: str) -> Any:
    """Return a text field of the error object in a response body; None without it."""
    try:
        value = json.loads(response.text)["error"][name]
    except Exception:  # an error response may have any body
        return None
    return value if isinstance(value, str) else None


def kinds_named(response: Any) -> set[str]:
    """Return the classes before an error's text, as in `litellm.BadRequestError: AError: text`."""
    message = error_field(response, "message") or ""
    named = re.match(r"(?:[\w.]{1,80}: )*", message)
    return {name.rpartition(".")[2] for name in named[0].split(": ")} if named else set()


def names_no_model(response: Any) -> bool:
    """Return whether litellm's proxy reports, with status 400, that it has no such model."""
    message = error_field(response, "message") or ""
    return re.match(r"[\w/]{0,80}:? ?Invalid model name passed in", message) is not None


def start_of_words(text: str) -> str:
    """Return the beginning of a text up to a whole word; half a key would not be redacted."""
    text = " ".join(text[: 10 * SEARCHED].split())
    if len(text) <= SEARCHED:
        return text
    return text[:SEARCHED].rpartition(" ")[0]


def detail_of(error: Exception, response: Any, placed: frozenset[str]) -> str:
    message = error_field(response, "message") or str(error).split("\nTraceback", 1)[0]
    return shown_words(message, placed)


def shown_words(text: str, placed: frozenset[str]) -> str:
    """Return the beginning of an untrusted text for a message, without secrets."""
    text = re.sub(r"^(litellm\.\w+: |\w+Error: |\w+Exception - )+", "", start_of_words(text))
    text = " ".join(redact(text, placed).split())
    return text if len(text) <= 200 else text[:199] + "…"
