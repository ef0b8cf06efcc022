"""Models that write questions: their replies, what they are still to be asked, what it costs."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.metrics.steps import Ask, Execute, Execution, Step
from pytest_tablebench.models import Reply, Request, as_read
from pytest_tablebench.running.asking import AskPlan, RequestClient
from pytest_tablebench.running.conversation import follow
from pytest_tablebench.running.judging import without_system
from pytest_tablebench.running.provider_pool import ProviderPool
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.registry import Registry

PARAMS: Mapping[str, Any] = {"max_tokens": 2048}
"""Several questions with their answers are longer than an answer."""

ABOUT = "generate"

Value = TypeVar("Value")


class ModelClient(RequestClient):
    """Asks the models that `settings.models` names; no call is made before `ask`."""

    def __init__(self, settings: Settings, registry: Registry) -> None:
        params = settings.request_params(PARAMS)
        super().__init__(settings, ProviderPool(settings, registry, lambda _: params))

    def follow(self, conversation: Generator[Step, Any, Value]) -> Value | None:
        """Return the value of a conversation; None until all its steps have outcomes.

        Replies come without thoughts. Raises `ModelError`, also for a reply that the token limit
        ended before its answer.
        """
        return follow(conversation, lambda step, _: self._outcome(step))

    def _outcome(self, step: Step) -> Reply | Execution | None:
        if isinstance(step, Execute):
            return self.execution(step)
        request = self._request(step)
        reply = self.reply(request, self._models.route(request.model, ABOUT).limits)
        return None if reply is None else as_read(reply, "fixed")

    def _request(self, step: Ask) -> Request:
        model = step.model or self._settings.models[0]
        try:
            route = self._models.route(model, ABOUT)
        except ModelError as error:  # no question can be asked, not just this one
            raise SettingsError(f"{printable(model, 100)}: {error}") from None
        messages = without_system(step.messages) if route.merges_system else step.messages
        return Request(route.model, messages, route.params, api_base=route.api_base, strategy=ABOUT)

    def plans(self, further: Sequence[tuple[Ask, int]] = ()) -> list[AskPlan]:
        """Return what each model is still to be asked, and its price. Raises `ModelError`.

        `further` are stand-ins of what may have to be asked then, and how many of each.
        """
        expected = [request for step, count in further for request in [self._request(step)] * count]
        return [self.plan(model, expected) for model in self._settings.models]
