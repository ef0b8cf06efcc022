"""A case from its question to its record."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import AskedDataset, Dataset, Example
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import (
    SKIPPED,
    DataError,
    MetricError,
    ModelError,
    NotJudgedError,
    SettingsError,
    TableBenchError,
    described,
)
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Grade, Step
from pytest_tablebench.models import Reply, Request
from pytest_tablebench.registry import Registry
from pytest_tablebench.results import Outcome, Record, outcome_of_score
from pytest_tablebench.results.message import Finding, with_checks
from pytest_tablebench.results.record import ASSERTION, reaches
from pytest_tablebench.running.answer import Answer, StepFacts, Turn, no_answer_reason, step_records
from pytest_tablebench.running.axes import Axes
from pytest_tablebench.running.correcting import Correcting
from pytest_tablebench.running.scorer import Scorer, score_fields, score_flags
from pytest_tablebench.serializers.content import Content, digest_of

_SPENT = ("prompt_tokens", "completion_tokens", "cost_usd")
_OF_ANSWER = (*_SPENT, "latency_s", "reasoning_tokens", "reply_limit", "served", "from_store")
"""The fields of an answer that its record has too."""


class CaseSupport(Protocol):
    """The attributes of the runner that a case uses."""

    settings: Settings
    registry: Registry
    axes: Axes
    scorer: Scorer

    @property
    def correcting(self) -> Correcting | None:
        """The corrections of the run; None without any."""

    def complete(self, run: CaseRun) -> None:
        """Wait until a case has an answer and the outcome of its metric's steps, or an error."""

    def example(self, case: Case) -> Example:
        """Return a case's example. Raises `TableError` or `DataError`."""


