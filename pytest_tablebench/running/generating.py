"""Run the conversations of `generate`: many in parallel, priced before they begin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import ModelError, NotJudgedError, SettingsError
from pytest_tablebench.generate.pair import RejectedError
from pytest_tablebench.metrics.steps import Ask, Execute, Execution, Step
from pytest_tablebench.models import Reply, Request, as_read
from pytest_tablebench.running.asking import AskPlan, RequestClient
from pytest_tablebench.running.conversation import follow
from pytest_tablebench.running.judging import request_of, without_system
from pytest_tablebench.running.provider_pool import ProviderPool

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.generate.question_maker import Conversation, Value
    from pytest_tablebench.registry import Registry
    from pytest_tablebench.results.record import Record
    from pytest_tablebench.running.route import Route

PARAMS: Mapping[str, Any] = {"max_tokens": 2048}
"""A reply contains several questions with answers, so it may be longer than an answer."""

ABOUT = "generate"


@dataclass(frozen=True)
class CaseAsk:
    """A question of a metric about a case, the step `number` of its conversation."""

    ask: Ask
    case: Record
    about: str
    number: int


@dataclass
class _Branch:
    """One of several parallel conversations. The root has no conversation.

    Attributes:
        parent, place: the branch that waits for it, and its place in that branch's `outcomes`.
        step: the step that it waits for.
        outcomes: of the branches that it waits for; `open_count` of them have not ended.
    """

    conversation: Conversation[Any] | None = None
    parent: _Branch | None = None
    place: int = 0
    step: Step | CaseAsk | None = None
    outcomes: list[Any] = field(default_factory=list)
    open_count: int = 0


class ModelClient(RequestClient):
    """Calls the models that `settings.models` names, but not before `converse`."""

    def __init__(
        self,
        settings: Settings,
        registry: Registry,
        params: Callable[[str], Mapping[str, Any]] | None = None,
    ) -> None:
        params = params or (lambda _: settings.request_params(PARAMS))
        super().__init__(settings, ProviderPool(settings, registry, params))
        self._waiting_branches: dict[str, list[_Branch]] = {}

    def converse(self, conversations: Iterable[Conversation[Value]]) -> list[Value | Exception]:
        """Run conversations in parallel to their ends; return their values in order.

        Replies are without thoughts. A `ModelError` or `RejectedError` that ends a conversation
        takes the place of its value. A reply that was cut off before its answer is an error too.
        """
        root = _Branch()
        self._fork(root, conversations)
        while self._waiting_branches:
            self.submit()
            for key in self.wait():
                for branch in self._waiting_branches.pop(key, []):
                    self._answer(branch)
        return root.outcomes

    def _fork(self, parent: _Branch, conversations: Iterable[Conversation[Any]]) -> None:
        parent.outcomes, parent.open_count = [], 1  # its own, until all have begun
        for place, conversation in enumerate(conversations):
            parent.outcomes.append(None)
            parent.open_count += 1
            self._advance(_Branch(conversation, parent, place), None)
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
        parent.outcomes[branch.place] = value
        self._count_end(parent)

    def _count_end(self, parent: _Branch) -> None:
        parent.open_count -= 1
        if not parent.open_count:
            self._advance(parent, parent.outcomes)

    def _answer(self, branch: _Branch) -> None:
        if branch.step is None:
            return
        try:
            outcome = self._outcome(branch.step)
        except ModelError as error:
            self._advance(branch, error)
            return
        if isinstance(outcome, str):
            self._waiting_branches.setdefault(outcome, []).append(branch)
        else:
            self._advance(branch, outcome)

    def _outcome(self, step: Step | CaseAsk) -> Reply | Execution | str:
        self.open()
        if isinstance(step, Execute):
            return self.execution(step) or step.key()
        if isinstance(step, CaseAsk):
            route = self._route(step.ask, step.about)
            request = request_of(route, step.case, step.ask, step.about, step.number)
            return self.reply(request, route.limits)
        route = self._route(step, ABOUT)
        messages = without_system(step.messages) if route.merges_system else step.messages
        reply = self.reply(
            Request(route.model, messages, route.params, api_base=route.api_base, strategy=ABOUT),
            route.limits,
        )
        return reply if isinstance(reply, str) else as_read(reply, "fixed")

    def _route(self, step: Ask, about: str) -> Route:
        model = step.model or self._settings.models[0]
        try:
            return self._models.route(model, about)
        except (ModelError, SettingsError) as error:
            if self._settings.replay:
                raise ModelError(str(error), reason="not_stored") from None
            # It prevents all questions to the model.
            raise SettingsError(f"{model}: {error}") from None

    def plans(self, conversations: Iterable[Conversation[Any]]) -> list[AskPlan]:
        """Return the plan of conversations for each model, without making a call.

        For missing replies it assumes the replies that their questions expect. Raises `ModelError`.
        """
        further = list[Request]()
        for conversation in conversations:
            self._expect(conversation, further, is_supposed=False)
        plans = [self.plan(model, further) for model in self._settings.models]
        self.forget(missing=True)
        return plans

    def _expect(
        self, conversation: Conversation[Any], further: list[Request], *, is_supposed: bool
    ) -> tuple[Any, bool]:
        """Follow a conversation; return its value, and whether it depends on an expected reply.

        Requests that depend on one are added to `further`, even if two are equal, because their
        replies will differ.
        """

        def answer(step: Any, _: int) -> Any:
            nonlocal is_supposed
            if isinstance(step, list):
                ends = [self._expect(child, further, is_supposed=is_supposed) for child in step]
                is_supposed = any([is_supposed, *(supposed for _, supposed in ends)])
                return [value for value, _ in ends]
            count = len(self.missing)
            outcome = self._outcome(step)
            if not isinstance(outcome, str):
                return outcome
            if isinstance(step, CaseAsk):  # no reply of a judge is likely
                raise NotJudgedError("the judge has not answered yet")
            if isinstance(step, Execute):
                outcome = step.expected or Execution("error")
            else:
                if is_supposed and len(self.missing) == count:
                    further.append(self.missing[outcome])
                outcome = Reply(step.expected)
            is_supposed = True
            return outcome

        try:
            return follow(conversation, answer), is_supposed
        except (ModelError, RejectedError) as error:
            return error, is_supposed
