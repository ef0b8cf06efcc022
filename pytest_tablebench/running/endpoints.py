"""Endpoints of models from options and the environment, for the keys of answers."""

from __future__ import annotations

import os
import re

from pytest_tablebench.config.addresses import header_fault, without_credentials

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
