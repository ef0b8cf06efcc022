"""Read what a provider's error says: its words, because statuses and codes differ."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pytest_tablebench.config.secrets import redact
from pytest_tablebench.errors import CONTENT_FILTER

TOO_LONG = "context_length_exceeded"
NO_CREDIT = "insufficient_credit"
NO_QUOTA = "insufficient_quota"
"""Codes in a server's error."""

SEARCHED = 2000
"""Characters of an error that are searched; a tenth of them is shown."""

_TOO_LONG = re.compile(
    r"""(?ix)
    \b(?:prompt|input|inputs|request|context|messages?|conversation|tokens?)\b [^.\n]{0,80}?
      (?: too \s (?:long|large|big|many) | longer \s than | exceed | larger \s than
        | greater \s than \s the \s context | must \s be \s <= | overflow )
    | too \s many \s (?:input \s)? tokens
    | (?:exceed\w* | beyond | longer \s than) [^.\n]{0,60}?
      (?: context | prompt \s length | input \s length | token \s limit | tokens? \s allowed )
    | (?:maximum|max\.?|limit \s of) [^.\n]{0,20} (?: context | prompt | input ) \s
      (?: length | size | window | tokens? )
    | range \s of \s input \s length
    | reduce \s the \s length \s of \s the \s (?:messages|prompt|input)
    | context [_ ] (?:length|window|size|limit) [_ ]? (?:exceeded|error|is \s only|of \s only)
    | context [ ] length \s of \s only
    | must \s (?:have \s less \s than | be \s <=) \s? \d | string \s too \s long
    | tokens_limit_reached | exceed_context_size
    | 超[出过].{0,12}(?:长度|上下文) | (?:输入|上下文).{0,12}(?:过长|超长|超[出过])
    """
)
# The reply's length, a quota for each minute or a file are no length of a prompt.
_OF_REPLY = re.compile(
    r"""(?ix)
    (?<!\+[ ]`) max_(?:completion_|new_|output_)?tokens \W{0,3} (?:is \s)?
      (?:too \s (?:large|high|big)|must|cannot)
    | (?:at \s most | support\w* \s (?:up \s to | only)?) \s* \d+ \s (?:completion|output) \s tokens
    | file \s (?:size|is \s too) | image \s (?:size|is \s too) | too \s many \s requests
    """
)
_EMPTY_ACCOUNT = re.compile(
    r"""(?ix)
    insufficient \s? _? (?:account \s)? (?:credits?|balance|funds|quota)
    | exceeded [_ ] (?:your [_ ])? current [_ ] quota | (?:no|out \s of) \s credits?
    | (?:balance|credits?) \s (?:is \s)? (?:too \s low|insufficient|exhausted)
    | credit \s balance | payment \s required | 余额不足 | 欠费 | arrearage
    """
)
_FILTERED = re.compile(
    r"""(?ix)
    content \s exists \s risk | data_?inspection_?failed | inappropriate \s content
    | considered \s high \s risk | content [_ ] (?:filter|policy|management|moderation)
    | new_sensitive | sensitive \s (?:content|information|words?) | usage \s polic
    | safety \s (?:system|filter|polic) | prohibited_content | flagged \s (?:as|by|for)
    | 敏感 | 不安全 | 不合规
    """
)
_ROOM = (
    # limit, prompt
    re.compile(
        r"(?i)maximum context length is (?P<limit>\d+) tokens[^.]{0,40}"
        r"(?:has|have|passed) (?P<prompt>\d+) (?:input|prompt) tokens"
    ),
    re.compile(
        r"(?i)maximum context length is (?P<limit>\d+) tokens.{0,60}"
        r"\((?P<prompt>\d+) (?:in|of) (?:the |your )?(?:messages|prompt|input)"
    ),
    re.compile(
        r"(?i)(?:passed|has) (?P<prompt>\d+) input tokens.{0,120}?"
        r"context length is (?:only )?(?P<limit>\d+)"
    ),
    re.compile(r"(?i)context limit: (?P<prompt>\d+) ?\+ ?\d+ ?> ?(?P<limit>\d+)"),
    re.compile(
        r"(?i)must be <= ?(?P<limit>\d+).{0,40}?(?P<prompt>\d+) `?(?:inputs?|prompt)`? tokens"
    ),
    re.compile(r"\(\d+ > (?P<limit>\d+) - (?P<prompt>\d+)\)"),
)


def room_of(text: str) -> int | None:
    """Return the tokens that an error leaves for the reply, if the prompt alone fits; else None."""
    numbers = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    for pattern in _ROOM:
        if match := pattern.search(numbers):
            room = int(match["limit"]) - int(match["prompt"])
            return room if room > 0 else None
    return None


def meaning_of(status: int | None, text: str) -> str | None:
    """Return the code that an error's words mean; None if they mean none."""
    if status is None or not (400 <= status < 500 or status == 500):
        return None
    is_account_empty = status < 500 and _EMPTY_ACCOUNT.search(text)
    if status == 429:
        return NO_QUOTA if is_account_empty else None
    if _FILTERED.search(text):
        return CONTENT_FILTER
    if is_account_empty:
        return NO_CREDIT
    if status in {400, 413, 422, 500} and _TOO_LONG.search(text) and not _OF_REPLY.search(text):
        return TOO_LONG
    return None


def error_object(body: str) -> Mapping[str, Any]:
    """Return the error in the body of a response, which may be anything; empty without one."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    error = value.get("error", value) if isinstance(value, Mapping) else None
    return error if isinstance(error, Mapping) else {}


def retry_after_of(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in the Retry-After header, which has a number or an HTTP date.

    litellm's proxy passes on the provider's header under a different name.
    """
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


def shown_words(text: str, placed: frozenset[str]) -> str:
    """Return the beginning of an untrusted text for a message, without secrets."""
    text = " ".join(text[: 10 * SEARCHED].split())
    if len(text) > SEARCHED:  # up to a whole word; half a key would not be redacted
        text = text[:SEARCHED].rpartition(" ")[0]
    text = re.sub(r"^(litellm\.\w+: |\w+Error: |\w+Exception - )+", "", text)
    text = " ".join(redact(text, placed).split())
    return text if len(text) <= 200 else text[:199] + "…"
