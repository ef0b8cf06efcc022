"""How a call looks to the providers that are asked without litellm's client.

A provider is in `WIRES` because tests/models/test_direct_*.py show that address, headers and
body are those that litellm sends, for texts, pictures, system turns and each of `PARAMETERS`, and
that all that a server can answer comes out the same. That holds for the releases of litellm that
`not_tested` knows.
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
"""Parameters of a call that are translated here; with any other litellm makes the call."""

_ROLES = frozenset({"system", "user", "assistant"})


class Unforeseen(Exception):
    """Something that no test has shown to be sent as litellm sends it; the text says what."""


@dataclass(frozen=True)
class Wire:
    """What all calls with the same parameters have in common.

    Arguments:
        name: the model's name at its provider.
        provider: litellm's name of the provider.
        config: litellm's configuration of the provider.
        url: the complete address.
        headers: all of them but the length and the host.
        options: what `transform_request` takes of the parameters.
        extra: what goes into the body as it is.
        encode: makes the body's JSON.
        proxy: the address of the proxy; None without one.
        tls: how the server is made sure of, as aiohttp takes it.
    """

    name: str
    provider: str
    config: Any = field(repr=False)
    url: str
    headers: Mapping[str, str] = field(repr=False)
    options: Mapping[str, Any]
    extra: Mapping[str, Any]
    encode: Callable[[Any], str]
    proxy: str | None = field(repr=False)
    tls: Any

    def body(self, messages: Sequence[Message]) -> bytes:
        """Return the body of a request. Raises `Unforeseen`, or whatever litellm raises."""
        if not _ROLES.issuperset(message.role for message in messages):
            raise Unforeseen("a turn of another kind")
        sent = self.config.transform_request(
            model=self.name,
            messages=as_openai(messages),
            optional_params=dict(self.options),
            litellm_params={"custom_llm_provider": self.provider, "api_base": self.url},
            headers=dict(self.headers),
        )
        return self.encode({**sent, **self.extra}).encode()


def wire(litellm: Any, model: LiteLLMModel, params: Mapping[str, Any]) -> Wire | None:
    """Return how calls with these parameters look; None: the provider is not in `WIRES`.

    Raises `Unforeseen`, or whatever litellm raises: then litellm has to make the calls.
    """
    name, provider, key, base = litellm.get_llm_provider(
        model=model.model, api_base=model.api_base, api_key=model.api_key
    )
    if provider not in WIRES:
        return None
    from litellm.types.utils import LlmProviders
    from litellm.utils import ProviderConfigManager

    if strange := sorted(set(params) - PARAMETERS):
        raise Unforeseen(f"the parameter {', '.join(strange)}")
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
    url, sent, encode = make(litellm, route)
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise Unforeseen("an address with a name or password in it")
    return Wire(
        *(name, provider, config, url, sent, options, extra, encode),
        proxy=_proxy(litellm, parts.scheme, parts.hostname or ""),
        tls=_tls() if parts.scheme == "https" else True,
    )


@dataclass(frozen=True)
class _WireRoute:
    """What litellm says of a model and a call to it."""

    name: str
    key: str | None
    base: str | None
    config: Any
    options: dict[str, Any]
    headers: dict[str, str]
    timeout: float


_Made = tuple[str, Mapping[str, str], Callable[[Any], str]]


def _openai(litellm: Any, route: _WireRoute) -> _Made:
    """What litellm has OpenAI's client send: its headers, and compact JSON."""
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
        raise Unforeseen("a model that is asked in OpenAI's newer protocol")
    if litellm.get_secret_bool("EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"):
        raise Unforeseen("an experiment of litellm's")
    env = os.environ.get
    base = route.base or litellm.api_base or env("OPENAI_BASE_URL") or env("OPENAI_API_BASE")
    key = route.key or litellm.api_key or litellm.openai_key or env("OPENAI_API_KEY")
    if resolve_openai_workload_identity_config(api_key=key, api_base=base) is not None:
        raise Unforeseen("an identity instead of a key")
    client = openai.AsyncOpenAI(
        api_key=key,
        base_url=base or "https://api.openai.com/v1",
        organization=litellm.organization or env("OPENAI_ORGANIZATION") or None,
        # It asks nobody; without it OpenAI's would be made, which takes long.
        http_client=httpx.AsyncClient(transport=httpx.MockTransport(_nobody), trust_env=False),
    )
    environment = {
        **client.default_headers,
        "Authorization": f"Bearer {client.api_key}",
        "X-Stainless-Raw-Response": "true",
        "X-Stainless-Retry-Count": "0",
        "X-Stainless-Read-Timeout": str(float(route.timeout)),
    }
    text = {name: value for name, value in environment.items() if isinstance(value, str)}
    encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
    return f"{str(client.base_url).rstrip('/')}/chat/completions", _over(text, route), encode


