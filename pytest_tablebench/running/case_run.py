"""Run one case: get the answer, score it, and make the record."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from pytest_tablebench.config.axes import values_on
from pytest_tablebench.config.secrets import redact
from pytest_tablebench.errors import (
    SKIPPED,
    DataError,
    MetricError,
    ModelError,
    NotJudgedError,
    SettingsError,
    TableBenchError,
    TableError,
    described,
)
from pytest_tablebench.metrics import Score
from pytest_tablebench.results import Record, outcome_of_score
from pytest_tablebench.results.record import ASSERTION, UNCLEAR
from pytest_tablebench.running.answer import Answer, StepFacts, step_records
from pytest_tablebench.running.pending import PendingCase
from pytest_tablebench.running.scoring import (
    ScoredReply,
    asked_by,
    judge_example,
    processed_texts,
    score_by,
)
from pytest_tablebench.serializers.content import Content, digest_of
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings
    from pytest_tablebench.datasets import AskedDataset, Dataset, Example
    from pytest_tablebench.datasets.case import Case
    from pytest_tablebench.registry import Registry
    from pytest_tablebench.running.axes import Axes
    from pytest_tablebench.running.correcting import Correcting
    from pytest_tablebench.running.prefetch import PrefetchWindow

SHOWN, SEARCHED = 800, 4000
"""Characters of an error that are shown, and that are searched for secrets first."""


class CaseSupport(Protocol):
    """The attributes of the runner that a case uses."""

    settings: Settings
    registry: Registry
    axes: Axes
    prefetch: PrefetchWindow

    @property
    def correcting(self) -> Correcting | None:
        """The corrections of the run; None without any."""

    def example(self, case: Case) -> Example:
        """Return a case's example. Raises `TableError` or `DataError`."""


