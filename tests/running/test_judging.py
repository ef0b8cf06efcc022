"""Metrics that ask a judge: asked ahead of the item, and never a wrong answer for want of one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from pytest_tablebench.datasets import Example, TableQuestions
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import MetricError, ModelError, NotJudgedError, SettingsError
from pytest_tablebench.executors import Outcome, Work
from pytest_tablebench.metrics import POSTPROCESSORS, Judgement, Metric, Score, score
from pytest_tablebench.metrics._exact_match import exact_match
from pytest_tablebench.metrics.steps import Ask, Execute, Execution
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.registry import Registry
from pytest_tablebench.running._conversation import ConversationDriver, Conversations
from pytest_tablebench.running._lookup import StepLookup
from pytest_tablebench.running._prefetch import PrefetchWindow
from pytest_tablebench.running.case import CaseRun
from pytest_tablebench.running.requests import Route
from pytest_tablebench.running.scorer import Scorer, converses
from pytest_tablebench.strategies import Direct, Task
from tests.support.running_cases import completed

CASES = [Case("d", str(number), "html", "none", "m", f"d/{number}") for number in range(3)]


def tone(prediction: str, references: Sequence[str], **_: Any) -> Judgement:
    reply = yield Ask((Message("user", f"tone of {prediction}?"),))
    return Score(float(reply.text), {"tone": float(reply.text)})


def tone_and_length(prediction: str, references: Sequence[str], **_: Any) -> Judgement:
    parts = {"length": 1.0}
    try:
        reply = yield Ask((Message("user", f"tone of {prediction}?"),))
    except NotJudgedError:
        return Score(0.0, parts)
    return Score(float(reply.text), parts | {"tone": float(reply.text)})


def runs(prediction: str, references: Sequence[str], **_: Any) -> Judgement:
    ran = yield Execute(prediction)
    return Score(float(ran.output == references[0]))


def broken(prediction: str, references: Sequence[str], **_: Any) -> Judgement:
    yield Ask((Message("user", "?"),))
    return Score(2.0)


class Executor:
    """Answers what it has an answer to, at the next look."""

    lost: ModelError | None = None
    waits: Sequence[Mapping[str, Any]] = ()

    def __init__(self, answers: Mapping[tuple[str, str], str]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str]] = []
        self._due: list[tuple[str, Outcome]] = []

    def submit(self, work: Work, lane: str) -> None:
        if isinstance(work.task, Execute):
            self.asked.append((lane, work.task.program))
            outcome: Outcome = Execution("ok", "printed")
        else:
            assert isinstance(work.task, Request)
            self.asked.append((lane, work.task.text))
            found = self.answers.get((lane, work.task.text))
            outcome = ModelError("too many requests", reason="rate_limit", retryable=True)
            if found is not None:
                outcome = Reply(found, cost_usd=0.25)
        self._due.append((work.key, outcome))

    def outcomes(self, *, wait: bool) -> Sequence[tuple[str, Outcome]]:
        due, self._due = self._due, []
        return due

    def totals(self) -> Mapping[str, Any] | None:
        return None

    def stop(self, why: str) -> None:
        self._due.clear()

    def close(self) -> None:
        self._due.clear()


def window(
    metric: Metric, executor: Executor, judge: str | None = "judge", *, by_example: bool = False
) -> PrefetchWindow:
    def none() -> Iterator[Example]:
        return iter(())

    dataset = TableQuestions("d", none, metric="plain" if by_example else "own")
    named = "own" if by_example else None
    registry = Registry(datasets={"d": dataset}, metrics={"own": metric, "plain": exact_match})
    registry.postprocessors = dict(POSTPROCESSORS)
    begun = Conversations(
        task=lambda case: Task(
            Example(case.example_id, {}, "", ("printed",), "", metric=named), case.example_id
        ),
        strategies={"direct": Direct()},
        route=lambda model, _: Route(model, {}),
    )
    driver = ConversationDriver(begun, lambda: 0.0, Scorer(registry, judge))
    lookup = StepLookup(driver=driver, store=lambda: None)
    found = PrefetchWindow(lookup=lookup, executor=executor, models=("m",))
    found.size = 2
    found.expect(CASES)
    return found


ANSWERS = {("m", "0"): "kind", ("m", "1"): "rude", ("m", "2"): "odd"}


def text_of(pending: CaseRun) -> str:
    assert pending.error is None
    assert pending.answer is not None
    return pending.answer.text


def test_an_example_may_name_a_metric_that_asks_a_judge():
    executor = Executor(ANSWERS | {("judge", "tone of kind?"): "0.5"})
    pending = completed(window(tone, executor, by_example=True), CASES[0], 0)
    assert pending.score == Score(0.5, {"tone": 0.5})


def test_a_dataset_whose_examples_name_such_a_metric_wants_a_judge():
    registry = Registry(datasets={"d": TableQuestions("d", ())}, metrics={"tone": tone})
    scorer = Scorer(registry, "judge")
    assert scorer.metrics_with_judge("d", "direct", ()) == []
    assert scorer.metrics_with_judge("d", "direct", ["tone"]) == ["tone"]


def test_a_judge_is_asked_in_its_own_lane_as_soon_as_the_answer_is_there():
    judge = {("judge", "tone of kind?"): "1", ("judge", "tone of rude?"): "0.25"}
    executor = Executor(ANSWERS | judge)
    conversations = window(tone, executor)
    first = completed(conversations, CASES[0], 0)
    assert (text_of(first), first.score) == ("kind", Score(1.0, {"tone": 1.0}))
    # The next case was begun ahead, and so is what is asked about its answer.
    assert executor.asked == [
        *(("m", "0"), ("m", "1")),
        *(("judge", "tone of kind?"), ("judge", "tone of rude?")),
    ]
    second = completed(conversations, CASES[1], 1)
    assert second.score == Score(0.25, {"tone": 0.25})
    assert [(step.cost_usd, step.kind) for step in second.judging] == [(0.25, "ask")]
    assert second.answer is not None
    assert second.answer.calls == 1  # what the judge takes is not the model's
    assert len({step.key for step in (*second.judging, *second.steps)}) == 2


def test_without_a_judges_answer_the_answer_stays():
    executor = Executor(ANSWERS)
    pending = completed(window(tone, executor), CASES[0], 0)
    assert (text_of(pending), pending.score) == ("kind", None)
    assert isinstance(pending.unscored, NotJudgedError)
    assert "rate_limit" in str(pending.unscored)


def test_a_judge_that_fails_ends_neither_the_model_nor_the_run():
    executor = Executor(ANSWERS)
    conversations = window(tone, executor)
    for number in range(3):
        assert text_of(completed(conversations, CASES[number], number)) == ANSWERS["m", str(number)]
    assert conversations.stopped is None


def test_without_a_judge_nobody_is_asked_and_known_parts_stay():
    executor = Executor(ANSWERS)
    pending = completed(window(tone_and_length, executor, judge=None), CASES[0], 0)
    assert pending.score == Score(0.0, {"length": 1.0})
    assert isinstance(pending.unscored, NotJudgedError)
    assert "--bench-judge" in str(pending.unscored)
    assert {lane for lane, _ in executor.asked} == {"m"}


def test_a_metric_has_programs_run():
    executor = Executor(ANSWERS)
    pending = completed(window(runs, executor, judge=None), CASES[0], 0)
    assert pending.score == Score(1.0)
    assert ("programs", "kind") in executor.asked


def test_a_metric_whose_conversation_ends_badly_costs_no_answer():
    executor = Executor(ANSWERS | {("judge", "?"): "yes"})
    pending = completed(window(broken, executor), CASES[0], 0)
    assert text_of(pending) == "kind"
    assert isinstance(pending.unscored, SettingsError)
    assert "scores must be from 0 to 1" in str(pending.unscored)
    assert not isinstance(pending.unscored, NotJudgedError | MetricError)


class Callable:
    def __call__(self, prediction: str, references: Sequence[str], **_: Any) -> Judgement:
        yield Ask(())
        return Score(1.0)


@pytest.mark.parametrize(
    ("metric", "found"),
    [(tone, True), (Callable(), True), (lambda *_: Score(1.0), False), (None, False)],
)
def test_what_converses(metric, found):
    assert converses(metric) is found


def test_a_metric_that_asks_is_not_scored_in_passing():
    with pytest.raises(SettingsError, match="'tone' asks a judge or runs programs"):
        score("tone", "kind", ["x"], metrics={"tone": tone})


def test_requests_to_the_judge_have_keys_of_their_own():
    asked: list[Request] = []

    class Keeping(Executor):
        def submit(self, work: Work, lane: str) -> None:
            assert isinstance(work.task, Request)
            asked.append(work.task)
            super().submit(work, lane)

    judge = {("judge", "tone of kind?"): "1"}
    completed(window(tone, Keeping(ANSWERS | judge)), CASES[0])
    [question, judged] = asked
    assert (question.strategy, question.step) == ("direct", 0)
    assert (judged.model, judged.strategy, judged.step) == ("judge", "metric:own", 0)
    assert judged.case_id == "d/0"


def test_a_program_that_nobody_can_shut_in_leaves_no_answer():
    class Nowhere(Executor):
        def submit(self, work: Work, lane: str) -> None:
            if not isinstance(work.task, Execute):
                return super().submit(work, lane)
            self._due.append((work.key, ModelError("nothing holds", reason="no_sandbox")))
            return None

    pending = completed(window(runs, Nowhere(ANSWERS)), CASES[0], 0)
    assert pending.answer is None
    assert pending.score is None
    assert isinstance(pending.error, ModelError)
    assert pending.error.reason == "no_sandbox"
