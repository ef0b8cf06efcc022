"""litellm's facts about a model, known before any call: parameters, prices, limits, tokens.

All of them come from tables inside litellm. Nothing here opens a connection.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pytest_tablebench.config.secrets import redact, without_secrets
from pytest_tablebench.models._openai_providers import (
    Unforeseen,
    body_fields,
    check_model,
    fixed_temperature,
    wire_model,
)
from pytest_tablebench.models._tokenizers import STANDS_FOR, text_tokens, tokenizer_of
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.models.model_table import (
    batch_price,
    entry_of,
    iso_day,
    litellm_folder,
    litellm_version,
    positive_number,
    reads_pictures,
)

# litellm logs in at these providers when it looks up facts about a model.
LOGS_IN = frozenset({"chatgpt", "github_copilot"})

# litellm sends a request to a server when it looks up facts: here only its table is read.
ASKS_A_SERVER = frozenset({"huggingface", "lemonade", "ollama", "ollama_chat"}) | LOGS_IN

# Parameters that change the reply: one that litellm silently leaves out is reported as refused.
CHANGES_THE_REPLY = frozenset(
    {
        "frequency_penalty",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "presence_penalty",
        "reasoning_effort",
        "repetition_penalty",
        "response_format",
        "seed",
        "stop",
        "temperature",
        "thinking",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "verbosity",
    }
)

THINKING = frozenset({"reasoning_effort", "thinking"})

# Parameters for litellm itself; they are not sent.
FOR_LITELLM = frozenset(
    {"allowed_openai_params", "api_version", "custom_llm_provider", "metadata", "organization"}
)


# Providers for which litellm refuses headers of the user.
_WITHOUT_HEADERS = frozenset({"mistral", "nvidia_nim", "xai"})


@dataclass(frozen=True)
class Resolution:
    """What will be sent to a model, and facts about it. None means unknown, never 0.

    Arguments:
        params: the parameters for litellm: the requested ones without `dropped`.
        sent: the parameters that are sent to the server, under litellm's names for it.
        dropped: the reason for each parameter that is not sent, by its name.
        provider: litellm's name of the provider.
        input_cost_per_token: US dollars for a token of the prompt.
        output_cost_per_token: US dollars for a token of the reply.
        batch_input_cost_per_token, batch_output_cost_per_token: the same in a batch service; if
            litellm's table has no such price, half of the usual one, as litellm computes it.
        max_input_tokens: the longest prompt in tokens.
        tokenizer: name of the tokenizer that `tokens_of` uses.
        sees: whether the model reads pictures.
        continues: whether the model continues an assistant's turn that ends the messages.
        reasons: whether litellm's table says that the model thinks before it answers, with these
            parameters: Claude thinks only if they request it. None from an older version of this
            package.
        max_output_tokens: the longest reply in tokens, thinking included.
        litellm_version: the release whose tables these facts come from.
        deprecation_date: the day on which the provider retires the model, as `2026-12-31`. Also
            None in facts that an older version of this package stored.
    """

    params: Mapping[str, Any] = field(default_factory=dict)
    sent: Mapping[str, Any] = field(default_factory=dict)
    dropped: Mapping[str, str] = field(default_factory=dict)
    provider: str | None = None
    input_cost_per_token: float | None = None
    output_cost_per_token: float | None = None
    batch_input_cost_per_token: float | None = None
    batch_output_cost_per_token: float | None = None
    max_input_tokens: int | None = None
    tokenizer: str | None = None
    sees: bool | None = None
    continues: bool | None = None
    reasons: bool | None = None
    max_output_tokens: int | None = None
    litellm_version: str | None = None
    deprecation_date: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the fields as a JSON object."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self), default=str))
        return plain

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Resolution:
        """Make a resolution from a result of `to_json`, also of another version of this package."""
        names = {item.name for item in fields(cls)}
        return cls(**{name: fact for name, fact in facts.items() if name in names})


def resolve(model: str, api_base: str | None, params: Mapping[str, Any]) -> Resolution:
    """Return which of the parameters will be sent to a model, and facts about the model.

    If litellm does not know the model, all parameters are sent and the facts are None.

    Arguments:
        model: the name exactly as litellm takes it.
        api_base: address of the server; None leaves it to litellm.
        params: the requested parameters.

    Raises:
        ModelError: litellm cannot be imported.
    """
    facts_of_wire = _without_litellm(model, api_base, params)
    if facts_of_wire is not None:
        return facts_of_wire
    litellm = load()
    requested = dict(params)
    provider, name = provider_of(litellm, model, api_base, requested.get("custom_llm_provider"))
    kept, dropped = _sift(litellm, name, provider, requested) if provider else (requested, {})
    sent = _sent(litellm, name, provider, kept)
    facts = table_of(litellm, model, name, provider)
    is_claude = "claude" in name
    reasons = facts.get("supports_reasoning") is True and (
        not is_claude or _is_thinking_claude(litellm, name, str(provider), kept)
    )
    return _resolution(
        facts, provider, name, params=kept, sent=sent, dropped=dropped, reasons=reasons
    )


def _without_litellm(
    model: str, api_base: str | None, params: Mapping[str, Any]
) -> Resolution | None:
    """Return the same as `resolve` if the table suffices; None if only litellm knows it."""
    where = wire_model(model, api_base)
    if where is None or "claude" in model.lower() or litellm_folder() is None:
        return None
    if "extra_headers" in params and where[0] in _WITHOUT_HEADERS:
        return None
    kept, dropped = dict(params), {}
    try:
        check_model(*where)
        if fixed := fixed_temperature(*where, params):
            del kept["temperature"]
            dropped["temperature"] = fixed
        fields = body_fields(*where, kept)
        for name in CHANGES_THE_REPLY.intersection(kept):
            others = {key: value for key, value in kept.items() if key != name}
            if body_fields(*where, others) == fields:
                return None  # it is not sent; litellm tells why
    except Unforeseen:
        return None
    headers = {name: kept[name] for name in ("extra_headers",) if name in kept}
    entry = entry_of(*where) or {}
    return _resolution(
        entry,
        *where,
        params=kept,
        sent=without_secrets({**fields, **headers}),
        dropped=dropped,
        reasons=entry.get("supports_reasoning") is True,
    )


def _resolution(
    facts: Mapping[str, Any], provider: str | None, name: str, **about_parameters: Any
) -> Resolution:
    """Return the facts of an entry of litellm's table, with those about the parameters."""
    return Resolution(
        provider=provider,
        input_cost_per_token=positive_number(facts.get("input_cost_per_token")),
        output_cost_per_token=positive_number(facts.get("output_cost_per_token")),
        batch_input_cost_per_token=batch_price(facts, "input_cost_per_token"),
        batch_output_cost_per_token=batch_price(facts, "output_cost_per_token"),
        max_input_tokens=int(positive_number(facts.get("max_input_tokens")) or 0) or None,
        tokenizer=tokenizer_of(name, provider),
        sees=reads_pictures(facts),
        continues=facts.get("supports_assistant_prefill"),
        max_output_tokens=int(positive_number(facts.get("max_output_tokens")) or 0) or None,
        litellm_version=litellm_version(),
        deprecation_date=iso_day(facts.get("deprecation_date")),
        **about_parameters,
    )


