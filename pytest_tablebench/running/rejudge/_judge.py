"""Judges of a finished run. `StoredJudge` only reads the store, `NewJudge` also makes calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.settings import Settings, kept_store
from pytest_tablebench.errors import ModelError, NotJudgedError, SettingsError
from pytest_tablebench.metrics.steps import Execute, Execution, Step
from pytest_tablebench.models import Reply, Request, refusal_lines
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.running.answer import TRUNCATED, StepFacts, step_facts, step_records
from pytest_tablebench.running.asking import RequestClient
from pytest_tablebench.running.conversation import follow
from pytest_tablebench.running.judging import converses, not_judged, of_metric, request_of
from pytest_tablebench.running.limits import stored
from pytest_tablebench.running.provider_pool import ProviderPool
from pytest_tablebench.running.scoring import ScoredReply, judgement, processed_texts, verdict_of
from pytest_tablebench.serializers.content import digest_of

if TYPE_CHECKING:
    from pytest_tablebench.config.compat import Compat
    from pytest_tablebench.datasets import AskedDataset, Example
    from pytest_tablebench.registry import Registry
    from pytest_tablebench.results.record import Record
    from pytest_tablebench.running.limits import Limit
    from pytest_tablebench.store import Store


class StoredJudge:
    """Scores answers again with metrics that ask a judge.

    `run` are the facts of the run: the judge, its parameters and the store. `judge` and `models`
    are another judge and its models; None: the run's.
    """

    def __init__(
        self,
        run: RunFacts,
        registry: Registry,
        *,
        judge: str | None = None,
        models: ProviderPool | None = None,
    ) -> None:
        self._registry = registry
        self.name = judge or run.judge
        self.asked = False
        """Whether the last conversation asked the judge."""
        self.steps: list[StepFacts] = []
        """The judge's replies in the last conversation."""
        self._shared: list[tuple[str, Path, bool]] = []
        self._models = models or self._of_the_run(run)

    def _of_the_run(self, run: RunFacts) -> ProviderPool:
        kept = kept_store(run.store)
        is_kept = kept is not None and (not isinstance(kept, Path) or kept.is_dir())
        settings = Settings(
            models=(self.name,) if isinstance(self.name, str) else (),
            params=run.params,
            api_base=run.api_base,
            fresh=run.fresh,
            replay=True,
            store=kept if is_kept else None,
            stored=is_kept,
            reasoning_tokens=run.reasoning_tokens or 0,
            extend_cut=run.extend_cut,
        )
        self._shared = [(place, folder, False) for place, folder, _ in settings.shared_stores()]
        return ProviderPool(settings, self._registry, judged_as(run, settings))

    def scores(self, dataset: AskedDataset) -> bool:
        """Return whether a dataset's metric is a conversation, or the judge decides its scores."""
        metric = self._registry.metrics.get(str(dataset.metric))
        return converses(metric) or self.decides_unclear(dataset)

    def decides_unclear(self, dataset: AskedDataset) -> bool:
        """Return whether the judge is asked only about unclear scores of a dataset."""
        metric = self._registry.metrics.get(str(dataset.metric))
        return isinstance(self.name, str) and getattr(metric, "may_be_unclear", False)

    def score(
        self, record: Record, dataset: AskedDataset, example: Example, compat: Compat
    ) -> ScoredReply:
        """Score an answer. Raises `NotJudgedError` if a reply that the metric needs is missing."""
        registry, reply = self._registry, str(record.raw)
        prediction, references = processed_texts(
            registry, dataset, reply, example.references, compat
        )
        begin = verdict_of if self.decides_unclear(dataset) else judgement
        conversation = begin(registry, dataset, reply, example, compat=compat)
        self.asked, self.steps = False, []
        score = follow(
            conversation, lambda step, number: self._stored(record, dataset, step, number)
        )
        return ScoredReply(score, prediction, tuple(references))

    def _stored(
        self, record: Record, dataset: AskedDataset, step: Step, number: int
    ) -> Reply | Execution:
        if isinstance(step, Execute):
            store = self._store()
            ran = None if store is None else store.get_execution(step.key())
            if ran is None:
                raise NotJudgedError("the outcome of its program is not in the answer store")
            return ran
        if not isinstance(self.name, str):
            raise NotJudgedError("the run had no judge", no_judge=True)
        try:
            about = of_metric(dataset.metric)
            self._store()  # fetches shared stores, which a route reads
            route = self._models.route(step.model or str(self.name), about)
        except SettingsError as error:
            raise NotJudgedError(str(error)) from None
        request = request_of(route, record, step, about, number)
        self.asked = self.asked or step.model is None
        reply = self._reply(request, route.limits)
        facts = step_facts(step, reply)
        self.steps.append(replace(facts, model=request.model, text=reply.written))
        return reply

    def _reply(self, request: Request, limits: Sequence[Limit]) -> Reply:
        store = self._store()
        if store is None:
            raise NotJudgedError("the run stores no answers of a judge")
        reply = stored(request, limits, store, asks=False).reply
        if reply is None:
            raise NotJudgedError(f"not in the answer store: {store.explain(request)}")
        return reply

    def _store(self) -> Store | None:
        if self._shared:
            from pytest_tablebench.store.shared import SharedStores

            shared, self._shared = self._shared, []
            SharedStores(shared).fetch()
        return self._models.store()

    def close(self) -> None:
        """Close the store."""
        self._models.close()


