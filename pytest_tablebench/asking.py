"""How models are asked: their providers, parameters, stored answers, and the engine."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from importlib import metadata
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import LiteLLMModel, Resolution
from pytest_tablebench.models.engine import Client
from pytest_tablebench.names import without_credentials
from pytest_tablebench.talks import Line

if TYPE_CHECKING:
    from pytest_tablebench.models import Provider
    from pytest_tablebench.models.engine import Address
    from pytest_tablebench.models.store import Store
    from pytest_tablebench.registry import Registry
    from pytest_tablebench.settings import Settings

__all__ = ["Models", "endpoint"]


class Models:
    """The models of one session in one process; each is opened once, when it is needed.

    `address` tells where the engine of the run listens; None where there is none.
    """

    def __init__(self, settings: Settings, registry: Registry) -> None:
        self.settings = settings
        self.registry = registry
        self.address: Callable[[], Address] | None = None
        self._providers: dict[str, Provider | LiteLLMModel] = {}
        self._lines: dict[str, Line] = {}
        self._facts: dict[str, Resolution | None] = {}
        self._client: Client | None = None
        self._store: Store | None = None

    def provider(self, model: str) -> Provider | LiteLLMModel:
        """Return a model's provider, made once. Raises `SettingsError`."""
        if model not in self._providers:
            self._providers[model] = self.registry.provider(model, self.settings)
        return self._providers[model]

    def engine_models(self) -> dict[str, LiteLLMModel]:
        """Return the models whose calls the engine makes, by name, in order."""
        found = {name: self.provider(name) for name in self.settings.models}
        return {name: m for name, m in found.items() if isinstance(m, LiteLLMModel)}

    def store(self) -> Store | None:
        """Return the answers kept, opened on first use; None without. Raises `SettingsError`."""
        settings = self.settings
        if self._store is None and (settings.stored or settings.readonly_stores):
            from pytest_tablebench.models.store import Store

            folder, others = settings.store_folder(), settings.readonly_stores
            if settings.replay and folder is not None:
                # Nothing will be added, so nothing has to be writable.
                self._store = Store.open(None, (folder, *others))
            else:
                self._store = Store.open(folder, others)
        return self._store

    def client(self) -> Client:
        """Return the connection to the engine, made on first use."""
        if self._client is None:
            if self.address is None:
                raise ModelError(
                    "no model can be asked here: the run has no engine", reason="engine"
                )
            self._client = Client(self.address(), "runner")
        return self._client

    def line(self, model: str) -> Line:
        """Return how a model is asked. Raises `ModelError` when the engine cannot tell."""
        if model not in self._lines:
            provider, params = self.provider(model), self.settings.request_params
            if isinstance(provider, LiteLLMModel):
                found = self.facts_about(model)
                dropped = found.dropped if found is not None else {}
                self._lines[model] = Line(
                    model,
                    {name: value for name, value in params.items() if name not in dropped},
                    api_base=endpoint(model, provider.api_base),
                    lane=list(self.engine_models()).index(model),
                )
            else:
                own = model.startswith("tablebench/")
                self._lines[model] = Line(model, params, provider=provider, stored=not own)
        return self._lines[model]

    def facts_about(self, model: str) -> Resolution | None:
        """Return what litellm knows of a model, None where nobody can tell any more.

        Known from the store when the same litellm told it before, so that a run whose answers
        are all there needs no engine at all. Raises `ModelError` when the engine cannot tell.
        """
        if model not in self._facts:
            asked, key = self._facts_request(model)
            store = self.store()
            known = store.get_resolution(key) if store is not None else None
            if known is not None:
                self._facts[model] = Resolution.from_json(known["facts"])
            elif self.settings.replay:
                self._facts[model] = None
            else:
                told = self.ask_engine("facts", {**asked, "key": key})
                self._facts[model] = Resolution.from_json(told)
        return self._facts[model]

    def facts_are_stored(self, model: str) -> bool:
        """Whether `facts_about` a model needs no engine."""
        store = self.store()
        return store is not None and store.get_resolution(self._facts_request(model)[1]) is not None

    def _facts_request(self, model: str) -> tuple[dict[str, Any], str]:
        asked = {
            "model": model,
            "api_base": self.engine_models()[model].api_base,
            "params": self.settings.request_params,
            "litellm": metadata.version("litellm"),
        }
        text = json.dumps(asked, sort_keys=True, default=str)
        return asked, hashlib.sha256(text.encode()).hexdigest()

    def ask_engine(self, what: str, body: Mapping[str, Any]) -> Any:
        """Ask about a model, and wait. Raises `ModelError`."""
        return self.client().question(what, body)

    def close(self) -> None:
        """End what is open: the connection to the engine, the store."""
        if self._client is not None:
            self._client.close()
        if self._store is not None:
            self._store.close()


def endpoint(model: str, api_base: str | None) -> str | None:
    """Return the address a model is asked at, as far as options and environment say.

    litellm reads an address from variables named after the provider; what they say changes the
    answers, so it has to be part of the requests' keys. User names and passwords do not.
    """
    if api_base is not None:
        return without_credentials(api_base)
    provider = (model.partition("/")[0] if "/" in model else "openai").upper().replace("-", "_")
    for name in (f"{provider}_API_BASE", f"{provider}_BASE_URL"):
        if os.environ.get(name):
            return without_credentials(os.environ[name])
    return None
