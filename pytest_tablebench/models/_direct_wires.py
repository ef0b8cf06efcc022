"""Requests to the providers that are called without litellm's HTTP client.

A provider is in `WIRES` if tests/models/test_direct_*.py show that address, headers and body equal
those that litellm sends, for texts, pictures, system turns and each of `PARAMETERS`, and that each
response of a server is read with the same result. Both are true for the releases of litellm that
`not_tested` accepts.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_tablebench.models.base import Message, as_openai

if TYPE_CHECKING:
    from pytest_tablebench.models.litellm_model import LiteLLMModel

PARAMETERS = frozenset(
    {
        *("temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop"),
        *("presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs"),
        *("response_format", "reasoning_effort", "verbosity", "user", "service_tier"),
        *("top_k", "min_p", "repetition_penalty", "chat_template_kwargs", "thinking"),
        *("extra_body", "extra_headers"),
    }
)
"""Parameters that are translated here; a call with any other parameter is made by litellm."""

_ROLES = frozenset({"system", "user", "assistant"})


class Unforeseen(Exception):
    """A request that no test compares with litellm's own; the text names the reason."""


@dataclass(frozen=True)
class Target:
    """Where calls go.

    Arguments:
        provider: litellm's name of the provider.
        url: the complete address.
        headers: all headers except the length and the host.
        proxy: the address of the proxy; None without one.
        tls: how the server's certificate is verified, as aiohttp takes it.
    """

    provider: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    proxy: str | None = field(repr=False)
    tls: Any


@dataclass(frozen=True)
class Wire(Target):
    """The parts that all calls with the same parameters share.

    Arguments:
        name: the model's name at its provider.
        config: litellm's configuration of the provider.
        options: the parameters for `transform_request`.
        extra: fields that are added to the body unchanged.
        compact: whether the body is the JSON of OpenAI's client.
    """

    name: str
    config: Any = field(repr=False)
    options: Mapping[str, Any]
    extra: Mapping[str, Any]
    compact: bool

    def body(self, messages: Sequence[Message]) -> bytes:
        """Return the body of a request. Raises `Unforeseen`, or any error of litellm."""
        if not _ROLES.issuperset(message.role for message in messages):
            raise Unforeseen("an unknown role of a message")
        sent = self.config.transform_request(
            model=self.name,
            messages=as_openai(messages),
            optional_params=dict(self.options),
            litellm_params={"custom_llm_provider": self.provider, "api_base": self.url},
            headers=dict(self.headers),
        )
        return encoder(compact=self.compact).encode({**sent, **self.extra}).encode()


def wire(litellm: Any, model: LiteLLMModel, params: Mapping[str, Any]) -> Wire | None:
    """Return the wire for calls with these parameters; None for a provider that is not in `WIRES`.

    Raises `Unforeseen`, or any error of litellm; litellm then has to make the calls.
    """
    name, provider, key, base = litellm.get_llm_provider(
        model=model.model, api_base=model.api_base, api_key=model.api_key
    )
    if provider not in WIRES:
        return None
    from litellm.types.utils import LlmProviders
    from litellm.utils import ProviderConfigManager

    if unknown := sorted(set(params) - PARAMETERS):
        raise Unforeseen(f"the parameter {', '.join(unknown)}")
    _check_transport(litellm)
    plain_params = {k: copy.deepcopy(v) for k, v in params.items() if k != "extra_headers"}
    options = litellm.get_optional_params(
        model=name, custom_llm_provider=provider, max_retries=0, **plain_params
    )
    if not options.get("stream"):
        options.pop("stream", None)
    extra = options.pop("extra_body", None) or {}
    config = ProviderConfigManager.get_provider_chat_config(name, LlmProviders(provider))
    headers = {**(litellm.headers or {}), **dict(params.get("extra_headers") or {})}
    make = WIRES[provider]
    route = _WireRoute(name, key, base, config, options, headers, model.timeout)
    url, sent = make(litellm, route)
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise Unforeseen("an address that contains a user name or password")
    trusts_proxies = not litellm.disable_aiohttp_trust_env
    return Wire(
        provider,
        url,
        sent,
        proxy=proxy_of(url) if trusts_proxies else None,
        tls=_tls() if parts.scheme == "https" else True,
        name=name,
        config=config,
        options=options,
        extra=extra,
        compact=provider == "openai",
    )


@dataclass(frozen=True)
class _WireRoute:
    name: str
    key: str | None
    base: str | None
    config: Any
    options: dict[str, Any]
    headers: dict[str, str]
    timeout: float


_Made = tuple[str, Mapping[str, str]]