@dataclass(eq=False, repr=False)
class CaseRun:
    """A running case, from its question to its record: the value of the `case` fixture.

    Its conversation may begin ahead of its item. The conversation of its metric follows that of
    its strategy; an error in it is `unscored`, and the answer is kept. `ask` scores the answer.

    Attributes:
        position: the place in the plan of the run.
        threshold: for the assertions of this test.
        limit: the threshold of the case.
        is_threshold_named: whether a marker or an option sets the threshold.
        runner: missing until the item starts.
        example: the example after the perturbation.
        prediction, score: the result of the dataset's own metric. No test changes them.
    """

    case: Case
    position: int | None = None
    threshold: float = 1.0
    limit: float = 1.0
    is_threshold_named: bool = False
    runner: CaseSupport = field(init=False)
    is_asked: bool = False
    """Whether its item has received the answer or the error."""
    is_skipped: bool = False

    example: Example | None = None
    prompt: Content | None = None
    answer: Answer | None = None
    error: Exception | None = None
    """Why there is no answer or no score."""
    score: Score | None = None
    unscored: Exception | None = None
    """Why the metric's conversation gave no score, or only a part of it."""
    prediction: Any = None

    conversation: Generator[Step | Grade, Any, Any] | None = None
    started: float = 0.0
    """When the conversation began, by any clock; 0 before."""
    now: bool = False
    """Whether the conversation began for the current item, not ahead."""
    dropped: bool = False
    step: Step | Grade | None = None
    """The step that the conversation waits for."""
    key: str | None = None
    """The key of the last request."""
    is_prompt_cut: bool = False
    """Whether the last request was cut to the model's context."""
    reply_limit: int | None = None
    """The token limit of the last request."""
    arrived: dict[str, Reply] = field(default_factory=dict)
    """Cut-off replies to the current step, by key."""
    replaced: tuple[tuple[Request, Reply], ...] = ()
    """Requests and replies of the current step that were cut off and requested again."""
    refused: set[str] = field(default_factory=set)
    """Parameters that the server refused."""
    steps: list[StepFacts] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    """The turns after the prompt so far."""
    judging: list[StepFacts] = field(default_factory=list)
    """The steps of the metric's conversation."""

    def __repr__(self) -> str:
        return f"CaseRun({self.id!r})"

    @property
    def done(self) -> bool:
        """Whether the conversations have ended."""
        return self.error is not None or (self.answer is not None and self.conversation is None)

    @property
    def judged(self) -> bool:
        """Whether the answer exists and the metric's conversation is running."""
        return self.answer is not None and self.conversation is not None

    @property
    def model(self) -> str:
        """The model under test."""
        return self.case.model

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

    @property
    def asked(self) -> AskedDataset:
        """The dataset in the form that the case's strategy uses, which decides the scoring."""
        return self.runner.scorer.form(self.case, self.example)

    @property
    def has_verdict(self) -> bool:
        """Whether the answer is right or wrong, and does not only have a score."""
        return self.is_threshold_named or self.example is None or self.example.has_verdict

    @property
    def answered(self) -> bool:
        """Whether there is an answer, with a score if the dataset has a metric."""
        return self.answer is not None and self.error is None

    @property
    def has_result(self) -> bool:
        """Whether the case has a score, or a reason for having none."""
        return self.error is not None or (self.answered and self.asked.metric is not None)

    @property
    def flags(self) -> tuple[str, ...]:
        """What is special about the answer and its score."""
        flags = self.answer.flags if self.answer is not None else ()
        if isinstance(self.error, NotJudgedError):
            return flags + self.error.flags
        if self.score is None or not self.answered:
            return flags
        flags += ("not_judged",) if self.unscored is not None else ()
        return flags + tuple(flag for flag in score_flags(self.score) if flag not in flags)

    def ask(self) -> Answer:
        """Return the model's answer, after scoring it with the dataset's own metric.

        Raises `ModelError`, `TableError` or `DataError` without an answer, and `MetricError` if
        the metric fails.
        """
        if not self.is_asked:
            self.runner.complete(self)
            self.is_asked = True
            threshold = None if self.example is None else self.example.threshold
            if threshold is not None and self.case.dataset not in self.runner.settings.thresholds:
                self.threshold = self.limit = threshold
            if self.answer is not None and self.error is None:
                self._take_score(self.answer)
        if self.error is not None and self.error is not self.unscored:
            raise self.error
        if self.answer is None:
            raise RuntimeError(f"{self.id}: the conversation ended without answer or error")
        return self.answer

    def _take_score(self, answer: Answer) -> None:
        """Score the answer for the record, or set the error.

        If the judge has no answer, only the score is missing.
        """
        try:
            if self.score is not None:
                form, example, text = self._reply(answer)
                self.prediction, _ = self.runner.scorer.texts(form, text, example.references)
            elif isinstance(self.unscored, NotJudgedError):
                self.error = self.unscored
            elif self.unscored is not None:
                raise self.unscored
            else:
                scored = self.runner.scorer.score(*self._reply(answer))
                self.prediction, self.score = scored.prediction, scored.score
        except Exception as error:
            name = f"metric {self.asked.metric!r} of dataset {self.case.dataset}"
            why = str(error) if isinstance(error, TableBenchError) else described(error)
            self.error = MetricError(f"{name} cannot score the answer: {why}")

    def as_used(self) -> CaseRun:
        """Return the case without a conversation ahead whose outcome its item did not receive."""
        if self.is_asked:
            return self
        unasked = CaseRun(self.case, self.position)
        unasked.runner = self.runner
        return unasked

    def skip(self) -> None:
        """Leave the case without an answer, because pytest skipped its test.

        Raises `TableError` if the perturbation does not apply, so that there is no question.
        """
        self.is_skipped = True
        self.error = ModelError("its test was skipped", reason=SKIPPED)
        with contextlib.suppress(DataError):  # without its example the record has no tags
            self.example = self.example or self.runner.example(self.case)

    def _reply(self, answer: Answer) -> tuple[AskedDataset, Example, str]:
        if self.example is None:
            raise SettingsError(f"{self.id}: request the answer before judging it")
        return self.asked, self.example, answer.text

    def judge(self, answer: Answer, part: str | None = None) -> float:
        """Return the score of an answer, from 0 to 1, without recording it.

        `part` names a part of the metric's score, or another registered metric. Without it the
        metric's main score counts. Raises `SettingsError` for an unknown name, and without a
        name if the dataset has no metric.
        """
        if isinstance(self.error, NotJudgedError):
            if part is None or part not in self.runner.registry.metrics:
                raise self.error
            return self.runner.scorer.score_by(part, *self._reply(answer)).value  # needs no judge
        score, metric = self.score if answer is self.answer else None, self.asked.metric
        if score is None and metric is not None:
            score = self.runner.scorer.score(*self._reply(answer)).score
        if part is not None and (score is None or part not in score.parts):
            metric, score = part, self.runner.scorer.score_by(part, *self._reply(answer))
        if score is None:
            raise SettingsError(
                f"dataset {self.case.dataset!r} declares no metric: name one, as in "
                f"assert_score(case, answer, part='exact_match')"
            )
        value = score.parts.get(part, score.value) if part else score.value
        if not 0 <= value <= 1:
            raise SettingsError(f"{part!r} of {metric} is {value:g}, not a score from 0 to 1")
        return value

    def finding(self, item: str, check: str, passed: bool | None, *, failed: bool) -> Finding:
        """Return the finding of a test over the case.

        `passed` is None if the test was skipped or stopped by the error of the case; `failed` is
        whether pytest counts a failure.
        """
        if passed and self.answered and not self.has_verdict:
            passed = None
        is_test_at_fault = self.error is None or isinstance(self.error, MetricError)
        is_broken = failed and not self.answered and is_test_at_fault
        return Finding(item, check, passed, failed, broken=is_broken)

    def outcome(self, finding: Finding) -> Outcome:
        """Return the outcome to show for a test over the case."""
        if not self.answered or (finding.passed is None and self.has_verdict):
            return "no_answer"
        return "scored" if finding.passed is None else "right" if finding.passed else "wrong"

    @property
    def identity(self) -> dict[str, Any]:
        """The fields of the record that are known without an answer."""
        facts = self.case.values()
        facts["benchmark"] = self.dataset.benchmark
        facts["preserves_meaning"] = self.preserves_meaning
        return facts

    def record(self, checks: Mapping[str, bool | None], error: BaseException | None) -> Record:
        """Return the case's record.

        `checks` contains the results of the tests over the case. `error` is the reason if there is
        no answer.
        """
        answer, example = self.answer, self.example
        facts = self.identity
        facts["prompt_digest"] = self.prompt_digest
        if example is not None:
            tags = {str(name): str(value) for name, value in example.tags.items()}
            facts |= {"references": example.references, "tags": tags, "cluster": example.cluster}
        if answer is not None:
            facts |= {name: getattr(answer, name) for name in _OF_ANSWER}
            facts |= {"raw": answer.written, "flags": self.flags, "transcript": self.transcript}
            facts["steps"] = step_records([*answer.steps, *self.judging])
        elif isinstance(self.error, ModelError) and self.error.spent:
            facts |= {name: self.error.spent.get(name) for name in _SPENT}
        if answer is not None and self.error is None:
            facts |= self._scored(answer)
        else:
            facts["reason"] = "not_asked" if error is None else no_answer_reason(error)
            facts["prompt_sent"] = getattr(self.error, "prompt_sent", None)
        if isinstance(self.error, NotJudgedError):
            facts["parts"] = dict(self.error.parts)
        record, correcting = made_record(checks, facts), self.runner.correcting
        return record if correcting is None else correcting.corrected(record)

    def _scored(self, answer: Answer) -> dict[str, Any]:
        """Return the fields of the record about the score; without a metric, tests decide it."""
        if self.score is None:
            return {"metric": ASSERTION, "score": 1.0}
        return {
            "metric": self.asked.metric,
            "threshold": self.limit if self.has_verdict else None,
            **score_fields(self.score, self.prediction, answer.parts),
        }


def made_record(checks: Mapping[str, bool | None], facts: Mapping[str, Any]) -> Record:
    """Return the record of a case from its identity and the other known fields.

    The case is right if its score reaches its threshold; without a metric, if no test failed.
    """
    score, threshold = facts.get("score"), facts.get("threshold")
    passed = reaches(score, threshold)
    outcome = outcome_of_score(score, passed)
    record = Record(outcome=outcome, passed=passed, checks=dict(checks), **facts)
    return with_checks(record, checks) if record.metric == ASSERTION else record