def _handler(litellm: Any, route: _WireRoute) -> _Made:
    from litellm.llms.custom_httpx.http_handler import get_default_headers

    base = route.base or litellm.api_base
    common = {"api_key": route.key, "litellm_params": {}, "optional_params": route.options}
    common |= {"model": route.name, "api_base": base}
    headers = route.config.validate_environment(headers=dict(route.headers), messages=[], **common)
    url = route.config.get_complete_url(stream=False, **common)
    sent = _over({"Accept": "*/*", **get_default_headers()}, route, headers)
    return url, sent, json.JSONEncoder().encode


def _over(
    own_headers: Mapping[str, str], route: _WireRoute, headers: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Put headers over others, whatever the case of their names."""
    from multidict import CIMultiDict

    from pytest_tablebench.models._body import ENCODINGS

    joined = CIMultiDict({**own_headers})
    for name, value in (route.headers if headers is None else headers).items():
        if name not in own_headers and name in joined:
            raise Unforeseen(f"the header {name}, which litellm would send twice")
        joined[name] = value
    joined["Accept-Encoding"], joined["Connection"] = ENCODINGS, "keep-alive"
    return dict(joined)


def _nobody(_: Any) -> Any:
    raise Unforeseen("a call by a client that makes none")


def _check_transport(litellm: Any) -> None:
    """Raise `Unforeseen` where somebody has told litellm to connect in another way."""
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    if not AsyncHTTPHandler.should_use_aiohttp_transport() or litellm.force_ipv4:
        raise Unforeseen("another client for HTTP")
    from pytest_tablebench.models._litellm_clients import SessionClient

    client = litellm.aclient_session
    is_ours = client is None or isinstance(client, SessionClient)
    if not is_ours or litellm.proxy_auth is not None:
        raise Unforeseen("a client for HTTP of somebody's own")


def _proxy(litellm: Any, scheme: str, host: str) -> str | None:
    """Return the proxy that the environment names for a server, by litellm's rules."""
    from urllib.request import getproxies, proxy_bypass

    distrusted = os.environ.get("DISABLE_AIOHTTP_TRUST_ENV", "False").strip().lower() == "true"
    if litellm.disable_aiohttp_trust_env or distrusted or proxy_bypass(host):
        return None
    proxies = getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    return proxy if proxy is None or "://" in proxy else f"http://{proxy}"


def _tls() -> Any:
    """Return how litellm makes sure of a server: the certificates it trusts, or False."""
    from litellm.llms.custom_httpx.http_handler import get_ssl_configuration

    return get_ssl_configuration()


def _groq(litellm: Any, route: _WireRoute) -> _Made:
    """What litellm's own client sends, without what it makes of a wanted form of the reply."""
    if {"response_format", "json_mode", "tools"} & set(route.options):
        raise Unforeseen("a form of the reply that is wanted")
    return _handler(litellm, route)


def _openrouter(litellm: Any, route: _WireRoute) -> _Made:
    """What litellm's own client sends, and who asks."""
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
"""Providers that may be asked without litellm's client, by litellm's names."""
