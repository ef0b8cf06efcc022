"""Conversations without a window and without an executor: the test gives each outcome."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import pytest

from pytest_tablebench.datasets import Example, TableQuestions
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import CUT_OFF, ModelError, NotJudgedError
from pytest_tablebench.metrics import POSTPROCESSORS, Judgement, Metric, Score
from pytest_tablebench.metrics.steps import Ask, Execution, Grade, Step
from pytest_tablebench.models import Message, Reply
from pytest_tablebench.registry import Registry
from pytest_tablebench.running._conversation import ConversationDriver, Conversations, follow
from pytest_tablebench.running.case import CaseRun
from pytest_tablebench.running.requests import Route
from pytest_tablebench.running.scorer import Scorer
from pytest_tablebench.strategies import Task

Conversation = Generator[Step, Reply | Execution, str]


def ask(text: str) -> Ask:
    return Ask((Message("user", text),))


def two_questions() -> Conversation:
    first = yield ask("first")
    second = yield ask("second")
    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    return f"{first.text}, {second.text}"


def tolerant() -> Conversation:
    try:
        yield ask("judge")
    except NotJudgedError:
        reply = yield ask("without")
        assert isinstance(reply, Reply)
        return f"partly {reply.text}"
    return "whole"


def test_answers_are_sent_in_order_until_the_end() -> None:
    assert follow(two_questions(), lambda _, number: Reply(f"reply {number}")) == "reply 0, reply 1"


def test_a_step_without_an_outcome_ends_it_without_a_value() -> None:
    numbers: list[int] = []

    def answer(_: Step, number: int) -> Reply | None:
        numbers.append(number)
        return Reply("known") if number == 0 else None

    assert follow(two_questions(), answer) is None
    assert numbers == [0, 1]


def test_a_missing_judge_is_raised_inside_the_conversation_which_may_continue() -> None:
    def answer(_: Step, number: int) -> Reply:
        if number == 0:
            raise NotJudgedError("no judge")
        return Reply(f"by step {number}")

    assert follow(tolerant(), answer) == "partly by step 1"


# The driver: from the strategy's first step to the score.

CASE = Case("d", "ada", "html", "none", "m", "d/ada")
REFUSAL = ModelError("temperature is not supported", reason="bad_request")


class Rounds:
    """Asks twice; a refusal of the second question has it ask another one."""

    name = "rounds"

    def converse(self, task: Task) -> Conversation:
        first = yield ask(f"{task.prompt} first")
        assert isinstance(first, Reply)
        try:
            second = yield ask("second")
        except ModelError:
            second = yield ask("instead")
        assert isinstance(second, Reply)
        return f"{first.text}, {second.text}"


def length(prediction: str, references: Sequence[str], **_: Any) -> Score:
    return Score(float(prediction == references[0]))


def judged(prediction: str, references: Sequence[str], **_: Any) -> Judgement:
    try:
        reply = yield Ask((Message("user", f"is {prediction} right?"),))
    except NotJudgedError:
        return Score(0.25)
    assert isinstance(reply, Reply)
    return Score(float(reply.text == "yes"))


def driver_with(metric: Metric, clock: Callable[[], float] = lambda: 5.0) -> ConversationDriver:
    def no_examples() -> Iterator[Example]:
        return iter(())

    registry = Registry(
        datasets={"d": TableQuestions("d", no_examples, metric="own")}, metrics={"own": metric}
    )
    registry.postprocessors = dict(POSTPROCESSORS)
    conversations = Conversations(
        task=lambda case: Task(Example(case.example_id, {}, "", ("a, b",), ""), "prompt"),
        strategies={"direct": Rounds()},
        route=lambda model, _: Route(model, {}),
    )
    return ConversationDriver(conversations, clock, Scorer(registry, "judge"))


class Drive:
    """A case on its way; `send` gives the outcome of the step that it waits for."""

    def __init__(self, metric: Metric = length) -> None:
        self.driver = driver_with(metric)
        self.pending = CaseRun(CASE)
        self._wait_for(self.driver.begin(self.pending))

    def _wait_for(self, step: Step | Grade | None) -> None:
        self.pending.step = step
        if isinstance(step, Ask):
            request, _ = self.driver.request(self.pending, step)
            self.pending.key = request.key()

    @property
    def question(self) -> tuple[str, str]:
        """The model and the text of the question that it waits for."""
        step = self.pending.step
        assert isinstance(step, Ask)
        request, _ = self.driver.request(self.pending, step)
        return request.model, request.text

    def send(self, text: str) -> Drive:
        self._wait_for(self.driver.receive(self.pending, Reply(text)))
        return self

    def fail(self, error: Exception) -> Drive:
        self._wait_for(self.driver.take_error(self.pending, error))
        return self


def test_a_case_goes_from_its_first_question_to_its_answer() -> None:
    drive = Drive()
    assert drive.question == ("m", "prompt first")
    assert drive.pending.prompt == "prompt first"
    drive.send("a")
    assert drive.question == ("m", "second")
    pending = drive.send("b").pending
    assert pending.done
    assert pending.step is None
    assert pending.answer is not None
    assert (pending.answer.text, pending.answer.latency_s) == ("a, b", 5.0)
    assert [step.kind for step in pending.steps] == ["ask", "ask"]
    assert pending.score is None  # a plain metric is applied by the case


def test_a_judge_is_asked_after_the_answer_and_gives_the_score() -> None:
    drive = Drive(judged).send("a").send("b")
    assert drive.pending.judged
    assert not drive.pending.done
    assert drive.question == ("judge", "is a, b right?")
    pending = drive.send("yes").pending
    assert pending.done
    assert pending.score == Score(1.0)
    assert (len(pending.steps), len(pending.judging)) == (2, 1)


def test_a_failed_judge_leaves_the_answer_and_the_part_of_the_score_that_is_known() -> None:
    drive = Drive(judged).send("a").send("b")
    pending = drive.fail(ModelError("busy", reason="rate_limit", retryable=True)).pending
    assert pending.done
    assert pending.error is None
    assert pending.answer is not None
    assert pending.score == Score(0.25)
    assert isinstance(pending.unscored, NotJudgedError)
    assert "rate_limit" in str(pending.unscored)


def test_a_refused_question_may_be_followed_by_another_one() -> None:
    drive = Drive().send("a").fail(REFUSAL)
    assert drive.question == ("m", "instead")
    pending = drive.send("b").pending
    assert pending.answer is not None
    assert pending.answer.text == "a, b"


def test_a_refused_question_without_another_one_ends_the_case() -> None:
    pending = Drive().fail(REFUSAL).pending
    assert pending.done
    assert pending.error is REFUSAL
    assert pending.answer is None


@pytest.mark.parametrize("error", [ModelError("busy", reason="rate_limit"), ValueError("own")])
def test_any_other_error_ends_the_case(error: Exception) -> None:
    pending = Drive().send("a").fail(error).pending
    assert pending.done
    assert pending.error is error
    assert (pending.answer, pending.conversation) == (None, None)


def test_a_reply_that_was_cut_off_is_kept_beside_its_error() -> None:
    error = ModelError("cut off before its answer", reason=CUT_OFF)
    pending = Drive().send("a").fail(error).pending
    assert pending.error is error
    assert pending.answer is not None
    assert (pending.answer.text, pending.answer.raw) == ("", "a")


def test_an_outcome_without_a_begun_conversation_is_a_defect() -> None:
    with pytest.raises(RuntimeError, match="never began"):
        driver_with(length).receive(CaseRun(CASE), Reply("a"))
