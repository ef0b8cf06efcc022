"""Calls to providers of OpenAI's protocol, made over our own connections without litellm.

A plain answer is read here. Any other outcome is replayed to litellm's own call, which interprets
it without a second request, so failures are the same with both transports. litellm is imported
only then, and for requests that `openai_providers` leaves to it.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.secrets import keys_in_use
from pytest_tablebench.models._fingerprint import fingerprint_of
from pytest_tablebench.models.base import Reply, Request, limited
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.models.litellm_model import LiteLLMModel
from pytest_tablebench.models.model_table import litellm_version, model_table, not_tested
from pytest_tablebench.models.openai_prices import price, sound_counts
from pytest_tablebench.models.openai_providers import PROVIDERS, Unforeseen, wire_model
from pytest_tablebench.models.openai_requests import Wire, wire_of

if TYPE_CHECKING:
    from pytest_tablebench.models._litellm_session import BoundedResponse

REDIRECTS = 20
"""The limit of litellm's client. `_litellm_session` refuses redirects to other servers."""

_MOST_WIRES = 1000


class WireModel:
    """A model that is called without litellm where the requests equal litellm's.

    Arguments:
        model: makes all other calls.
        connections: calls at once, at most.
        tell: receives one line, once, if calls have to go through litellm.
        insist: whether to report this also for a provider that is not in `PROVIDERS`.
    """

    def __init__(
        self,
        model: LiteLLMModel,
        *,
        connections: int,
        tell: Callable[[str], None],
        insist: bool = False,
    ) -> None:
        self._model = model
        self._connections = connections
        self._tell = tell
        self._insist = insist
        self._by_litellm = False
        self._wires: dict[str, Wire] = {}

    @property
    def direct(self) -> bool:
        """Whether calls are made without litellm, as far as it is known."""
        return not self._by_litellm

    async def warm_up(self) -> None:
        """Load what calls need: litellm for a provider that only litellm can call."""
        if wire_model(self._model.model, self._model.api_base) is None:
            await self._model.warm_up()
        else:
            warm_up()

    async def acomplete(self, request: Request) -> Reply:
        """Answer one request with one call; every failure is a `ModelError`."""
        call = self.translated(request)
        if call is None:
            await asyncio.to_thread(load)  # other calls continue
            return await self._model.acomplete(request)
        return await self.read(request, call[0], *await self.send(*call))

    async def send(self, wire: Wire, body: bytes) -> tuple[BoundedResponse | Exception, float]:
        """Send one request; return the response or the error, and the seconds that it took.

        Raises `ModelError` after the time limit.
        """
        from pytest_tablebench.models import _litellm_session as sessions

        mark = sessions.READING.set(sessions.ResponseReading(direct=True))
        start = time.perf_counter()
        try:
            async with asyncio.timeout(self._model.timeout):
                outcome = await self._send(wire, body)
        except TimeoutError:
            raise self._model.failures.timed_out() from None
        finally:
            sessions.READING.reset(mark)
        return outcome, time.perf_counter() - start

    async def read(
        self,
        request: Request,
        wire: Wire,
        outcome: BoundedResponse | Exception,
        latency_s: float,
    ) -> Reply:
        """Return the reply in the outcome of a request; every failure is a `ModelError`."""
        reply = self._read(wire, outcome, latency_s)
        if reply is None:
            await asyncio.to_thread(load)  # other calls continue
            reply = await self._model.acomplete(request, recorded=outcome)
            reply = replace(reply, latency_s=latency_s)
        keys = keys_in_use(self._model.secrets(request.params))
        return limited(reply, self._model.max_reply, keys)

    def translated(self, request: Request) -> tuple[Wire, bytes] | None:
        """Return the wire and the body of a request; None if litellm has to send it."""
        if self._by_litellm:
            return None
        key = json.dumps(request.params, sort_keys=True, default=str)
        how = self._wires.get(key)
        try:
            if how is None:
                how = self._wire(request)
                if how is None:
                    return None
                if len(self._wires) >= _MOST_WIRES:
                    self._wires.clear()
                self._wires[key] = how
            return how, how.body(request.messages)
        except Unforeseen as error:
            self._leave(f"because of {error}")
        except (TypeError, ValueError) as error:  # no JSON; litellm's own call reports it
            self._leave(f"after an error: {type(error).__name__}")
        return None

    def _wire(self, request: Request) -> Wire | None:
        self._model.arguments(request)  # raises for reserved parameters
        where = wire_model(self._model.model, self._model.api_base)
        if where is None:
            self._by_litellm = True
            if self._insist:
                only = f"only {', '.join(PROVIDERS)} can be called without it"
                self._leave(f"because {not_tested(litellm_version()) or only}")
            return None
        return wire_of(*where, self._model, request.params)

    def _leave(self, why: str) -> None:
        self._by_litellm = True
        self._tell(f"calls to {self._model.model} are made by litellm, {why}")

    async def _send(self, how: Wire, body: bytes) -> BoundedResponse | Exception:
        from pytest_tablebench.models._litellm_session import direct_session

        try:
            return await direct_session(how.provider, self._connections).post(  # type: ignore[return-value]
                how.url,
                data=body,
                headers=how.headers,
                proxy=how.proxy,
                ssl=how.tls,
                max_redirects=REDIRECTS,
            )
        except TimeoutError:
            raise
        except Exception as error:  # a client's error, or one that a hostile server causes
            return error

    def _read(
        self, how: Wire, outcome: BoundedResponse | Exception, latency_s: float
    ) -> Reply | None:
        """Read a plain answer; return None if litellm has to interpret the outcome."""
        if isinstance(outcome, Exception) or (body := plain_body(how.provider, outcome)) is None:
            return None
        if any("cost" in name.lower() for name in outcome.headers):
            return None  # a gateway names the price
        (choice,) = body["choices"]
        usage = body.get("usage") or {}
        try:
            cost = price(how.provider, how.name, body, how.tier)
        except (Unforeseen, LookupError, TypeError, ValueError):
            return None
        text, thinking = _parted(choice["message"])
        thoughts = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens")
        return Reply(
            text=text,
            finish_reason=outcome.facts.finish or FINISHES[choice["finish_reason"]],
            prompt_tokens=usage.get("prompt_tokens"),
            completion_tokens=usage.get("completion_tokens"),
            cost_usd=cost,
            latency_s=latency_s,
            thinking=thinking,
            reasoning_tokens=thoughts,
            fingerprint=fingerprint_of(body.get("system_fingerprint"), outcome.headers),
            served_model=outcome.facts.model,
            served_by=outcome.facts.provider,
        )


