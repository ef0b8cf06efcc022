"""Score replies: post-process them, and apply the dataset's metric.

A metric is a function, or a conversation that calls a judge or runs a program.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_tablebench.config.compat import Compat, check_compat
from pytest_tablebench.config.secrets import redact
from pytest_tablebench.datasets import AskedDataset, Dataset, Example, asked_dataset
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import (
    METRIC,
    MetricError,
    ModelError,
    NotJudgedError,
    SettingsError,
)
from pytest_tablebench.executors.local import reference_of
from pytest_tablebench.metrics import Judgement, Score, begin, run_chain, score
from pytest_tablebench.metrics.steps import Grade, Step
from pytest_tablebench.metrics.unclear import decision
from pytest_tablebench.models import Reply, as_read
from pytest_tablebench.models.thinking import split_thoughts
from pytest_tablebench.registry import Registry
from pytest_tablebench.results import Record
from pytest_tablebench.results.record import UNCLEAR
from pytest_tablebench.running.answer import SHOWN
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.strategies import answer_place, texts_of
from pytest_tablebench.util.names import unknown_name

MEMORY = "memory"
"""The part of a score that is the score by the answer before the perturbation."""


@dataclass(frozen=True)
class ScoredReply:
    """The processed texts and their score, which is None if the dataset has no metric."""

    score: Score | None
    prediction: Any
    references: tuple[Any, ...]


@dataclass(frozen=True)
class Scorer:
    """Scores replies to cases: of a run, of records, and by corrected gold.

    `score_there` says whether heavy metrics score where the calls are made.
    """

    registry: Registry = field(default_factory=Registry)
    judge: str | None = None
    compat: Compat = "fixed"
    score_there: bool = field(default=False, kw_only=True)

    def form(self, case: Case | Record, example: Example | None) -> AskedDataset:
        """Return the form of a case's dataset, which decides the metric."""
        return asked_by(self.registry, case.dataset, case.strategy).for_example(example)

    def texts(
        self, form: AskedDataset, reply: str, references: Sequence[str]
    ) -> tuple[Any, list[Any]]:
        """Return a raw reply and its references after post-processing."""
        chain, registered = form.chain(self.compat), self.registry.postprocessors
        read = (*form.reading(self.compat), *chain)
        replies = texts_of(reply) if form.several else [reply]
        if self.compat == "fixed" and form.is_plain:
            # Servers that send thoughts in a separate field leave empty lines before the answer.
            replies = [split_thoughts(reply).text.lstrip("\r\n") for reply in replies]
        prediction: Any = [run_chain(read, reply, registered) for reply in replies]
        if not form.several:
            [prediction] = prediction
        return prediction, [run_chain(chain, text, registered) for text in references]

    def score_text(
        self, form: Dataset | AskedDataset, reply: str, references: Sequence[str], **context: Any
    ) -> ScoredReply:
        """Score a raw reply; `context` contains further inputs of the metric."""
        form = form if isinstance(form, AskedDataset) else AskedDataset(form)
        prediction, processed = self.texts(form, reply, references)
        scored = None
        if form.metric is not None:
            scored = self._by(form.metric, prediction, processed, context)
            scored = _main_part(form, scored)
        return ScoredReply(scored, prediction, tuple(processed))

    def score(self, form: AskedDataset, example: Example, reply: str) -> ScoredReply:
        """Score a raw reply to an example by a metric without a conversation.

        If a perturbation has changed the answer, the part `memory` is the score by the former
        answer: a model that still gives it has not read the table.
        """
        scored = self.score_text(form, reply, example.references, **example.context)
        former = example.former
        if scored.score is None or former is None:
            return scored
        remembered = self.score_text(form, reply, former.references, **former.context).score
        return replace(scored, score=_with_memory(scored.score, remembered))

    def score_by(self, metric: str, form: AskedDataset, example: Example, reply: str) -> Score:
        """Score a raw reply by another registered metric."""
        return self._by(metric, *self.texts(form, reply, example.references), example.context)

    def _by(
        self, metric: str, prediction: Any, references: Sequence[Any], context: Mapping[str, Any]
    ) -> Score:
        texts, metrics = (metric, prediction, references), self.registry.metrics
        return score(*texts, compat=self.compat, metrics=metrics, **context)

    def begin(self, case: Case | Record, example: Example, reply: str | None) -> Judgement | None:
        """Begin the conversation about an answer; None if the case's metric has none.

        Without a reply the expected answer takes its place.
        """
        if case.dataset not in self.registry.datasets:
            return None
        form = self.form(case, example)
        if self.decides_unclear(form.metric):
            return self._decided(form, example, reply)
        return self._judged(form, example, reply) if self._converses(form.metric) else None

    def _judged(self, form: AskedDataset, example: Example, reply: str | None) -> Judgement:
        """Begin the conversation in which a dataset's metric scores a raw reply."""
        prediction, references = self.texts(form, reply or "", example.references)
        if reply is None:
            prediction = references[0] if references else ""
        texts, metrics = (str(form.metric), prediction, references), self.registry.metrics
        conversation = begin(*texts, compat=self.compat, metrics=metrics, **example.context)
        return _with_main_part(form, _read_by(conversation, self.compat))

    def _decided(self, form: AskedDataset, example: Example, reply: str | None) -> Judgement:
        """Score a raw reply with a plain metric; ask the judge if the score is unclear.

        A missing reply may become unclear, so the judge is asked about the expected answer.
        """
        scored = ScoredReply(Score(0.0, unclear=True), example.target, example.references)
        if reply is not None:
            scored = self.score(form, example, reply)
        if scored.score is None:
            raise SettingsError(f"dataset {form.dataset.name!r} has no metric")
        if not scored.score.unclear:
            return scored.score
        texts = scored.prediction, scored.references
        conversation = decision(scored.score, *texts, question=example.question)
        return _main_part(form, (yield from _read_by(conversation, self.compat)))

    def grade(
        self, case: Case, example: Example, reply: str
    ) -> Generator[Grade, Score, Score] | None:
        """Begin to score an answer in another process; None if its metric scores in this one."""
        form = self.form(case, example) if self.score_there else None
        return self.graded(form, example, reply) if form and self._is_sent(form.metric) else None

    def graded(
        self, form: AskedDataset, example: Example, reply: str
    ) -> Generator[Grade, Score, Score]:
        """Score an answer as `score` does, in another process.

        Arguments that cannot be pickled are scored in this process.
        """
        name = str(form.metric)

        def grade(example: Example) -> Generator[Grade, Score, Score]:
            texts, context = self.texts(form, reply, example.references), dict(example.context)
            try:
                arguments = pickle.dumps((*texts, context))
            except Exception:  # values of users may raise anything
                scored = self._by(name, *texts, context)
            else:
                scored = yield Grade(name, self.registry.metrics[name], self.compat, arguments)
            return _main_part(form, scored)

        scored = yield from grade(example)
        if example.former is None:
            return scored
        return _with_memory(scored, (yield from grade(example.former)))

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

    def decides_unclear(self, metric: str | None) -> bool:
        """Return whether the judge is asked only if the score by a metric is unclear."""
        function = self.registry.metrics.get(str(metric))
        return self.judge is not None and getattr(function, "may_be_unclear", False)

    def _converses(self, metric: str | None) -> bool:
        return metric is not None and converses(self.registry.metrics.get(metric))


