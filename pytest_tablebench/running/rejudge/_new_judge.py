"""Another judge for a finished run: what he is to be asked, what that costs, what he says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import ModelError, NotJudgedError
from pytest_tablebench.executors import Work
from pytest_tablebench.executors.local import Engine, EngineConfig
from pytest_tablebench.models import Reply, Request, ask
from pytest_tablebench.running.judging import not_judged
from pytest_tablebench.running.plan import price
from pytest_tablebench.running.provider_pool import ProviderPool
from pytest_tablebench.running.rejudge._judge import StoredJudge

if TYPE_CHECKING:
    from pytest_tablebench.registry import Registry

__all__ = ["JudgePlan", "NewJudge"]


@dataclass(frozen=True)
class JudgePlan:
    """What a judge is going to be asked: questions, those in the store, the rest and its price.

    None means unknown. Tokens and price are those of the questions that are left; of replies
    their limit is counted.
    """

    judge: str
    questions: int
    hits: int
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None

    @property
    def calls(self) -> int:
        """Questions that are left to pay."""
        return self.questions - self.hits


class NewJudge(StoredJudge):
    """A judge who may be asked. Replies that the store has are taken from there.

    What is neither there nor was asked is `missing`, by key, until `ask` has it answered.

    Arguments:
        judge: the model.
        run: the content of run.json: parameters, and the store, where replies are kept.
        registry: datasets, metrics and providers by name.
        api_base: the address of the judge; None: its own.
        max_cost: US dollars after which nothing more is asked.
    """

    def __init__(
        self,
        judge: str,
        run: Mapping[str, Any],
        registry: Registry,
        *,
        api_base: str | None = None,
        max_cost: float | None = None,
    ) -> None:
        kept, params = run.get("store"), run.get("params")
        named = isinstance(kept, str) and kept != "none"
        self._settings = Settings(
            models=(judge,),
            params=params if isinstance(params, dict) else {},
            api_base=api_base,
            max_cost=max_cost,
            store=Path(str(kept)) if named else None,
            stored=kept != "none",
        )
        super().__init__(run, registry, judge=judge, models=ProviderPool(self._settings, registry))
        self.missing: dict[str, Request] = {}
        self._told: dict[str, Reply | ModelError] = {}
        self._hits: set[str] = set()
        self._engine: Engine | None = None
        lanes = list(self._models.lanes().values())
        if lanes:
            self._engine = Engine(EngineConfig.of(self._settings, lanes))
            engine = self._engine
            self._models.address = lambda: engine.client.address

    def _reply(self, request: Request) -> Reply:
        key = request.key()
        found = self._told.get(key)
        if isinstance(found, ModelError):
            raise not_judged(found)
        if found is not None:
            return found
        store = self._models.store() if self._models.is_stored(request.model) else None
        stored = store.get(key) if store is not None else None
        if stored is None:
            self.missing[key] = request
            raise NotJudgedError("the judge was not asked yet")
        self._hits.add(key)
        return stored

    def plan(self) -> JudgePlan:
        """Return what is left to ask, and its price. Raises `ModelError`."""
        judge, missing = str(self._judge), list(self.missing.values())
        questions, hits = len(missing) + len(self._hits), len(self._hits)
        if not missing:
            return JudgePlan(judge, questions, hits, 0, 0, 0.0)
        facts = self._models.facts_about(judge)
        found = price(self._models, judge, facts, missing)
        tokens = found["prompt_tokens"], found["completion_tokens"]
        return JudgePlan(judge, questions, hits, *tokens, found["cost_usd"])

    def ask(self) -> None:
        """Have all that is missing answered; what fails has no answer."""
        asked, self.missing = self.missing, {}
        route = self._models.route(str(self._judge))
        if route.provider is not None:
            for key, request in asked.items():
                try:
                    self._told[key] = ask(
                        route.provider,
                        request,
                        retries=self._settings.retries,
                        max_reply=self._settings.max_reply,
                    )
                except ModelError as error:
                    self._told[key] = error
            return
        executor = self._models.executor()
        for key, request in asked.items():
            executor.submit(Work(key, request), request.model)
        waiting = set(asked)
        while waiting:
            for key, outcome in executor.outcomes(wait=True):
                if key in waiting and isinstance(outcome, Reply | ModelError):
                    self._told[key] = outcome
                    waiting.discard(key)
            if executor.lost is not None:
                self._told.update(dict.fromkeys(waiting, executor.lost))
                break

    def close(self) -> None:
        """Close the store, and end what asked."""
        super().close()
        if self._engine is not None:
            self._engine.finish()
            self._engine.reap()