def _openai(litellm: Any, route: _WireRoute) -> _Made:
    """Return the request of OpenAI's client as litellm configures it, with compact JSON."""
    import httpx
    import openai
    from litellm.llms.openai.workload_identity import resolve_openai_workload_identity_config
    from litellm.main import responses_api_bridge_check

    effort = route.options.get("reasoning_effort")
    bridge, _ = responses_api_bridge_check(
        model=route.name,
        custom_llm_provider="openai",
        reasoning_effort=effort,
        api_base=route.base,
    )
    if bridge.get("mode") == "responses":
        raise Unforeseen("a model that needs OpenAI's newer protocol")
    if litellm.get_secret_bool("EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"):
        raise Unforeseen("litellm's experimental HTTP handler")
    env = os.environ.get
    base = route.base or litellm.api_base or env("OPENAI_BASE_URL") or env("OPENAI_API_BASE")
    key = route.key or litellm.api_key or litellm.openai_key or env("OPENAI_API_KEY")
    if resolve_openai_workload_identity_config(api_key=key, api_base=base) is not None:
        raise Unforeseen("a workload identity instead of a key")
    client = openai.AsyncOpenAI(
        api_key=key,
        base_url=base or "https://api.openai.com/v1",
        organization=litellm.organization or env("OPENAI_ORGANIZATION") or None,
        # It opens no connection. OpenAI's default client takes long to make.
        http_client=httpx.AsyncClient(transport=httpx.MockTransport(_no_call), trust_env=False),
    )
    environment = {
        **client.default_headers,
        "Authorization": f"Bearer {client.api_key}",
        "X-Stainless-Raw-Response": "true",
        "X-Stainless-Retry-Count": "0",
        "X-Stainless-Read-Timeout": str(float(route.timeout)),
    }
    text = {name: value for name, value in environment.items() if isinstance(value, str)}
    return f"{str(client.base_url).rstrip('/')}/chat/completions", _over(text, route)


def _handler(litellm: Any, route: _WireRoute) -> _Made:
    from litellm.llms.custom_httpx.http_handler import get_default_headers

    base = route.base or litellm.api_base
    common = {"api_key": route.key, "litellm_params": {}, "optional_params": route.options}
    common |= {"model": route.name, "api_base": base}
    headers = route.config.validate_environment(headers=dict(route.headers), messages=[], **common)
    url = route.config.get_complete_url(stream=False, **common)
    return url, _over({"Accept": "*/*", **get_default_headers()}, route, headers)


def _over(
    own_headers: Mapping[str, str], route: _WireRoute, headers: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return headers in which the given ones replace others of the same name, in any case."""
    from multidict import CIMultiDict

    from pytest_tablebench.models._body import ENCODINGS

    joined = CIMultiDict({**own_headers})
    for name, value in (route.headers if headers is None else headers).items():
        if name not in own_headers and name in joined:
            raise Unforeseen(f"the header {name}, which litellm would send twice")
        joined[name] = value
    joined["Accept-Encoding"], joined["Connection"] = ENCODINGS, "keep-alive"
    return dict(joined)


def _no_call(_: Any) -> Any:
    raise Unforeseen("a call by a client that must not make any")


def _check_transport(litellm: Any) -> None:
    """Raise `Unforeseen` if litellm is configured to connect in another way."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    if not AsyncHTTPHandler.should_use_aiohttp_transport() or litellm.force_ipv4:
        raise Unforeseen("another HTTP client in litellm's settings")
    from pytest_tablebench.models._litellm_clients import SessionClient

    client = litellm.aclient_session
    is_ours = client is None or isinstance(client, SessionClient)
    if not is_ours or litellm.proxy_auth is not None:
        raise Unforeseen("an HTTP client that the user has set")


def proxy_of(url: str) -> str | None:
    """Return the environment's proxy for a server, by litellm's rules; None without one."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    distrusted = os.environ.get("DISABLE_AIOHTTP_TRUST_ENV", "False").strip().lower() == "true"
    if distrusted or proxy_bypass(parts.hostname or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def encoder(*, compact: bool) -> json.JSONEncoder:
    """Return the encoder of OpenAI's client (compact) or of litellm's."""
    if compact:
        return json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return json.JSONEncoder()


def _tls() -> Any:
    from litellm.llms.custom_httpx.http_handler import get_ssl_configuration

    return get_ssl_configuration()


def _groq(litellm: Any, route: _WireRoute) -> _Made:
    """Return litellm's own request, except for a `response_format`, which litellm rewrites."""
    if {"response_format", "json_mode", "tools"} & set(route.options):
        raise Unforeseen("a response format or tools")
    return _handler(litellm, route)


def _openrouter(litellm: Any, route: _WireRoute) -> _Made:
    """Return litellm's own request with the headers that name the calling site."""
    env = os.environ.get
    headers = {
        "HTTP-Referer": env("OR_SITE_URL") or "https://litellm.ai",
        "X-Title": env("OR_APP_NAME") or "liteLLM",
    }
    key = route.key or litellm.api_key or litellm.openrouter_key
    key = key or env("OPENROUTER_API_KEY") or env("OR_API_KEY")
    base = route.base or litellm.api_base or env("OPENROUTER_API_BASE")
    base = base or "https://openrouter.ai/api/v1"
    return _handler(litellm, replace(route, key=key, base=base, headers=headers | route.headers))


WIRES: Mapping[str, Callable[[Any, _WireRoute], _Made]] = {
    "openai": _openai,
    "hosted_vllm": _handler,
    "deepseek": _handler,
    "groq": _groq,
    "mistral": _handler,
    "openrouter": _openrouter,
    "together_ai": _handler,
    "xai": _handler,
}
"""How to make requests without litellm's client, by litellm's name of the provider."""
