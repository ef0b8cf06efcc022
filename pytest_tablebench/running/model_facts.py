"""What litellm says of models and what their servers refuse, kept in the store for later runs."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import StoreError
from pytest_tablebench.models import LiteLLMModel, Resolution, litellm_version

if TYPE_CHECKING:
    from pytest_tablebench.store import Store


class Resolutions:
    """Facts about models for given parameters, each asked of the engine once.

    Arguments:
        store: returns the answers kept; None without any.
        ask: asks the engine a question by its name. Raises `ModelError`.
        replay: whether nothing may be asked.
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

    def about(self, model: LiteLLMModel, params: Mapping[str, Any]) -> Resolution | None:
        """Return the facts, None if a replay does not know them. Raises `ModelError`."""
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
        """Return the facts from the same litellm; in a replay, else the last from another one.

        A replay looks for answers that were paid for anywhere: what was sent then decides which
        answers match, and litellm need not be installed at all.
        """
        store = self._store()
        if store is None:
            return None
        entry = store.get_resolution(_question(model, params, litellm_version())[1])
        if entry is not None and "reasons" not in entry["facts"] and not self._replay:
            return None  # an earlier version of this package did not look whether it thinks
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
    """Return a question for facts, and the key of its answer."""
    question = {
        "model": model.model,
        "api_base": model.api_base,
        "params": dict(params),
        "litellm": litellm,
    }
    text = json.dumps(question, sort_keys=True, default=str)
    return question, hashlib.sha256(text.encode()).hexdigest()


class Refusals:
    """Parameters that servers refused, and why, by model.

    Arguments:
        store: returns the store of a model's answers, None if they are not kept.
        endpoint: returns the endpoint of a model.
        keeps: whether refusals of this run are kept for later ones.
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
        """Return the refused parameters of a model; `system` means turns of the system."""
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
            with contextlib.suppress(StoreError):  # it only saves a later run a call
                store.put_resolution({"key": self._key(model), "refused": refused})

    def _key(self, model: str) -> str:
        identity = ["refused", model, self._endpoint(model)]
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()
