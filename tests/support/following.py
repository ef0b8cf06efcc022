"""Answer the conversations of a question maker with a test's replies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pytest_tablebench.errors import ModelError
from pytest_tablebench.generate.pair import Pair, RejectedError
from pytest_tablebench.generate.question_maker import Conversation, QuestionMaker
from pytest_tablebench.metrics.steps import Ask, Execute, Execution
from pytest_tablebench.models import Reply
from pytest_tablebench.running._conversation import follow
from pytest_tablebench.tables.table import Table
from tests.support.openai_server import Behaviour, text

Value = TypeVar("Value")


def priced(content: str) -> Behaviour:
    """Return an answer of gpt-4o, whose tokens have a price."""
    return text(content, usage=(200, 50), model="gpt-4o")


def answered(
    conversation: Conversation[Value],
    reply_to: Callable[[Ask], str],
    run: Callable[[Execute], Execution] | None = None,
) -> Value:
    """Return the value of a conversation with replies of `reply_to`, and outcomes of `run`."""

    def end(child: Conversation[Any]) -> Any:
        try:
            return answered(child, reply_to, run)
        except (ModelError, RejectedError) as error:
            return error

    def outcome(step: Any, _: int) -> Any:
        if isinstance(step, list):
            return list(map(end, step))
        if isinstance(step, Execute):
            assert run is not None
            return run(step)
        return Reply(reply_to(step))

    value = follow(conversation, outcome)
    assert value is not None
    return value


def pairs_of(
    maker: QuestionMaker,
    table: Table,
    reply_to: Callable[[Ask], str],
    run: Callable[[Execute], Execution] | None = None,
) -> list[Pair]:
    """Return the questions of a table. Raises `RejectedError` if the maker leaves it out."""
    return list(answered(maker.converse(table), reply_to, run)(None)[1])


def expected_steps(maker: QuestionMaker, table: Table) -> list[Ask]:
    """Return the requests to models that a plan expects for a table."""
    steps: list[Ask] = []

    def reply_to(step: Ask) -> str:
        steps.append(step)
        return step.expected

    answered(maker.converse(table), reply_to, lambda step: step.expected or Execution("error"))
    return steps
