"""The providers that speak OpenAI's chat completions, and how each differs from OpenAI.

The requests equal those of litellm: tests/models/test_wire_contract.py compares address, headers
and body. A case that is not equal raises `Unforeseen`; litellm then makes the call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_tablebench.models.model_table import (
    entry_of,
    has_ability,
    litellm_version,
    may_be_listed,
    model_table,
    not_tested,
)

_LIMITS = ("max_tokens", "max_completion_tokens")
_SAMPLING = frozenset({"temperature", "top_p", "seed", "stop", "tools", *_LIMITS})
_PENALTIES = frozenset({"presence_penalty", "frequency_penalty"})
_LOGPROBS = frozenset({"logprobs", "top_logprobs"})
_OPENAI = _SAMPLING | _PENALTIES | _LOGPROBS | {"logit_bias", "response_format", "service_tier"}
_THOUGHTS = frozenset({"reasoning_effort", "thinking"})

_UNCHANGED = frozenset({"top_k", "min_p", "repetition_penalty", "chat_template_kwargs"})
"""Parameters of other protocols; litellm adds them to the body for every provider."""

PARAMETERS = _OPENAI | _THOUGHTS | _UNCHANGED | {"verbosity", "user", "extra_body", "extra_headers"}
"""Parameters that are sent without litellm; it makes calls with any other one."""

_BODY_LIMIT = {"max_completion_tokens": "max_tokens"}

_NEW_OPENAI = re.compile(r"gpt-|chatgpt|ft:|o\d|codex", re.IGNORECASE)
"""Names for which litellm derives abilities and prices from similar names."""

_BUDGETS = {4096: "high", 2048: "medium", 1024: "low"}
"""Least tokens of thoughts -> litellm's name of the effort."""


class Unforeseen(Exception):
    """A request that no test compares with litellm's; the text names the reason."""


@dataclass(frozen=True)
class WireProvider:
    """How requests to one provider differ from OpenAI's.

    Arguments:
        base: the address; None if it must be set.
        base_variables, key_variables: environment variables of address and key, first one first.
        parameters: the parameters of OpenAI's protocol that each of its models takes.
        renamed: the provider's names of parameters.
        spare_key: the key without any other.
        openai_client: whether litellm uses OpenAI's client, which sends other headers.
        headers: further headers, each with its environment variable and default.
        others: models that take other parameters; litellm calls them.
    """

    base: str | None
    base_variables: tuple[str, ...]
    key_variables: tuple[str, ...]
    parameters: frozenset[str] = _OPENAI
    renamed: Mapping[str, str] = field(default_factory=dict)
    spare_key: str | None = None
    openai_client: bool = False
    headers: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    others: frozenset[str] = frozenset()


PROVIDERS: Mapping[str, WireProvider] = {
    "openai": WireProvider(
        "https://api.openai.com/v1",
        ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        ("OPENAI_API_KEY",),
        openai_client=True,
    ),
    "hosted_vllm": WireProvider(
        None,
        ("HOSTED_VLLM_API_BASE",),
        ("HOSTED_VLLM_API_KEY",),
        _OPENAI | _THOUGHTS,
        spare_key="fake-api-key",
    ),
    "deepseek": WireProvider(
        "https://api.deepseek.com/beta",
        ("DEEPSEEK_API_BASE",),
        ("DEEPSEEK_API_KEY",),
        _OPENAI | _THOUGHTS,
    ),
    "groq": WireProvider(
        "https://api.groq.com/openai/v1",
        ("GROQ_API_BASE",),
        ("GROQ_API_KEY",),
        _OPENAI - {"response_format"},  # litellm may turn it into a tool
        _BODY_LIMIT,
    ),
    "mistral": WireProvider(
        "https://api.mistral.ai/v1",
        ("MISTRAL_AZURE_API_BASE",),
        ("MISTRAL_AZURE_API_KEY", "MISTRAL_API_KEY"),
        _SAMPLING | {"response_format"},
        {**_BODY_LIMIT, "seed": "random_seed"},
    ),
    "openrouter": WireProvider(
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_BASE",),
        ("OPENROUTER_API_KEY", "OR_API_KEY"),
        _OPENAI | _THOUGHTS,
        headers={
            "HTTP-Referer": ("OR_SITE_URL", "https://litellm.ai"),
            "X-Title": ("OR_APP_NAME", "liteLLM"),
        },
    ),
    "together_ai": WireProvider(
        "https://api.together.ai/v1",
        ("TOGETHER_AI_API_BASE",),
        ("TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY", "TOGETHER_AI_TOKEN"),
    ),
    "xai": WireProvider(
        "https://api.x.ai/v1",
        ("XAI_API_BASE",),
        ("XAI_API_KEY",),
        (_OPENAI | {"user"}) - {"service_tier"},
        _BODY_LIMIT,
    ),
    "cerebras": WireProvider(
        "https://api.cerebras.ai/v1",
        ("CEREBRAS_API_BASE",),
        ("CEREBRAS_API_KEY",),
        _SAMPLING | {"response_format", "user"},
        _BODY_LIMIT,
        openai_client=True,
    ),
    "nvidia_nim": WireProvider(
        "https://integrate.api.nvidia.com/v1",
        ("NVIDIA_NIM_API_BASE",),
        ("NVIDIA_NIM_API_KEY",),
        _SAMPLING | _PENALTIES | {"response_format"},
        _BODY_LIMIT,
        openai_client=True,
        others=frozenset(
            {
                *("google/recurrentgemma-2b", "google/gemma-2-27b-it", "google/gemma-2-9b-it"),
                *("gemma-2-9b-it", "google/codegemma-1.1-7b"),
                *("nvidia/nemotron-4-340b-instruct", "nvidia/nemotron-4-340b-reward"),
            }
        ),
    ),
    "lm_studio": WireProvider(
        None,
        ("LM_STUDIO_API_BASE",),
        ("LM_STUDIO_API_KEY",),
        spare_key="fake-api-key",
        openai_client=True,
    ),
}
"""By litellm's name of the provider."""


