"""Models behind litellm: every hosted API and local server."""

from __future__ import annotations

import contextvars
import importlib
import sys
import time
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.addresses import address_fault
from pytest_tablebench.config.parameters import RESERVED, WINDOW
from pytest_tablebench.config.secrets import keys_in_use, placed_secrets
from pytest_tablebench.errors import REFUSED, ModelError, SettingsError
from pytest_tablebench.models._completions import CompletionFacts, fingerprint_of, tools_called
from pytest_tablebench.models._failures import Failures, body_of, forget_frames
from pytest_tablebench.models._refusals import refused_part
from pytest_tablebench.models.base import MAX_REPLY, Reply, Request, as_openai, limited
from pytest_tablebench.models.litellm_facts import provider_of
from pytest_tablebench.models.litellm_load import load, uncollected
from pytest_tablebench.models.ollama import ContextWindow
from pytest_tablebench.models.thinking import thoughts_of

if TYPE_CHECKING:
    import asyncio

# litellm's own time limit is per read, so a slow stream never reaches it. The margin lets
# litellm's more precise error come first.
MARGIN_S = 1.0

# Providers that litellm calls through OpenAI's own client, which loads late and slowly.
SDK = frozenset({"azure", "openai"})

# Providers for which litellm takes a client but no session.
CLIENT_TAKEN = frozenset(
    {
        *("anthropic", "azure_ai", "bedrock", "bytez", "compactifai", "databricks", "datarobot"),
        *("gdc", "gemini", "huggingface", "lemonade", "oci", "ovhcloud", "sagemaker_chat"),
        *("vertex_ai", "vertex_ai_beta", "watsonx"),
    }
)

# Providers that litellm calls through OpenAI's package, with one client for all event loops.
SESSION_CLIENT = frozenset(
    {"azure", "azure_text", "text-completion-inception", "text-completion-openai"}
)

# Providers for which litellm takes neither, so that it would follow a redirect to any server.
UNGUARDED = frozenset(
    {
        *("amazon_nova", "maritalk", "nlp_cloud", "oobabooga", "petals"),
        *("predibase", "text-completion-codestral"),
    }
)

# The name of a call's task.
CALL = "tablebench-call"

# How long a cancelled call may take to close its connection.
CLOSING_S = 1.0


