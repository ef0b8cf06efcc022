"""What litellm knows about a model before it is asked: parameters, prices, limits, tokens.

All of it comes from tables inside litellm. Nothing here opens a connection.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pytest_tablebench.config.secrets import redact, without_secrets
from pytest_tablebench.models._tokenizers import STANDS_FOR, tokenizer_of
from pytest_tablebench.models.base import Message, as_openai
from pytest_tablebench.models.litellm_load import load

TESTED = ((1, 106), (1, 110))
"""Releases of litellm, from the first one on and before the second, whose calls others may send."""

DIRECT = frozenset(
    {
        *("deepseek", "groq", "hosted_vllm", "mistral"),
        *("openai", "openrouter", "together_ai", "xai"),
    }
)
"""Providers that may be asked without litellm's client; `_direct_wires` says how."""

# Asked for facts about a model, litellm logs in there.
LOGS_IN = frozenset({"chatgpt", "github_copilot"})

# Asked for facts about a model, litellm asks a server: only its table is read.
ASKS_A_SERVER = frozenset({"huggingface", "lemonade", "ollama", "ollama_chat"}) | LOGS_IN

# Parameters that change the reply. One that litellm leaves out of the request without a word
# is reported like one that it refuses.
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

# Parameters for litellm itself; no server sees them.
FOR_LITELLM = frozenset(
    {"allowed_openai_params", "api_version", "custom_llm_provider", "metadata", "organization"}
)


@dataclass(frozen=True)
class Resolution:
    """What will be sent to a model, and what is known about it. None means unknown, never 0.

    Arguments:
        params: the parameters to call litellm with: those asked for, less `dropped`.
        sent: the parameters that leave for the server, under the names litellm gives them there.
        dropped: why each parameter that is not sent is not, by its name.
        provider: litellm's name of the provider.
        input_cost_per_token: US dollars for a token of the prompt.
        output_cost_per_token: US dollars for a token of the reply.
        batch_input_cost_per_token, batch_output_cost_per_token: the same by a batch service; half
            of them where litellm's table has no price of its own, as litellm takes it.
        max_input_tokens: how many tokens of prompt the model reads.
        tokenizer: name of the tokenizer that `count_tokens` counts with.
        sees: whether the model reads pictures.
        continues: whether the model goes on with an assistant's turn that ends the messages.
        reasons: whether litellm's table says that the model thinks before it answers, with these
            parameters: Claude does so only when told to. None from a version of this package that
            did not look.
        max_output_tokens: how many tokens the model writes at most, thinking included.
        litellm_version: the release whose tables these facts come from.
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

    def to_json(self) -> dict[str, Any]:
        """Return the fields as an object of JSON."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self), default=str))
        return plain

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Resolution:
        """Make a resolution from what `to_json` returned, here or in another version of this."""
        names = {item.name for item in fields(cls)}
        return cls(**{name: fact for name, fact in facts.items() if name in names})


def resolve(model: str, api_base: str | None, params: Mapping[str, Any]) -> Resolution:
    """Find out what of the parameters will be sent to a model, and what is known about it.

    About a model that litellm does not know nothing is known, and everything is sent as given.

    Arguments:
        model: the name exactly as litellm takes it.
        api_base: address of the server; None leaves it to litellm.
        params: the parameters asked for.

    Raises:
        ModelError: litellm cannot be imported.
    """
    litellm = load()
    asked_params = dict(params)
    provider, name = provider_of(litellm, model, api_base, asked_params.get("custom_llm_provider"))
    kept, dropped = _sift(litellm, name, provider, asked_params) if provider else (asked_params, {})
    sent = _sent(litellm, name, provider, kept)
    facts = _table(litellm, model, name, provider)
    return Resolution(
        params=kept,
        sent=sent,
        dropped=dropped,
        provider=provider,
        input_cost_per_token=_positive(facts.get("input_cost_per_token")),
        output_cost_per_token=_positive(facts.get("output_cost_per_token")),
        batch_input_cost_per_token=_batch_price(facts, "input_cost_per_token"),
        batch_output_cost_per_token=_batch_price(facts, "output_cost_per_token"),
        max_input_tokens=int(_positive(facts.get("max_input_tokens")) or 0) or None,
        tokenizer=tokenizer_of(litellm, name, provider),
        sees=_sees(facts),
        continues=facts.get("supports_assistant_prefill"),
        reasons=facts.get("supports_reasoning") is True
        and ("claude" not in name or _is_thinking_claude(litellm, name, str(provider), kept)),
        max_output_tokens=int(_positive(facts.get("max_output_tokens")) or 0) or None,
        litellm_version=litellm_version(),
    )


def count_tokens(model: str, messages: Sequence[Message]) -> int | None:
    """Count the tokens of a prompt as the model's provider will, near enough for a price.

    None where the model's tokenizer is unknown or would have to be downloaded. The tokens that
    frame each message count; an image counts with litellm's fixed number.

    Arguments:
        model: the name exactly as litellm takes it.
        messages: the prompt.

    Raises:
        ModelError: litellm cannot be imported.
    """
    return tokens_of(model, as_openai(messages))


def tokens_of(model: str, messages: Sequence[Mapping[str, Any]]) -> int | None:
    """Count what `count_tokens` counts, of messages in the form of the OpenAI protocol."""
    litellm = load()
    provider, name = provider_of(litellm, model, None)
    tokenizer = tokenizer_of(litellm, name, provider)
    if tokenizer is None:
        return None
    count = litellm.token_counter(
        model=STANDS_FOR.get(tokenizer, name),
        messages=messages,
        use_default_image_token_count=True,  # else an image at an address would be fetched
    )
    return int(count)