def wire_model(model: str, api_base: str | None = None) -> tuple[str, str] | None:
    """Return the provider and the model's name there; None if only litellm can call the model."""
    if not_tested(litellm_version()) is not None:
        return None
    provider, slash, name = model.partition("/")
    is_bare = not slash and api_base is None  # with an address litellm may choose its provider
    if is_bare and model_table().get(model, {}).get("litellm_provider") == "openai":
        provider, name = "openai", model
    return (provider, name) if provider in PROVIDERS and name else None


def check_model(provider: str, name: str) -> None:
    """Raise `Unforeseen` if only litellm knows parameters, protocol or price of a model."""
    check_listed(provider, name)
    entry = entry_of(provider, name) or {}
    if entry.get("mode") not in {"chat", None} or "search" in name:
        raise Unforeseen(f"the model {name}, which needs another protocol")
    if name in PROVIDERS[provider].others:
        raise Unforeseen(f"the model {name}, which takes other parameters")
    if provider == "openrouter" and "/" not in name:
        raise Unforeseen(f"the model {name}, which names no provider")


def check_listed(provider: str, name: str) -> None:
    """Raise `Unforeseen` if litellm takes facts about a model from a similar name."""
    if entry_of(provider, name) is None:
        is_derived = provider == "openai" and _NEW_OPENAI.match(name)
        if is_derived or may_be_listed(provider, name):
            raise Unforeseen(f"the model {name}, which its table does not list")


