"""The driver of conversations, which takes a generator of steps from its first step to its end.

It needs neither pytest nor an executor: its caller answers each step and passes the outcome in.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from pytest_tablebench.datasets import ReplyForm
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import (
    METRIC,
    PAID_WITHOUT_ANSWER,
    PENDING,
    PROMPT_CUT_BY_SERVER,
    REFUSED,
    ModelError,
    NotJudgedError,
)
from pytest_tablebench.metrics import Score
from pytest_tablebench.metrics.steps import Ask, Execute, Execution, Grade, Step
from pytest_tablebench.models import Reply, Request
from pytest_tablebench.running.answer import (
    answer_of,
    replaced_facts,
    shown_by,
    step_facts,
    steps_done,
    turns_of,
    unanswered,
)
from pytest_tablebench.running.case import CaseRun
from pytest_tablebench.running.prompt_reading import PromptReading
from pytest_tablebench.running.requests import Route, of_metric, request_of, whole_messages
from pytest_tablebench.running.scorer import Scorer, not_judged
from pytest_tablebench.strategies import Said, Strategy, Task, asked_about, named_strategy

Value = TypeVar("Value")


def follow(
    conversation: Generator[Step, Reply | Execution, Value],
    answer: Callable[[Step, int], Reply | Execution | None],
) -> Value | None:
    """Return the value of a conversation, None if the answerer has no outcome for a step.

    `answer` receives a step and its number from 0. A `NotJudgedError` that it raises is raised
    inside the conversation, which may continue without the judge.
    """
    number = 0
    try:
        step = next(conversation)
        while True:
            try:
                outcome = answer(step, number)
            except NotJudgedError as error:
                step = conversation.throw(error)
            else:
                if outcome is None:
                    return None
                step = conversation.send(outcome)
            number += 1
    except StopIteration as end:
        value: Value = end.value
        return value


@dataclass(frozen=True)
class Conversations:
    """Begins the conversations about cases.

    Arguments:
        task: makes the task of a case: its example and prompt.
        strategies: by name.
        route: returns the route to a model for a dataset, by their names; the second is None for
            judges and other models; the third is the effort of a case that has one. The first call
            may wait for the engine.
        reply_form: returns the form of plain replies to a case, None without one.
        format_retries: how often a reply without this form is requested again.
    """

    task: Callable[[Case], Task]
    strategies: Mapping[str, Strategy]
    route: Callable[..., Route]
    reply_form: Callable[[Case], ReplyForm | None] = lambda _: None
    format_retries: int = 0

    def strategy_of(self, case: Case) -> Strategy:
        """Return the strategy of a case."""
        return named_strategy(case.strategy, self.strategies)[0]

    def task_of(self, case: Case) -> Task:
        """Return the task of a case, adapted to its model. Raises `ModelError`."""
        return replace(self.task(case), continues=self.route_of(case, None).continues)

    def begin(self, case: Case, task: Task) -> Generator[Step, Reply | Execution, Said]:
        """Begin the conversation of a case's strategy, for all versions of its question."""
        tasks = [replace(version, continues=task.continues) for version in task.versions] or [task]
        form = self.reply_form(case)
        return asked_about(self.strategy_of(case), tasks, form, self.format_retries)

    def route_of(self, case: Case, step: Ask | None) -> Route:
        """Return the route of a step of a case's strategy. Raises `ModelError`."""
        if step is not None and step.model is not None:
            return self.route(step.model, None)
        if case.effort is None:
            return self.route(case.model, case.dataset)
        return self.route(case.model, case.dataset, case.effort)

    def request(self, case: Case, step: Ask, number: int) -> Request:
        """Return the request of a step of a case's strategy. Raises `ModelError`."""
        route = self.route_of(case, step)
        return request_of(route, case, step, self.strategy_of(case).name, number)


