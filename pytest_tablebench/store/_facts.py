"""What is written about a request: enough to tell two apart, no prompt text and no secret."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pytest_tablebench.config.addresses import without_credentials
from pytest_tablebench.config.secrets import without_secrets
from pytest_tablebench.models.base import Message, Request
from pytest_tablebench.serializers.content import text_of, to_fields


def describe(request: Request) -> dict[str, Any]:
    """Return what the store keeps of a request, ready for JSON.

    A message is its role, the SHA-256 of its content in UTF-8 (lone surrogates as they are; with
    pictures, of its parts as JSON) and its length in characters: the texts themselves are large
    and not ours to hand on.
    """
    return {
        "case_id": request.case_id,
        "model": request.model,
        "api_base": None if request.api_base is None else _endpoint(request.api_base),
        "params": _params(request.params),
        "strategy": request.strategy,
        "step": request.step,
        "repeat": request.repeat,
        **({"generation": request.generation} if request.generation else {}),
        "messages": [_message(message) for message in request.messages],
    }


def _endpoint(addresses: str) -> str:
    """The address; where variables name several, each of them."""
    return " ".join(map(without_credentials, addresses.split(" ")))


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
    content = to_fields(message.content)
    text = content if isinstance(content, str) else json.dumps(content)
    return {
        "role": message.role,
        "sha256": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(),
        "characters": len(text_of(message.content)),
    }
