"""Calls to providers of OpenAI's protocol, made over our own connections without litellm.

litellm is imported only for requests that `openai_providers` leaves to it.
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
from pytest_tablebench.errors import REFUSED
from pytest_tablebench.models._completions import CompletionFacts, fingerprint_of, tools_called
from pytest_tablebench.models._openai_prices import price, sound_counts
from pytest_tablebench.models._openai_providers import PROVIDERS, Unforeseen, wire_model
from pytest_tablebench.models._openai_requests import Wire, wire_of
from pytest_tablebench.models._refusals import refused_part
from pytest_tablebench.models.base import Reply, Request, limited
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.models.litellm_model import LiteLLMModel
from pytest_tablebench.models.model_table import litellm_version, model_table, not_tested

if TYPE_CHECKING:
    from pytest_tablebench.models._sessions import BoundedResponse

REDIRECTS = 20
"""The limit of litellm's client. `_sessions` refuses redirects to other servers."""

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
        wire, body = call
        from pytest_tablebench.models._sessions import CALL_STATE, CallState

        mark = CALL_STATE.set(CallState())
        start = time.perf_counter()
        try:
            async with asyncio.timeout(self._model.timeout):
                response = await self._send(wire, body)
        except TimeoutError:
            raise self._model.failures.timed_out() from None
        except Exception as error:  # a client's error, or one that a hostile server causes
            raise self._model.failed(error, request) from None
        finally:
            CALL_STATE.reset(mark)
        reply = self._read(request, wire, response, time.perf_counter() - start)
        return limited(
            reply, self._model.max_reply, keys_in_use(self._model.secrets(request.params))
        )

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

    async def _send(self, how: Wire, body: bytes) -> BoundedResponse:
        from pytest_tablebench.models._sessions import direct_session

        return await direct_session(how.provider, self._connections).post(  # type: ignore[return-value]
            how.url,
            data=body,
            headers=how.headers,
            proxy=how.proxy,
            ssl=how.tls,
            max_redirects=REDIRECTS,
        )

    def _read(
        self, request: Request, how: Wire, response: BoundedResponse, latency_s: float
    ) -> Reply:
        """Return the reply in a response; every other response is a `ModelError`."""
        if response.status >= 300:
            text = response.error.decode("utf-8", "replace")
            if response.status == 400 and _NO_ROOM in text:
                return Reply("", "length", latency_s=latency_s)
            failure = self._model.failures.of_response(
                response.status, text, response.headers, self._model.secrets(request.params)
            )
            if failure.reason == REFUSED:
                failure.refused = refused_part(text, request)
            raise failure
        try:
            reply = reply_in(response.value, response.facts, response.headers)
        except (LookupError, TypeError, AttributeError):
            raise self._model.failures.bad_reply() from None
        cost = _cost(how, response.value, response.headers)
        return replace(reply, cost_usd=cost, latency_s=latency_s)


def reply_in(
    body: Any, facts: CompletionFacts, headers: Mapping[str, str], *, whole: bool = False
) -> Reply:
    """Return the reply in a completion in its plain form, without cost and time.

    Arguments:
        body: the parsed response.
        facts: from `read_completion`.
        headers: of the response.
        whole: whether the text keeps tagged thoughts, which litellm cuts off.

    Raises `LookupError`, `TypeError` or `AttributeError` for another body.
    """
    choice = body["choices"][0]
    text, thinking = _parted(choice["message"], whole=whole)
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) and usage.get("prompt_tokens") else {}
    details = usage.get("completion_tokens_details") or {}
    return Reply(
        text=text,
        finish_reason=facts.finish or FINISHES.get(choice.get("finish_reason"), "stop"),
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        thinking=thinking,
        reasoning_tokens=details.get("reasoning_tokens"),
        fingerprint=fingerprint_of(body.get("system_fingerprint"), headers),
        served_model=facts.model,
        served_by=facts.provider,
        **tools_called(choice["message"]),
    )


_NO_ROOM = "Could not finish the message because max_tokens or model output limit was reached"
"""OpenAI's error for a reply that its limit ended before the answer, during the thoughts."""


def warm_up() -> None:
    """Import and read what the first call needs, without litellm."""
    from pytest_tablebench.models import _sessions  # noqa: F401 - aiohttp

    model_table()


def _cost(how: Wire, body: dict[str, Any], headers: Mapping[str, str]) -> float | None:
    """Return what a reply costs in US dollars; None if it is unknown."""
    try:
        if named := headers.get("x-litellm-response-cost"):  # by a gateway
            return float(named)
        usage = sound_counts(how.provider, body.get("usage") or {})
        return price(how.provider, how.name, {**body, "usage": usage}, how.tier)
    except (Unforeseen, LookupError, TypeError, ValueError, AttributeError):
        return None


def _parted(message: Mapping[str, Any], *, whole: bool) -> tuple[str, str]:
    """Return answer and thoughts of a message. Raises `TypeError` for content that is no text."""
    content = message["content"]
    if not isinstance(content, str):
        raise TypeError
    for name in ("reasoning_content", "reasoning"):
        if isinstance(thoughts := message.get(name), str) and thoughts:
            return content, thoughts
    match = None if whole else _THOUGHTS.match(content)
    return (match[2], match[1]) if match else (content, "")


_TAG = "(?:think|thinking|budget:thinking)"
_THOUGHTS = re.compile(f"<{_TAG}>(.*?)</{_TAG}>(.*)", re.DOTALL)

FINISHES = {name: name for name in ("length", "content_filter", "tool_calls", "function_call")}
"""Why a reply ended -> litellm's word for it, if not `stop`."""