def asked_by(
    registry: Registry, dataset: str, strategy: str, texts: Mapping[str, str] | None = None
) -> AskedDataset:
    """Return a dataset in the form that a strategy uses, which decides prompts and scoring.

    `texts` are printed prompts by name.
    """
    form = answer_place(strategy, registry.strategies)
    return asked_dataset(registry.datasets[dataset], form, texts)


def converses(metric: object) -> bool:
    """Return whether a metric is a generator of steps, not a function that returns a score."""
    if not callable(metric):
        return False
    function = inspect.unwrap(metric)
    return any(map(inspect.isgeneratorfunction, (function, getattr(function, "__call__", None))))  # noqa: B004 - its code is inspected


def not_judged(error: Exception) -> Exception:
    """Return the error of a score after the judge's error, or after the metric's own error."""
    if isinstance(error, ModelError) and error.reason == METRIC:
        return MetricError(str(error))
    if isinstance(error, ModelError):
        return NotJudgedError(f"the judge has no answer ({error.reason}): {error}")
    return error


def score_flags(score: Score) -> tuple[str, ...]:
    """Return the flags that a score adds to its record."""
    return (*score.flags, *([UNCLEAR] if score.unclear else []))


def score_fields(
    score: Score, prediction: Any, parts: Mapping[str, float], part: str | None = None
) -> dict[str, Any]:
    """Return the fields of a record about a score, without its verdict.

    `parts` are the strategy's. `part` is the part that counts; None: the metric's main part.
    """
    part = part or score.part
    return {
        "score": score.parts.get(part, score.value) if part else score.value,
        "part": part,
        "parts": {**score.parts, **parts},
        "prediction": prediction,
        "why": redact(score.why)[:SHOWN] if score.why else None,
    }


