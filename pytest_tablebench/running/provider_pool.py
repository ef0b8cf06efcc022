"""How models are asked: their providers, parameters, stored answers, and the engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import ENGINE, ModelError, SettingsError
from pytest_tablebench.executors.in_process import InProcessExecutor
from pytest_tablebench.executors.local import (
    LaneConfig,
    LocalExecutor,
    as_fields,
    reference_of,
)
from pytest_tablebench.models import (
    RENAMED,
    SYSTEM,
    GGUFModel,
    LiteLLMModel,
    Resolution,
    litellm_version,
    not_tested,
)
from pytest_tablebench.running.endpoints import endpoint, key_fault
from pytest_tablebench.running.limits import limit_of, limits_of, room_for
from pytest_tablebench.running.model_facts import Refusals, Resolutions
from pytest_tablebench.running.pending import Route
from pytest_tablebench.running.prompt_cut import RESERVED_TOKENS

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.executors import Executor
    from pytest_tablebench.executors.local import Address
    from pytest_tablebench.executors.local.providers import Reference
    from pytest_tablebench.models import Provider
    from pytest_tablebench.registry import Registry
    from pytest_tablebench.running.limits import Limit
    from pytest_tablebench.store import Store


class ProviderPool:
    """The models of one session in one process; each is opened once, when it is needed.

    `address` tells where the engine of the run listens; None where there is none. `params` gives
    the parameters with which the model under test is asked about a dataset, and a judge by a
    metric; who is asked besides has those of the options alone.
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
        self._routes: dict[tuple[str, str | None], Route] = {}
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
        """Return a model's provider, made once. Raises `SettingsError`."""
        if model not in self._providers:
            self._providers[model] = self.registry.provider(model, self.settings)
        return self._providers[model]

    def asked(self) -> tuple[str, ...]:
        """Return the models under test, and behind them the one that judges."""
        judge = self.settings.judge
        return tuple(dict.fromkeys([*self.settings.models, *([judge] if judge else [])]))

    def engine_models(self) -> dict[str, LiteLLMModel]:
        """Return the models whose calls the engine makes, by name, in order."""
        models = {name: self.provider(name) for name in self.asked()}
        return {name: m for name, m in models.items() if isinstance(m, LiteLLMModel)}

    def lanes(self) -> dict[str, LaneConfig]:
        """Return how the callers of the engine ask each model that they ask, by name, in order."""
        lanes = {}
        for name in self.asked():
            model, prefix = self.provider(name), name.partition("/")[0]
            at_once = getattr(model, "at_once", None)
            if isinstance(model, GGUFModel):
                file = str(model.file)
                lanes[name] = LaneConfig(name, None, file, None, at_once, file, model.model)
            elif isinstance(model, LiteLLMModel):
                # Which provider a model belongs to decides whose limits it shares.
                owner = model.api_base or prefix
                lanes[name] = LaneConfig(name, model.api_base, owner)
            elif (reference := self._reference(name)) is not None:
                # Where only so many may be asked at once, these are its own.
                owner = prefix if at_once is None else name
                lanes[name] = LaneConfig(name, None, owner, as_fields(reference), at_once)
        return lanes

    def in_process(self) -> list[str]:
        """Return the models of registered providers that are asked in this process."""
        elsewhere = self.lanes()
        return [name for name in self.asked() if name not in elsewhere and self.is_stored(name)]

    def transport_note(self) -> str | None:
        """Say why litellm makes all calls, where the installed release of it is the reason."""
        settings = self.settings
        if settings.transport == "litellm" or settings.replay or not self.engine_models():
            return None
        return not_tested(litellm_version())

    def _reference(self, model: str) -> Reference | None:
        """Return where callers find the maker of a provider; None: it stays in this process."""
        if not self.is_stored(model) or getattr(self.provider(model), "in_process", False):
            return None
        return reference_of(self.registry.provider_maker(model))

    def store(self) -> Store | None:
        """Return the answers kept, opened on first use; None without. Raises `SettingsError`."""
        settings = self.settings
        if self._store is None and (settings.stored or settings.readonly_stores):
            from pytest_tablebench.store import Store

            folder, others = settings.store_folder(), settings.readonly_folders()
            if settings.replay and settings.store is None and not os.path.lexists(folder or ""):
                folder = None  # the user's cache folder: nobody named it, and nothing is kept yet
            # A replay adds nothing, so nothing has to be writable.
            self._store = Store.open(folder, others, write=not settings.replay)
        return self._store

    def _store_of(self, model: str) -> Store | None:
        return self.store() if self.is_stored(model) else None

    @property
    def store_problems(self) -> list[str]:
        """What is wrong with the stores' files, as far as this process has come upon it."""
        return list(self._store.warnings) if self._store is not None else []

    def engine(self) -> LocalExecutor:
        """Return the connection to the engine, made on first use. Raises `ModelError`."""
        if self._engine is None:
            if self.address is None:
                raise ModelError("no model can be asked here: the run has no engine", reason=ENGINE)
            try:
                self._engine = LocalExecutor(self.address(), "runner", tuple(self.lanes()))
            except SettingsError as error:  # it did not start: no other case can be asked either
                raise ModelError(str(error), reason=ENGINE, whole_run=True) from None
        return self._engine

    def executor(self) -> Executor:
        """Return what answers every request of this process, made on first use.

        It connects to the engine with the first request that needs it.
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
            )
        return self._executor

    def _in_process_provider(self, model: str) -> Provider | None:
        """Return the provider of a model that is asked in this process, None of any other."""
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

    def params(self, about: str | None) -> dict[str, Any]:
        """Return the parameters of a request; None: of one about no dataset and of no metric."""
        if about is None or self._params_of is None:
            return self.settings.request_params()
        return dict(self._params_of(about))

    def route(self, model: str, about: str | None = None) -> Route:
        """Return how a model is asked about a dataset, or by a metric (`of_metric`).

        Raises `ModelError` when the engine cannot tell.
        """
        key = model, about
        if key not in self._routes:
            provider, params = self.provider(model), self._taken(model, about)
            system = SYSTEM in self.refused(model)
            if isinstance(provider, LiteLLMModel):
                facts = self.facts_about(model, about)
                dropped, owner = (facts.dropped, facts.provider) if facts else ({}, None)
                kept = {name: value for name, value in params.items() if name not in dropped}
                self._routes[key] = Route(
                    model,
                    {**kept, **self._room(kept, facts)},
                    api_base=self._asked_at(model, provider, owner),
                    continues=getattr(provider, "continues", facts.continues if facts else None),
                    continuing=CONTINUING.get(owner or model.partition("/")[0], {}),
                    limits=self._limits(kept, facts),
                    merges_system=system,
                    generation=self.settings.fresh or "",
                    context=self.cut_context(model, about),
                )
            else:
                stored, base = self.is_stored(model), self.settings.api_base
                self._routes[key] = Route(
                    model,
                    params,
                    # A registered provider is given the option, and may read the variables.
                    api_base=getattr(provider, "identity", None)
                    or (endpoint(model, base, model.partition("/")[0]) if stored else None),
                    in_process=model not in self.lanes(),
                    stored=stored,
                    limits=self._limits(params, None) if stored else (),
                    merges_system=system,
                    generation=self.settings.fresh or "",
                    context=self.cut_context(model, about),
                )
        return self._routes[key]

    def _asked_at(self, model: str, provider: LiteLLMModel, owner: str | None) -> str | None:
        """Return what stands for a model's endpoint in keys. Raises `ModelError` for a bad key."""
        if isinstance(provider, GGUFModel):
            return provider.identity
        fault = key_fault(model, owner)
        if fault is not None and not self.settings.replay:
            raise ModelError(fault, reason="auth", whole_run=True)
        return endpoint(model, provider.api_base, owner)

    def files(self) -> dict[str, dict[str, str]]:
        """Return the name and the digest of the files of the models that are in one."""
        models = {name: self.provider(name) for name in self.asked()}
        return {
            name: {"name": model.file.name, "sha256": model.sha256}
            for name, model in models.items()
            if isinstance(model, GGUFModel)
        }

    def is_stored(self, model: str) -> bool:
        """Whether a model's answers are kept and looked up: not where asking costs nothing."""
        return getattr(self.provider(model), "stored", True)

    def facts_about(self, model: str, about: str | None = None) -> Resolution | None:
        """Return what litellm knows of a model as it is asked about something.

        None where nobody can tell any more.

        Known from the store when the same litellm told it before, so that a run whose answers
        are all there needs no engine at all. Raises `ModelError` when the engine cannot tell.
        """
        if model not in self.engine_models():
            return None
        params, asked_model = self._taken(model, about), self.engine_models()[model]
        facts = self._resolutions.about(asked_model, params)
        if room := self._room(params, facts):
            facts = self._resolutions.about(asked_model, {**params, **room})
        refused = self.refused(model)
        return facts and replace(facts, dropped={**facts.dropped, **refused})

    def refused(self, model: str) -> Mapping[str, str]:
        """Return what a server refused in requests to a model, and why, by parameter.

        `system` stands for turns of the system. The store keeps it for later runs.
        """
        return self._refusals.of(model)

    def leave_out(self, model: str, part: str, why: str) -> None:
        """Send a parameter to a model no more, in this run and in later ones."""
        if part not in self.refused(model):
            self._refusals.add(model, part, why)
            self._routes = {key: route for key, route in self._routes.items() if key[0] != model}

    def _taken(self, model: str, about: str | None) -> dict[str, Any]:
        """Return the parameters of a request without those that a server refused."""
        refused = self.refused(model)
        params = self.params(about)
        return {
            RENAMED.get(name, name) if name in refused else name: value
            for name, value in params.items()
            if name not in refused or name in RENAMED
        }

    def room(self, model: str, about: str | None) -> int:
        """Return the tokens for thinking that requests have above the limit of the answer."""
        route = self.route(model, about)
        return (limit_of(route.params) or 0) - (limit_of(self.params(about)) or 0)

    def _room(self, params: Mapping[str, Any], facts: Resolution | None) -> dict[str, int]:
        """Return the limits with room for thinking, of a model that litellm marks."""
        return room_for(params, facts, self.settings.reasoning_tokens)

    def _limits(self, params: Mapping[str, Any], facts: Resolution | None) -> tuple[Limit, ...]:
        settings = self.settings
        limits = limits_of(params, facts, settings.reasoning_tokens, settings.extend_cut)
        return limits if len(limits) > 1 else ()

    def sees(self, model: str, about: str) -> bool | None:
        """Return whether a model that a dataset asks reads pictures, None where nobody knows.

        Raises `ModelError` when the engine cannot tell.
        """
        provider = self.provider(model)
        sees: bool | None = getattr(provider, "sees", None)
        if sees is not None or not isinstance(provider, LiteLLMModel):
            return sees
        facts = self.facts_about(model, about)
        return None if facts is None else facts.sees

    def cuts_prompts(self, about: str | None) -> bool:
        """Whether a paper's setting cuts the prompts of a dataset to the model's context."""
        dataset = self.registry.datasets.get(about or "")
        paper = None if dataset is None else self.settings.paper_setting(dataset.benchmark)
        return paper is not None and paper.cuts_prompts

    def cut_context(self, model: str, about: str | None) -> int | None:
        """Return the tokens of the context to which prompts are cut; None: they are not cut.

        Raises `ModelError` when the engine cannot tell.
        """
        if not self.cuts_prompts(about):
            return None
        if self.settings.context is not None:
            return self.settings.context
        facts = self.facts_about(model, about)
        most = None if facts is None else facts.max_input_tokens
        return most if most is not None and most > RESERVED_TOKENS else None

    def facts_are_stored(self, model: str, about: str | None = None) -> bool:
        """Whether `facts_about` a model needs no engine."""
        if model not in self.engine_models():
            return True
        return self._resolutions.are_stored(self.engine_models()[model], self._taken(model, about))

    def close(self) -> None:
        """Close what is open: the executor, the connection to the engine, the store."""
        if self._executor is not None:
            self._executor.close()
        if self._engine is not None:
            self._engine.close()
        if self._store is not None:
            self._store.close()


CONTINUING: Mapping[str, Mapping[str, Any]] = {
    # vLLM closes the turn and has the model begin another one unless it is told both.
    "hosted_vllm": {"continue_final_message": True, "add_generation_prompt": False},
}
"""What providers have to be told so that a model goes on with its own turn, by litellm's names."""
