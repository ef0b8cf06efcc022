"""Ask models outside a run: many conversations in parallel, priced before they begin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import ModelError, NotJudgedError, SettingsError
from pytest_tablebench.executors import Outcome, Work
from pytest_tablebench.executors.local import Engine
from pytest_tablebench.generate.pair import RejectedError
from pytest_tablebench.generate.question_maker import Conversation, Value
from pytest_tablebench.metrics.steps import Ask, Execute, Execution, Step
from pytest_tablebench.models import SYSTEM, Reply, Request, as_read
from pytest_tablebench.registry import Registry
from pytest_tablebench.results.record import Record
from pytest_tablebench.running._conversation import follow
from pytest_tablebench.running._lookup import PROGRAMS, Exchange, StepLookup
from pytest_tablebench.running.pricing import AskPlan, Spent, prompt_of, tokens_and_price
from pytest_tablebench.running.provider_pool import ProviderPool
from pytest_tablebench.running.requests import Route, request_of, without_system
from pytest_tablebench.store.shared import SharedStores

PARAMS: Mapping[str, Any] = {"max_tokens": 2048}
"""A reply contains several questions with answers, so it may be longer than an answer."""

ABOUT = "generate"


@dataclass(frozen=True)
class CaseAsk(Ask):
    """A question of a metric about a case, the step `number` of its conversation."""

    case: Record = field(kw_only=True)
    subject: str = field(kw_only=True)
    number: int = field(kw_only=True)


@dataclass(eq=False)
class _Branch:
    """One of several parallel conversations. The root has no conversation.

    Attributes:
        arrived: the replies that the client has received, by key.
        parent, index: the branch that waits for it, and its index in that branch's `outcomes`.
        step: the step that it waits for.
        outcomes: of the branches that it waits for; `open_count` of them have not ended.
        key, reply_limit, replaced: of the last request; see `Pending`.
    """

    arrived: Mapping[str, Reply]
    conversation: Conversation[Any] | None = None
    parent: _Branch | None = None
    index: int = 0
    step: Step | None = None
    outcomes: list[Any] = field(default_factory=list)
    open_count: int = 0
    key: str | None = None
    reply_limit: int | None = None
    replaced: tuple[tuple[Request, Reply], ...] = ()
    model: str = ""


@dataclass
class _PlannedRequests:
    """The requests of a plan: `missing` and `hits` by key, and `further` expected ones."""

    missing: dict[str, Request] = field(default_factory=dict)
    hits: dict[str, str] = field(default_factory=dict)
    """The models of requests whose replies are stored."""
    further: list[Request] = field(default_factory=list)

    def of(self, models: ProviderPool, model: str) -> AskPlan:
        """Return the plan of a model. Raises `ModelError`."""
        requests = [*self.missing.values(), *self.further]
        missing = [request for request in requests if request.model == model]
        hits = list(self.hits.values()).count(model)
        if not missing:
            return AskPlan(model, hits, hits, 0, 0, 0.0)
        prompts, facts = list(map(prompt_of, missing)), models.facts_about(model)
        figures = tokens_and_price(models, model, facts, prompts, len(missing))
        names = "prompt_tokens", "completion_tokens", "cost_usd"
        return AskPlan(model, len(missing) + hits, hits, *(figures[name] for name in names))


class ModelClient:
    """Calls models, but not before `converse`.

    Arguments:
        settings: `models` are those to ask, the first one if a question names none.
        registry: the providers.
        params: returns the parameters of requests by their subject; None: those of `generate`.
    """

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        params: Callable[[str], Mapping[str, Any]] | None = None,
    ) -> None:
        self.makes_calls = not settings.replay
        """Whether missing outcomes are requested; otherwise they are errors."""
        self.spent = Spent()
        self._settings = settings
        self._models = models = ProviderPool(
            settings, registry, params or (lambda _: settings.request_params(PARAMS))
        )
        self._lookup = StepLookup(
            driver=self,
            store=models.store,
            max_reply=settings.max_reply,
            replay=settings.replay,
            keys=models.keys,
        )
        self._exchange = Exchange[_Branch](models.executor)
        self._arrived: dict[str, Reply] = {}
        self._failed: dict[str, ModelError] = {}
        self._engine: Engine | None = None
        self._shared: SharedStores | None = None
        self._is_open = False

    def _open(self) -> None:
        """Fetch the shared stores and start the engine, on the first step."""
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
        self._engine = engine = Engine(self._settings, lanes)
        self._models.address = lambda: engine.executor.address

    def converse(self, conversations: Iterable[Conversation[Value]]) -> list[Value | Exception]:
        """Run conversations in parallel to their ends; return their values in order.

        Replies are without thoughts. A `ModelError` or `RejectedError` that ends a conversation
        takes the place of its value. A reply that was cut off before its answer is an error too.
        """
        root = _Branch(self._arrived)
        self._fork(root, conversations)
        while self._exchange:
            for work, branches, outcome in self._exchange.outcomes(wait=True):
                self._receive(work, branches, outcome)
        return root.outcomes

    def _receive(self, work: Work, branches: Sequence[_Branch], outcome: Outcome) -> None:
        """Keep an outcome, and take the next step of the conversations that waited for it."""
        if isinstance(outcome, Exception) and not isinstance(outcome, ModelError):
            raise outcome  # an error in a user's provider
        is_left_out = False  # then the request is repeated without a part, with another key
        if isinstance(work.task, Request) and isinstance(outcome, Reply | ModelError):
            if isinstance(outcome, Reply):
                self._arrived[work.key] = outcome
            else:
                is_left_out = self._leaves_out(work.task, outcome)
            if not is_left_out:
                self.spent.add(work.task.model, outcome)
        if isinstance(outcome, ModelError) and not is_left_out:
            self._failed[work.key] = outcome
        for branch in branches:
            if isinstance(outcome, Execution):
                self._advance(branch, outcome)
            else:
                self._answer(branch)

    def _leaves_out(self, request: Request, error: ModelError) -> bool:
        """Return whether the server refused a part that further requests leave out."""
        part, model = error.refused, request.model
        has_system = any(message.role == "system" for message in request.messages)
        if part is None or not (has_system if part == SYSTEM else part in request.params):
            return False
        self._models.leave_out(model, part, str(error))
        self.spent.left_out.setdefault(model, {}).setdefault(part, str(error))
        return True

    def _fork(self, parent: _Branch, conversations: Iterable[Conversation[Any]]) -> None:
        parent.outcomes, parent.open_count = [], 1  # its own, until all have begun
        for index, conversation in enumerate(conversations):
            parent.outcomes.append(None)
            parent.open_count += 1
            self._advance(_Branch(self._arrived, conversation, parent, index), None)
        self._count_end(parent)

    def _advance(self, branch: _Branch, outcome: Any) -> None:
        if branch.conversation is None:
            return
        try:
            if isinstance(outcome, Exception):
                step = branch.conversation.throw(outcome)
            else:
                step = branch.conversation.send(outcome)
        except StopIteration as end:
            self._end(branch, end.value)
        except (ModelError, RejectedError) as error:
            self._end(branch, error)
        else:
            if isinstance(step, list):
                self._fork(branch, step)
            else:
                branch.step = step
                self._answer(branch)

    def _end(self, branch: _Branch, value: Any) -> None:
        parent = branch.parent
        if parent is None:
            return
        parent.outcomes[branch.index] = value
        self._count_end(parent)

    def _count_end(self, parent: _Branch) -> None:
        parent.open_count -= 1
        if not parent.open_count:
            self._advance(parent, parent.outcomes)

    def _answer(self, branch: _Branch) -> None:
        if branch.step is None:
            return
        try:
            work, lane, outcome = self._look(branch, branch.step)
            if outcome is None and not self.makes_calls:
                raise ModelError("not in the answer store", reason="not_stored")
        except ModelError as error:
            self._advance(branch, error)
            return
        if outcome is not None:
            self._advance(branch, outcome)
            return
        if lane == PROGRAMS and self._engine is None:
            self._start()
        self._exchange.submit(branch, work, lane)

    def _look(self, branch: _Branch, step: Step) -> tuple[Work, str, Reply | Execution | None]:
        """Return the work of a step, its lane, and its outcome. Raises `ModelError`."""
        self._open()
        work, lane, outcome = self._lookup.look(branch, step, ())
        if outcome is None and work.key in self._failed:
            raise self._failed[work.key]
        if isinstance(outcome, Reply) and not isinstance(step, CaseAsk):
            outcome = as_read(outcome, "fixed")
        return work, lane, outcome

    def model(self, _: Any, step: Ask) -> str:
        """Return the model that a step calls."""
        return step.model or self._settings.models[0]

    def request(self, branch: Any, step: Ask) -> tuple[Request, Route]:
        """Return the request of a step and its route. Raises `ModelError` or `SettingsError`."""
        model = self.model(branch, step)
        try:
            route = self._models.route(model, step.subject if isinstance(step, CaseAsk) else ABOUT)
        except (ModelError, SettingsError) as error:
            if self._settings.replay:
                raise ModelError(str(error), reason="not_stored") from None
            # It prevents all questions to the model.
            raise SettingsError(f"{model}: {error}") from None
        if isinstance(step, CaseAsk):
            return request_of(route, step.case, step, step.subject, step.number), route
        messages = without_system(step.messages) if route.merges_system else step.messages
        base = route.api_base
        return Request(model, messages, route.params, api_base=base, strategy=ABOUT), route

    def plans(self, conversations: Iterable[Conversation[Any]]) -> list[AskPlan]:
        """Return the plan of conversations for each model, without making a call.

        For missing replies it assumes the replies that their questions expect. Raises `ModelError`.
        """
        planned = _PlannedRequests()
        for conversation in conversations:
            self._expect(conversation, planned, is_supposed=False)
        return [planned.of(self._models, model) for model in self._settings.models]

    def _expect(
        self, conversation: Conversation[Any], planned: _PlannedRequests, *, is_supposed: bool
    ) -> tuple[Any, bool]:
        """Follow a conversation; return its value, and whether it depends on an expected reply.

        Requests that depend on one are `further` ones, even if two are equal, because their
        replies will differ.
        """

        def answer(step: Any, _: int) -> Any:
            nonlocal is_supposed
            if isinstance(step, list):
                ends = [self._expect(child, planned, is_supposed=is_supposed) for child in step]
                is_supposed = any([is_supposed, *(supposed for _, supposed in ends)])
                return [value for value, _ in ends]
            work, lane, outcome = self._look(_Branch({}), step)
            if outcome is not None:
                if isinstance(step, Ask):
                    planned.hits[work.key] = lane
                return outcome
            if isinstance(step, Execute):
                outcome = step.expected or Execution("error")
            else:
                if is_supposed and work.key in planned.missing:
                    planned.further.append(planned.missing[work.key])
                elif isinstance(work.task, Request):
                    planned.missing[work.key] = work.task
                if isinstance(step, CaseAsk):  # no reply of a judge is likely
                    raise NotJudgedError("the judge has not answered yet")
                outcome = Reply(step.expected)
            is_supposed = True
            return outcome

        try:
            return follow(conversation, answer), is_supposed
        except (ModelError, RejectedError) as error:
            return error, is_supposed

    def forget(self) -> None:
        """Forget all outcomes; replies stay in the store."""
        self._arrived.clear()
        self._failed.clear()

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
