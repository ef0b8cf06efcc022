"""Conversations of several steps: second models, programs, and an executor that is a dictionary."""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_tablebench.datasets import Example
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import ModelError
from pytest_tablebench.executors import Executor, Outcome, Work
from pytest_tablebench.metrics.steps import Ask, Execute, Execution, Limits
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.running._conversation import ConversationDriver, Conversations
from pytest_tablebench.running._lookup import StepLookup
from pytest_tablebench.running._prefetch import PrefetchWindow
from pytest_tablebench.running.answer import step_records
from pytest_tablebench.running.requests import Route
from pytest_tablebench.strategies import Conversation, Said, Strategy, Task
from pytest_tablebench.tables.table import Table
from tests.support.running_cases import completed

TABLE = Table(["Name", "Age"], [["Ada", "36"], ["Bo", "41"]])


class Dictionary:
    """An executor that looks requests up, and runs the programs of these tests, which it trusts."""

    lost: ModelError | None = None
    waits: Sequence[Mapping[str, Any]] = ()

    def __init__(self, answers: Mapping[tuple[str, str], str]) -> None:
        self.answers = dict(answers)
        self.lanes: list[str] = []
        self._due: list[tuple[str, Outcome]] = []

    def submit(self, work: Work, lane: str) -> None:
        assert isinstance(work.task, Request | Execute)
        self.lanes.append(lane)
        self._due.append((work.key, self._outcome(work.task)))

    def _outcome(self, task: Request | Execute) -> Outcome:
        if isinstance(task, Request):
            text = self.answers.get((task.model, task.messages[-1].content))  # type: ignore[arg-type]
            if text is None:
                return ModelError(f"no answer to {task.text}", reason="not_scripted")
            return Reply(text, finish_reason="stop", prompt_tokens=10, completion_tokens=1)
        printed = io.StringIO()
        names = {name: data.decode() for name, data in task.files.items()}
        with contextlib.redirect_stdout(printed):
            exec(task.program, {"files": names})
        return Execution("ok", printed.getvalue(), seconds=0.5)

    def outcomes(self, *, wait: bool) -> Sequence[tuple[str, Outcome]]:
        due, self._due = self._due, []
        return due

    def totals(self) -> Mapping[str, Any] | None:
        return None

    def stop(self, why: str) -> None:
        self._due.clear()

    def close(self) -> None:
        self._due.clear()


class TwoRounds:
    """Has another model draw up a plan, and asks with it."""

    name = "two_rounds"

    def converse(self, task: Task) -> Conversation:
        plan = yield Ask((Message("user", f"plan {task.example.question}"),), model="planner")
        assert isinstance(plan, Reply)
        reply = yield Ask((Message("user", f"{task.prompt} by {plan.text}"),))
        assert isinstance(reply, Reply)
        return reply.text


class Calculates:
    """Has the model write a program, runs it, and asks what its output means."""

    name = "calculates"

    def converse(self, task: Task) -> Conversation:
        program = yield Ask((Message("user", "write"),))
        assert isinstance(program, Reply)
        ages = ",".join(str(row[1]) for row in task.tables[0].rows)
        ran = yield Execute(program.text, {"ages.csv": ages.encode()})
        assert isinstance(ran, Execution)
        last = yield Ask((Message("user", f"printed {ran.output.strip()}"),))
        assert isinstance(last, Reply)
        return last.text


def conversations(strategy: Strategy, executor: Executor, question: str = "q") -> PrefetchWindow:
    example = Example("1", {"question": question, "table": TABLE}, question, ("x",), "x")
    begun = Conversations(
        task=lambda case: Task(example, f"ask {case.example_id}"),
        strategies={"direct": strategy},
        route=lambda model, _: Route(model, {}),
    )
    lookup = StepLookup(driver=ConversationDriver(begun, lambda: 0.0), store=lambda: None)
    return PrefetchWindow(lookup=lookup, executor=executor, models=("m",))


CASE = Case("d", "1", "html", "none", "m", "d/1/html/none")


def test_a_second_model_is_asked_in_a_lane_of_its_own():
    executor = Dictionary({("planner", "plan q"): "counting", ("m", "ask 1 by counting"): "two"})
    pending = completed(conversations(TwoRounds(), executor), CASE)
    assert pending.error is None
    answer = pending.answer
    assert answer is not None
    assert (answer.text, answer.calls, answer.prompt_tokens) == ("two", 2, 20)
    assert executor.lanes == ["planner", "m"]
    assert [(step.kind, step.model, step.outcome) for step in answer.steps] == [
        ("ask", "planner", "stop"),
        ("ask", None, "stop"),
    ]
    assert len({step.key for step in answer.steps}) == 2


