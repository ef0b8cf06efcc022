"""Scores that are conversations: a metric asks a judge, or has a program run."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import (
    METRIC,
    MetricError,
    ModelError,
    NotJudgedError,
    TableBenchError,
)
from pytest_tablebench.executors.local import reference_of
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Request
from pytest_tablebench.running.pending import Route
from pytest_tablebench.running.scoring import Grading, asked_by, graded, judgement

if TYPE_CHECKING:
    from pytest_tablebench.config.compat import Compat
    from pytest_tablebench.datasets import Example
    from pytest_tablebench.datasets.case import Case
    from pytest_tablebench.metrics import Judgement
    from pytest_tablebench.registry import Registry

__all__ = ["Judging", "converses", "metric_params", "not_judged", "of_metric", "request_of"]

_METRIC = "metric:"


def converses(metric: object) -> bool:
    """Return whether a metric is a generator of steps, not a function that returns a score."""
    if not callable(metric):
        return False
    found = inspect.unwrap(metric)
    return any(map(inspect.isgeneratorfunction, (found, getattr(found, "__call__", None))))  # noqa: B004 - its code is looked at


def of_metric(metric: str | None) -> str:
    """Return what requests of a metric are about, where those of a strategy name a dataset."""
    return f"{_METRIC}{metric}"


def metric_params(about: str, known: Mapping[str, object]) -> Mapping[str, Any] | None:
    """Return the parameters that a metric names for its requests; None of those about a dataset."""
    if not about.startswith(_METRIC):
        return None
    found: Mapping[str, Any] = getattr(known.get(about.removeprefix(_METRIC)), "params", {})
    return found


def request_of(route: Route, case: Case, step: Ask, strategy: str, number: int) -> Request:
    """Return the request that a step of a case means.

    Arguments:
        route: how the model is asked.
        case: that the conversation is about.
        step: what is asked.
        strategy: the name of the strategy, or of the metric.
        number: of the step in its conversation, from 0.
    """
    goes_on = step.messages[-1].role == "assistant"
    return Request(
        route.model,
        step.messages,
        {**route.params, **route.continuing} if goes_on else route.params,
        api_base=route.api_base,
        strategy=strategy,
        step=number,
        repeat=case.repeat,
        case_id=case.case_id,
    )


def not_judged(error: Exception) -> Exception:
    """Return the error of a score whose judge has no answer; a fault of a metric stays one."""
    if isinstance(error, ModelError) and error.reason == METRIC:
        return MetricError(str(error))
    if isinstance(error, ModelError):
        return NotJudgedError(f"the judge has no answer ({error.reason}): {error}")
    return error


class Judging:
    """Begins the conversations about scores. Without a registry there are none.

    Arguments:
        registry: datasets, metrics and post-processors by name.
        judge: the model that judges; None: nobody does.
        compat: the mode of the metrics.
        there: whether heavy metrics score where the calls are made.
    """

    def __init__(
        self,
        registry: Registry | None = None,
        judge: str | None = None,
        compat: Compat = "fixed",
        *,
        there: bool = False,
    ) -> None:
        self._there = there
        self._registry = registry
        self._judge = judge
        self._compat: Compat = compat

    def begin(self, case: Case, example: Example, text: str | None) -> Judgement | None:
        """Begin the one about an answer; None where a case's metric has none.

        Without a text the expected answer stands in for one that is not there yet.
        """
        if self._registry is None:
            return None
        asked = asked_by(self._registry, case.dataset, case.strategy).about(example)
        if not self._converses(asked.metric):
            return None
        return judgement(
            self._registry,
            asked,
            text,
            example.references,
            compat=self._compat,
            **example.context,
        )

    def grade(self, case: Case, example: Example, text: str) -> Grading | None:
        """Begin to have an answer scored elsewhere; None where its metric scores here."""
        if self._registry is None or not self._there:
            return None
        asked = asked_by(self._registry, case.dataset, case.strategy).about(example)
        if not self._goes_there(asked.metric):
            return None
        return graded(self._registry, asked, text, example, compat=self._compat)

    def sent(self, dataset: str, strategy: str, named: Iterable[str] = ()) -> bool:
        """Whether a metric of a dataset scores elsewhere; the arguments are those of `wanted`."""
        if self._registry is None or not self._there:
            return False
        own = asked_by(self._registry, dataset, strategy).metric
        return any(map(self._goes_there, (own, *named)))

    def _goes_there(self, metric: str | None) -> bool:
        known = None if self._registry is None else self._registry.metrics.get(str(metric))
        return (
            getattr(known, "heavy", False)
            and not converses(known)
            and reference_of(known) is not None
        )

    def wanted(self, dataset: str, strategy: str, named: Iterable[str] = ()) -> list[str]:
        """Return the metrics of a dataset that are conversations, as a strategy asks it.

        `named` are those that examples name.
        """
        if self._registry is None:
            return []
        own = asked_by(self._registry, dataset, strategy).metric
        return [one for one in (own, *named) if one is not None and self._converses(one)]

    def about(self, case: Case, example: Example | None) -> str:
        """Return what requests to the judge of an example are about."""
        if self._registry is None:
            raise TableBenchError("no metric is judged here")
        return of_metric(
            asked_by(self._registry, case.dataset, case.strategy).about(example).metric
        )

    def _converses(self, metric: str | None) -> bool:
        known = {} if self._registry is None else self._registry.metrics
        return metric is not None and converses(known.get(metric))

    def require_judge(self) -> str:
        """Return the model that judges. Raises `NotJudgedError` where there is none."""
        if self._judge is None:
            raise NotJudgedError("nobody judges: name a model with --bench-judge", nobody=True)
        return self._judge
