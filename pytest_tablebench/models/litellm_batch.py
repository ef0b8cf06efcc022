"""Batch services of providers: files of requests, answered within a day.

litellm knows addresses and keys, and moves Azure's files; OpenAI's own client, which litellm would
use without a way to refuse redirects, moves all others. litellm makes no file of requests, so the
lines are made here, each with the body that litellm's translation gives for a single call.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models._usage import sound_usage
from pytest_tablebench.models.base import Reply, limited
from pytest_tablebench.models.litellm_facts import tokens_of
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.models.litellm_model import LiteLLMModel

BATCH_PROVIDERS = frozenset({"azure", "hosted_vllm", "litellm_proxy", "openai"})
"""Providers whose batches were tried against a server that speaks their protocol."""

OWN_KEYS = {"hosted_vllm": "HOSTED_VLLM_API_KEY", "litellm_proxy": "LITELLM_PROXY_API_KEY"}
"""Variables with the keys of those to which litellm would send OpenAI's for want of one."""

ENDPOINT = "/v1/chat/completions"

MARK = "tablebench"
"""The field of a batch's metadata by which it is found again."""

PAGE = 100
MOST_BATCHES = 20_000
LOOK_S = 1.0
"""Time between two looks at whether a file that was uploaded is ready for a batch."""

LONGEST_LINE = 32_000_000
"""Bytes of one line of an output file; what makes sense is far below."""


@dataclass(frozen=True)
class BatchState:
    """What a provider says of a batch.

    Arguments:
        batch_id: the provider's name of it.
        status: the provider's word.
        output_files: ids of the files that are ready: answers, and errors.
        failure: why it failed, where it did.
    """

    batch_id: str
    status: str
    output_files: tuple[str, ...] = ()
    failure: str = ""

    @property
    def over(self) -> bool:
        """Whether nothing more will come."""
        return self.status in {"completed", "failed", "expired", "cancelled"}


@dataclass(frozen=True)
class BatchService(LiteLLMModel):
    """The batch service that a model is asked through; `timeout` is for each call of it."""

    def body(self, messages: Sequence[Mapping[str, Any]], params: Mapping[str, Any]) -> bytes:
        """Return the body of one request as litellm would send it, as JSON.

        Arguments:
            messages: in the form of the OpenAI protocol.
            params: parameters of the call.

        Raises `ModelError` where litellm cannot make it.
        """
        litellm = load()
        try:
            name, provider, *_ = litellm.get_llm_provider(self.model, api_base=self.api_base)
            optional = litellm.get_optional_params(
                model=name, custom_llm_provider=provider, **dict(params)
            )
            for name_of_ours in ("max_retries", "stream"):
                optional.pop(name_of_ours, None)
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
        """Store a file of requests with the provider; return its id once a batch can be made of it.

        Raises `ModelError`.
        """
        made = self._call(
            "create_file", file=(name, data, "application/jsonl"), purpose="batch", max_retries=2
        )
        name, deadline = str(made.id), time.monotonic() + self.timeout
        while made.status in {"pending", "running"}:  # Azure's words while it reads the file
            if time.monotonic() > deadline:
                raise ModelError(
                    f"{self.model}: its file of requests is not ready yet; run again",
                    reason="timeout",
                )
            time.sleep(LOOK_S)
            made = self._call("file_retrieve", file_id=name, max_retries=2)
        return name

    def create(self, file_id: str, mark: str) -> BatchState:
        """Have the requests of a file answered. Raises `ModelError`.

        It is asked once and never again by itself: a second batch would be paid for, too.
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
        """Return the batch of that mark; None where the provider has none. Raises `ModelError`."""
        page = self._call("list_batches", limit=PAGE, max_retries=2)
        try:
            for batch in islice(page, MOST_BATCHES):  # it fetches the pages behind it
                if (getattr(batch, "metadata", None) or {}).get(MARK) == mark:
                    return _state(batch)
        except Exception as error:
            raise self._failure(error) from None
        return None

    def look(self, batch_id: str) -> BatchState:
        """Return how far a batch is. Raises `ModelError`."""
        return _state(self._call("retrieve_batch", batch_id=batch_id, max_retries=2))

    def lines(self, file_id: str) -> Iterator[bytes]:
        """Yield the lines of an output file as they come. Raises `ModelError`."""
        answer = self._call("file_content", file_id=file_id)
        rest = b""
        try:
            # Azure's files come whole.
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
        """Return the reply that a chat completion of an output file holds, with its batch price.

        Raises `ModelError` where it holds none.
        """
        litellm = load()
        body = dict(body)
        sound_usage(body)
        try:
            response = litellm.ModelResponse(**body)
        except Exception:  # whatever a server wrote there
            raise self.failures.bad_reply("a reply that is no chat completion") from None
        reply = self.reply_of(response)
        cost = self._price(litellm, response.usage)
        return limited(replace(reply, cost_usd=cost), self.max_reply)

    def price_at_most(
        self, messages: Sequence[Mapping[str, Any]], params: Mapping[str, Any]
    ) -> float | None:
        """Return what a request costs in US dollars if its reply is as long as it may be.

        None where no price is known, or no limit of the reply.
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
        except Exception:  # litellm knows no price, and says so in many ways
            return None
        return sum(costs) or None

    def _call(self, method: str, **arguments: Any) -> Any:
        """Call the batch service; `what` is the name of litellm's function."""
        litellm = load()
        from pytest_tablebench.models._litellm_clients import one_server_client, openai_call

        try:
            _, provider, key, base = litellm.get_llm_provider(self.model, api_base=self.api_base)
            if provider not in BATCH_PROVIDERS:
                raise ModelError(
                    f"{self.model}: no batch service of {provider} is known here; those of "
                    f"{', '.join(sorted(BATCH_PROVIDERS))} are. Leave --bench-executor=batch out",
                    reason="bad_request",
                    whole_run=True,
                )
            if provider in OWN_KEYS:
                key = os.environ.get(OWN_KEYS[provider]) or "none"
            place = {"api_base": base or self.api_base, "api_key": key, "timeout": self.timeout}
            if provider != "azure":
                return openai_call(litellm, method, **place, **arguments)
            # litellm keeps one client for all calls, which would make a batch once more, too.
            arguments["max_retries"] = 0
            with one_server_client(litellm):
                return getattr(litellm, method)(custom_llm_provider=provider, **place, **arguments)
        except ModelError:
            raise
        except Exception as error:
            raise self._failure(error) from None

    def _failure(self, error: Exception) -> ModelError:
        return self.failures.explain(load(), error, frozenset())


def _state(batch: Any) -> BatchState:
    """Return what litellm says of a batch as far as it is used; anything may stand in it."""
    files = [getattr(batch, name, None) for name in ("output_file_id", "error_file_id")]
    errors = getattr(getattr(batch, "errors", None), "data", None) or []
    messages = "; ".join(str(getattr(file, "message", file))[:200] for file in errors[:3])
    return BatchState(
        str(batch.id), str(batch.status), tuple(str(file) for file in files if file), messages
    )