@dataclass
class CaseRun:
    """A running case: the value of the `case` fixture.

    Attributes:
        threshold: for the assertions of this test.
        limit: the threshold of the case.
        is_threshold_named: whether a marker or an option sets the threshold.
        has_verdict: if False, the answer has a score but is neither right nor wrong.
        example: the example after the perturbation.
        prediction, score, value: the result of the dataset's own metric. No test changes them.
    """

    case: Case
    threshold: float
    limit: float
    runner: CaseSupport = field(repr=False)
    position: int | None = None
    is_threshold_named: bool = False
    has_verdict: bool = True
    example: Example | None = field(default=None, repr=False)
    prompt: Content | None = field(default=None, repr=False)
    answer: Answer | None = None
    error: Exception | None = None
    prediction: Any = field(default=None, repr=False)
    score: Score | None = None
    value: float | None = None
    flags: tuple[str, ...] = ()
    is_skipped: bool = False
    judging: tuple[StepFacts, ...] = field(default=(), repr=False)
    """The steps of a metric that calls a judge."""
    _judged: ScoredReply | None = field(default=None, repr=False)

    @property
    def id(self) -> str:
        """The case id: dataset/example/serializer/perturbation."""
        return self.case.case_id

    @property
    def preserves_meaning(self) -> bool:
        """Whether the perturbation keeps the meaning of the question."""
        return self.runner.axes.preserves_meaning(self.case.perturbation)

    @property
    def prompt_digest(self) -> str | None:
        """The first 16 hexadecimal digits of the prompt's SHA-256; None without a prompt."""
        return digest_of(self.prompt) if self.prompt is not None else None

    @property
    def transcript(self) -> str | None:
        """The first 16 hexadecimal digits of the SHA-256 of the turns after the prompt."""
        turns = self.answer.turns if self.answer is not None else ()
        return digest_of(json.dumps(turns)) if turns else None

    @property
    def dataset(self) -> Dataset:
        """The case's dataset."""
        return self.runner.registry.datasets[self.case.dataset]

    def ask(self) -> Answer:
        """Return the model's answer, after scoring it with the dataset's own metric.

        Raises `ModelError`, `TableError` or `DataError` without an answer, and `MetricError` if
        the metric fails.
        """
        pending = self.runner.prefetch.complete(self.case, self.position)
        self.example, self.prompt, self.answer = pending.example, pending.prompt, pending.answer
        threshold = None if pending.example is None else pending.example.threshold
        if threshold is not None and self.case.dataset not in self.runner.settings.thresholds:
            self.threshold = self.limit = threshold
        if pending.example is not None:
            self.has_verdict = pending.example.has_verdict or self.is_threshold_named
        self.error = pending.error
        if pending.error is not None:
            self.flags = self.answer.flags if self.answer is not None else ()
            raise pending.error
        if pending.answer is None:
            raise RuntimeError(f"{self.id}: the conversation ended without answer or error")
        self.judging, self.flags = tuple(pending.judging), pending.answer.flags
        self._take_score(pending.answer, pending)
        return pending.answer

    @property
    def has_result(self) -> bool:
        """Whether the case has a score, or a reason for having none."""
        return self.error is not None or (self.answered and self.asked.metric is not None)

    def skip(self) -> None:
        """Leave the case without an answer, because pytest skipped its test.

        Raises `TableError` if the perturbation does not apply, so that there is no question.
        """
        self.is_skipped = True
        self.error = ModelError("its test was skipped", reason=SKIPPED)
        with contextlib.suppress(DataError):  # without its example the record has no tags
            self.example = self.example or self.runner.example(self.case)

    @property
    def asked(self) -> AskedDataset:
        """The dataset in the form that the case's strategy uses, which decides the scoring."""
        return self._form.about(self.example)

    @cached_property
    def _form(self) -> AskedDataset:
        return asked_by(self.runner.registry, self.case.dataset, self.case.strategy)

    @property
    def answered(self) -> bool:
        """Whether there is an answer, with a score if the dataset has a metric."""
        return self.answer is not None and self.error is None

    def _take_score(self, answer: Answer, pending: PendingCase) -> None:
        """Score the answer for the record. Raises `MetricError` if the metric fails.

        If the judge has no answer, only the score is missing.
        """
        try:
            if pending.score is not None:
                prediction, references = self._texts(answer)
                self._judged = ScoredReply(pending.score, prediction, tuple(references))
                if pending.unscored is not None:
                    self.flags += ("not_judged",)
            elif isinstance(pending.unscored, NotJudgedError):
                self.error = pending.unscored
                self.flags += pending.unscored.flags
                return
            elif pending.unscored is not None:
                raise pending.unscored
            else:
                self._judged = self._chain(answer)
        except Exception as error:
            name = printable(f"metric {self.asked.metric!r} of dataset {self.case.dataset}")
            why = str(error) if isinstance(error, TableBenchError) else described(error)
            self.error = MetricError(f"{name} cannot score the answer: {why}")
            raise self.error from None
        self.prediction, self.score = self._judged.prediction, self._judged.score
        if self.score is not None:
            self.value = self.score.value
            flags = (*self.score.flags, *([UNCLEAR] if self.score.unclear else []))
            self.flags += tuple(flag for flag in flags if flag not in self.flags)
            self.score = replace(self.score, parts={**self.score.parts, **answer.parts})

    def _asked_example(self) -> Example:
        if self.example is None:
            raise SettingsError(f"{self.id}: request the answer before judging it")
        return self.example

    def _texts(self, answer: Answer) -> tuple[Any, list[Any]]:
        references, compat = self._asked_example().references, self.runner.settings.compat
        return processed_texts(self.runner.registry, self.asked, answer.text, references, compat)

    def _chain(self, answer: Answer) -> ScoredReply:
        registry, compat = self.runner.registry, self.runner.settings.compat
        example = self._asked_example()
        return judge_example(registry, self.asked, answer.text, example, compat=compat)

    def _score_by(self, metric: str, prediction: Any, references: Sequence[Any]) -> Score:
        registry, compat = self.runner.registry, self.runner.settings.compat
        context = self._asked_example().context
        return score_by(registry, metric, prediction, references, compat=compat, context=context)

    def judge(self, answer: Answer, part: str | None = None) -> float:
        """Return the score of an answer, from 0 to 1, without recording it.

        `part` names a part of the metric's score, or another registered metric. Without it the
        metric's main score counts. Raises `SettingsError` for an unknown name, and without a
        name if the dataset has no metric.
        """
        if isinstance(self.error, NotJudgedError):
            if part is None or part not in self.runner.registry.metrics:
                raise self.error
            return self._score_by(part, *self._texts(answer)).value  # needs no judge
        judged = self._judged if answer is self.answer else None
        judged = judged or self._chain(answer)
        scored, metric = judged.score, self.asked.metric
        if part is None and scored is None:
            raise SettingsError(
                f"dataset {self.case.dataset!r} declares no metric: name one, as in "
                f"assert_score(case, answer, part='exact_match')"
            )
        if part is not None and (scored is None or part not in scored.parts):
            metric = part
            scored = self._score_by(part, judged.prediction, judged.references)
        if scored is None:
            raise SettingsError(f"{self.id}: no metric scored the answer")
        value = scored.parts.get(part, scored.value) if part else scored.value
        if not 0 <= value <= 1:
            raise SettingsError(f"{part!r} of {metric} is {value:g}, not a score from 0 to 1")
        return value

    def record(self, checks: Mapping[str, bool | None], error: BaseException | None) -> Record:
        """Return the case's record.

        `checks` contains the results of the tests over the case; without a metric an answer is
        right if no test failed. `error` is the reason if there is no answer.
        """
        case, answer, example = self.case, self.answer, self.example
        answered, metric = self.answered, self.asked.metric
        value = self.value if metric is not None else float(False not in checks.values())
        right = value is not None and value >= (self.limit if metric is not None else 1.0)
        has_verdict = answered and (self.has_verdict or metric is None)
        passed = right if has_verdict else None
        parts = self.score.parts if self.score and answered else {}
        if isinstance(self.error, NotJudgedError):
            parts = self.error.parts
        spent = self.error.spent or {} if isinstance(self.error, ModelError) else {}
        record = Record(
            case_id=case.case_id,
            model=case.model,
            benchmark=self.dataset.benchmark,
            dataset=case.dataset,
            example_id=case.example_id,
            **values_on(case),
            outcome=outcome_of_score(value if answered else None, passed),
            score=value if answered else None,
            threshold=self.limit if has_verdict and metric is not None else None,
            passed=passed,
            metric=(metric or ASSERTION) if answered else None,
            part=self.score.part if self.score and answered else None,
            parts=dict(parts),
            checks=dict(checks),
            prediction=self.prediction if answered and metric is not None else None,
            raw=answer.written if answer else None,
            references=example.references if example else (),
            reason=None if answered else no_answer_reason(error) if error else "not_asked",
            why=redact(self.score.why)[:SHOWN] or None if self.score and answered else None,
            flags=self.flags if answer else (),
            tags={str(name): str(value) for name, value in example.tags.items()} if example else {},
            cluster=example.cluster if example else None,
            preserves_meaning=self.preserves_meaning,
            prompt_digest=self.prompt_digest,
            transcript=self.transcript,
            steps=step_records([*answer.steps, *self.judging]) if answer else (),
            latency_s=answer.latency_s if answer else None,
            prompt_tokens=answer.prompt_tokens if answer else spent.get("prompt_tokens"),
            completion_tokens=answer.completion_tokens
            if answer
            else spent.get("completion_tokens"),
            reasoning_tokens=answer.reasoning_tokens if answer else None,
            reply_limit=answer.reply_limit if answer else None,
            prompt_sent=getattr(self.error, "prompt_sent", None),
            served=answer.served if answer else None,
            cost_usd=answer.cost_usd if answer else spent.get("cost_usd"),
            from_store=answer.from_store if answer else False,
        )
        correcting = self.runner.correcting
        if correcting is None:
            return record
        text = answer.text if answer and answered else None
        return correcting.corrected(record, text, answer.parts if answer else {})


def no_answer_reason(error: BaseException) -> str:
    """Return the reason under which a case without an answer is counted."""
    if isinstance(error, ModelError | NotJudgedError):
        return error.reason
    if isinstance(error, MetricError):
        return "metric_error"
    if isinstance(error, TableError):
        return "unusable_table"
    if isinstance(error, DataError):
        return "unusable_data"
    return "test_error"


def no_answer_text(error: Exception) -> str:
    """Return one printable line with the reason for no answer or no score, without secrets.

    The error of a user's provider may contain its address with a password.
    """
    outcome = "no score" if isinstance(error, MetricError | NotJudgedError) else "no answer"
    message = redact(str(error)[:SEARCHED])
    return f"{outcome} ({no_answer_reason(error)}): {printable(message, SHOWN)}"
