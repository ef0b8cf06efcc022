"""Scores that need a conversation: a metric calls a judge or runs a program."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import METRIC, MetricError, ModelError, NotJudgedError
from pytest_tablebench.executors.local import reference_of
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.metrics.unclear import decision
from pytest_tablebench.models import Message, Request
from pytest_tablebench.registry import Registry
from pytest_tablebench.running._prompt_cut import cut_messages
from pytest_tablebench.running._route import Route
from pytest_tablebench.running.scoring import (
    Grading,
    ScoredReply,
    asked_by,
    graded,
    judge_example,
    judgement,
    processed_texts,
    score_by,
    verdict_of,
)
from pytest_tablebench.serializers.content import digest_of, text_of

if TYPE_CHECKING:
    from pytest_tablebench.config.compat import Compat
    from pytest_tablebench.datasets import AskedDataset, Example
    from pytest_tablebench.datasets.case import Case
    from pytest_tablebench.metrics import Judgement
    from pytest_tablebench.results import Record

_METRIC = "metric:"


def converses(metric: object) -> bool:
    """Return whether a metric is a generator of steps, not a function that returns a score."""
    if not callable(metric):
        return False
    function = inspect.unwrap(metric)
    return any(map(inspect.isgeneratorfunction, (function, getattr(function, "__call__", None))))  # noqa: B004 - its code is inspected


def of_metric(metric: str | None) -> str:
    """Return the subject of a metric's requests. The subject of other requests is a dataset."""
    return f"{_METRIC}{metric}"


def metric_params(about: str, metrics: Mapping[str, object]) -> Mapping[str, Any] | None:
    """Return the parameters that a metric sets for its requests; None if `about` is a dataset."""
    if not about.startswith(_METRIC):
        return None
    params: Mapping[str, Any] = getattr(metrics.get(about.removeprefix(_METRIC)), "params", {})
    return params


def request_of(route: Route, case: Case | Record, step: Ask, strategy: str, number: int) -> Request:
    """Return the request of a step.

    `strategy` is the name of the strategy, or of the metric. `number` is the step's number in its
    conversation, from 0.
    """
    messages = cut_messages(whole_messages(route, step), route.context)
    params = (
        {**route.params, **route.continuing} if messages[-1].role == "assistant" else route.params
    )
    if step.tools and not route.takes_tools:
        why = f"the server of {route.model} takes no tools"
        raise ModelError(why, reason="bad_request", whole_run=True)
    if step.tools:
        params = {**params, "tools": list(step.tools)}
    return Request(
        route.model,
        messages,
        params,
        api_base=route.api_base,
        strategy=strategy,
        step=number,
        repeat=case.repeat,
        generation=route.generation,
        case_id=case.case_id,
    )


def whole_messages(route: Route, step: Ask) -> tuple[Message, ...]:
    """Return the messages of a step for its model, before they are cut."""
    return without_system(step.messages) if route.merges_system else tuple(step.messages)