def _with_memory(scored: Score, remembered: Score | None) -> Score:
    value = remembered.value if remembered is not None else 0.0
    return replace(scored, parts={**scored.parts, MEMORY: value})


def relayed(
    conversation: Judgement, outcome_of: Callable[[Step], Generator[Any, Any, Any]]
) -> Judgement:
    """Follow a conversation with the outcomes that `outcome_of` makes; raise its errors inside."""
    try:
        step = next(conversation)
        while True:
            try:
                outcome = yield from outcome_of(step)
            except Exception as error:
                step = conversation.throw(error)
            else:
                step = conversation.send(outcome)
    except StopIteration as end:
        scored: Score = end.value
        return scored


def _read_by(conversation: Judgement, compat: Compat) -> Judgement:
    """Parse a judge's replies in the compat mode before the metric receives them.

    A judge's reply that was cut off before any text gives no mark.
    """

    def outcome_of(step: Step) -> Generator[Any, Any, Any]:
        try:
            outcome = yield step
            return _judges_reply(outcome, compat) if isinstance(outcome, Reply) else outcome
        except ModelError as error:
            raise NotJudgedError(f"the judge gives no mark: {error}") from None

    return relayed(conversation, outcome_of)


def _judges_reply(reply: Reply, compat: Compat) -> Reply:
    """Return a judge's parsed reply. Raises `ModelError` for a reply without text.

    A number at the very end of a reply that was cut off may lack digits, so `fixed` drops it.
    """
    reply = as_read(reply, compat)
    if compat == "reference" or reply.finish_reason != "length":
        return reply
    return replace(reply, text=reply.text.rstrip().rstrip("0123456789.,/"))


def _with_main_part(form: AskedDataset, conversation: Judgement) -> Judgement:
    scored = yield from conversation
    if form.part is not None and form.part not in scored.parts:
        raise NotJudgedError(f"the judge gave no {form.part!r}, the score of {form.dataset.name!r}")
    return _main_part(form, scored)


def _main_part(form: AskedDataset, scored: Score) -> Score:
    """Return a score whose value is the part that the dataset names, if it names one.

    Raises `SettingsError` if that part is missing or not from 0 to 1.
    """
    part = form.part
    if part is None or part == scored.part:
        return scored
    value = scored.parts.get(part)
    if value is None or not 0 <= value <= 1:
        parts = ", ".join(name for name, number in scored.parts.items() if 0 <= number <= 1)
        raise SettingsError(
            f"dataset {form.dataset.name!r} is scored by {part!r}, which is not a score of its "
            f"metric from 0 to 1 ({parts or 'it has none'})"
        )
    return replace(scored, value=value, part=part)


def score_answer(
    dataset: str, reply: str, references: Sequence[str], *, compat: Compat = "fixed", **context: Any
) -> Score:
    """Score a raw reply with a dataset's post-processors and metric.

    `context` contains further inputs of the metric. Raises `SettingsError` for an unknown dataset
    or compat mode, and for references that are not a list.
    """
    check_compat(compat)
    registry = builtin_registry()
    if dataset not in registry.datasets:
        raise SettingsError(unknown_name("dataset", dataset, registry.datasets))
    if isinstance(references, str):
        raise SettingsError("references must be a list of texts, not one text")
    scorer, declared = Scorer(registry, compat=compat), registry.datasets[dataset]
    scored = scorer.score_text(declared, reply, references, **context).score
    if scored is None:
        raise SettingsError(f"dataset {dataset!r} has no metric")
    return scored
