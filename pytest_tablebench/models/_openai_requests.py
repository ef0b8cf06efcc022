"""Requests to providers of OpenAI's protocol, made without litellm.

tests/models/test_wire_contract.py compares them with those that litellm sends.
"""

from __future__ import annotations

import json
import os
import platform
import ssl
import sys
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from pytest_tablebench.models._openai_providers import (
    PROVIDERS,
    Unforeseen,
    WireProvider,
    body_fields,
    check_model,
    sent_messages,
)
from pytest_tablebench.models.base import Message, as_openai

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_tablebench.models.litellm_model import LiteLLMModel

_ROLES = frozenset({"system", "user", "assistant", "tool"})

_SETTINGS = (
    *("DISABLE_AIOHTTP_TRANSPORT", "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"),
    *("LITELLM_HTTP2", "LITELLM_MODIFY_PARAMS", "LITELLM_ROUTE_ALL_CHAT_OPENAI_TO_RESPONSES"),
    *("OPENAI_CUSTOM_HEADERS", "OPENAI_IDENTITY_PROVIDER_ID", "OPENAI_IDENTITY_TOKEN_FILE"),
    "OPENAI_SERVICE_ACCOUNT_ID",
    *("SSL_ECDH_CURVE", "SSL_SECURITY_LEVEL", "USE_LITELLM_PROXY"),
)
"""Environment variables that change litellm's requests in a way that only litellm knows."""


@dataclass(frozen=True)
class Wire:
    """The parts that all calls with the same parameters share.

    Arguments:
        provider: litellm's name of the provider.
        url: the complete address.
        headers: all headers except the length and the host.
        proxy: the address of the proxy; None without one.
        tls: how the server's certificate is verified, as aiohttp takes it.
        name: the model's name at its provider.
        fields: the fields of the body except model and messages.
        tier: the service tier of the request.
    """

    provider: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    proxy: str | None = field(repr=False)
    tls: Any
    name: str
    fields: Mapping[str, Any]
    tier: object

    def body(self, messages: Sequence[Message]) -> bytes:
        """Return the body of a request. Raises `Unforeseen` for an unknown role."""
        if not _ROLES.issuperset(message.role for message in messages):
            raise Unforeseen("an unknown role of a message")
        turns = sent_messages(self.provider, self.name, as_openai(messages), self.fields)
        compact = PROVIDERS[self.provider].openai_client
        sent = {"model": self.name, "messages": turns, **self.fields}
        return encoder(compact=compact).encode(sent).encode()


def wire_of(provider: str, name: str, model: LiteLLMModel, params: Mapping[str, Any]) -> Wire:
    """Return the wire for calls with these parameters. Raises `Unforeseen`."""
    if settings := [variable for variable in _SETTINGS if os.environ.get(variable)]:
        raise Unforeseen(f"the environment variable {settings[0]}")
    check_model(provider, name)
    spec = PROVIDERS[provider]
    key = model.api_key or first_of(spec.key_variables) or spec.spare_key
    base = model.api_base or first_of(spec.base_variables) or spec.base
    if key is None or base is None:
        raise Unforeseen("a missing key or address")
    url = _complete_url(provider, base, spec)
    parts = urlsplit(url)
    if spec.openai_client and urlsplit(base).query:
        raise Unforeseen("an address with a query")
    if (parts.hostname or "").endswith(".api.openai.com"):
        raise Unforeseen("a region, which has prices of its own")
    fields = body_fields(provider, name, params)
    if provider == "openrouter":
        fields = {"usage": {"include": True}, **fields}
    headers = _headers(spec, key, model.timeout, params.get("extra_headers") or {})
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    tier = params.get("service_tier")
    return Wire(
        provider, url, headers, proxy_of(url), tls_of(url), name=name, fields=fields, tier=tier
    )


