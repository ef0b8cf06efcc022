"""Requests of a command: what of them is in the store, what the rest costs, and asking it."""

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
from pytest_tablebench.running.plan import price

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.running.limits import Limit, Use
    from pytest_tablebench.running.provider_pool import ProviderPool
    from pytest_tablebench.store.shared import SharedStores


@dataclass(frozen=True)
class AskPlan:
    """What a model is going to be asked: questions, those in the store, the rest and its price.

    None means unknown. Tokens and price are those of the questions that are left; of replies
    their limit is counted.
    """

    model: str
    questions: int
    hits: int
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost_usd: float | None = None

    @property
    def calls(self) -> int:
        """Questions that are left to pay."""
        return self.questions - self.hits


@dataclass
class Spent:
    """What was asked in this run, and paid for; replies of the store are none of it."""

    calls: Counter[str] = field(default_factory=Counter)
    """By model."""
    failed: int = 0
    """Requests without a reply."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    """Replies that do not say their tokens."""
    cost_usd: float = 0.0
    stopped: str | None = None
    """Why a request had no reply, where others cannot have one either."""
    unpriced: int = 0
    """Replies that do not say what they cost."""
    left_out: dict[str, dict[str, str]] = field(default_factory=dict)
    """What servers refused and why, by model and parameter; it is sent no more."""

    def add(self, model: str, outcome: Reply | ModelError) -> None:
        """Count what came of a request."""
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
    """Looks requests up, and has those answered that the store lacks; one that machines share too.

    What is neither there nor was asked is `missing`, by key, until `ask` has it answered. So
    whoever has several requests goes through them, asks all at once, and goes through them again,
    until nothing is missing: a server may refuse a parameter, which the next request leaves out.

    Arguments:
        settings: connections, retries, limits, and the store, where replies are kept.
        models: those that are asked; `settings.models` name them.
    """

    def __init__(self, settings: Settings, models: ProviderPool) -> None:
        self.missing: dict[str, Request] = {}
        self.programs: dict[str, Execute] = {}
        """What is to be run, by key, beside what is to be asked."""
        self.hits: dict[str, str] = {}
        """Requests whose replies were in the store: the model of each, by key."""
        self.spent = Spent()
        self._settings, self._models = settings, models
        self._told: dict[str, Reply | Execution | ModelError] = {}
        self._waiting: dict[str, Request | Execute] = {}
        self._executor = models.executor()
        self._engine: Engine | None = None
        self._shared: SharedStores | None = None
        if settings.shared_stores():
            from pytest_tablebench.store.shared import SharedStores

            self._shared = SharedStores(settings.shared_stores())
            self._shared.fetch()
            self._shared.start(settings.store_every)
        if models.lanes():
            self._start()

    def _start(self) -> None:
        lanes = list(self._models.lanes().values())
        self._engine = engine = Engine(EngineConfig.of(self._settings, lanes))
        self._models.address = lambda: engine.executor.address

    def reply(self, request: Request, limits: Sequence[Limit] = ()) -> Reply | str:
        """Return the reply to a request, or the key by which it is missing.

        Raises `ModelError` where it was asked and has none.
        """
        store = self._models.store() if self._models.is_stored(request.model) else None

        def find(variant: Request, _: Use) -> Reply | None:
            key = variant.key()
            if isinstance(reply := self._known(key), Reply):
                return reply
            return store.get(key) if store is not None else None

        stands = settled(request, limits, find)
        key = stands.request.key()
        if stands.reply is None:
            self.missing[key] = stands.request
            return key
        if key not in self._told:
            self.hits[key] = request.model
        return stands.reply

    def execution(self, step: Execute) -> Execution | None:
        """Return what came of a program; None: it has not run yet, and does when all is asked.

        Raises `ModelError` where it cannot run.
        """
        key = step.key()
        if isinstance(execution := self._known(key), Execution):
            return execution
        store = self._models.store()
        stored = store.get_execution(key) if store is not None else None
        if stored is None:
            self.programs[key] = step
        return stored

    def _known(self, key: str) -> Reply | Execution | None:
        outcome = self._told.get(key)
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    def plan(self, model: str, further: Sequence[Request] = ()) -> AskPlan:
        """Return what of a model's requests is left to ask, and its price. Raises `ModelError`.

        `further` are those that are expected beside the missing ones.
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
        """Have all that is missing answered, and programs run; what fails has no answer."""
        self.submit()
        while self._waiting:
            self.wait()

    def submit(self) -> None:
        """Send all that is missing on its way, and programs."""
        requests, self.missing = self.missing, {}
        programs, self.programs = self.programs, {}
        if programs and self._engine is None:
            self._start()
        for key, request in requests.items():
            self._submit(key, request, request.model)
        for key, step in programs.items():
            self._submit(key, step, PROGRAMS)

    def _submit(self, key: str, work: Request | Execute, lane: str) -> None:
        if key not in self._waiting:
            self._waiting[key] = work
            self._executor.submit(Work(key, work), lane)

    def wait(self) -> list[str]:
        """Wait until there are outcomes of what was submitted; return their keys."""
        executor = self._executor
        outcomes = dict(executor.outcomes(wait=True))
        if executor.lost is not None:
            outcomes = dict.fromkeys(self._waiting, executor.lost) | outcomes
        for key, outcome in outcomes.items():
            if isinstance(outcome, Exception) and not isinstance(outcome, ModelError):
                raise outcome  # of a user's provider
            if key in self._waiting and not isinstance(outcome, Score):
                self._take(key, self._waiting.pop(key), outcome)
        return list(outcomes)

    def _take(
        self, key: str, work: Request | Execute, outcome: Reply | Execution | ModelError
    ) -> None:
        """Keep what came of a request or a program; only requests are paid for."""
        if isinstance(work, Request) and isinstance(outcome, ModelError):
            part = outcome.refused
            if part is not None and _holds(work, part):
                # Whoever asks makes the request anew, without it: that is another key.
                self._models.leave_out(work.model, part, str(outcome))
                self.spent.left_out.setdefault(work.model, {}).setdefault(part, str(outcome))
                return
        self._told[key] = outcome
        if isinstance(work, Request) and not isinstance(outcome, Execution):
            self.spent.add(work.model, outcome)

    def forget(self, *, missing: bool = False) -> None:
        """Forget what was told so far; replies stay in the store.

        With `missing` also what is to be asked and run.
        """
        self._told.clear()
        self.hits.clear()
        if missing:
            self.missing.clear()
            self.programs.clear()

    def close(self) -> list[str]:
        """End what asked, close the models, and send what a shared store lacks.

        Returns what is wrong with one that is shared.
        """
        self._models.close()
        if self._engine is not None:
            self._engine.finish()
            self._engine.reap()
        if self._shared is None:
            return []
        self._shared.close()
        return self._shared.warnings


def _holds(request: Request, part: str) -> bool:
    """Return whether a request has a parameter, or turns of the system."""
    if part == SYSTEM:
        return any(message.role == "system" for message in request.messages)
    return part in request.params
