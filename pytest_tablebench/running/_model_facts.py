"""litellm's facts about models and refused parameters, stored for later runs."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from pytest_tablebench.errors import StoreError
from pytest_tablebench.models import LiteLLMModel, Resolution, litellm_version
from pytest_tablebench.store import Store

_LATER = frozenset({"reasons", "deprecation_date"})
"""Facts that older versions of this package did not store."""


class Resolutions:
    """Facts about models for given parameters, each requested from the engine once.

    Arguments:
        store: returns the answer store, None without one.
        ask: sends the engine a named question. Raises `ModelError`.
        replay: whether no question may be sent.
    """

    def __init__(
        self,
        store: Callable[[], Store | None],
        ask: Callable[[str, Mapping[str, Any]], Any],
        *,
        replay: bool,
    ) -> None:
        self._store = store
        self._ask = ask
        self._replay = replay
        self._facts: dict[str, Resolution | None] = {}

    def of_model(self, model: LiteLLMModel, params: Mapping[str, Any]) -> Resolution | None:
        """Return the facts, None in a replay without stored facts. Raises `ModelError`."""
        question, key = _question(model, params, litellm_version())
        if key not in self._facts:
            facts = self._stored(model, params)
            if facts is None and not self._replay:
                facts = self._ask("facts", {**question, "key": key})
            self._facts[key] = Resolution.from_json(facts) if facts is not None else None
        return self._facts[key]

    def are_stored(self, model: LiteLLMModel, params: Mapping[str, Any]) -> bool:
        """Return whether the facts need no engine."""
        return self._stored(model, params) is not None

    def _stored(self, model: LiteLLMModel, params: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the stored facts of the same litellm; in a replay, also of another litellm.

        In a replay the parameters sent at that time decide which answers match, and litellm need
        not be installed.
        """
        store = self._store()
        if store is None:
            return None
        entry = store.get_resolution(_question(model, params, litellm_version())[1])
        if entry is not None and not self._replay and not _LATER.issubset(entry["facts"]):
            return None  # an older version of this package stored it; litellm knows the rest
        if entry is None and self._replay:
            for other in store.resolutions():
                version = other.get("facts", {}).get("litellm_version")
                if other["key"] == _question(model, params, version)[1]:
                    entry = other
                    break
        return None if entry is None else entry["facts"]


def _question(
    model: LiteLLMModel, params: Mapping[str, Any], litellm: str | None
) -> tuple[dict[str, Any], str]:
    question = {
        "model": model.model,
        "api_base": model.api_base,
        "params": dict(params),
        "litellm": litellm,
    }
    text = json.dumps(question, sort_keys=True, default=str)
    return question, hashlib.sha256(text.encode()).hexdigest()


class Refusals:
    """Reasons for which servers refused parameters, by model.

    Arguments:
        store: returns the store of a model's answers, None if they are not stored.
        endpoint: returns the endpoint of a model.
        keeps: whether refusals of this run are stored for later ones.
    """

    def __init__(
        self,
        store: Callable[[str], Store | None],
        endpoint: Callable[[str], str | None],
        *,
        keeps: bool,
    ) -> None:
        self._store = store
        self._endpoint = endpoint
        self._keeps = keeps
        self._refused: dict[str, dict[str, str]] = {}

    def of(self, model: str) -> Mapping[str, str]:
        """Return the reasons by refused parameter; `system` means system messages."""
        if model not in self._refused:
            store = self._store(model)
            entry = None if store is None else store.get_resolution(self._key(model))
            self._refused[model] = dict(entry["refused"]) if entry is not None else {}
        return self._refused[model]

    def add(self, model: str, part: str, why: str) -> None:
        """Record a parameter that a server refused, for this run and later ones."""
        refused = self._refused[model] = {**self.of(model), part: why}
        store = self._store(model) if self._keeps else None
        if store is not None:
            with contextlib.suppress(StoreError):  # storing it only saves a later run one call
                store.put_resolution({"key": self._key(model), "refused": refused})

    def _key(self, model: str) -> str:
        identity = ["refused", model, self._endpoint(model)]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()
