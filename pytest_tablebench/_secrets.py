"""Keys, tokens and passwords: found by their names, and taken out of what is written."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["redact", "secret_name", "without_secrets"]

HIDDEN = "***"
_SECRET_NAME = re.compile(
    # A price is "per token", and tokens that begin or end a text are no secrets.
    r"(api|private|access)[-_]?key|secret|passw|authorization|header|credential|^key$|"
    r"(?<!per_)(?<!bos_)(?<!eos_)(?<!pad_)(?<!unk_)(?<!stop_)token$",
    re.IGNORECASE,
)
_HEADERS = re.compile(r"headers$", re.IGNORECASE)
_SECRET_VARIABLE = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE)
_SECRET_TEXT = (
    (re.compile(r"://[^/\s@]*@"), f"://{HIDDEN}@"),
    (re.compile(r"\b(bearer|basic)\s+[^\s'\",;}]+", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (re.compile(r"([?&][\w-]*(?:key|token|sig)[\w-]*=)[^&\s]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (
        re.compile(
            r"((?:api|access|secret|auth)[-_ ]?(?:key|token)|authorization)"
            r"(['\"]?\s*[:=]\s*['\"]?)(?!bearer|basic)[^\s'\",;&}]+",
            re.IGNORECASE,
        ),
        rf"\1\2{HIDDEN}",
    ),
    (re.compile(r"\bsk-[\w*.-]{4,}"), HIDDEN),
)
_SHORTEST = 6
"""A value of the environment below this length says too little to be looked for."""


def secret_name(name: str, value: object) -> str | None:
    """Return the first name that a key or token goes by: the value's own, or one inside it."""
    if _is_secret(name, value):
        return name
    inside: Iterable[tuple[str, object]] = ()
    if isinstance(value, Mapping):
        inside = [(str(name), content) for name, content in value.items()]
    elif isinstance(value, list | tuple):
        inside = [("", content) for content in value]
    return next(filter(None, (secret_name(*one) for one in inside)), None)


def _is_secret(name: str, value: object) -> bool:
    # A mapping is looked into instead: in a JSON schema it describes a field of that name.
    if isinstance(value, Mapping):
        return _HEADERS.search(name) is not None
    return _SECRET_NAME.search(name) is not None


def without_secrets(value: object) -> Any:
    """Return the value as plain JSON, with everything that looks like a key replaced by `***`.

    Numbers that JSON does not know (NaN, infinity) become None.
    """
    return _scrub(value, _variables())


def redact(text: str) -> str:
    """Take keys, tokens and passwords out of a text."""
    return _text(text, _variables())


def _variables() -> frozenset[str]:
    """Return the values of the environment that are secret."""
    return frozenset(
        text
        for name, text in os.environ.items()
        if len(text) >= _SHORTEST and _SECRET_VARIABLE.search(name)
    )


def _scrub(value: object, variables: frozenset[str]) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {
            _text(str(name), variables): HIDDEN
            if _is_secret(str(name), content)
            else _scrub(content, variables)
            for name, content in value.items()
        }
    if isinstance(value, list | tuple):
        return [_scrub(item, variables) for item in value]
    return _text(str(value), variables)


def _text(text: str, variables: frozenset[str]) -> str:
    for variable in variables:
        text = text.replace(variable, HIDDEN)
    for pattern, replacement in _SECRET_TEXT:
        text = pattern.sub(replacement, text)
    return text