def test_a_program_runs_between_two_questions():
    program = "print(sum(map(int, files['ages.csv'].split(','))))"
    executor = Dictionary({("m", "write"): program, ("m", "printed 77"): "77 years"})
    pending = completed(conversations(Calculates(), executor), CASE)
    assert pending.answer is not None, pending.error
    assert pending.answer.text == "77 years"
    assert executor.lanes == ["m", "programs", "m"]
    kinds = [(step.kind, step.outcome, step.latency_s) for step in pending.answer.steps]
    assert kinds == [("ask", "stop", None), ("execute", "ok", 0.5), ("ask", "stop", None)]
    assert pending.answer.calls == 2  # a program is no call
    recorded = step_records(pending.answer.steps)
    texts = (program, program, "77 years")
    assert [(one["kind"], one["outcome"], one["digest"]) for one in recorded] == [
        (kind, outcome, hashlib.sha256(text.encode()).hexdigest()[:16])
        for (kind, outcome, _), text in zip(kinds, texts, strict=True)
    ]
    assert [one["latency_s"] for one in recorded] == [None, 0.5, None]
    assert [one["prompt_tokens"] for one in recorded] == [10, None, 10]
    assert step_records(pending.answer.steps[:1]) == ()  # a single step is the record itself
    assert pending.answer.latency_s is not None


def test_an_outcome_that_is_missing_ends_the_conversation_with_its_reason():
    executor = Dictionary({("planner", "plan q"): "counting"})
    pending = completed(conversations(TwoRounds(), executor), CASE)
    assert isinstance(pending.error, ModelError)
    assert pending.error.reason == "not_scripted"


def test_programs_are_known_by_all_that_can_change_their_outcome():
    same = Execute("print(1)", {"a": b"1", "b": b"2"})
    assert same.key() == Execute("print(1)", {"b": b"2", "a": b"1"}).key()
    others = [
        Execute("print(2)", same.files),
        Execute("print(1)", {"a": b"1"}),
        Execute("print(1)", {"a": b"1", "b": b"3"}),
        Execute("print(1)", same.files, Limits(cpu_s=1.0)),
    ]
    assert len({same.key(), *(other.key() for other in others)}) == 5


class Insists:
    """Asks otherwise where a question is refused."""

    name = "insists"

    def converse(self, task: Task) -> Conversation:
        with contextlib.suppress(ModelError):
            yield Ask((Message("user", "rudely"),))
        reply = yield Ask((Message("user", "politely"),))
        assert isinstance(reply, Reply)
        return Said(reply.text, ("asked_twice",), {"patience": 0.5})


class Refuses(Dictionary):
    """Refuses what it has no answer to."""

    reason = "bad_request"

    def _outcome(self, task: Request | Execute) -> Outcome:
        found = super()._outcome(task)
        return ModelError("no", reason=self.reason) if isinstance(found, ModelError) else found


def test_a_refused_question_may_be_asked_otherwise():
    executor = Refuses({("m", "politely"): "well"})
    pending = completed(conversations(Insists(), executor), CASE)
    assert pending.answer is not None, pending.error
    assert (pending.answer.text, pending.answer.flags) == ("well", ("asked_twice",))
    assert pending.answer.parts == {"patience": 0.5}
    assert executor.lanes == ["m", "m"]
    # Both are refused: the second refusal is the case's own.
    pending = completed(conversations(Insists(), Refuses({})), CASE)
    assert isinstance(pending.error, ModelError)
    assert pending.error.reason == "bad_request"
    # No strategy is told of what is no refusal.
    executor = Refuses({("m", "politely"): "well"})
    executor.reason = "rate_limit"
    pending = completed(conversations(Insists(), executor), CASE)
    assert isinstance(pending.error, ModelError)
    assert (pending.error.reason, executor.lanes) == ("rate_limit", ["m"])


def test_what_was_said_behind_the_prompt_is_kept():
    program = "print(sum(map(int, files['ages.csv'].split(','))))"
    executor = Dictionary({("m", "write"): program, ("m", "printed 77"): "77 years"})
    pending = completed(conversations(Calculates(), executor), CASE)
    assert pending.answer is not None
    assert pending.prompt == "write"
    assert pending.answer.turns == (
        ("reply", program),
        ("program", program),
        ("output", "77"),
        ("user", "printed 77"),
        ("reply", "77 years"),
    )
