"""Batch services of providers: they answer files of requests within a day."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.secrets import keys_in_use
from pytest_tablebench.errors import ModelError
from pytest_tablebench.models._body import RedirectRefused
from pytest_tablebench.models._completions import FailedReply, read_completion, sound_usage
from pytest_tablebench.models._openai_providers import (
    PROVIDERS,
    Unforeseen,
    WireProvider,
    body_fields,
    check_model,
)
from pytest_tablebench.models._openai_requests import first_of, tls_of
from pytest_tablebench.models.base import Reply, limited
from pytest_tablebench.models.litellm_facts import tokens_of
from pytest_tablebench.models.litellm_model import LiteLLMModel
from pytest_tablebench.models.model_table import flat_price, model_table
from pytest_tablebench.models.openai_wire import reply_in

if TYPE_CHECKING:
    import httpx


_ENDPOINTS: Mapping[str, WireProvider] = {
    "azure": WireProvider(
        None, ("AZURE_API_BASE",), ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN")
    ),
    "litellm_proxy": WireProvider(
        None, ("LITELLM_PROXY_API_BASE",), ("LITELLM_PROXY_API_KEY",), spare_key="none"
    ),
    **{name: PROVIDERS[name] for name in ("hosted_vllm", "openai")},
}
"""Where the batch service of each provider is."""

BATCH_PROVIDERS = frozenset(_ENDPOINTS)
"""Providers whose batches were tested against a server of their protocol."""

_AZURE_VERSION = "2025-02-01-preview"

ENDPOINT = "/v1/chat/completions"

MARK = "tablebench"
"""The field of a batch's metadata with which the batch is found again."""

PAGE = 100
MOST_BATCHES = 20_000
LOOK_S = 1.0
"""Seconds between two attempts, or checks whether the provider has read an uploaded file."""

ATTEMPTS = 3
"""Attempts of a call that may be repeated."""

