"""The models of a session: their providers, parameters, stored answers, and the engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from pytest_tablebench.config.addresses import endpoint, key_fault
from pytest_tablebench.config.parameters import BUDGET, EFFORT, WINDOW, effort_params, is_ollama
from pytest_tablebench.config.secrets import keys_in_use, placed_secrets
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import ENGINE, ModelError, SettingsError
from pytest_tablebench.executors import Executor
from pytest_tablebench.executors.in_process import InProcessExecutor
from pytest_tablebench.executors.local import Address, Lane, LocalExecutor, reference_of
from pytest_tablebench.executors.local.providers import Reference
from pytest_tablebench.models import (
    RENAMED,
    SYSTEM,
    GGUFModel,
    LiteLLMModel,
    Provider,
    Resolution,
)
from pytest_tablebench.registry import Registry
from pytest_tablebench.running._limits import Limit, limit_of, limits_of, room_for
from pytest_tablebench.running._model_facts import Refusals, Resolutions
from pytest_tablebench.running.requests import RESERVED_TOKENS, Route
from pytest_tablebench.store import Store


class ProviderPool:
    """The models of one session in one process. Each is created once, when it is needed.

    `address` returns the address of the run's engine, None without an engine. `params` returns the
    parameters of requests about a dataset or of a metric; other requests use the options' only.
    """

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        params: Callable[[str], Mapping[str, Any]] | None = None,
    ) -> None:
        self.settings = settings
        self.registry = registry
        self._params_of = params
        self.address: Callable[[], Address] | None = None
        self._providers: dict[str, Provider | LiteLLMModel] = {}
        self._routes: dict[tuple[str, str | None, str | None], Route] = {}
        self._resolutions = Resolutions(
            self.store, lambda *question: self.engine().question(*question), replay=settings.replay
        )
        self._refusals = Refusals(
            self._store_of,
            lambda model: endpoint(model, settings.api_base),
            keeps=settings.stored,
        )
        self._engine: LocalExecutor | None = None
        self._executor: Executor | None = None
        self._store: Store | None = None

    def provider(self, model: str) -> Provider | LiteLLMModel:
        """Return a model's provider, created once. Raises `SettingsError`."""
        if model not in self._providers:
            self._providers[model] = self.registry.provider(model, self.settings)
        return self._providers[model]

    def asked(self) -> tuple[str, ...]:
        """Return the models under test, followed by the judge."""
        judge = self.settings.judge
        return tuple(dict.fromkeys([*self.settings.models, *([judge] if judge else [])]))

    def engine_models(self) -> dict[str, LiteLLMModel]:
        """Return the models whose calls the engine makes, by name, in order."""
        models = {name: self.provider(name) for name in self.asked()}
        return {name: m for name, m in models.items() if isinstance(m, LiteLLMModel)}

    def lanes(self) -> dict[str, Lane]:
        """Return the lanes of the models that the engine's callers call, by name, in order."""
        lanes = {}
        for name in self.asked():
            model, prefix = self.provider(name), name.partition("/")[0]
            at_once = getattr(model, "at_once", None)
            if isinstance(model, GGUFModel):
                file = str(model.file)
                lanes[name] = Lane(name, None, file, None, at_once, file, model.model)
            elif isinstance(model, LiteLLMModel):
                # Models of one owner share its limits.
                owner = model.api_base or prefix
                lanes[name] = Lane(name, model.api_base, owner)
            elif (reference := self._reference(name)) is not None:
                # A model with a limit on parallel calls has its own pace.
                owner = prefix if at_once is None else name
                lanes[name] = Lane(name, None, owner, vars(reference), at_once)
        return lanes

    def in_process(self) -> list[str]:
        """Return the models of registered providers that are called in this process."""
        elsewhere = self.lanes()
        return [name for name in self.asked() if name not in elsewhere and self.is_stored(name)]

    def _reference(self, model: str) -> Reference | None:
        if not self.is_stored(model) or getattr(self.provider(model), "in_process", False):
            return None
        return reference_of(self.registry.provider_maker(model))

    def store(self) -> Store | None:
        """Return the answer store, opened on first use; None without. Raises `SettingsError`."""
        settings = self.settings
        if self._store is None and (settings.stored or settings.readonly_stores):
            from pytest_tablebench.store import Store

            folder, others = settings.store_folder(), settings.readonly_folders()
            if settings.replay and settings.store is None and not os.path.lexists(folder or ""):
                folder = None  # the default folder does not exist yet
            # A replay writes nothing, so the folder need not be writable.
            self._store = Store.open(
                folder, others, write=not settings.replay, oldest=settings.oldest
            )
        return self._store

    def _store_of(self, model: str) -> Store | None:
        return self.store() if self.is_stored(model) else None

    @property
    def store_problems(self) -> list[str]:
        """Problems with the stores' files that this process has found."""
        return list(self._store.warnings) if self._store is not None else []

    def engine(self) -> LocalExecutor:
        """Return the connection to the engine, made on first use. Raises `ModelError`."""
        if self._engine is None:
            if self.address is None:
                raise ModelError("no model can be called: the run has no engine", reason=ENGINE)
            try:
                self._engine = LocalExecutor(self.address(), "runner", tuple(self.lanes()))
            except SettingsError as error:  # it did not start, so every case fails
                raise ModelError(str(error), reason=ENGINE, whole_run=True) from None
        return self._engine

    def executor(self) -> Executor:
        """Return the executor of this process, created on first use.

        It connects to the engine with the first request for the engine.
        """
        settings = self.settings
        if self._executor is None:
            self._executor = InProcessExecutor(
                self._in_process_provider,
                self._engine_executor,
                store=self._store_of,
                keeps=settings.stored,
                retries=settings.retries,
                patience=settings.patience,
                max_reply=settings.max_reply,
                keys=self.keys,
            )
        return self._executor

    @cached_property
    def keys(self) -> frozenset[str]:
        """The secrets that answers must not contain."""
        return keys_in_use(placed_secrets(self.settings.api_base, self.settings.params))

    def _in_process_provider(self, model: str) -> Provider | None:
        provider = self.provider(model)
        if isinstance(provider, LiteLLMModel) or model in self.lanes():
            return None
        return provider

    def _engine_executor(self) -> Executor:
        settings, store = self.settings, self.settings.store_folder()
        if settings.executor != "batch" or store is None:
            return self.engine()
        from pytest_tablebench.executors.batch import BatchExecutor, Ledger

        models = self.engine_models()
        return BatchExecutor(
            self.engine(), Ledger(store), models, settings.retries, settings.max_cost
        )

    def params(self, subject: str | None) -> dict[str, Any]:
        """Return the parameters of a request about a dataset or of a metric, or about None."""
        if self._params_of is None:
            return self.settings.request_params()
        if subject is None:  # a judge, or another model that a strategy names
            return self.settings.request_params(judge=True)
        return dict(self._params_of(subject))

    def route(self, model: str, subject: str | None = None, effort: str | None = None) -> Route:
        """Return the route to a model for a dataset or a metric (`of_metric`).

        `effort` is the case's, if it has one. Raises `ModelError` if the engine has no facts about
        the model.
        """
        key = model, subject, effort
        if key not in self._routes:
            provider, params = self.provider(model), self._taken(model, subject, effort)
            route = Route(
                model,
                params,
                merges_system=SYSTEM in self.refused(model),
                takes_tools="tools" not in self.refused(model),
                generation=self.settings.fresh or "",
                context=self.cut_context(model, subject),
            )
            if isinstance(provider, LiteLLMModel):
                facts = self.facts_about(model, subject, effort)
                dropped, owner = (facts.dropped, facts.provider) if facts else ({}, None)
                kept = {name: value for name, value in params.items() if name not in dropped}
                self._routes[key] = replace(
                    route,
                    params={**kept, **self._room(kept, facts)},
                    api_base=self._asked_at(model, provider, owner),
                    continues=getattr(provider, "continues", facts.continues if facts else None),
                    continuing=CONTINUING.get(owner or model.partition("/")[0], {}),
                    limits=self._limits(kept, facts),
                )
            else:
                stored, base = self.is_stored(model), self.settings.api_base
                self._routes[key] = replace(
                    route,
                    # A registered provider receives the option and may read the variables.
                    api_base=getattr(provider, "identity", None)
                    or (endpoint(model, base, model.partition("/")[0]) if stored else None),
                    in_process=model not in self.lanes(),
                    stored=stored,
                    limits=self._limits(params, None) if stored else (),
                )
        return self._routes[key]

    def _asked_at(self, model: str, provider: LiteLLMModel, owner: str | None) -> str | None:
        if isinstance(provider, GGUFModel):
            return provider.identity
        fault = key_fault(model, owner)
        if fault is not None and not self.settings.replay:
            raise ModelError(fault, reason="auth", whole_run=True)
        return endpoint(model, provider.api_base, owner)

    def files(self) -> dict[str, dict[str, str]]:
        """Return name and digest of the files of models in files, by model."""
        models = {name: self.provider(name) for name in self.asked()}
        return {
            name: {"name": model.file.name, "sha256": model.sha256}
            for name, model in models.items()
            if isinstance(model, GGUFModel)
        }

    def is_stored(self, model: str) -> bool:
        """Return whether a model's answers are stored; they are not if its calls are free."""
        return getattr(self.provider(model), "stored", True)

    def facts_about(
        self, model: str, subject: str | None = None, effort: str | None = None
    ) -> Resolution | None:
        """Return litellm's facts about a model for a dataset or a metric; None if unknown.

        Facts of the same litellm are read from the store, so that a run with only stored answers
        needs no engine. Raises `ModelError` if the engine has no facts.
        """
        engine_model = self.engine_models().get(model)
        if engine_model is None:
            return None
        params = self._taken(model, subject, effort)
        facts = self._resolutions.of_model(engine_model, params)
        if room := self._room(params, facts):
            facts = self._resolutions.of_model(engine_model, {**params, **room})
        return facts and replace(facts, dropped={**facts.dropped, **self.refused(model)})

    def refused(self, model: str) -> Mapping[str, str]:
        """Return the reasons for which a server refused parameters, by parameter.

        `system` means system messages. The store keeps the reasons for later runs.
        """
        return self._refusals.of(model)

    def leave_out(self, model: str, part: str, why: str) -> bool:
        """Send a parameter to a model no more, neither in this run nor in later ones.

        Returns whether it is left out. The effort is not if it is an axis: all efforts would be the
        same request. Without tools, no case that needs them is asked any more.
        """
        settings = self.settings
        if settings.has_several_efforts and part in {EFFORT, BUDGET} and model in settings.models:
            return False
        if part not in self.refused(model):
            self._refusals.add(model, part, why)
            self._routes = {key: route for key, route in self._routes.items() if key[0] != model}
        return part != "tools"  # without them the strategy cannot ask

    def _taken(self, model: str, subject: str | None, effort: str | None = None) -> dict[str, Any]:
        refused = self.refused(model)
        params = self.params(subject)
        if effort is not None and self.settings.has_several_efforts:
            params |= effort_params(effort)
        if is_ollama(model) and self.settings.context is not None:
            params = {WINDOW: self.settings.context} | params
        return {
            RENAMED.get(name, name) if name in refused else name: value
            for name, value in params.items()
            if name not in refused or name in RENAMED
        }

    def room(self, model: str, subject: str | None, effort: str | None = None) -> int:
        """Return the tokens for thinking above the limit of the answer."""
        route = self.route(model, subject, effort)
        return (limit_of(route.params) or 0) - (limit_of(self.params(subject)) or 0)

    def _room(self, params: Mapping[str, Any], facts: Resolution | None) -> dict[str, int]:
        return room_for(params, facts, self.settings.reasoning_tokens)

    def _limits(self, params: Mapping[str, Any], facts: Resolution | None) -> tuple[Limit, ...]:
        settings = self.settings
        limits = limits_of(params, facts, settings.reasoning_tokens, settings.extend_cut)
        return limits if len(limits) > 1 else ()

    def sees(self, model: str, subject: str) -> bool | None:
        """Return whether a model reads pictures, None if unknown.

        Raises `ModelError` if the engine has no facts about the model.
        """
        provider = self.provider(model)
        sees: bool | None = getattr(provider, "sees", None)
        if sees is not None or not isinstance(provider, LiteLLMModel):
            return sees
        facts = self.facts_about(model, subject)
        return None if facts is None else facts.sees

    def cuts_prompts(self, subject: str | None) -> bool:
        """Return whether a paper's setting cuts a dataset's prompts to the model's context."""
        dataset = self.registry.datasets.get(subject or "")
        paper = None if dataset is None else self.settings.paper_setting(dataset.benchmark)
        return paper is not None and paper.cuts_prompts

    def cut_context(self, model: str, subject: str | None) -> int | None:
        """Return the tokens of the context to which prompts are cut; None: they are not cut.

        Raises `ModelError` if the engine has no facts about the model.
        """
        if not self.cuts_prompts(subject):
            return None
        if self.settings.context is not None:
            return self.settings.context
        facts = self.facts_about(model, subject)
        most = None if facts is None else facts.max_input_tokens
        return most if most is not None and most > RESERVED_TOKENS else None

    def facts_are_stored(self, model: str, subject: str | None) -> bool:
        """Return whether `facts_about` needs no engine."""
        engine_model = self.engine_models().get(model)
        if engine_model is None:
            return True
        is_tested = subject in self.registry.datasets and self.settings.has_several_efforts
        return all(
            self._resolutions.are_stored(engine_model, self._taken(model, subject, effort))
            for effort in ((self.settings.efforts or ()) if is_tested else (None,))
        )

    def close(self) -> None:
        """Close the executor, the connection to the engine and the store."""
        for part in (self._executor, self._engine, self._store):
            if part is not None:
                part.close()


CONTINUING: Mapping[str, Mapping[str, Any]] = {
    # vLLM needs both; otherwise it closes the turn and the model begins another one.
    "hosted_vllm": {"continue_final_message": True, "add_generation_prompt": False},
}
"""Parameters that make a model continue its own turn, by litellm's name of the provider."""
