"""Look up a command's requests in the store, price the missing ones, and make the calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import TYPE_CHECKING

from pytest_tablebench.errors import STOPPED, ModelError
from pytest_tablebench.executors import Work
from pytest_tablebench.executors.local import Engine, EngineConfig
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Execute, Execution
from pytest_tablebench.models import SYSTEM, Reply, Request
from pytest_tablebench.running.limits import settled
from pytest_tablebench.running.lookup import PROGRAMS
from pytest_tablebench.running.pricing import price

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.running.limits import Limit, Use
    from pytest_tablebench.running.provider_pool import ProviderPool
    from pytest_tablebench.store.shared import SharedStores


@dataclass(frozen=True)
class AskPlan:
    """The planned requests to a model.

    Arguments:
        questions: their number.
        hits: those in the store.
        prompt_tokens, completion_tokens, cost_usd: of the requests that are not stored, with
            replies of maximal length; None if unknown.
    """

    model: str
    questions: int
    hits: int
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None

    @property
    def calls(self) -> int:
        """Requests that are not stored and must be paid."""
        return self.questions - self.hits


@dataclass
class Spent:
    """The calls and costs of this run, without replies from the store."""

    calls: Counter[str] = field(default_factory=Counter)
    """By model."""
    failed: int = 0
    """Requests without a reply."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    """Replies without token counts."""
    cost_usd: float = 0.0
    stopped: str | None = None
    """The error that also prevents all other requests."""
    unpriced: int = 0
    """Replies without a cost."""
    left_out: dict[str, dict[str, str]] = field(default_factory=dict)
    """The reasons for which servers refused parameters, by model and parameter."""

    def add(self, model: str, outcome: Reply | ModelError) -> None:
        """Count the outcome of a request."""
        if isinstance(outcome, ModelError):
            self.failed += 1
            if outcome.whole_run or outcome.reason in {"budget", STOPPED}:
                self.stopped = str(outcome)
            return
        if outcome.from_store:
            return
        self.calls[model] += 1
        self.prompt_tokens += outcome.prompt_tokens or 0
        self.completion_tokens += outcome.completion_tokens or 0
        self.uncounted += None in (outcome.prompt_tokens, outcome.completion_tokens)
        self.cost_usd = fsum([self.cost_usd, outcome.cost_usd or 0.0])
        self.unpriced += outcome.cost_usd is None


class RequestClient:
    """Looks requests up in the store and in shared stores, and gets replies to the others.

    `reply` collects requests without a reply in `missing`, and `ask` gets all their replies. With
    several requests, call `reply` for each, then `ask`, and repeat until nothing is missing: a
    server may refuse a parameter, which the next request then leaves out.
    """

    def __init__(self, settings: Settings, models: ProviderPool) -> None:
        self.makes_calls = not settings.replay
        """Whether missing requests are collected; otherwise each raises `ModelError`."""
        self.missing: dict[str, Request] = {}
        self.programs: dict[str, Execute] = {}
        """Programs that are still to run, by key."""
        self.hits: dict[str, str] = {}
        """The models of requests whose replies were stored, by key."""
        self.spent = Spent()
        self._settings, self._models = settings, models
        self._outcomes: dict[str, Reply | Execution | ModelError] = {}
        self._waiting: dict[str, Request | Execute] = {}
        self._engine: Engine | None = None
        self._shared: SharedStores | None = None
        self._is_open = False

    def open(self) -> None:
        """Fetch the shared stores and start the engine, on the first call."""
        if self._is_open:
            return
        self._is_open = True
        settings, replay = self._settings, self._settings.replay
        if places := settings.shared_stores():
            from pytest_tablebench.store.shared import SharedStores

            self._shared = SharedStores(
                [(address, folder, write and not replay) for address, folder, write in places]
            )
            self._shared.fetch()
            if not replay:
                self._shared.start(settings.store_every)
        if not replay and self._models.lanes():
            self._start()

    def _start(self) -> None:
        lanes = list(self._models.lanes().values())
        self._engine = engine = Engine(EngineConfig.of(self._settings, lanes))
        self._models.address = lambda: engine.executor.address

    def reply(self, request: Request, limits: Sequence[Limit] = ()) -> Reply | str:
        """Return the reply to a request, or its key in `missing`.

        Raises `ModelError` if the call has failed.
        """
        store = self._models.store() if self._models.is_stored(request.model) else None

        def find(variant: Request, _: Use) -> Reply | None:
            key = variant.key()
            if isinstance(reply := self._known(key), Reply):
                return reply
            return store.get(key) if store is not None else None

        settlement = settled(request, limits, find, asks=self.makes_calls)
        key = settlement.request.key()
        if settlement.reply is None:
            if not self.makes_calls:
                raise ModelError("not in the answer store", reason="not_stored")
            self.missing[key] = settlement.request
            return key
        if key not in self._outcomes:
            self.hits[key] = request.model
        return settlement.reply

    def execution(self, step: Execute) -> Execution | None:
        """Return the outcome of a program; None: the next `ask` runs it.

        Raises `ModelError` if it could not run.
        """
        key = step.key()
        if isinstance(execution := self._known(key), Execution):
            return execution
        store = self._models.store()
        stored = store.get_execution(key) if store is not None else None
        if stored is None:
            if not self.makes_calls:
                raise ModelError("not in the answer store", reason="not_stored")
            self.programs[key] = step
        return stored

    def _known(self, key: str) -> Reply | Execution | None:
        outcome = self._outcomes.get(key)
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    def plan(self, model: str, further: Sequence[Request] = ()) -> AskPlan:
        """Return the plan of a model's missing requests, and `further` expected ones.

        Raises `ModelError`.
        """
        missing = [
            request for request in (*self.missing.values(), *further) if request.model == model
        ]
        hits = sum(request == model for request in self.hits.values())
        if not missing:
            return AskPlan(model, hits, hits, 0, 0, 0.0)
        price_of_rest = price(self._models, model, self._models.facts_about(model), missing)
        tokens = price_of_rest["prompt_tokens"], price_of_rest["completion_tokens"]
        return AskPlan(model, len(missing) + hits, hits, *tokens, price_of_rest["cost_usd"])

    def ask(self) -> None:
        """Get replies to all missing requests, and run all programs."""
        self.submit()
        while self._waiting:
            self.wait()

    def submit(self) -> None:
        """Submit all missing requests and programs."""
        if self.programs and self._engine is None:
            self._start()
        for key, request in self.missing.items():
            self._submit(key, request, request.model)
        for key, step in self.programs.items():
            self._submit(key, step, PROGRAMS)
        self.missing, self.programs = {}, {}

    def _submit(self, key: str, work: Request | Execute, lane: str) -> None:
        if key not in self._waiting:
            self._waiting[key] = work
            self._models.executor().submit(Work(key, work), lane)

    def wait(self) -> list[str]:
        """Wait for outcomes of submitted work; return their keys."""
        executor = self._models.executor()
        outcomes = dict(executor.outcomes(wait=True))
        if executor.lost is not None:
            outcomes = dict.fromkeys(self._waiting, executor.lost) | outcomes
        for key, outcome in outcomes.items():
            if isinstance(outcome, Exception) and not isinstance(outcome, ModelError):
                raise outcome  # an error in a user's provider
            if key in self._waiting and not isinstance(outcome, Score):
                self._record(key, self._waiting.pop(key), outcome)
        return list(outcomes)

    def _record(
        self, key: str, work: Request | Execute, outcome: Reply | Execution | ModelError
    ) -> None:
        if isinstance(work, Request) and isinstance(outcome, ModelError):
            part = outcome.refused
            has_system = any(message.role == "system" for message in work.messages)
            if part is not None and (has_system if part == SYSTEM else part in work.params):
                # The caller repeats the request without the part, which has another key.
                self._models.leave_out(work.model, part, str(outcome))
                self.spent.left_out.setdefault(work.model, {}).setdefault(part, str(outcome))
                return
        self._outcomes[key] = outcome
        if isinstance(work, Request) and not isinstance(outcome, Execution):
            self.spent.add(work.model, outcome)

    def forget(self, *, missing: bool = False) -> None:
        """Forget all outcomes; replies stay in the store. With `missing`, forget open work too."""
        self._outcomes.clear()
        self.hits.clear()
        if missing:
            self.missing.clear()
            self.programs.clear()

    def close(self) -> list[str]:
        """Close the models and the engine, and upload new answers to the shared store.

        Returns the problems of shared stores.
        """
        self._models.close()
        if self._engine is not None:
            self._engine.finish()
            self._engine.reap()
        if self._shared is None:
            return []
        self._shared.close()
        return self._shared.warnings
