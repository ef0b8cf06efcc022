"""Prices of replies as a formula, where it equals litellm's price to the last digit."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

_PROMPTS = (
    *(1, 7, 100, 1234, 9999, 31_999, 99_999, 127_999, 128_001, 199_999, 200_001),
    *(255_999, 256_001, 271_999, 272_001, 511_999, 1_048_577),
)
_COMPLETIONS = (1, 997)
_CACHED = [64]
_RATES = ("input_cost_per_token", "output_cost_per_token", "cache_read_input_token_cost")
_TIERS = ("", "_flex", "_priority")
"""Endings of the names of rates in litellm's table, for service tiers."""
_COUNTS = frozenset({"prompt_tokens", "completion_tokens", "total_tokens"})


@dataclass(frozen=True)
class PriceFormula:
    """The price of a reply in US dollars, from its counts of tokens.

    Arguments:
        prompt: of a token of the prompt; None if replies of this model have no price.
        completion: of a token of the reply, thoughts included.
        cached: of a token of the prompt that the server had cached; None if such replies have
            to be priced by litellm.
        most: tokens of the longest prompt for which the formula is valid.
        split: whether thoughts are added to the price separately, which changes its last digit.
    """

    prompt: float | None
    completion: float = 0.0
    cached: float | None = None
    most: int = 0
    split: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the fields as values of JSON."""
        return asdict(self)

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> PriceFormula:
        """Read what `to_json` returns. Raises `LookupError` or `TypeError`."""
        numbers = [fields["prompt"], fields["completion"], fields["cached"], fields["most"]]
        if not all(number is None or isinstance(number, int | float) for number in numbers):
            raise TypeError(numbers)
        return cls(**{**fields, "split": bool(fields["split"])})

    def covers(self, usage: Mapping[str, Any]) -> bool:
        """Return whether the formula is valid for a reply's usage."""
        if self.prompt is None:
            return True
        cached = _cached(usage)
        return (
            cached is not None
            and (cached == 0 or self.cached is not None)
            and cached <= usage["prompt_tokens"] <= self.most
        )

    def cost(self, usage: Mapping[str, Any]) -> float | None:
        """Return the price for a usage that the formula covers; None without a price."""
        if self.prompt is None:
            return None
        cached = _cached(usage) or 0
        text = (usage["prompt_tokens"] - cached) * self.prompt
        if cached and self.cached is not None:
            text += cached * self.cached
        completion = usage["completion_tokens"]
        thinking = _thinking(usage) if self.split else 0
        return float(
            text + ((completion - thinking) * self.completion + thinking * self.completion)
        )


def fit(
    price: Callable[[Mapping[str, Any]], float | None], table: Mapping[str, Any]
) -> PriceFormula | None:
    """Return the formula that equals `price` at many counts; None if there is none.

    Arguments:
        price: litellm's price of a usage; None if the model has none.
        table: litellm's facts about the model, with its prices per token.
    """
    if not price(_usage(1234, 17)):
        return PriceFormula(None)
    if any("off_peak" in name for name in table):
        return None  # the price depends on the time of day
    for tier, split in itertools.product(_TIERS, (False, True)):
        rates = [table.get(f"{name}{tier}") for name in _RATES]
        if not all(isinstance(rate, int | float) for rate in rates[:2]):
            continue
        plain = PriceFormula(rates[0], float(rates[1] or 0), None, _PROMPTS[-1], split)
        most = _valid_up_to(plain, price, [0])
        if not most:
            continue
        plain = replace(plain, most=most)
        cached = replace(plain, cached=rates[2])
        is_known = isinstance(cached.cached, int | float)
        return cached if is_known and _valid_up_to(cached, price, _CACHED) >= most else plain
    return None


def _valid_up_to(
    formula: PriceFormula, price: Callable[[Mapping[str, Any]], float | None], cached: list[int]
) -> int:
    """Return the longest of the tried prompts before the first that has another price."""
    longest = 0
    for prompt in _PROMPTS:
        if prompt > formula.most:
            break
        for completion, part, thinking in itertools.product(_COMPLETIONS, cached, (0, 77)):
            thoughts = min(thinking, completion)
            usage = _usage(prompt, completion, min(part, prompt), thoughts)
            if formula.cost(usage) != price(usage):
                return longest
        longest = prompt
    return longest


def _usage(prompt: int, completion: int, cached: int = 0, thinking: int = 0) -> dict[str, Any]:
    usage: dict[str, Any] = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }
    if cached:
        usage["prompt_tokens_details"] = {"cached_tokens": cached}
    if thinking:
        usage["completion_tokens_details"] = {"reasoning_tokens": thinking}
    return usage


def _cached(usage: Mapping[str, Any]) -> int | None:
    """Return how many tokens of the prompt were cached; None for a usage that is not plain.

    A plain usage counts the tokens of prompt and reply, and as parts of these cached tokens and
    thoughts. All other counts are 0.
    """
    if not all(type(usage.get(name)) is int and usage[name] > 0 for name in _PAIR):
        return None
    prompt = usage.get("prompt_tokens_details") or {}
    reply = usage.get("completion_tokens_details") or {}
    rest = {name: count for name, count in usage.items() if name not in _COUNTS | _DETAILS}
    others = [*rest.values(), *_but("cached_tokens", prompt), *_but("reasoning_tokens", reply)]
    if any(others) or _thinking(usage) > usage["completion_tokens"]:
        return None
    return int(prompt.get("cached_tokens") or 0)


def _thinking(usage: Mapping[str, Any]) -> int:
    return int((usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0)


_PAIR = ("prompt_tokens", "completion_tokens")
_DETAILS = frozenset({"prompt_tokens_details", "completion_tokens_details"})


def _but(name: str, counts: Mapping[str, Any]) -> list[Any]:
    return [count for key, count in counts.items() if key != name]
