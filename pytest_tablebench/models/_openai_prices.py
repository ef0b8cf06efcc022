"""What a reply of OpenAI's protocol costs by litellm's table, computed as litellm does.

tests/models/test_wire_models.py compares the prices with litellm's for each model of the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pytest_tablebench.models._openai_providers import Unforeseen, check_listed
from pytest_tablebench.models.model_table import entry_of, model_table

_TIERS = {
    "flex": "_flex",
    "balanced": "_balanced",
    "priority": "_priority",
    "fast": "_priority",
    "ultrafast": "_ultrafast",
}
"""Service tier -> ending of its prices' names."""

_TICKS = "cost_in_usd_ticks"
"""xAI's price of a call: https://docs.x.ai/developers/cost-tracking"""

_WITHOUT_TIERS = frozenset({"deepseek", "xai"})
_KINDS = ("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost")
_SIZES = {
    4: "up-to-4b",
    8: "4.1b-8b",
    21: "8.1b-21b",
    41: "21.1b-41b",
    80: "41.1b-80b",
    110: "81.1b-110b",
}
"""Together's prices by billions of parameters, for models without a price."""

_FIELDS = {
    "": {
        *("prompt_tokens", "completion_tokens", "total_tokens"),
        *("prompt_cache_hit_tokens", "prompt_cache_miss_tokens"),
    },
    "prompt_tokens_details": {"cached_tokens", "text_tokens"},
    "completion_tokens_details": {
        *("reasoning_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens"),
    },
}
"""Counts that the price is computed from, or that it ignores."""

_NO_COUNTS = {_TICKS, "cost", "cost_details", "is_byok"}
"""Prices in replies of xAI and of OpenRouter."""


def price(
    provider: str, name: str, body: Mapping[str, Any], tier: object, now: datetime | None = None
) -> float | None:
    """Return the price of a reply in US dollars; None if it is unknown.

    Arguments:
        provider: litellm's name of the provider.
        name: the model's name there.
        body: the parsed response; `sound_counts` accepts its usage.
        tier: the service tier of the request.
        now: the time of the call, for prices by the hour.

    Raises:
        Unforeseen: only litellm can compute the price.
    """
    usage = body.get("usage")
    if not usage:
        return None
    if provider == "xai" and usage.get(_TICKS) is not None:
        return usage[_TICKS] / 10**10 or None
    if usage.get("cost") or (provider == "openrouter" and "cost" in usage):
        return float(usage["cost"] or 0) or None
    entry = _priced_entry(provider, name, body.get("model") or name)
    if entry is None:
        return None
    served = body.get("service_tier")
    named = served.lower() if isinstance(served, str) else None
    if named in {"default", "standard"}:
        tier = None
    elif named in _TIERS:
        tier = named
    ending = _TIERS.get(tier.lower(), "") if isinstance(tier, str) else ""
    ending = "" if provider in _WITHOUT_TIERS else ending
    prompt, completion = usage["prompt_tokens"], usage["completion_tokens"]
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    cached = usage.get("prompt_cache_hit_tokens", cached)
    text = (usage.get("prompt_tokens_details") or {}).get("text_tokens") or 0
    if text == 0 or (cached and text + cached > prompt):
        text = max(prompt - cached, 0)
    rates = _rates(entry, prompt, ending, inclusive=provider == "xai")
    hourly = entry.get("off_peak_pricing")
    if hourly is not None and provider != "deepseek":
        raise Unforeseen("prices by the hour, which releases of litellm compute differently")
    block = _off_peak(hourly, now or datetime.now(UTC))
    rates.update({kind: float(block[kind]) for kind in _KINDS if kind in block})
    fresh, written, read = (rates.get(kind) for kind in _KINDS)
    fresh, written = fresh or 0.0, written or 0.0
    cost = text * fresh + cached * (fresh if read is None else read)
    thoughts = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
    thoughts = 0 if provider == "xai" else thoughts
    cost += max(completion - thoughts, 0) * written + thoughts * written
    return cost or None  # 0 means unknown


def sound_counts(provider: str, usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return a usage as litellm reads it: thoughts are a part of the completion.

    Raises `Unforeseen` if the price may depend on a count that is not known here.
    """
    for path, names in _FIELDS.items():
        counts = usage.get(path) if path else usage
        for name, value in (counts or {}).items():
            is_known = name in names or (not path and name in _FIELDS) or name in _NO_COUNTS
            if not is_known and value and not name.endswith("_time"):
                raise Unforeseen(f"tokens of another kind, {name}")
    prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not prompt or completion is None:
        raise Unforeseen("a usage without counts")
    total = usage.get("total_tokens")
    if provider != "xai" or total in {None, prompt + completion}:
        return dict(usage)
    thoughts = (usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
    if total != prompt + completion + thoughts:
        raise Unforeseen("another sum of tokens")
    return {**usage, "completion_tokens": completion + thoughts}


def _priced_entry(provider: str, name: str, served: str) -> Mapping[str, Any] | None:
    """Return the entry that litellm prices a reply with; None if it finds none."""
    for model in (served.removeprefix(f"{provider}/"), name):
        entry = entry_of(provider, model)
        if provider == "together_ai":
            entry = _of_together(model)
        if entry is not None:
            return entry
        check_listed(provider, model)
    return None


def _of_together(model: str) -> Mapping[str, Any] | None:
    entry = model_table().get(f"together_ai/{model}") or {}
    size = re.search(r"(\d+)b", model.lower())
    if "input_cost_per_token" in entry or size is None:
        return entry or None
    category = next((word for most, word in _SIZES.items() if float(size[1]) <= most), None)
    return None if category is None else model_table().get(f"together-ai-{category}")


def _rates(
    entry: Mapping[str, Any], prompt: int, ending: str, *, inclusive: bool
) -> dict[str, float]:
    """Return US dollars per token by the name of the price, for a prompt of this length."""
    rates = {}
    for kind in _KINDS:
        for key in _keys(entry, kind, prompt, inclusive=inclusive):
            value = entry.get(key + ending)
            value = entry.get(key) if value is None else value
            if value is not None:
                rates[kind] = float(value)
    return rates


def _keys(entry: Mapping[str, Any], kind: str, prompt: int, *, inclusive: bool) -> Iterator[str]:
    """Yield names of prices; the last one in the entry applies."""
    yield kind
    steps = {}
    for key in entry:
        if limit := re.fullmatch(rf"{kind}_above_(\d+)(k?)_tokens", key):
            steps[int(limit[1]) * (1000 if limit[2] else 1)] = key
    for least, key in sorted(steps.items()):
        if prompt > least or (inclusive and prompt == least):
            yield key


def _off_peak(block: object, now: datetime) -> Mapping[str, Any]:
    """Return the prices of a cheaper hour; empty outside of such hours."""
    if block is None:
        return {}
    if not isinstance(block, Mapping) or {"hours_utc", "weekday_timezone"} & block.keys():
        raise Unforeseen("prices by the hour in another form")
    clock = f"{now:%H:%M}"
    for rule in block["windows"]:
        hours = rule["hours_utc"]
        for window in [hours] if isinstance(hours, str) else hours:
            start, end = window.split("-")
            inside = start <= clock < end if start < end else clock >= start or clock < end
            if inside and now.isoweekday() in rule["weekdays"]:
                return block
    return {}
