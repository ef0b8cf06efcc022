"""Calls that litellm translates and this package sends, because that is several times faster.

litellm determines address, request and the meaning of the reply. This package sends the request
itself, without litellm's logging, wrappers and look-ups. If the response is not a plain answer,
it is replayed to litellm's own call, which interprets it without a second request. So failures are
the same either way.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.secrets import keys_in_use
from pytest_tablebench.models._direct_wires import WIRES, Target, Unforeseen, Wire, wire
from pytest_tablebench.models._fingerprint import fingerprint_of
from pytest_tablebench.models.base import Reply, Request, limited
from pytest_tablebench.models.litellm_facts import litellm_version, not_tested
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.models.litellm_model import LiteLLMModel

if TYPE_CHECKING:
    from pytest_tablebench.models._litellm_session import BoundedResponse

REDIRECTS = 20
"""The limit of litellm's client."""

_MOST_WIRES = 1000
_MOST_COSTS = 10_000


class DirectModel:
    """A model whose calls use our own connections if they equal litellm's.

    Arguments:
        model: makes all other calls.
        connections: calls at once, at most.
        tell: receives one line, once, if calls have to go through litellm.
        insist: whether to report this also for a provider that is not in `WIRES`.
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
        self._unpriced: set[str | None] = set()
        self._costs: dict[tuple[Any, ...], float | None] = {}
        self._minute = 0

    @property
    def direct(self) -> bool:
        """Whether calls are made without litellm's client, as far as it is known."""
        return not self._by_litellm

    async def warm_up(self) -> None:
        """Load litellm without the modules that only its own calls need."""
        load()

    async def acomplete(self, request: Request) -> Reply:
        """Answer one request with one call; every failure is a `ModelError`."""
        call = self.translated(request)
        if call is None:
            return await self._model.acomplete(request)
        return await self.read(request, call[0], *await self.send(*call))

    async def send(self, target: Target, body: bytes) -> tuple[BoundedResponse | Exception, float]:
        """Send one request; return the response or the error, and the seconds that it took.

        Raises `ModelError` after the time limit.
        """
        from pytest_tablebench.models import _litellm_session as sessions

        mark = sessions.READING.set(sessions.ResponseReading(direct=True))
        start = time.perf_counter()
        try:
            async with asyncio.timeout(self._model.timeout):
                outcome = await self._send(target, body)
        except TimeoutError:
            raise self._model.failures.timed_out() from None
        finally:
            sessions.READING.reset(mark)
        return outcome, time.perf_counter() - start

    async def read(
        self,
        request: Request,
        wire: Wire | None,
        outcome: BoundedResponse | Exception,
        latency_s: float,
    ) -> Reply:
        """Return the reply in the outcome of a request; every failure is a `ModelError`.

        Without a wire litellm interprets the outcome.
        """
        reply = None if wire is None else self._read(wire, outcome, latency_s)
        if reply is None:
            reply = await self._model.acomplete(request, recorded=outcome)
            reply = replace(reply, latency_s=latency_s)
        keys = keys_in_use(self._model.secrets(request.params))
        return limited(reply, self._model.max_reply, keys)

    def translated(self, request: Request) -> tuple[Wire, bytes] | None:
        """Return the wire and the body of a request; None if litellm has to send it."""
        if self._by_litellm:
            return None
        try:
            key = json.dumps(request.params, sort_keys=True)
            how = self._wires.get(key)
            if how is None:
                made = self._wire(request)
                if made is None:
                    return None
                if len(self._wires) >= _MOST_WIRES:
                    self._wires.clear()
                    self._costs.clear()
                how = self._wires[key] = made
            return how, how.body(request.messages)
        except Exception as error:  # litellm raises its errors again when it makes the call
            text = str(error).partition("\n")[0][:160] or type(error).__name__
            is_unforeseen = isinstance(error, Unforeseen)
            self._leave(f"because of {text}" if is_unforeseen else f"after an error: {text}")
            return None

    def _wire(self, request: Request) -> Wire | None:
        model = self._model
        if why := not_tested(litellm_version()):
            self._by_litellm = True  # `tablebench doctor` reports it
            if self._insist:
                self._leave(f"because {why}")
            return None
        model.arguments(request)  # raises for reserved parameters
        made = wire(load(), model, request.params)
        if made is None:
            self._by_litellm = True
            if self._insist:
                self._leave(f"because only {', '.join(WIRES)} can be called without it")
        return made

    def _leave(self, why: str) -> None:
        self._by_litellm = True
        self._tell(f"calls to {self._model.model} are made by litellm, {why}")

    async def _send(self, how: Target, body: bytes) -> BoundedResponse | Exception:
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
        if isinstance(outcome, Exception) or (body := plain_body(outcome)) is None:
            return None
        litellm = sys.modules["litellm"]
        try:
            response = _response(litellm, how, outcome.headers, body)
            response._hidden_params["response_cost"] = self._cost(litellm, how, response, body)
            reply = self._model.reply_of(response, latency_s, outcome.facts)
            version = fingerprint_of(body.get("system_fingerprint"), outcome.headers)
            return replace(reply, fingerprint=version)
        except Exception:
            return None

    def _cost(
        self, litellm: Any, how: Wire, response: Any, body: Mapping[str, Any]
    ) -> float | None:
        """Return litellm's price of a reply in US dollars; None if it is unknown.

        Computing it takes as long as the rest of reading a reply, so prices are cached by the
        counts they depend on. The cache lasts a minute: some prices depend on the time of day.
        """
        headers = response._hidden_params.get("additional_headers") or {}
        if not body.get("usage") or any("cost" in name for name in headers):
            return self._litellm_cost(litellm, how, response)
        minute = int(time.time() // 60)
        if minute != self._minute or len(self._costs) >= _MOST_COSTS:
            self._minute = minute
            self._costs.clear()
        key = (id(how), body["model"], body.get("service_tier"), json.dumps(body["usage"]))
        if key not in self._costs:
            self._costs[key] = self._litellm_cost(litellm, how, response)
        return self._costs[key]

    def _litellm_cost(self, litellm: Any, how: Wire, response: Any) -> float | None:
        named = getattr(response, "model", None)
        headers = response._hidden_params.get("additional_headers") or {}
        if named in self._unpriced and not any("cost" in name for name in headers):
            return None
        try:
            cost: float = litellm.response_cost_calculator(
                response_object=response,
                model=self._model.model,
                custom_llm_provider=how.provider,
                call_type="acompletion",
                optional_params=dict(how.options),
                cache_hit=False,
            )
        except Exception:  # a model without a price
            if len(self._unpriced) < _MOST_WIRES:
                self._unpriced.add(named)
            return None
        return cost


def _response(litellm: Any, how: Wire, headers: Mapping[str, str], body: dict[str, Any]) -> Any:
    """Return litellm's response for the body of a reply."""
    return how.config.transform_response(
        model=how.name,
        raw_response=_Raw(headers, body),
        model_response=litellm.ModelResponse(),
        logging_obj=_UNLOGGED,
        request_data={},
        messages=[],
        optional_params=dict(how.options),
        litellm_params={},
        encoding=None,
    )


@dataclass(frozen=True)
class _Raw:
    """A parsed response as litellm's configurations read it.

    They read the text only for their log, which is not kept.
    """

    headers: Mapping[str, str]
    body: dict[str, Any]
    text: str = ""
    status_code: int = 200

    def json(self) -> dict[str, Any]:
        return self.body


def plain_body(answer: BoundedResponse) -> dict[str, Any] | None:
    """Return a response's body if it is a completion with one text and no unusual field."""
    if answer.status != 200:
        return None
    try:
        body: dict[str, Any] = json.loads(answer.whole)
        (choice,) = body["choices"]
        message = choice["message"]
        usage = body.get("usage") or {}
        texts = (body["id"], body["object"], body["model"], message["role"], message["content"])
        rest = {name for name in message if name not in _OF_MESSAGES and message[name]}
        plain = (
            all(isinstance(text, str) for text in (*texts, choice["finish_reason"]))
            and isinstance(message.get("reasoning_content") or "", str)
            and not rest
            and type(body["created"]) is int
            and choice["index"] == 0
            and type(choice["index"]) is int
            and all(map(_is_plain_count, usage.values()))
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    return body if plain else None


_OF_MESSAGES = frozenset({"role", "content", "reasoning_content"})


def _is_plain_count(value: object) -> bool:
    """Return whether a field of a usage is a count, an object of counts, or null."""
    if isinstance(value, dict):
        return all(number is None or type(number) is int for number in value.values())
    return value is None or type(value) is int


class _Unlogged:
    """A logger that discards what litellm's configurations pass to it."""

    def post_call(self, *_: Any, **__: Any) -> None:
        """Discard the reply."""

    @property
    def model_call_details(self) -> dict[str, Any]:
        """A new dictionary, so that entries are discarded."""
        return {}


_UNLOGGED = _Unlogged()