def first_of(variables: tuple[str, ...]) -> str | None:
    """Return the value of the first of these environment variables that is set."""
    return next((value for name in variables if (value := os.environ.get(name))), None)


def _complete_url(provider: str, base: str, spec: WireProvider) -> str:
    path = "/chat/completions"
    if provider == "mistral" and not base.endswith("/v1"):
        base += "/v1"
    if provider == "deepseek":
        return base if base.endswith(path) else base + path
    base = base.rstrip("/")
    return base if path[1:] in base and not spec.openai_client else base + path


def _headers(
    spec: WireProvider, key: str, timeout: float, further: Mapping[str, str]
) -> dict[str, str]:
    """Return the headers of a request; `further` ones replace others of the same name."""
    from multidict import CIMultiDict

    from pytest_tablebench.models._body import ENCODINGS

    for name, (variable, default) in spec.headers.items():
        further = {name: os.environ.get(variable) or default, **further}
    if spec.openai_client:
        headers = {**_client_headers(), "Authorization": f"Bearer {key}"}
        headers["X-Stainless-Read-Timeout"] = str(float(timeout))
    else:
        agent = os.environ.get("LITELLM_USER_AGENT", f"litellm/{_release('litellm')}")
        headers = {"Accept": "*/*", "User-Agent": agent}
        further = {**further, "Authorization": f"Bearer {key}"}
        if not {"content-type", "Content-Type"} & further.keys():
            further["Content-Type"] = "application/json"
    joined = CIMultiDict({**headers})
    for name, value in further.items():
        if not isinstance(value, str) or (name not in headers and name in joined):
            raise Unforeseen(f"the header {name}, which litellm would send twice")
        joined[name] = value
    joined["Accept-Encoding"], joined["Connection"] = ENCODINGS, "keep-alive"
    return dict(joined)


def _client_headers() -> dict[str, str]:
    """Return the headers of OpenAI's client as litellm uses it, except the key."""
    release, system = _release("openai"), platform.system()
    headers = {
        "Accept": "application/json",
        "Content-Type": "application/json",
        "User-Agent": f"AsyncOpenAI/Python {release}",
        "X-Stainless-Lang": "python",
        "X-Stainless-Package-Version": release,
        "X-Stainless-OS": {"Darwin": "MacOS", "": "Unknown"}.get(system, system),
        "X-Stainless-Arch": _machine(),
        "X-Stainless-Runtime": platform.python_implementation(),
        "X-Stainless-Runtime-Version": platform.python_version(),
        "X-Stainless-Async": "async:asyncio",
        "X-Stainless-Raw-Response": "true",
        "X-Stainless-Retry-Count": "0",
    }
    env = os.environ.get
    organization = env("OPENAI_ORGANIZATION") or env("OPENAI_ORG_ID")
    account = {"OpenAI-Organization": organization, "OpenAI-Project": env("OPENAI_PROJECT_ID")}
    return headers | {name: value for name, value in account.items() if value is not None}


def _machine() -> str:
    machine = platform.machine().lower()
    names = {"aarch64": "arm64", "arm64": "arm64", "arm": "arm", "x86_64": "x64"}
    small = "x32" if sys.maxsize <= 2**32 else f"other:{machine}" if machine else "unknown"
    return names.get(machine, small)


@cache
def _release(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        raise Unforeseen(f"an unknown release of {package}") from None


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


def tls_of(url: str) -> ssl.SSLContext | bool:
    """Return how certificates are verified, by litellm's variables of the environment."""
    if not url.startswith("https:"):
        return True
    setting = os.environ.get("SSL_VERIFY", "")
    if setting.strip().lower() == "false":
        return False
    files = [setting, os.environ.get("SSL_CERT_FILE", "")]
    return _tls_context(next((file for file in files if file and Path(file).exists()), None))


@cache
def _tls_context(file: str | None) -> ssl.SSLContext:
    import certifi

    return ssl.create_default_context(cafile=file or certifi.where())