def without_system(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Move the texts of system messages to the beginning of the first user message."""
    system = [text_of(message.content) for message in messages if message.role == "system"]
    others = [message for message in messages if message.role != "system"]
    first = next((n for n, message in enumerate(others) if message.role == "user"), None)
    if not system or first is None:
        return tuple(messages)
    content = others[first].content
    start = "\n\n".join(system) + "\n\n"
    joined = start + content if isinstance(content, str) else (start, *content)
    others[first] = Message("user", joined)
    return tuple(others)


def prompt_digest(metric: Callable[..., Any], compat: Compat) -> str | None:
    """Return the digest of a metric's first message to the judge about a sample answer.

    It pins the words of the prompt. None if the metric does not begin with a question, or needs
    more than prediction, references and question.
    """
    facts = {"compat": compat, "question": "QUESTION"}
    try:
        if getattr(metric, "may_be_unclear", False):
            conversation = decision(Score(0.0), "ANSWER", ["REFERENCE"], question="QUESTION")
        else:
            conversation = metric("ANSWER", ["REFERENCE"], **facts)
        step = next(conversation)
        conversation.close()
        if not isinstance(step, Ask) or step.model is not None:
            return None
        return digest_of("\n".join(f"{m.role}: {text_of(m.content)}" for m in step.messages))
    except Exception:
        return None


def not_judged(error: Exception) -> Exception:
    """Return the error of a score after the judge's error, or after the metric's own error."""
    if isinstance(error, ModelError) and error.reason == METRIC:
        return MetricError(str(error))
    if isinstance(error, ModelError):
        return NotJudgedError(f"the judge has no answer ({error.reason}): {error}")
    return error


@dataclass(frozen=True)
class Scorer:
    """Scores replies to cases: of a run, of records, and by corrected gold.

    A case is a `Case` or its `Record`. `score_there` says whether heavy metrics score where the
    calls are made.
    """

    registry: Registry = field(default_factory=Registry)
    judge: str | None = None
    compat: Compat = "fixed"
    score_there: bool = field(default=False, kw_only=True)

    def form(self, case: Case | Record, example: Example | None) -> AskedDataset:
        """Return the form of a case's dataset, which decides the metric."""
        return asked_by(self.registry, case.dataset, case.strategy).about(example)

    def texts(
        self, case: Case | Record, example: Example, text: str
    ) -> tuple[Any, tuple[Any, ...]]:
        """Return a reply and its references after post-processing."""
        form, references = self.form(case, example), example.references
        prediction, processed = processed_texts(self.registry, form, text, references, self.compat)
        return prediction, tuple(processed)

    def score(self, case: Case | Record, example: Example, text: str) -> ScoredReply:
        """Score a reply by a metric without a conversation."""
        form = self.form(case, example)
        return judge_example(self.registry, form, text, example, compat=self.compat)

    def score_by(self, metric: str, case: Case | Record, example: Example, text: str) -> Score:
        """Score a reply by another registered metric."""
        prediction, references = self.texts(case, example, text)
        return score_by(
            self.registry,
            metric,
            prediction,
            references,
            compat=self.compat,
            context=example.context,
        )

    def begin(self, case: Case | Record, example: Example, text: str | None) -> Judgement | None:
        """Begin the conversation about an answer; None if the case's metric has none.

        Without a text the expected answer takes the place of the missing one.
        """
        if case.dataset not in self.registry.datasets:
            return None
        question = self.form(case, example)
        if self.decides_unclear(question.metric):
            return verdict_of(self.registry, question, text, example, compat=self.compat)
        if not self._converses(question.metric):
            return None
        return judgement(self.registry, question, text, example, compat=self.compat)

    def grade(self, case: Case, example: Example, text: str) -> Grading | None:
        """Begin to score an answer in another process; None if its metric scores in this one."""
        if not self.score_there:
            return None
        question = self.form(case, example)
        if not self._is_sent(question.metric):
            return None
        return graded(self.registry, question, text, example, compat=self.compat)

    def sent(self, dataset: str, strategy: str, named: Iterable[str]) -> bool:
        """Return whether a metric of a dataset, or one that examples name, is sent elsewhere."""
        metrics = (asked_by(self.registry, dataset, strategy).metric, *named)
        return self.score_there and any(map(self._is_sent, metrics))

    def _is_sent(self, metric: str | None) -> bool:
        function = self.registry.metrics.get(str(metric))
        return (
            getattr(function, "heavy", False)
            and not converses(function)
            and reference_of(function) is not None
        )

    def metrics_with_judge(self, dataset: str, strategy: str, named: Iterable[str]) -> list[str]:
        """Return the metrics of a dataset and a strategy that are conversations.

        With a judge these include the metrics whose unclear scores it decides. `named` are the
        metrics that examples name.
        """
        metrics = (asked_by(self.registry, dataset, strategy).metric, *named)
        return [metric for metric in metrics if metric is not None and self.has_judge(metric)]

    def has_judge(self, metric: str | None) -> bool:
        """Return whether a metric is a conversation, or the judge decides its unclear scores."""
        return self._converses(metric) or self.decides_unclear(metric)

    def about(self, case: Case | Record, example: Example | None) -> str:
        """Return the subject of requests to the judge of an example."""
        return of_metric(self.form(case, example).metric)

    def decides_unclear(self, metric: str | None) -> bool:
        """Return whether the judge is asked only if the score by a metric is unclear."""
        function = self.registry.metrics.get(str(metric))
        return self.judge is not None and getattr(function, "may_be_unclear", False)

    def _converses(self, metric: str | None) -> bool:
        return metric is not None and converses(self.registry.metrics.get(metric))