def provider_of(
    litellm: Any, model: str, api_base: str | None, custom: str | None = None
) -> tuple[str | None, str]:
    """The provider and the model's name there, as far as litellm knows them."""
    prefix, _, rest = model.partition("/")
    if prefix in LOGS_IN:
        return prefix, rest
    try:
        name, provider, *_ = litellm.get_llm_provider(
            model=model,
            api_base=api_base,
            custom_llm_provider=custom,
        )
    except Exception:  # an unknown name, or settings of a provider that are missing
        return None, model
    return provider or None, name


def _sift(
    litellm: Any, name: str, provider: str, params: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Part the parameters into those the model takes and those it does not, with the reason.

    Whether one is taken can depend on others (temperature on the effort of reasoning), so what
    was refused is offered again beside all that was taken.
    """
    kept: dict[str, Any] = {}
    # Where two exclude each other, the one that chooses how the model thinks stays.
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
    # In the order given: neither a record nor a key depends on the order of the search.
    return {k: v for k, v in params.items() if k in kept}, {
        k: refused[k] for k in params if k in refused
    }


def _refusal(litellm: Any, name: str, provider: str, params: dict[str, Any]) -> str | None:
    """Why litellm refuses a set of parameters; None if it does not."""
    try:
        _mapped(litellm, name, provider, params)
    except litellm.UnsupportedParamsError as error:
        message = str(error).removeprefix("litellm.UnsupportedParamsError: ")
        return " ".join(redact(re.split(r"\.? *To drop\b", message, maxsplit=1)[0]).split())[:200]
    except Exception:  # a wrong value and the like: the call itself will say so
        return None
    return None


def _is_thinking_claude(litellm: Any, name: str, provider: str, params: Mapping[str, Any]) -> bool:
    """Return whether litellm has a Claude model think with these parameters."""
    try:
        mapped = _mapped(litellm, name, provider, params) if "claude" in name.lower() else {}
    except Exception:  # a wrong value and the like: the call itself will say so
        return False
    return bool(mapped.get("thinking", {}).get("type", "disabled") != "disabled")


def _lost(litellm: Any, name: str, provider: str, key: str, value: Any) -> bool:
    """Whether litellm leaves a parameter out of the request without a word."""
    try:
        without = _mapped(litellm, name, provider, {})
        return key not in without and without == _mapped(litellm, name, provider, {key: value})
    except Exception:  # cannot be told
        return False


def _mapped(litellm: Any, name: str, provider: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as litellm will hand them to the provider's client."""
    mapped: dict[str, Any] = litellm.get_optional_params(
        model=name,
        custom_llm_provider=provider,
        **{k: copy.deepcopy(v) for k, v in params.items() if k != "custom_llm_provider"},
    )
    return mapped


def _sent(litellm: Any, name: str, provider: str | None, kept: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that leave for the server, by the names they have there."""
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


def _table(litellm: Any, model: str, name: str, provider: str | None) -> Mapping[str, Any]:
    """What litellm's table of models says; empty for a model that is not in it."""
    for key in (model, f"{provider}/{name}", name):
        entry = litellm.model_cost.get(key)
        if entry and entry.get("litellm_provider") in {provider, None}:
            return dict(entry)
    if provider is None or provider in ASKS_A_SERVER:
        return {}
    try:
        # Finds more than exact names: releases by date, regions, fine-tuned models.
        return dict(litellm.get_model_info(model=name, custom_llm_provider=provider))
    except Exception:  # litellm raises a bare Exception for a model it has no price of
        return {}


def _sees(facts: Mapping[str, Any]) -> bool | None:
    """Whether a model reads pictures. Where the table is silent it tells nothing.

    Many models that read them have no such entry.
    """
    modalities = facts.get("supported_modalities")
    if facts.get("supports_vision") is True:
        return True
    if isinstance(modalities, list) and modalities:
        return "image" in modalities
    return False if facts.get("supports_vision") is False else None


def _batch_price(facts: Mapping[str, Any], name: str) -> float | None:
    """Return what a token costs in a batch."""
    usual = _positive(facts.get(name))
    return _positive(facts.get(f"{name}_batches")) or (None if usual is None else usual / 2)


def _positive(value: Any) -> float | None:
    """A number above 0. Where litellm says 0 (models on own servers) it means unknown."""
    return float(value) if isinstance(value, int | float) and value > 0 else None


def litellm_version() -> str | None:
    """Return the release that is installed, which need not be imported to be known."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("litellm")
    except PackageNotFoundError:  # a source tree on the path
        return None


def may_be_direct(model: str) -> bool:
    """Tell whether a model's name says that its calls need not be made by litellm's client."""
    return model.partition("/")[0] in DIRECT and not_tested(litellm_version()) is None


def not_tested(version: str | None) -> str | None:
    """Say why all calls are litellm's with a release of it; None: with this one they need not be.

    Without litellm nothing is said: there are no calls.
    """
    match = re.match(r"(\d+)\.(\d+)(\.|$)", version or "")
    if version is None or (match and TESTED[0] <= (int(match[1]), int(match[2])) < TESTED[1]):
        return None
    return (
        f"litellm {version} makes all calls itself, which takes more CPU: only "
        f"{TESTED[0][0]}.{TESTED[0][1]} and up to {TESTED[1][0]}.{TESTED[1][1]} is tested for more"
    )