@dataclass(frozen=True)
class LiteLLMModel:
    """A model called through litellm.

    Arguments:
        model: the name exactly as litellm takes it (`gpt-4o`, `ollama/llama3.2`).
        api_base: address of the server; None leaves it to litellm.
        timeout: seconds one call may take, by the wall clock.
        max_reply: bytes of UTF-8 that an answer keeps.
        api_key: of the server; None leaves it to litellm, which reads the environment.
        window: the context window that requests name, for Ollama's protocol.

    Raises:
        SettingsError: the address is not a URL, or the time limit is not above 0.
    """

    model: str
    api_base: str | None = field(repr=False)
    timeout: float
    max_reply: int = MAX_REPLY
    api_key: str | None = field(default=None, repr=False)
    window: ContextWindow | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        fault = address_fault(self.api_base) if self.api_base is not None else None
        if fault is not None:
            raise SettingsError(f"the API address {fault}")
        if not self.timeout > 0:
            raise SettingsError(f"the time limit of a call must be above 0, not {self.timeout}")

    async def acomplete(self, request: Request) -> Reply:
        """Answer one request with one call; every failure is a `ModelError`.

        Cancelling it cancels the call and closes its connection.
        """
        import asyncio  # only the process that makes the calls needs it

        arguments = self.arguments(request)
        if self.window is not None and WINDOW not in request.params:
            arguments[WINDOW] = await asyncio.to_thread(self.window.of, request)
        litellm = load()
        from pytest_tablebench.models import _sessions as sessions

        arguments["shared_session"] = sessions.litellm_session()
        provider = provider_of(litellm, self.model, self.api_base)[0]
        if provider in UNGUARDED:
            raise self.failures.unguarded(str(provider))
        if provider in CLIENT_TAKEN:
            arguments["client"] = sessions.litellm_client()
        elif provider in SESSION_CLIENT:
            sessions.use_session_client(litellm)
        state = sessions.CallState()
        context = contextvars.copy_context()
        context.run(sessions.CALL_STATE.set, state)
        call = asyncio.create_task(
            _timed(litellm.acompletion(**arguments)), name=CALL, context=context
        )
        try:
            await asyncio.wait({call}, timeout=self.timeout + MARGIN_S)
        finally:
            ended = call.done()
            if not ended:
                await _stop(call)
        if not ended or call.cancelled():
            raise self.failures.timed_out()
        outcome, latency_s = call.result()
        if isinstance(outcome, Exception):
            raise self.failed(outcome, request)
        if isinstance(outcome, BaseException):
            raise outcome
        reply = self._reply_of(outcome, latency_s, state.facts)
        return limited(reply, self.max_reply, keys_in_use(self.secrets(request.params)))

    async def warm_up(self) -> None:
        """Load what litellm and its client load on their first call, without sending anything.

        It saves about half a second of the first call.
        """
        litellm = load()
        messages = [{"role": "user", "content": "?"}]
        try:
            # litellm makes the response itself and opens no connection.
            await litellm.acompletion(
                model=self.model, messages=messages, mock_response=".", num_retries=0
            )
            if provider_of(litellm, self.model, self.api_base)[0] in SDK:
                with uncollected("openai.resources"):
                    importlib.import_module("openai.resources")
        except Exception:  # the first real call reports the error
            return

    @property
    def failures(self) -> Failures:
        """The maker of errors for this model's calls."""
        # The port of a server that the run started changes, so records must not contain it.
        address = self.api_base if self.api_key is None else None
        return Failures(self.model, address, self.timeout)

    def secrets(self, params: Mapping[str, Any]) -> frozenset[str]:
        """Return the secrets of the address, of the parameters and the key of the server."""
        key = frozenset([self.api_key] if self.api_key is not None else ())
        return placed_secrets(self.api_base, params) | key

    def arguments(self, request: Request) -> dict[str, Any]:
        """Return the arguments of litellm's call, without retries in litellm or its client."""
        if taken := sorted(RESERVED.intersection(request.params)):
            raise ModelError(
                f"{', '.join(taken)} cannot be a model parameter; there are options and "
                "environment variables for the address, the time limit, retries and keys",
                reason="bad_request",
                whole_run=True,
            )
        call: dict[str, Any] = {
            **request.params,
            "model": self.model,
            "messages": as_openai(request.messages),
            "timeout": self.timeout,
            "max_retries": 0,
            "num_retries": 0,
            "caching": False,
        }
        if "tools" in call:
            call["_skip_mcp_handler"] = True  # it would import a package that few have
        if self.api_base is not None:
            call["api_base"] = self.api_base
        if self.api_key is not None:
            call["api_key"] = self.api_key
        return call

    def failed(self, outcome: Exception, request: Request) -> ModelError:
        """Return the error for a failed call.

        Do not raise it `from` the exception, whose traceback contains headers and keys.
        """
        failure = self.failures.explain(outcome, self.secrets(request.params))
        if failure.reason == REFUSED:
            failure.refused = refused_part(body_of(outcome), request)
        forget_frames(outcome)
        return failure

    def _reply_of(self, response: Any, latency_s: float, facts: CompletionFacts) -> Reply:
        """Read litellm's response. Raises `ModelError` if it is no completion."""
        try:
            choice = response.choices[0]
            content, finish_reason = choice.message.content, choice.finish_reason
            thinking = thoughts_of(choice.message)
        except (AttributeError, IndexError, TypeError):
            raise self.failures.bad_reply("a reply without any choice") from None
        if content is None:
            content = ""
        if not isinstance(content, str):
            raise self.failures.bad_reply("a reply without content")
        usage = getattr(response, "usage", None)
        # Without a usage from the server litellm sets 0; no prompt has 0 tokens.
        has_usage = bool(getattr(usage, "prompt_tokens", None))
        details = getattr(usage, "completion_tokens_details", None)
        hidden = getattr(response, "_hidden_params", None) or {}
        cost = hidden.get("response_cost")
        return Reply(
            text=content,
            finish_reason=facts.finish or finish_reason,
            prompt_tokens=usage.prompt_tokens if has_usage and usage else None,
            completion_tokens=usage.completion_tokens if has_usage and usage else None,
            # litellm's 0 means unknown: no usage, or a self-hosted model.
            cost_usd=cost or None,
            latency_s=latency_s,
            thinking=thinking,
            reasoning_tokens=getattr(details, "reasoning_tokens", None) if has_usage else None,
            fingerprint=fingerprint_of(
                getattr(response, "system_fingerprint", None), hidden.get("additional_headers")
            ),
            served_model=facts.model,
            served_by=facts.provider,
            **tools_called(choice.message),
        )


async def close() -> None:
    """Close all connections that calls of the running event loop have left open."""
    if "litellm" in sys.modules:  # otherwise its import would take seconds
        await load().close_litellm_async_clients()
    sessions = sys.modules.get("pytest_tablebench.models._sessions")
    if sessions is not None:
        await sessions.close()


async def _timed(call: Coroutine[Any, Any, Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    outcome: Any
    try:
        outcome = await call
    except Exception as error:  # whatever litellm and its providers raise
        outcome = error
    return outcome, time.perf_counter() - start


_LEFT: set[asyncio.Task[Any]] = set()


async def _stop(call: asyncio.Task[Any]) -> None:
    """Cancel a call and wait up to `CLOSING_S` until it has closed its connection.

    A call that ignores the cancellation ends with its connection.
    """
    import asyncio

    call.cancel()
    await asyncio.wait({call}, timeout=CLOSING_S)
    if not call.done():
        _LEFT.add(call)  # the event loop only has weak references to tasks
        call.add_done_callback(_LEFT.discard)