@dataclass(frozen=True)
class ConversationDriver:
    """Takes a pending case from the strategy's first step to the score of its metric.

    Each method returns the step to answer next, None when the conversation is over. `clock` returns
    seconds, from any starting point.
    """

    conversations: Conversations
    clock: Callable[[], float]
    scorer: Scorer = field(default_factory=Scorer)
    reading: PromptReading = field(default_factory=PromptReading)

    def begin(self, run: CaseRun) -> Step:
        """Begin the strategy's conversation. Errors of strategies and datasets propagate."""
        task = self.conversations.task_of(run.case)
        run.example, run.prompt = task.example, task.prompt
        run.conversation = self.conversations.begin(run.case, task)
        step = next(run.conversation)
        if isinstance(step, Ask) and not task.versions:
            run.prompt = shown_by(step.messages)
        return step

    def model(self, run: CaseRun, step: Ask) -> str:
        """Return the model that a step calls. Raises `NotJudgedError` without a judge."""
        if step.model is not None:
            return step.model
        if not run.judged:
            return run.case.model
        if self.scorer.judge is None:
            raise NotJudgedError("no judge: name a model with --bench-judge", no_judge=True)
        return self.scorer.judge

    def request(self, run: CaseRun, step: Ask) -> tuple[Request, Route]:
        """Return the request of a step and its route. Raises `ModelError`."""
        case = run.case
        if not run.judged:
            route = self.conversations.route_of(case, step)
            number = steps_done(run.steps)
            request = self.conversations.request(case, step, number)
            run.is_prompt_cut = request.messages != whole_messages(route, step)
            if run.is_prompt_cut and number == 0:
                run.prompt = shown_by(request.messages)
            return request, route
        subject = of_metric(self.scorer.form(case, run.example).metric)
        route = self.conversations.route(self.model(run, step), subject)
        return request_of(route, case, step, subject, steps_done(run.judging)), route

    def receive(self, run: CaseRun, outcome: Reply | Execution | Score) -> Step | Grade | None:
        """Pass the outcome of a step to its conversation."""
        if run.conversation is None or run.step is None:
            raise RuntimeError("an outcome for a conversation that never began")
        # A score is not a step: records do not show where an answer was scored.
        if not isinstance(outcome, Score) and not isinstance(run.step, Grade):
            self._record_step(run, run.step, outcome)
        run.arrived.clear()
        if isinstance(outcome, Reply) and isinstance(run.step, Ask):
            error = self._prompt_fault(run, run.step, outcome)
            if error is not None:
                return self.take_error(run, error)
        return self._resume(run, lambda conversation: conversation.send(outcome))

    def _prompt_fault(self, run: CaseRun, step: Ask, reply: Reply) -> ModelError | None:
        """Return the error of a prompt that the server cut; None if it read all of it."""
        if run.is_prompt_cut:
            return None
        part = self.reading.check(self.model(run, step), step.messages, reply)
        if part is None:
            return None
        error = ModelError(str(part), reason=PROMPT_CUT_BY_SERVER)
        error.prompt_sent = part.sent
        return error

    def _resume(
        self, run: CaseRun, resume: Callable[[Generator[Any, Any, Any]], Step | Grade]
    ) -> Step | Grade | None:
        if run.conversation is None:
            return None
        try:
            return resume(run.conversation)
        except StopIteration as end:
            return self._ended(run, end.value)

    def _record_step(self, run: CaseRun, step: Step, outcome: Reply | Execution) -> None:
        facts = step_facts(step, outcome)
        steps = run.judging if run.judged else run.steps
        if isinstance(step, Ask):
            is_prompt_cut = run.is_prompt_cut and not run.judged
            facts = replace(facts, reply_limit=run.reply_limit, is_prompt_cut=is_prompt_cut)
            steps += [replaced_facts(step, *replaced) for replaced in run.replaced]
        if not run.judged:
            run.turns += turns_of(step, outcome, first=not steps_done(run.steps))
        elif isinstance(step, Ask):
            text = getattr(outcome, "written", None)
            facts = replace(facts, model=self.model(run, step), text=text)
        steps.append(facts)

    def _ended(self, run: CaseRun, value: Any) -> Step | Grade | None:
        if run.judged:
            run.score, run.conversation = value, None
            return None
        elapsed = self.clock() - run.started
        answer = answer_of(value, run.steps, elapsed, run.turns)
        run.conversation = None
        if run.example is not None:
            scored = run.case, run.example, answer.text
            try:
                run.conversation = self.scorer.begin(*scored) or self.scorer.grade(*scored)
            except Exception as error:  # a user's post-processor failed: the case reports it
                run.unscored = error
        run.answer = answer
        return self._resume(run, next)

    def take_error(self, run: CaseRun, error: Exception) -> Step | Grade | None:
        """Raise an error inside its conversation; return the next step.

        A strategy may ask another question after a refusal, and a metric may give a part of the
        score without its judge. Otherwise the conversation ends with `run.error`.
        """
        is_waiting = isinstance(error, ModelError) and error.reason == PENDING
        if run.judged and not is_waiting and not _is_of_the_engine(run, error):
            return self._without_judge(run, error)
        is_refusal = isinstance(error, ModelError) and error.reason == REFUSED
        if is_refusal and run.answer is None and run.conversation and not run.dropped:
            refusal = error
            try:
                return self._resume(run, lambda conversation: conversation.throw(refusal))
            except Exception as raised:  # mostly the error itself: there is no other question
                error = raised
        self.fail(run, error)
        return None

    def _without_judge(self, run: CaseRun, error: Exception) -> Step | Grade | None:
        failure = run.unscored = not_judged(error)
        if isinstance(failure, NotJudgedError):
            try:
                return self._resume(run, lambda conversation: conversation.throw(failure))
            except Exception as raised:
                run.unscored = raised
        run.conversation = None
        return None

    def fail(self, run: CaseRun, error: Exception) -> None:
        """End a conversation with an error; keep the text of a reply without an answer."""
        run.answer = None
        if isinstance(error, ModelError) and error.reason in PAID_WITHOUT_ANSWER and run.steps:
            elapsed = self.clock() - run.started
            run.answer = unanswered(run.steps, run.turns, elapsed)
        run.error = error
        run.conversation = None


def _is_of_the_engine(run: CaseRun, error: Exception) -> bool:
    """Return whether the engine failed to run a program or to score an answer."""
    is_call = isinstance(error, ModelError) and error.reason != METRIC
    return is_call and isinstance(run.step, Execute | Grade)