class NewJudge(StoredJudge):
    """A judge that answers new requests; stored replies are used first.

    Arguments:
        run: the content of run.json: parameters and the store for replies.
        api_base: the address of the judge; None: the default.
        max_cost: US dollars after which no further call is made.
    """

    def __init__(
        self,
        judge: str,
        run: RunFacts,
        registry: Registry,
        *,
        api_base: str | None = None,
        max_cost: float | None = None,
    ) -> None:
        settings = Settings(
            models=(judge,),
            params=run.params,
            api_base=api_base,
            max_cost=max_cost,
            store=kept_store(run.store),
            stored=run.store != "none",
        )
        models = ProviderPool(settings, registry, judged_as(run, settings))
        super().__init__(run, registry, judge=judge, models=models)
        self.asking = RequestClient(settings, models)
        self.problems: list[str] = []
        """Problems of a shared store, and refused parameters; set by `close`."""

    def _reply(self, request: Request, limits: Sequence[Limit]) -> Reply:
        try:
            reply = self.asking.reply(request, limits)
        except ModelError as error:
            raise not_judged(error) from None
        if isinstance(reply, str):
            raise NotJudgedError("the judge has not answered yet")
        return reply

    def close(self) -> None:
        """Close the store and the connections."""
        self.problems = [*self.asking.close(), *refusal_lines(self.asking.spent.left_out)]


def judged_as(run: RunFacts, settings: Settings) -> Callable[[str], Mapping[str, Any]]:
    """Return a function that returns the parameters of a run's requests to its judge."""
    params_of = {of_metric(name): params for name, params in run.judge_params.items()}
    return lambda about: params_of.get(about) or settings.request_params(judge=True)


Steps = Sequence[Mapping[str, Any]]

_SUMS = ("prompt_tokens", "completion_tokens", "cost_usd")


def with_judge_steps(record: Record, judging: Sequence[StepFacts]) -> Record:
    """Return a record with new replies of a judge and the old steps of the answer."""
    answer = [step for step in record.steps if not _is_judges(step)] or [_answer_step(record)]
    # `_NO_STEP` comes first because `step_records` leaves out a single step.
    replies = step_records([_NO_STEP, *judging])[1:]
    return replace(record, steps=(*answer, *replies))


_NO_STEP = StepFacts("ask", "", None)


def _is_judges(step: Mapping[str, Any]) -> bool:
    """Return whether a step is a judge's reply; only these contain a text."""
    return "text" in step


def _answer_step(record: Record) -> dict[str, Any]:
    """Return the only step of an answer, which records leave out without a judge."""
    return {
        "kind": "ask",
        "digest": digest_of(record.raw or ""),
        "outcome": "length" if TRUNCATED in record.flags else None,
        "model": None,
        "latency_s": record.latency_s,
        "prompt_tokens": record.prompt_tokens,
        "completion_tokens": record.completion_tokens,
        "cost_usd": record.cost_usd,
        "from_store": record.from_store,
    }


def totals_with(run: RunFacts, old: Iterable[Record], new: Iterable[Record]) -> dict[str, Any]:
    """Return the calls and costs of run.json with the new judge's in place of the old one's.

    A sum with an unknown part is None, as in any run.
    """
    before, after = _paid(old), _paid(new)
    calls = run.calls_paid
    totals: dict[str, Any] = {"calls_paid": _moved(calls, len(before), len(after))}
    for name in _SUMS:
        total = getattr(run, name) if calls else 0  # without a paid call its sums are unknown
        totals[name] = _moved(total, _sum(before, name), _sum(after, name))
    if not totals["calls_paid"]:
        totals |= dict.fromkeys(_SUMS)
    return totals


def _paid(records: Iterable[Record]) -> list[Mapping[str, Any]]:
    steps = (step for record in records for step in record.steps if _is_judges(step))
    return [step for step in steps if not step.get("from_store")]


def _sum(steps: Steps, name: str) -> Any:
    values = [step.get(name) for step in steps]
    return None if None in values else sum(value for value in values if value is not None)


def _moved(total: Any, before: Any, after: Any) -> Any:
    if not isinstance(total, int | float) or before is None or after is None:
        return None
    return max(total - before, 0) + after
