"""Make a translation that can be kept from what litellm makes of a request."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_tablebench.config.addresses import without_credentials
from pytest_tablebench.config.secrets import without_secrets
from pytest_tablebench.models._direct_wires import Unforeseen, Wire, encoder, wire
from pytest_tablebench.models.base import Message, Request
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.models.litellm_model import LiteLLMModel
from pytest_tablebench.models.translation.environment import disguised, is_secret, placeholder
from pytest_tablebench.models.translation.kept import KeptWire
from pytest_tablebench.models.translation.pieces import Pieces, Slot, Values, probe, shape, texts_of
from pytest_tablebench.models.translation.tls import described

SHORTEST = 6
"""Characters of the shortest secret that is searched for in what would be kept."""


def kept_wire(model: LiteLLMModel, request: Request, sent: Wire, body: bytes) -> KeptWire | None:
    """Return what can be kept of a request that litellm has translated; None for nothing.

    litellm translates the request once more, with placeholders for keys and texts. What is kept
    must make the bytes of the first translation.

    Arguments:
        model: the model that is called.
        request: the request.
        sent: what litellm made of its parameters.
        body: what litellm made of its messages.
    """
    try:
        kept = _made(model, request, sent)
        if kept is None or not _is_same(kept, model, request, sent, body):
            return None
        return None if _contains_secret(kept, model, request) else kept
    except Exception:  # litellm raises anything for values that it does not expect
        return None


def secrets_by_slot(model: LiteLLMModel, params: Mapping[str, Any]) -> dict[Slot, str]:
    """Return the secrets that take the places of slots, wherever they come from."""
    values: dict[Slot, str] = {
        ("env", name): value for name, value in os.environ.items() if is_secret(name)
    }
    if model.api_key is not None:
        values["key",] = model.api_key
    for name, value in _headers(params).items():
        values["header", name] = str(value)
    return values


def texts_by_slot(messages: Sequence[Message]) -> dict[Slot, str]:
    """Return the texts and pictures of messages that take the places of slots."""
    return {("part", str(number)): text for number, text in enumerate(texts_of(messages))}


def filled_body(kept: KeptWire, values: Values, messages_shape: str) -> bytes:
    """Return the body of a request. Raises `KeyError` if a value or the shape is missing."""
    encode = encoder(compact=kept.compact).encode
    return kept.bodies[messages_shape].fill(values, lambda text: encode(text)[1:-1]).encode()


def _made(model: LiteLLMModel, request: Request, sent: Wire) -> KeptWire | None:
    slots: dict[str, Slot] = {}
    params = dict(request.params)
    if "extra_headers" in params:
        params["extra_headers"] = {}
        for name in _headers(request.params):
            text = params["extra_headers"][name] = placeholder()
            slots[text] = ("header", name)
    others = {name: value for name, value in params.items() if name != "extra_headers"}
    if without_secrets(others) != others:
        return None
    disguise = model
    if model.api_key is not None:
        disguise = replace(model, api_key=placeholder())
        slots[str(disguise.api_key)] = ("key",)
    messages, parts = probe(request.messages)
    with disguised() as variables:
        slots |= {text: ("env", name) for name, text in variables.items()}
        made = wire(load(), disguise, params)
        if made is None or made.url != sent.url or without_credentials(made.url) != made.url:
            return None
        body = Pieces.of(made.body(messages).decode(), slots | parts)
    tls = described(sent.tls)
    if tls is None:
        return None
    headers = {name: Pieces.of(value, slots) for name, value in made.headers.items()}
    shaped = {shape(request.messages): body}
    return KeptWire(made.provider, made.url, headers, made.compact, tls, shaped)


def _is_same(
    kept: KeptWire, model: LiteLLMModel, request: Request, sent: Wire, body: bytes
) -> bool:
    values = secrets_by_slot(model, request.params)
    headers = {name: pieces.fill(values) for name, pieces in kept.headers.items()}
    texts = texts_by_slot(request.messages)
    filled = filled_body(kept, values | texts, shape(request.messages))
    return (dict(sent.headers), body) == (headers, filled)


def _contains_secret(kept: KeptWire, model: LiteLLMModel, request: Request) -> bool:
    """Return whether a text that would be kept contains a key, wherever it comes from."""
    secrets = secrets_by_slot(model, request.params).values()
    pieces = [*kept.headers.values(), *kept.bodies.values()]
    texts = [kept.url, *kept.headers]
    texts += [part for text in pieces for part in text.parts if isinstance(part, str)]
    return any(secret in text for secret in secrets if len(secret) >= SHORTEST for text in texts)


def _headers(params: Mapping[str, Any]) -> Mapping[str, Any]:
    headers = params.get("extra_headers") or {}
    if not isinstance(headers, Mapping):
        raise Unforeseen("headers that are no mapping")
    return headers