CHUNK = 1 << 20
"""Bytes of a file that one step reads."""

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

    @property
    def _provider(self) -> str:
        prefix, slash, _ = self.model.partition("/")
        if slash:
            return prefix
        return str((model_table().get(self.model) or {}).get("litellm_provider") or prefix)

    def body(self, messages: Sequence[Mapping[str, Any]], params: Mapping[str, Any]) -> bytes:
        """Return the body of one request, as JSON.

        Arguments:
            messages: in the form of the OpenAI protocol.
            params: parameters of the call; unknown ones are sent as they are.
        """
        name = self.model.removeprefix(f"{self._provider}/")
        protocol = "hosted_vllm" if self._provider not in {"azure", "openai"} else "openai"
        try:
            check_model(protocol, name)
            fields = body_fields(protocol, name, params)
        except Unforeseen:
            fields = {**params, **params.get("extra_body", {})}
            fields.pop("extra_body", None)
        return json.dumps({"model": name, "messages": list(messages), **fields}).encode("ascii")

    def upload(self, data: bytes, name: str) -> str:
        """Upload a file of requests; return its id when a batch can be made of it.

        Raises `ModelError`.
        """
        form = {"files": {"file": (name, data, "application/jsonl")}, "data": {"purpose": "batch"}}
        made = self._call("POST", "/files", attempts=ATTEMPTS, **form)
        file_id, deadline = str(made["id"]), time.monotonic() + self.timeout
        while made.get("status") in {"pending", "running"}:  # Azure is reading the file
            if time.monotonic() > deadline:
                raise ModelError(
                    f"{self.model}: the provider has not yet read the file of requests; run again",
                    reason="timeout",
                )
            time.sleep(LOOK_S)
            made = self._call("GET", f"/files/{file_id}", attempts=ATTEMPTS)
        return file_id

    def create(self, file_id: str, mark: str) -> BatchState:
        """Create the batch of an uploaded file. Raises `ModelError`.

        The call is never retried: a second batch would cost money too.
        """
        batch = {
            "completion_window": "24h",
            "endpoint": ENDPOINT,
            "input_file_id": file_id,
            "metadata": {MARK: mark},
        }
        return _state(self._call("POST", "/batches", attempts=1, json=batch))

    def find(self, mark: str) -> BatchState | None:
        """Return the batch with this mark; None if the provider has none. Raises `ModelError`."""
        for batch in islice(self._batches(), MOST_BATCHES):
            if isinstance(batch, dict) and (batch.get("metadata") or {}).get(MARK) == mark:
                return _state(batch)
        return None

    def _batches(self) -> Iterator[Any]:
        after: dict[str, str] = {}
        while True:
            query = {"limit": str(PAGE), **after}
            page = self._call("GET", "/batches", attempts=ATTEMPTS, params=query)
            rows = page.get("data")
            if not isinstance(rows, list) or not rows:
                return
            yield from rows
            if not page.get("has_more") or not isinstance(rows[-1], dict):
                return
            after = {"after": str(rows[-1].get("id"))}

    def look(self, batch_id: str) -> BatchState:
        """Return the state of a batch. Raises `ModelError`."""
        return _state(self._call("GET", f"/batches/{batch_id}", attempts=ATTEMPTS))

    def lines(self, file_id: str) -> Iterator[bytes]:
        """Yield the lines of an output file while it is downloaded. Raises `ModelError`."""
        rest = b""
        with self._answering("GET", f"/files/{file_id}/content") as response:
            for chunk in response.iter_bytes(CHUNK):
                *whole, rest = (rest + chunk).split(b"\n")
                yield from whole
                if len(rest) > LONGEST_LINE:
                    raise self.failures.bad_reply("an output file without line ends")
        if rest:
            yield rest

    def reply(self, body: dict[str, Any]) -> Reply:
        """Return the reply in a chat completion of an output file, with its batch price.

        Raises `ModelError` if the body is not a chat completion.
        """
        try:
            sound_usage(body)
            facts, _ = read_completion(body)
            reply = reply_in(body, facts, {}, whole=True)
        except FailedReply as error:
            raise self.failures.explain(error, frozenset()) from None
        except Exception:  # the body may contain anything
            raise self.failures.bad_reply() from None
        cost = None
        if reply.prompt_tokens is not None:
            tokens = reply.prompt_tokens, reply.completion_tokens or 0
            cost = flat_price(self.model, *tokens, batch=True)
        return limited(replace(reply, cost_usd=cost), self.max_reply, keys_in_use(self.secrets({})))

    def price_at_most(
        self, messages: Sequence[Mapping[str, Any]], params: Mapping[str, Any]
    ) -> float | None:
        """Return the price of a request in US dollars if its reply has the maximal length.

        None if the price or the limit of the reply is unknown.
        """
        longest = params.get("max_tokens", params.get("max_completion_tokens"))
        prompt_tokens = tokens_of(self.model, messages)
        if not isinstance(longest, int) or prompt_tokens is None:
            return None
        return flat_price(self.model, prompt_tokens, longest, batch=True)

    def _call(self, method: str, path: str, *, attempts: int, **content: Any) -> dict[str, Any]:
        """Make a call and return the JSON object of its reply. Raises `ModelError`."""
        for attempt in range(1, attempts + 1):
            try:
                with self._answering(method, path, **content) as response:
                    made = json.loads(response.read())
                    if not isinstance(made, dict):
                        raise TypeError
                    return made
            except (ValueError, TypeError, RecursionError):
                raise self.failures.bad_reply("a reply that is no JSON object") from None
            except ModelError as error:
                if attempt == attempts or not error.retryable:
                    raise
                time.sleep(error.retry_after or LOOK_S)
        raise AssertionError  # there is an attempt

    @contextmanager
    def _answering(self, method: str, path: str, **content: Any) -> Iterator[httpx.Response]:
        """Send a request; yield the response while it arrives. Raises `ModelError`."""
        import httpx

        base, headers, query = self._endpoint()
        content["params"] = {**query, **content.get("params", {})}
        secrets = self.secrets({}) | {text.rpartition(" ")[2] for text in headers.values()}
        try:
            with (
                httpx.Client(
                    verify=tls_of(base),
                    timeout=self.timeout,
                    follow_redirects=True,
                    event_hooks={"response": [_stay_on_server]},
                ) as client,
                client.stream(method, base + path, headers=headers, **content) as response,
            ):
                if response.status_code >= 300:
                    text = b"".join(islice(response.iter_bytes(4096), 1)).decode("utf-8", "replace")
                    raise self.failures.of_response(
                        response.status_code, text, response.headers, secrets
                    )
                yield response
        except (httpx.HTTPError, httpx.InvalidURL, RedirectRefused) as error:
            raise self.failures.explain(error, secrets) from None

    def _endpoint(self) -> tuple[str, dict[str, str], dict[str, str]]:
        """Return address, headers and query of the service. Raises `ModelError`."""
        provider = self._provider
        if provider not in _ENDPOINTS:
            raise ModelError(
                f"{self.model}: batch services of {provider} are not supported, only of "
                f"{', '.join(sorted(BATCH_PROVIDERS))}; leave --bench-executor=batch out",
                reason="bad_request",
                whole_run=True,
            )
        endpoint = _ENDPOINTS[provider]
        key = self.api_key or first_of(endpoint.key_variables) or endpoint.spare_key
        base = self.api_base or first_of(endpoint.base_variables) or endpoint.base
        if key is None or base is None:
            names = endpoint.key_variables if key is None else endpoint.base_variables
            raise ModelError(f"{self.model}: set {names[0]}", reason="auth", whole_run=True)
        headers = {"Authorization": f"Bearer {key}"}
        if provider == "openai" and (organization := os.environ.get("OPENAI_ORGANIZATION")):
            headers["OpenAI-Organization"] = organization
        if provider != "azure":
            return base.rstrip("/"), headers, {}
        if key != os.environ.get("AZURE_AD_TOKEN"):
            headers = {"api-key": key}
        version = os.environ.get("AZURE_API_VERSION") or _AZURE_VERSION
        return f"{base.rstrip('/')}/openai", headers, {"api-version": version}


def _stay_on_server(response: httpx.Response) -> None:
    from yarl import URL

    from pytest_tablebench.models._sessions import refused_redirect

    url = URL(str(response.url))
    refused = refused_redirect(url, response.status_code, response.headers)
    if refused is not None:
        response.close()
        raise refused


def _state(batch: Mapping[str, Any]) -> BatchState:
    """Return the used fields of a batch; servers may have put anything into them."""
    files = [batch.get(name) for name in ("output_file_id", "error_file_id")]
    errors = batch.get("errors")
    rows = errors.get("data") if isinstance(errors, dict) else None
    problems = rows[:3] if isinstance(rows, list) else []
    messages = "; ".join(
        str(row.get("message") if isinstance(row, dict) else row)[:200] for row in problems
    )
    names = tuple(str(file) for file in files if file)
    return BatchState(str(batch.get("id")), str(batch.get("status")), names, messages)
