"""What is written about a request: enough to tell two apart, no prompt text and no secret."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pytest_tablebench.models._base import Message, Request
from pytest_tablebench.names import without_credentials

__all__ = ["describe", "without_secrets"]

HIDDEN = "***"
_SECRET_NAME = re.compile(
    r"api_?key|secret|passw|authorization|header|credential|private_?key|^key$|"
    r"(?:^|access|api|auth|bearer|refresh|session|hf)[_-]?token$",
    re.IGNORECASE,
)
_SECRET_VARIABLE = re.compile(r"key|token|secret|passw|credential", re.IGNORECASE)
_SECRET_TEXT = (
    (re.compile(r"://[^/\s@]*@"), f"://{HIDDEN}@"),
    (re.compile(r"\b(bearer|basic)\s+[^\s'\",;}]+", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (re.compile(r"([?&][\w-]*(?:key|token|sig)[\w-]*=)[^&\s]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(r"\bsk-[\w*.-]{4,}"), HIDDEN),
)
_SHORTEST = 6
"""A value of the environment below this length says too little to be looked for."""


def describe(request: Request) -> dict[str, Any]:
    """Return what the store keeps of a request, ready for JSON.

    A message is its role, the SHA-256 of its content in UTF-8 (lone surrogates as they are) and
    its length in characters: the texts themselves are large and not ours to hand on.
    """
    return {
        "case_id": request.case_id,
        "model": request.model,
        "api_base": None if request.api_base is None else _endpoint(request.api_base),
        "params": _params(request.params),
        "strategy": request.strategy,
        "step": request.step,
        "repeat": request.repeat,
        "messages": [_message(message) for message in request.messages],
    }


def without_secrets(value: object) -> Any:
    """Return the value as plain JSON, with everything that looks like a key replaced by `***`.

    Numbers that JSON does not know (NaN, infinity) become None.
    """
    variables = frozenset(
        text
        for name, text in os.environ.items()
        if len(text) >= _SHORTEST and _SECRET_VARIABLE.search(name)
    )
    return _scrub(value, variables)


def _scrub(value: object, variables: frozenset[str]) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {
            _text(str(name), variables): HIDDEN
            if _SECRET_NAME.search(str(name))
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


def _endpoint(address: str) -> str:
    if "://" not in address:
        return address.rpartition("@")[2]
    return without_credentials(address)


def _params(params: Mapping[str, Any]) -> Any:
    """The parameters without secrets: the same few in every request of a run."""
    try:
        text = json.dumps(dict(params))
    except (TypeError, ValueError):
        return without_secrets(params)
    return json.loads(_scrubbed(text))


@lru_cache(maxsize=64)
def _scrubbed(text: str) -> str:
    return json.dumps(without_secrets(json.loads(text)))


def _message(message: Message) -> dict[str, Any]:
    content = message.content.encode("utf-8", "surrogatepass")
    return {
        "role": message.role,
        "sha256": hashlib.sha256(content).hexdigest(),
        "characters": len(message.content),
    }
