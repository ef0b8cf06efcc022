"""Batch services of providers: they answer files of requests within a day.

litellm determines addresses and keys, and moves Azure's files. OpenAI's client moves all others,
because litellm has no way to refuse redirects there. litellm makes no files of requests, so the
lines are made here, each with the body that litellm's translation gives for a single call.
"""

from __future__ import annotations

import copy
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from pytest_tablebench.config.secrets import keys_in_use
from pytest_tablebench.errors import ModelError
from pytest_tablebench.models._completions import FailedReply, read_completion, sound_usage
from pytest_tablebench.models.base import Reply, limited
from pytest_tablebench.models.litellm_facts import tokens_of
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.models.litellm_model import LiteLLMModel

BATCH_PROVIDERS = frozenset({"azure", "hosted_vllm", "litellm_proxy", "openai"})
"""Providers whose batches were tested against a server of their protocol."""

OWN_KEYS = {"hosted_vllm": "HOSTED_VLLM_API_KEY", "litellm_proxy": "LITELLM_PROXY_API_KEY"}
"""Environment variables for the keys of providers to which litellm would send OpenAI's key."""

ENDPOINT = "/v1/chat/completions"

MARK = "tablebench"
"""The field of a batch's metadata with which the batch is found again."""

PAGE = 100
MOST_BATCHES = 20_000
LOOK_S = 1.0
"""Seconds between two checks whether the provider has read an uploaded file."""

LONGEST_LINE = 32_000_000
"""Bytes of the longest accepted line of an output file, far above plausible lengths."""


@dataclass(frozen=True)
class BatchState:
    """The state of a batch at its provider.

    Arguments:
        batch_id: the provider's id of the batch.
        status: the provider's word.
        output_files: ids of the files that are ready: answers and errors.
        failure: why the batch failed; empty if it did not.
    """

    batch_id: str
    status: str
    output_files: tuple[str, ...] = ()
    failure: str = ""

    @property
    def over(self) -> bool:
        """Whether the batch is finished."""
        return self.status in {"completed", "failed", "expired", "cancelled"}


