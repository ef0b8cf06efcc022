"""One loop drives every conversation whose steps are answered at once."""

from __future__ import annotations

from collections.abc import Generator

from pytest_tablebench.errors import NotJudgedError
from pytest_tablebench.metrics.steps import Ask, Execution, Step
from pytest_tablebench.models import Message, Reply
from pytest_tablebench.running.conversation import follow

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
