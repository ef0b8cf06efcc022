"""litellm's table of models, read once per process and without importing litellm.

The table is a JSON file of litellm's package. It contains limits, abilities and prices.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from difflib import get_close_matches
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

TESTED = ((1, 106), (1, 111))
"""Releases of litellm, from the first and before the second, whose requests equal ours."""

_TABLE = "model_prices_and_context_window_backup.json"


def litellm_folder() -> Path | None:
    """Return the folder of the installed litellm; None without one."""
    spec = find_spec("litellm")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


@cache
def litellm_version() -> str | None:
    """Return the installed release of litellm; None if it is unknown."""
    try:
        return version("litellm")
    except PackageNotFoundError:  # a source tree on the path
        return None


def not_tested(release: str | None) -> str | None:
    """Return why this release of litellm has to make all calls itself, or None.

    None without litellm.
    """
    match = re.match(r"(\d+)\.(\d+)(\.|$)", release or "")
    if release is None or (match and TESTED[0] <= (int(match[1]), int(match[2])) < TESTED[1]):
        return None
    lowest, beyond = ("{}.{}".format(*numbers) for numbers in TESTED)
    return (
        f"litellm {release} makes all calls itself, which takes more CPU; calls without it are "
        f"tested from {lowest} to below {beyond} only"
    )


@cache
def model_table() -> Mapping[str, Mapping[str, Any]]:
    """Return the entries of the table by litellm's name of the model; empty without litellm."""
    folder = litellm_folder()
    if folder is None:
        return {}
    try:
        table: dict[str, dict[str, Any]] = json.loads((folder / _TABLE).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    table.pop("sample_spec", None)
    return table


@cache
def _lower_names() -> frozenset[str]:
    return frozenset(name.lower() for name in model_table())


def entry_of(provider: str, name: str) -> Mapping[str, Any] | None:
    """Return a model's entry; None if the table does not list its name."""
    table = model_table()
    for key in (f"{provider}/{name}", name):
        entry = table.get(key)
        if entry is not None and entry.get("litellm_provider") == provider:
            return entry
    return None


def may_be_listed(provider: str, name: str) -> bool:
    """Return whether a name differs only in case from a name in the table."""
    table, lower = model_table(), _lower_names()
    return any(key not in table and key.lower() in lower for key in (f"{provider}/{name}", name))


def has_ability(provider: str, name: str, ability: str) -> bool:
    """Return whether the table states an ability, as `supports_reasoning`, of a model."""
    stated = (entry_of(provider, name) or {}).get(ability)
    if stated is None:  # litellm then reads the entry of the name alone
        stated = model_table().get(name, {}).get(ability)
    return stated is True


def near_model(name: str) -> str | None:
    """Return the name that is most similar to an unknown one; None without a similar one."""
    return next(iter(get_close_matches(name, sorted(model_table()), n=1, cutoff=0.7)), None)


def reads_pictures(facts: Mapping[str, Any]) -> bool | None:
    """Return whether a model reads pictures; None without an entry.

    Many models that read pictures have no entry.
    """
    modalities = facts.get("supported_modalities")
    if facts.get("supports_vision") is True:
        return True
    if isinstance(modalities, list) and modalities:
        return "image" in modalities
    return False if facts.get("supports_vision") is False else None


def batch_price(facts: Mapping[str, Any], name: str) -> float | None:
    """Return the price of a token in a batch, by default half the usual one; None if unknown."""
    usual = positive_number(facts.get(name))
    return positive_number(facts.get(f"{name}_batches")) or (None if usual is None else usual / 2)


def positive_number(value: Any) -> float | None:
    """Return a number above 0, or None. litellm's 0 (self-hosted models) means unknown."""
    return float(value) if isinstance(value, int | float) and value > 0 else None


def iso_day(value: Any) -> str | None:
    """Return a date in ISO form; None for anything else."""
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        return None


def flat_price(model: str, prompt: int, completion: int, *, batch: bool = False) -> float | None:
    """Return the price of a call in US dollars by the usual price of a token; None if unknown."""
    provider, _, name = model.partition("/")
    entry = model_table().get(model) or entry_of(provider, name) or {}
    prices = [
        batch_price(entry, kind) if batch else positive_number(entry.get(kind))
        for kind in ("input_cost_per_token", "output_cost_per_token")
    ]
    return prompt * (prices[0] or 0) + completion * (prices[1] or 0) or None
