"""Where models are asked, as options and the environment say: part of the keys of answers."""

from __future__ import annotations

import os
import re

from pytest_tablebench.config.addresses import header_fault, without_credentials

_ALSO = {"huggingface": "HF", "bedrock": "AWS", "sagemaker": "AWS", "meta": "LLAMA"}
"""Providers that have addresses in variables of another name, by the first word of theirs."""


def endpoint(model: str, api_base: str | None, provider: str | None = None) -> str | None:
    """Return the address a model is asked at, as far as options and environment say.

    litellm and the clients below it read addresses from variables named after the provider, by
    rules of each one's own: `ollama_chat` from `OLLAMA_API_BASE`, `anthropic` from two. What they
    say changes the answers, so it has to be part of the requests' keys, and one too many there
    costs less than an answer of another server. User names and passwords are no part of it; of a
    query a digest is.

    Arguments:
        model: the name exactly as litellm takes it.
        api_base: address given as an option; it counts alone.
        provider: litellm's name of the provider; None takes the one before the slash.
    """
    if api_base is not None:
        return without_credentials(api_base)
    variables = _variables(model, provider, ("_API_BASE", "_BASE_URL", "_ENDPOINT"))
    return " ".join(sorted(set(map(without_credentials, variables.values())))) or None


def key_fault(model: str, provider: str | None = None) -> str | None:
    """Return what keeps a provider's key in the environment from being sent; shows no key.

    The arguments are those of `endpoint`.
    """
    for variable, value in _variables(model, provider, ("_API_KEY", "_TOKEN")).items():
        fault = header_fault(value)
        if fault is not None:
            return f"{variable} holds {fault}, which HTTP cannot send; set it without"
    return None


def _variables(model: str, provider: str | None, endings: tuple[str, ...]) -> dict[str, str]:
    """Return the variables with such endings that are named after a provider, and are set."""
    name = provider or (model.partition("/")[0] if "/" in model else "openai")
    word = re.split(r"[-_]", name.removeprefix("text-completion-"))[0].lower()
    names = tuple({word.upper(), _ALSO.get(word, word.upper())})
    return {
        variable: value
        for variable, value in sorted(os.environ.items())
        if value and variable.startswith(names) and variable.endswith(endings)
    }