def facts_entry(question: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entry under which a store keeps facts about a model.

    Arguments:
        question: the `key` of the entry and the `model`, as litellm takes it.
        facts: from `Resolution.to_json`.
    """
    return {"key": question["key"], "model": question["model"], "facts": dict(facts)}


def tokens_of(model: str, messages: Sequence[Mapping[str, Any]]) -> int | None:
    """Return the approximate number of tokens that the provider counts for a prompt.

    None if the model's tokenizer is unknown or would have to be downloaded. The tokens around
    each message are included. An image counts with litellm's fixed number.

    Arguments:
        model: the name exactly as litellm takes it.
        messages: the prompt, in the form of the OpenAI protocol.

    Raises:
        ModelError: litellm cannot be imported.
    """
    where = wire_model(model)
    if where is not None and litellm_folder() is not None:
        tokenizer = tokenizer_of(where[1], where[0])
        if tokenizer is None:
            return None
        plain = [(turn["role"], turn["content"]) for turn in messages]
        if all(isinstance(content, str) for _, content in plain):
            return text_tokens(tokenizer, plain)
    litellm = load()
    provider, name = provider_of(litellm, model, None)
    tokenizer = tokenizer_of(name, provider)
    if tokenizer is None:
        return None
    count = litellm.token_counter(
        model=STANDS_FOR.get(tokenizer, name),
        messages=messages,
        use_default_image_token_count=True,  # otherwise an image's URL would be fetched
    )
    return int(count)


def provider_of(
    litellm: Any, model: str, api_base: str | None, custom: str | None = None
) -> tuple[str | None, str]:
    """Return the provider, or None if litellm does not know it, and the model's name there."""
    prefix, _, rest = model.partition("/")
    if prefix in LOGS_IN:
        return prefix, rest
    try:
        name, provider, *_ = litellm.get_llm_provider(
            model=model,
            api_base=api_base,
            custom_llm_provider=custom,
        )
    except Exception:  # an unknown name, or missing settings of the provider
        return None, model
    return provider or None, name


def _sift(
    litellm: Any, name: str, provider: str, params: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the parameters that the model takes, and the reason for each one that it does not.

    One parameter can allow another (the effort of reasoning allows the temperature). So refused
    parameters are tried again together with all accepted ones.
    """
    kept: dict[str, Any] = {}
    # If two parameters exclude each other, the one about thinking stays.
    offered = dict(sorted(params.items(), key=lambda item: item[0] not in THINKING))
    while True:
        refused: dict[str, str] = {}
        for key, value in offered.items():
            why = _refusal(litellm, name, provider, {**kept, key: value})
            if why is None:
                kept[key] = value
            else:
                refused[key] = why
        if len(refused) in {0, len(offered)}:
            break
        offered = {key: params[key] for key in refused}
    if kept.get("temperature", 1) != 1 and _is_thinking_claude(litellm, name, provider, kept):
        refused["temperature"] = "a Claude model that thinks takes no temperature but 1"
        del kept["temperature"]
    for key in CHANGES_THE_REPLY.intersection(kept):
        if _lost(litellm, name, provider, key, kept[key]):
            refused[key] = f"litellm does not send it to {provider}"
            del kept[key]
    # In the given order, so that records and keys do not depend on the search.
    return {k: v for k, v in params.items() if k in kept}, {
        k: refused[k] for k in params if k in refused
    }


def _refusal(litellm: Any, name: str, provider: str, params: dict[str, Any]) -> str | None:
    try:
        _mapped(litellm, name, provider, params)
    except litellm.UnsupportedParamsError as error:
        message = str(error).removeprefix("litellm.UnsupportedParamsError: ")
        return " ".join(redact(re.split(r"\.? *To drop\b", message, maxsplit=1)[0]).split())[:200]
    except Exception:  # a wrong value and the like: the call itself will say so
        return None
    return None


def _is_thinking_claude(litellm: Any, name: str, provider: str, params: Mapping[str, Any]) -> bool:
    try:
        mapped = _mapped(litellm, name, provider, params) if "claude" in name.lower() else {}
    except Exception:  # a wrong value and the like: the call itself will say so
        return False
    return bool(mapped.get("thinking", {}).get("type", "disabled") != "disabled")


def _lost(litellm: Any, name: str, provider: str, key: str, value: Any) -> bool:
    """Return whether litellm silently leaves a parameter out of the request."""
    try:
        without = _mapped(litellm, name, provider, {})
        return key not in without and without == _mapped(litellm, name, provider, {key: value})
    except Exception:  # unknown
        return False


def _mapped(litellm: Any, name: str, provider: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as litellm passes them to the provider's client."""
    mapped: dict[str, Any] = litellm.get_optional_params(
        model=name,
        custom_llm_provider=provider,
        **{k: copy.deepcopy(v) for k, v in params.items() if k != "custom_llm_provider"},
    )
    return mapped


def _sent(litellm: Any, name: str, provider: str | None, kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are sent to the server, by their names there."""
    try:
        mapped = _mapped(litellm, name, provider, kept) if provider else dict(kept)
    except Exception:  # a wrong value and the like: the call itself will say so
        mapped = dict(kept)
    body = mapped.pop("extra_body", None)
    if isinstance(body, Mapping):
        mapped.update(body)
    if not mapped.get("stream"):
        mapped.pop("stream", None)
    sent = {k: v for k, v in mapped.items() if k not in FOR_LITELLM and k != "max_retries"}
    if "extra_headers" in kept:
        sent["extra_headers"] = kept["extra_headers"]
    plain: dict[str, Any] = without_secrets(sent)
    return plain


def table_of(litellm: Any, model: str, name: str, provider: str | None) -> Mapping[str, Any]:
    """Return the entry in litellm's table of models; empty if the model has none."""
    for key in (model, f"{provider}/{name}", name):
        entry = litellm.model_cost.get(key)
        if entry and entry.get("litellm_provider") in {provider, None}:
            return dict(entry)
    if provider is None or provider in ASKS_A_SERVER:
        return {}
    try:
        # It also finds releases by date, regions and fine-tuned models.
        return dict(litellm.get_model_info(model=name, custom_llm_provider=provider))
    except Exception:  # litellm raises a bare Exception for a model without a price
        return {}


def may_be_direct(model: str) -> bool:
    """Return whether calls to this model can be made without litellm."""
    return wire_model(model) is not None


def needs_litellm(models: Iterable[str], transport: str) -> bool:
    """Return whether litellm makes the calls to one of the models."""
    return any(transport == "litellm" or not may_be_direct(model) for model in models)