@dataclass(frozen=True)
class BatchService(LiteLLMModel):
    """The batch service of a model; `timeout` applies to each call of the service."""

    def body(self, messages: Sequence[Mapping[str, Any]], params: Mapping[str, Any]) -> bytes:
        """Return the body of one request as litellm would send it, as JSON.

        Arguments:
            messages: in the form of the OpenAI protocol.
            params: parameters of the call.

        Raises `ModelError` if litellm cannot make it.
        """
        litellm = load()
        try:
            name, provider, *_ = litellm.get_llm_provider(self.model, api_base=self.api_base)
            optional = litellm.get_optional_params(
                model=name, custom_llm_provider=provider, **dict(params)
            )
            for litellm_only in ("max_retries", "stream"):
                optional.pop(litellm_only, None)
            extra = optional.pop("extra_body", None) or {}
            config = litellm.utils.ProviderConfigManager.get_provider_chat_config(
                model=name, provider=litellm.LlmProviders(provider)
            )
            made = config.transform_request(
                model=name,
                messages=[dict(message) for message in messages],
                optional_params=optional,
                litellm_params={},
                headers={},
            )
            return json.dumps({**made, **extra}).encode("ascii")
        except Exception as error:
            raise self._failure(error) from None

    def upload(self, data: bytes, name: str) -> str:
        """Upload a file of requests; return its id when a batch can be made of it.

        Raises `ModelError`.
        """
        made = self._call(
            "create_file", file=(name, data, "application/jsonl"), purpose="batch", max_retries=2
        )
        name, deadline = str(made.id), time.monotonic() + self.timeout
        while made.status in {"pending", "running"}:  # Azure is reading the file
            if time.monotonic() > deadline:
                raise ModelError(
                    f"{self.model}: the provider has not yet read the file of requests; run again",
                    reason="timeout",
                )
            time.sleep(LOOK_S)
            made = self._call("file_retrieve", file_id=name, max_retries=2)
        return name

    def create(self, file_id: str, mark: str) -> BatchState:
        """Create the batch of an uploaded file. Raises `ModelError`.

        The call is never retried: a second batch would cost money too.
        """
        return _state(
            self._call(
                "create_batch",
                completion_window="24h",
                endpoint=ENDPOINT,
                input_file_id=file_id,
                metadata={MARK: mark},
                max_retries=0,
            )
        )

    def find(self, mark: str) -> BatchState | None:
        """Return the batch with this mark; None if the provider has none. Raises `ModelError`."""
        page = self._call("list_batches", limit=PAGE, max_retries=2)
        try:
            for batch in islice(page, MOST_BATCHES):  # fetches further pages
                if (getattr(batch, "metadata", None) or {}).get(MARK) == mark:
                    return _state(batch)
        except Exception as error:
            raise self._failure(error) from None
        return None

    def look(self, batch_id: str) -> BatchState:
        """Return the state of a batch. Raises `ModelError`."""
        return _state(self._call("retrieve_batch", batch_id=batch_id, max_retries=2))

    def lines(self, file_id: str) -> Iterator[bytes]:
        """Yield the lines of an output file while it is downloaded. Raises `ModelError`."""
        answer = self._call("file_content", file_id=file_id)
        rest = b""
        try:
            # litellm returns Azure's files as a whole.
            for chunk in [answer.content] if hasattr(answer, "content") else answer:
                *whole, rest = (rest + bytes(chunk)).split(b"\n")
                yield from whole
                if len(rest) > LONGEST_LINE:
                    raise self.failures.bad_reply("an output file without line ends")
        except ModelError:
            raise
        except Exception as error:
            raise self._failure(error) from None
        if rest:
            yield rest

    def reply(self, body: Mapping[str, Any]) -> Reply:
        """Return the reply in a chat completion of an output file, with its batch price.

        Raises `ModelError` if the body is not a chat completion.
        """
        litellm = load()
        body = copy.deepcopy(dict(body))
        sound_usage(body)
        try:
            facts, _ = read_completion(body)
            if not isinstance(body.get("choices"), list):  # litellm would make an empty reply of it
                raise TypeError("no list of choices")
            response = litellm.ModelResponse(**body)
        except FailedReply as error:
            raise self._failure(error) from None
        except Exception:  # the body may contain anything
            raise self.failures.bad_reply() from None
        reply = self.reply_of(response, facts=facts)
        cost = self._price(litellm, getattr(response, "usage", None))
        keys = keys_in_use(self.secrets({}))
        return limited(replace(reply, cost_usd=cost), self.max_reply, keys)

    def price_at_most(
        self, messages: Sequence[Mapping[str, Any]], params: Mapping[str, Any]
    ) -> float | None:
        """Return the price of a request in US dollars if its reply has the maximal length.

        None if the price or the limit of the reply is unknown.
        """
        litellm = load()
        longest = params.get("max_tokens", params.get("max_completion_tokens"))
        prompt_tokens = tokens_of(self.model, messages)
        if not isinstance(longest, int) or prompt_tokens is None:
            return None
        usage = litellm.Usage(prompt_tokens=prompt_tokens, completion_tokens=longest)
        return self._price(litellm, usage)

    def _price(self, litellm: Any, usage: Any) -> float | None:
        from litellm.cost_calculator import batch_cost_calculator

        try:
            name, provider, *_ = litellm.get_llm_provider(self.model, api_base=self.api_base)
            costs = batch_cost_calculator(usage, name, provider)
        except Exception:  # litellm raises many errors for an unknown price
            return None
        return sum(costs) or None

    def _call(self, method: str, **arguments: Any) -> Any:
        """Call litellm's function `method` of the batch service."""
        litellm = load()
        from pytest_tablebench.models._litellm_clients import one_server_client, openai_call

        try:
            _, provider, key, base = litellm.get_llm_provider(self.model, api_base=self.api_base)
            if provider not in BATCH_PROVIDERS:
                raise ModelError(
                    f"{self.model}: batch services of {provider} are not supported, only of "
                    f"{', '.join(sorted(BATCH_PROVIDERS))}; leave --bench-executor=batch out",
                    reason="bad_request",
                    whole_run=True,
                )
            if provider in OWN_KEYS:
                key = os.environ.get(OWN_KEYS[provider]) or "none"
            place = {"api_base": base or self.api_base, "api_key": key, "timeout": self.timeout}
            if provider != "azure":
                return openai_call(litellm, method, **place, **arguments)
            # litellm has one client for all calls; with retries it could create a batch twice.
            arguments["max_retries"] = 0
            with one_server_client(litellm):
                return getattr(litellm, method)(custom_llm_provider=provider, **place, **arguments)
        except ModelError:
            raise
        except Exception as error:
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> ModelError:
        return self.failures.explain(error, frozenset())


def _state(batch: Any) -> BatchState:
    """Return the used fields of litellm's batch; servers may have put anything into them."""
    files = [getattr(batch, name, None) for name in ("output_file_id", "error_file_id")]
    errors = getattr(getattr(batch, "errors", None), "data", None) or []
    messages = "; ".join(str(getattr(file, "message", file))[:200] for file in errors[:3])
    return BatchState(
        str(batch.id), str(batch.status), tuple(str(file) for file in files if file), messages
    )
