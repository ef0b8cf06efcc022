"""Calls that litellm translates and we send: as fast as the connection.

litellm says where a request goes, how it looks and what the reply means; between the two the call
is ours, so that nothing is logged, wrapped or looked up for it. What is no plain answer is played
to litellm's own call, which then tells what it is without asking anybody: failures come out the
same by either way, and nothing is asked twice.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.models._direct_wires import WIRES, Unforeseen, Wire, wire
from pytest_tablebench.models.base import Reply, Request, limited
from pytest_tablebench.models.litellm_facts import litellm_version, not_tested
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.models.litellm_model import LiteLLMModel

if TYPE_CHECKING:
    from pytest_tablebench.models._litellm_session import BoundedResponse

REDIRECTS = 20
"""As many as litellm's client follows."""

_MOST_WIRES = 1000
_MOST_COSTS = 10_000


class DirectModel:
    """A model whose calls are sent over our own connections, where that is known to be the same.

    Arguments:
        model: makes all calls that are not.
        connections: calls at once, at most.
        tell: is told, in one line and once, why calls go through litellm that should not.
        insist: whether to tell so of a provider that nobody said could be asked.
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
        """What litellm says of replies in this minute, by what it depends on."""
        self._minute = 0

    @property
    def direct(self) -> bool:
        """Whether calls are made here, as far as it is known."""
        return not self._by_litellm

    async def warm_up(self) -> None:
        """Load litellm, and nothing that only its own calls need."""
        load()

    async def acomplete(self, request: Request) -> Reply:
        """Answer one request with one call; every failure is a `ModelError`."""
        call = self._translated(request)
        if call is None:
            return await self._model.acomplete(request)
        how, body = call
        from pytest_tablebench.models import _litellm_session as sessions

        reading = sessions.ResponseReading(direct=True)
        mark = sessions.READING.set(reading)
        start = time.perf_counter()
        try:
            async with asyncio.timeout(self._model.timeout):
                outcome = await self._send(how, body)
        except TimeoutError:
            raise self._model.failures.timed_out() from None
        finally:
            sessions.READING.reset(mark)
        latency_s = time.perf_counter() - start
        reply = self._read(how, outcome, latency_s)
        if reply is None:
            reply = await self._model.acomplete(request, recorded=outcome)
            reply = replace(reply, latency_s=latency_s)
        return limited(reply, self._model.max_reply)

    def _translated(self, request: Request) -> tuple[Wire, bytes] | None:
        """Return how a request is sent, and its body; None: litellm has to send it."""
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
        except Exception as error:  # what litellm raises, it raises again where it makes the call
            reason = str(error) if isinstance(error, Unforeseen) else type(error).__name__
            self._leave(f"because of {reason}")
            return None

    def _wire(self, request: Request) -> Wire | None:
        model = self._model
        if not_tested(litellm_version()):
            self._by_litellm = True  # what is ahead of a run says so
            return None
        model.arguments(request)  # raises for parameters that no call may have
        made = wire(load(), model, request.params)
        if made is None:
            self._by_litellm = True
            if self._insist:
                self._leave(f"because only {', '.join(WIRES)} are asked otherwise")
        return made

    def _leave(self, why: str) -> None:
        self._by_litellm = True
        self._tell(f"calls to {self._model.model} are made by litellm, {why}")

    async def _send(self, how: Wire, body: bytes) -> BoundedResponse | Exception:
        """Make a call; return the response, its body read, or what went wrong."""
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
        except Exception as error:  # whatever a client or a hostile server makes of it
            return error

    def _read(
        self, how: Wire, outcome: BoundedResponse | Exception, latency_s: float
    ) -> Reply | None:
        """Read a plain answer; None for all else, of which litellm knows what it is."""
        if isinstance(outcome, Exception) or (body := _plain(outcome)) is None:
            return None
        litellm = sys.modules["litellm"]
        try:
            response = how.config.transform_response(
                model=how.name,
                raw_response=_Raw(outcome.headers, body),
                model_response=litellm.ModelResponse(),
                logging_obj=_UNLOGGED,
                request_data={},
                messages=[],
                optional_params=dict(how.options),
                litellm_params={},
                encoding=None,
            )
            response._hidden_params["response_cost"] = self._cost(litellm, how, response, body)
            return self._model.reply_of(response, latency_s)
        except Exception:
            return None

    def _cost(
        self, litellm: Any, how: Wire, response: Any, body: Mapping[str, Any]
    ) -> float | None:
        """Return what litellm says that a reply costs, in US dollars; None: it does not know.

        Replies with the same counts cost the same; litellm takes as long for it as for all else
        about a reply. It is asked anew each minute: some prices depend on the time of day.
        """
        headers = response._hidden_params.get("additional_headers") or {}
        if not body.get("usage") or any("cost" in name for name in headers):
            return self._asked_cost(litellm, how, response)
        minute = int(time.time() // 60)
        if minute != self._minute or len(self._costs) >= _MOST_COSTS:
            self._minute = minute
            self._costs.clear()
        key = (id(how), body["model"], body.get("service_tier"), json.dumps(body["usage"]))
        if key not in self._costs:
            self._costs[key] = self._asked_cost(litellm, how, response)
        return self._costs[key]

    def _asked_cost(self, litellm: Any, how: Wire, response: Any) -> float | None:
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


@dataclass(frozen=True)
class _Raw:
    """A response as litellm's configurations read it, parsed already.

    The text they want for their log, which is not kept.
    """

    headers: Mapping[str, str]
    body: dict[str, Any]
    text: str = ""
    status_code: int = 200

    def json(self) -> dict[str, Any]:
        return self.body


def _plain(answer: BoundedResponse) -> dict[str, Any] | None:
    """Return a response's body if it is a completion with one text and nothing odd about it."""
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
    """Tell whether a field of a usage is a count, or an object of counts, or not known."""
    if isinstance(value, dict):
        return all(number is None or type(number) is int for number in value.values())
    return value is None or type(value) is int


class _Unlogged:
    """Takes what litellm's configurations tell of a reply, and tells nobody."""

    def post_call(self, *_: Any, **__: Any) -> None:
        """Take a reply."""

    @property
    def model_call_details(self) -> dict[str, Any]:
        """What is written into is forgotten."""
        return {}


_UNLOGGED = _Unlogged()
