"""Calls whose requests come from a kept translation, so that they need no import of litellm."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.models._direct_wires import Target, Wire, proxy_of
from pytest_tablebench.models._fingerprint import fingerprint_of
from pytest_tablebench.models.base import Reply, Request, limited
from pytest_tablebench.models.direct import DirectModel, plain_body
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.models.litellm_model import LiteLLMModel
from pytest_tablebench.models.translation import kept, making
from pytest_tablebench.models.translation.check import SentRequest
from pytest_tablebench.models.translation.kept import KeptWire, Translation
from pytest_tablebench.models.translation.pieces import Slot, shape
from pytest_tablebench.models.translation.price import PriceFormula, fit
from pytest_tablebench.models.translation.tls import rebuilt

if TYPE_CHECKING:
    from pytest_tablebench.models._litellm_session import BoundedResponse

_REPLY: dict[str, Any] = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "."},
            "finish_reason": "stop",
        }
    ],
}

_MOST_LEARNT = 200
"""Combinations of parameters and shapes that one run adds."""


class TranslatedModel:
    """A model that is called with its kept translation as far as there is one.

    Everything else goes through `DirectModel`, which imports litellm, and is kept for later runs.

    Arguments:
        model: the model.
        direct: makes all calls that have no kept translation.
        folder: where translations are kept.
        tell: receives one line if the kept translation cannot be used.
    """

    def __init__(
        self, model: LiteLLMModel, direct: DirectModel, folder: Path, tell: Callable[[str], None]
    ) -> None:
        self._model = model
        self._direct = direct
        self._folder = folder
        self._targets: dict[str, tuple[KeptWire, Target, dict[Slot, str]]] = {}
        """By the digest of parameters: what is kept, where it goes, and the texts of its slots."""
        self._new = Translation()
        self._unpriced: dict[str, tuple[Wire, dict[str, Any]]] = {}
        """A wire and a reply for each price that is still to be kept, by its key."""
        self._seen: set[tuple[str, str]] = set()
        self._kept = Translation()
        self.sent: SentRequest | None = None
        """The first request that was made from the kept translation."""
        try:
            self._kept = kept.read(folder, model) or Translation()
        except kept.UnusableTranslation as error:
            tell(f"the kept translation of {model.model} is not used: {error}")

    @property
    def direct(self) -> bool:
        """Whether calls are made without litellm's client, as far as it is known."""
        return self._direct.direct

    @property
    def is_warm(self) -> bool:
        """Whether a call can be made without litellm."""
        return bool(self._kept.wires)

    async def warm_up(self) -> None:
        """Load what the first call needs: litellm only without a kept translation."""
        if not self.is_warm:
            await self._direct.warm_up()

    async def acomplete(self, request: Request) -> Reply:
        """Answer one request with one call; every failure is a `ModelError`."""
        call = self._call(request)
        if call is None:
            await _load()
            return await self._learning(request)
        target, body = call
        outcome, latency_s = await self._direct.send(target, body)
        reply = None if isinstance(outcome, Exception) else self._read(request, outcome, latency_s)
        if reply is not None:
            return limited(reply, self._model.max_reply)
        await _load()
        translated = self._direct.translated(request)
        wire = None if translated is None else translated[0]
        reply = await self._direct.read(request, wire, outcome, latency_s)
        if wire is not None:
            self._learn_price(request, wire, outcome)
        return reply

    async def prepare(self, requests: Iterable[Request]) -> int:
        """Keep the translation of requests without sending them; return how many were translated.

        A price is kept for replies that name the model as it is called.
        """
        count = 0
        for request in requests:
            translated = self._direct.translated(request)
            if translated is None:
                continue
            wire, body = translated
            count += self._learn_request(request, wire, body)
            reply = {**_REPLY, "model": wire.name}
            for body_of_reply in (reply, {**reply, "service_tier": "default"}):
                self._unpriced[kept.price_key(request.params, body_of_reply)] = wire, body_of_reply
        self.keep()
        return count

    def forget(self) -> None:
        """Use the kept translation no more, and remove its file."""
        self._kept = self._new = Translation()
        self._targets.clear()
        self._seen.clear()
        self._unpriced.clear()
        kept.discard(self._folder, self._model)

    def keep(self) -> None:
        """Write what this run has learnt, if it may and can be written."""
        if not kept.may_be_kept(self._model):
            return
        for key, (wire, body) in self._unpriced.items():
            formula = self._formula(wire, body)
            if formula is not None:
                self._new = self._new.joined(Translation(prices={key: formula}))
        self._unpriced.clear()
        if not (self._new.wires or self._new.prices):
            return
        from pytest_tablebench.models.translation.environment import record

        names = frozenset(record().names)
        try:
            before = kept.read(self._folder, self._model) or Translation()
        except kept.UnusableTranslation:
            before = Translation()
        joined = before.joined(self._kept).joined(self._new)
        try:
            kept.write(self._folder, self._model, joined.joined(Translation(names=names)))
        except OSError:
            return  # a later run imports litellm again
        self._kept, self._new = joined, Translation()

    def _call(self, request: Request) -> tuple[Target, bytes] | None:
        """Return a request from the kept translation; None if there is none for it."""
        if not self._kept.wires:
            return None
        try:
            key = kept.params_digest(request.params)
            if key not in self._targets:
                self._targets[key] = self._target(self._kept.wires[key], request)
            wire, target, values = self._targets[key]
            texts = making.texts_by_slot(request.messages)
            body = making.filled_body(wire, values | texts, shape(request.messages))
        except (LookupError, TypeError, ValueError, OSError):
            return None
        if self.sent is None:
            self.sent = SentRequest(self._model, request, target.url, target.headers, body)
        return target, body

    def _target(self, wire: KeptWire, request: Request) -> tuple[KeptWire, Target, dict[Slot, str]]:
        """Return where requests with these parameters go. Raises `LookupError` or `ValueError`."""
        values = making.secrets_by_slot(self._model, request.params)
        headers = {name: pieces.fill(values) for name, pieces in wire.headers.items()}
        proxy, tls = proxy_of(wire.url), rebuilt(wire.tls)
        return wire, Target(wire.provider, wire.url, headers, proxy, tls), values

    def _read(self, request: Request, response: BoundedResponse, latency_s: float) -> Reply | None:
        """Return the reply of a plain response; None if litellm has to read it."""
        body = plain_body(response)
        if body is None or any("cost" in name.lower() for name in response.headers):
            return None
        choice, usage = body["choices"][0], body.get("usage") or {}
        message = choice["message"]
        text, reason = message["content"], choice["finish_reason"]
        price = self._kept.prices.get(kept.price_key(request.params, body))
        if reason not in {"stop", "length"} or text.lstrip()[:1] == "<" or price is None:
            return None
        if not usage.get("prompt_tokens") or not price.covers(usage):
            return None
        details = usage.get("completion_tokens_details") or {}
        return Reply(
            text=text,
            finish_reason=reason,
            prompt_tokens=usage["prompt_tokens"],
            completion_tokens=usage.get("completion_tokens"),
            cost_usd=price.cost(usage) or None,
            latency_s=latency_s,
            thinking=message.get("reasoning_content") or "",
            reasoning_tokens=details.get("reasoning_tokens"),
            fingerprint=fingerprint_of(body.get("system_fingerprint"), response.headers),
        )

    async def _learning(self, request: Request) -> Reply:
        """Answer a request by litellm's translation, and keep that."""
        translated = self._direct.translated(request)
        if translated is None:
            return await self._direct.acomplete(request)
        wire, body = translated
        outcome, latency_s = await self._direct.send(wire, body)
        reply = await self._direct.read(request, wire, outcome, latency_s)
        self._learn_request(request, wire, body)
        self._learn_price(request, wire, outcome)
        return reply

    def _learn_request(self, request: Request, wire: Wire, body: bytes) -> bool:
        """Keep the form of a request; return whether that was possible and new."""
        key = kept.params_digest(request.params), shape(request.messages)
        if key in self._seen or len(self._seen) >= _MOST_LEARNT:
            return False
        self._seen.add(key)
        made = making.kept_wire(self._model, request, wire, body)
        if made is not None:
            self._new = self._new.joined(Translation({key[0]: made}))
        return made is not None

    def _learn_price(
        self, request: Request, wire: Wire, outcome: BoundedResponse | Exception
    ) -> None:
        """Note a reply whose price is fitted at the end, when no call waits for that."""
        body = None if isinstance(outcome, Exception) else plain_body(outcome)
        key = None if body is None else kept.price_key(request.params, body)
        if body is None or key is None or ("price", key) in self._seen:
            return
        if len(self._seen) < _MOST_LEARNT:
            self._seen.add(("price", key))
            self._unpriced[key] = wire, body

    def _formula(self, wire: Wire, body: dict[str, Any]) -> PriceFormula | None:
        """Return the formula for the prices of replies like this one; None if there is none."""

        def price(usage: Mapping[str, Any]) -> float | None:
            return self._direct.price(wire, {**body, "usage": dict(usage)})

        try:
            tables = self._direct.price_tables(wire, body["model"])
            return next(filter(None, (fit(price, table) for table in tables)), None)
        except Exception:  # litellm cannot read such a reply
            return None


async def _load() -> None:
    """Import litellm in another thread, so that calls in flight continue."""
    await asyncio.to_thread(load)
