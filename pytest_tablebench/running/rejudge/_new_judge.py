"""Another judge for a finished run: what he is to be asked, what that costs, what he says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.settings import Settings, kept_store
from pytest_tablebench.errors import ModelError, NotJudgedError
from pytest_tablebench.models import Reply, Request, refusal_lines
from pytest_tablebench.running.asking import RequestClient
from pytest_tablebench.running.judging import not_judged
from pytest_tablebench.running.provider_pool import ProviderPool
from pytest_tablebench.running.rejudge._judge import StoredJudge, judged_as, mapping

if TYPE_CHECKING:
    from pytest_tablebench.registry import Registry
    from pytest_tablebench.running.limits import Limit


class NewJudge(StoredJudge):
    """A judge who may be asked. Replies that the store has are taken from there.

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
        kept = run.get("store")
        settings = Settings(
            models=(judge,),
            params=mapping(run.get("params")),
            api_base=api_base,
            max_cost=max_cost,
            store=kept_store(kept),
            stored=kept != "none",
        )
        models = ProviderPool(settings, registry, judged_as(run, settings))
        super().__init__(run, registry, judge=judge, models=models)
        self.asking = RequestClient(settings, models)
        self.problems: list[str] = []
        """What is wrong with a shared store, and what the server refused; all after `close`."""

    def _reply(self, request: Request, limits: Sequence[Limit]) -> Reply:
        try:
            reply = self.asking.reply(request, limits)
        except ModelError as error:
            raise not_judged(error) from None
        if isinstance(reply, str):
            raise NotJudgedError("the judge was not asked yet")
        return reply

    def close(self) -> None:
        """Close the store, and end what asked."""
        self.problems = [*self.asking.close(), *refusal_lines(self.asking.spent.left_out)]