def body_fields(provider: str, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a request's body except model and messages.

    Raises `Unforeseen` if the model may not take a parameter.
    """
    spec = PROVIDERS[provider]
    fields = _with_thoughts(provider, params)
    extra = fields.pop("extra_body", {})
    fields.pop("extra_headers", None)
    taken = _taken(provider, name, spec) | _UNCHANGED
    if "user" not in taken:
        fields.pop("user", None)  # litellm leaves it out too
    if unknown := sorted(set(fields) - taken):
        raise Unforeseen(f"the parameter {', '.join(unknown)}")
    renamed = spec.renamed
    if _is_thinker(provider, name):
        renamed = {"max_tokens": "max_completion_tokens"}
    body = {renamed.get(key, key): value for key, value in fields.items()}
    clashes = not isinstance(extra, Mapping) or not body.keys().isdisjoint(extra)
    is_seed_lost = provider == "mistral" and bool(extra) and "seed" in fields
    if clashes or is_seed_lost or len(body) < len(fields) or None in body.values():
        raise Unforeseen("parameters that exclude each other")
    _check_thinker(provider, name, fields)
    return {**body, **extra}


def _with_thoughts(provider: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with those about thinking under the provider's names."""
    fields = dict(params)
    thinking, effort = fields.get("thinking"), fields.get("reasoning_effort")
    if provider == "openrouter" and effort == "max":
        fields["reasoning_effort"] = "xhigh"
    if provider not in {"deepseek", "hosted_vllm"} or (thinking is None and effort is None):
        return fields
    kind = thinking.get("type") if isinstance(thinking, Mapping) else None
    if thinking is not None and kind not in {"enabled", "disabled"}:
        raise Unforeseen("another value of thinking")
    if provider == "deepseek":
        if effort is not None:
            raise Unforeseen("the effort, which releases of litellm send differently")
        fields["thinking"] = {"type": kind}
    elif thinking is not None:
        del fields["thinking"]
        if kind == "enabled" and effort is None:
            budget = thinking.get("budget_tokens", 0)
            efforts = (word for least, word in _BUDGETS.items() if budget >= least)
            fields["reasoning_effort"] = next(efforts, "minimal")
    return fields


def _is_thinker(provider: str, name: str) -> str | None:
    """Return the family of an OpenAI model that thinks; None for any other model."""
    if provider != "openai":
        return None
    if re.search("gpt-[56]", name) and "gpt-5-chat" not in name:
        return "gpt"
    return "o" if re.match(r"o\d", name) and entry_of(provider, name) else None


def fixed_temperature(provider: str, name: str, params: Mapping[str, Any]) -> str | None:
    """Return why a model does not take the requested temperature; None if it may take it."""
    family = _is_thinker(provider, name)
    if family is None or params.get("temperature", 1) == 1 or params.get("temperature") is None:
        return None
    others = {key: value for key, value in params.items() if key != "temperature"}
    body_fields(provider, name, others)
    is_off = family == "gpt" and _is_off(provider, name, params.get("reasoning_effort"))
    return None if is_off else f"{name} takes no temperature but 1 while it thinks"


def _is_off(provider: str, name: str, effort: object) -> bool:
    """Return whether a model of OpenAI does not think, because that is its default."""
    entry = entry_of(provider, name) or {}
    is_off = effort is None and entry.get("default_reasoning_effort") == "none"
    return is_off and has_ability(provider, name, "supports_none_reasoning_effort")


def _taken(provider: str, name: str, spec: WireProvider) -> frozenset[str]:
    taken = set(spec.parameters)
    in_catalog = (model_table().get(name) or {}).get("litellm_provider") == "openai"
    in_catalog = in_catalog and not name.startswith("ft:")
    if in_catalog and provider != "mistral":
        taken.add("user")
    if name in {"gpt-4", "gpt-3.5-turbo-16k"} and provider not in {"xai", "cerebras", "mistral"}:
        taken.discard("response_format")
    family = _is_thinker(provider, name)
    if family == "gpt":
        taken |= {"reasoning_effort", "verbosity"}
        taken -= {*_PENALTIES, "stop", "logit_bias"}
        if not has_ability(provider, name, "supports_none_reasoning_effort"):
            taken -= {*_LOGPROBS, "top_p"}
    elif family == "o":
        taken = (taken | {"reasoning_effort"}) - {*_PENALTIES, *_LOGPROBS, "top_p"}
        if not has_ability(provider, name, "supports_response_schema"):
            taken.discard("response_format")
    elif provider == "openai" and not in_catalog:
        taken.add("reasoning_effort")
    if provider in {"groq", "xai", "cerebras"} and has_ability(
        provider, name, "supports_reasoning"
    ):
        taken.add("reasoning_effort")
    if provider == "xai" and re.search("grok-(4|code-fast)", name):
        taken -= {"stop", "frequency_penalty"}
    if provider == "xai" and "grok-3-mini" in name:
        taken.discard("stop")
    return frozenset(taken)


def _check_thinker(provider: str, name: str, fields: Mapping[str, Any]) -> None:
    """Raise `Unforeseen` for parameters that a thinking model of OpenAI takes only sometimes."""
    family = _is_thinker(provider, name)
    effort = fields.get("reasoning_effort")
    if family and effort not in {None, "low", "medium", "high"}:
        raise Unforeseen(f"the effort {effort}")
    if family == "gpt":
        is_off = _is_off(provider, name, effort)
        entry = entry_of(provider, name) or {}
        if effort == "low" and entry.get("supports_low_reasoning_effort") is False:
            raise Unforeseen(f"the effort {effort}")
        if not is_off and not {*_LOGPROBS, "top_p"}.isdisjoint(fields):
            raise Unforeseen("a parameter that the model takes only without thinking")
        if is_off:
            return
    if family and fields.get("temperature", 1) != 1:
        raise Unforeseen("a temperature, which the model takes only without thinking")


def sent_messages(
    provider: str, name: str, messages: Iterable[Mapping[str, Any]], fields: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """Return messages of OpenAI's protocol as the provider receives them.

    Arguments:
        provider: litellm's name of the provider.
        name: the model's name there.
        messages: the messages, pictures as `data:` URLs.
        fields: the other fields of the body.
    """
    turns = list(messages)
    if provider == "mistral":
        output = {"reasoning_content", "thinking_blocks"}
        turns = [{k: v for k, v in turn.items() if k not in output} for turn in turns]
        if all(isinstance(turn.get("content", ""), str) for turn in turns):
            turns = [turn for turn in turns if turn.get("content") or turn.get("tool_calls")]
    elif provider == "deepseek":
        if not has_ability(provider, name, "supports_vision"):
            turns = [_without_pictures(turn) for turn in turns]
        is_thinking = fields.get("thinking") == {"type": "enabled"}
        if is_thinking and has_ability(provider, name, "supports_reasoning"):
            turns = [
                {"reasoning_content": " ", **turn} if turn["role"] == "assistant" else turn
                for turn in turns
            ]
    elif _is_thinker(provider, name) == "o" and not has_ability(
        provider, name, "supports_system_messages"
    ):
        turns = [{**turn, "role": turn["role"].replace("system", "user")} for turn in turns]
    return turns


def _without_pictures(turn: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(turn.get("content"), list):
        return turn
    text = "".join(part.get("text") or "" for part in turn["content"])
    return {**turn, "content": text} if text else turn