def warm_up() -> None:
    """Import and read what the first call needs, without litellm."""
    from pytest_tablebench.models import _litellm_session  # noqa: F401 - aiohttp

    model_table()


def plain_body(provider: str, answer: BoundedResponse) -> dict[str, Any] | None:
    """Return a response's body if it is a completion with one text and no unusual field."""
    if answer.status != 200:
        return None
    try:
        body: dict[str, Any] = json.loads(answer.whole)
        (choice,) = body["choices"]
        message = choice["message"]
        texts = (body["id"], body["object"], body["model"], message["role"], message["content"])
        rest = {name for name in message if name not in _OF_MESSAGES and message[name]}
        plain = (
            all(isinstance(text, str) for text in texts)
            and choice["finish_reason"] in FINISHES
            and isinstance(message.get("reasoning_content") or "", str)
            and not rest
            and type(body["created"]) is int
            and choice["index"] == 0
            # Groq always names it, and litellm fails without it.
            and (provider != "groq" or "service_tier" in body)
            and type(choice["index"]) is int
        )
        if body.get("usage"):
            body["usage"] = sound_counts(provider, body["usage"])
    except (ValueError, LookupError, TypeError, AttributeError, Unforeseen):
        return None
    return body if plain else None


def _parted(message: Mapping[str, Any]) -> tuple[str, str]:
    """Return answer and thoughts of a message, as litellm separates them."""
    content: str = message["content"]
    if "reasoning_content" in message or "reasoning" in message:
        return content, message.get("reasoning_content") or ""
    match = _THOUGHTS.match(content)
    return (match[2], match[1]) if match else (content, "")


_TAG = "(?:think|thinking|budget:thinking)"
_THOUGHTS = re.compile(f"<{_TAG}>(.*?)</{_TAG}>(.*)", re.DOTALL)

FINISHES = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "length": "length",
    "content_filter": "content_filter",
}
"""Why a plain answer ended -> litellm's word for it."""

_OF_MESSAGES = frozenset({"role", "content", "reasoning_content"})
