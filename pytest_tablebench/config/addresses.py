"""Addresses and HTTP headers: checks, the form that may be written, and the environment's."""

from __future__ import annotations

import os
import re

from pytest_tablebench.config.secrets import digest, path_keys


def without_credentials(url: str) -> str:
    """Return an address without credentials and fragment.

    A digest replaces its query, and each segment of its path that is a key. User name and password
    end with the last `@`. If that text may also belong to the path, a digest of it keeps two
    addresses distinct.
    """
    scheme, mark, rest = url.partition("://") if "://" in url else ("", "", url)
    user, _, rest = rest.rpartition("@")
    rest, _, query = rest.partition("#")[0].partition("?")
    keys = path_keys(rest) if scheme.lower() in {"", "http", "https"} else ()
    rest = "/".join(digest(part) if part in keys else part for part in rest.split("/"))
    hidden = f"{user}@{query}" if _ENDS_AUTHORITY.search(user) else query
    return f"{scheme}{mark}{rest}{'?' if hidden else ''}{digest(hidden) if hidden else ''}"


def address_fault(url: str) -> str | None:
    """Return why a URL is not the address of a model's server, or None; never quotes the URL."""
    host = re.match(r"https?://[^/?#]", url)
    if host is None:
        return "must start with http:// or https:// and a host, as in http://localhost:8000/v1"
    if not url.isprintable() or " " in url:
        return "contains a blank, a line end or another character that HTTP cannot send"
    if _ENDS_AUTHORITY.search(url.partition("://")[2].rpartition("@")[0]):
        return (
            "has an @ after a /, ? or #: write %2F, %3F and %23 in a user name or password, and "
            "%40 in a path"
        )
    return None


def is_shared(text: str) -> bool:
    """Return whether a text is the address of a shared store rather than a folder."""
    return _SCHEME.match(text) is not None


def shared_fault(address: str) -> str | None:
    """Return why a text is not the address of a shared store, or None; never quotes the text."""
    if "@" in address or "?" in address or "#" in address:
        return (
            "contains a user name, a key or a query, but addresses are written to files; "
            "set the provider's environment variables (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, "
            "GOOGLE_APPLICATION_CREDENTIALS, ...)"
        )
    if not address.isprintable() or not address.partition("://")[2].strip("/"):
        return "has no bucket; write it as s3://bucket/answers"
    return None


def header_fault(text: str) -> str | None:
    """Return why an HTTP header cannot contain a text, or None."""
    if "\n" in text or "\r" in text:
        return "a line end"
    if not text.isascii():
        return "characters outside ASCII"
    return None if text.replace("\t", " ").isprintable() else "a control character"


_ENDS_AUTHORITY = re.compile(r"[/?#]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*(::[a-z0-9]+)*://")


_ALSO = {"huggingface": "HF", "bedrock": "AWS", "sagemaker": "AWS", "meta": "LLAMA"}
"""Other prefixes of providers' environment variables, by the first word of the provider."""


def endpoint(model: str, api_base: str | None, provider: str | None = None) -> str | None:
    """Return the addresses of a model that options and environment set, None without any.

    litellm and its clients read addresses from variables named after the provider, each by its
    own rules: `ollama_chat` from `OLLAMA_API_BASE`, `anthropic` from two. The address changes the
    answers, so it is part of the requests' keys. An unused address in a key does less harm than
    an answer from another server. User names and passwords are left out, and a query is replaced
    by its digest.

    Arguments:
        model: litellm's name of the model.
        api_base: the address from the option, which overrides all variables.
        provider: litellm's name of the provider; None: the text before the slash.
    """
    if api_base is not None:
        return without_credentials(api_base)
    variables = _variables(model, provider, ("_API_BASE", "_BASE_URL", "_ENDPOINT"))
    return " ".join(sorted(set(map(without_credentials, variables.values())))) or None


def key_fault(model: str, provider: str | None = None) -> str | None:
    """Return why a provider's key in the environment cannot be sent, None if it can.

    `model` and `provider` as for `endpoint`. The text never contains the key.
    """
    for variable, value in _variables(model, provider, ("_API_KEY", "_TOKEN")).items():
        fault = header_fault(value)
        if fault is not None:
            return f"{variable} contains {fault}, which HTTP cannot send; set it without"
    return None


def _variables(model: str, provider: str | None, endings: tuple[str, ...]) -> dict[str, str]:
    name = provider or (model.partition("/")[0] if "/" in model else "openai")
    word = re.split(r"[-_]", name.removeprefix("text-completion-"))[0].lower()
    names = tuple({word.upper(), _ALSO.get(word, word.upper())})
    return {
        variable: value
        for variable, value in sorted(os.environ.items())
        if value and variable.startswith(names) and variable.endswith(endings)
    }
