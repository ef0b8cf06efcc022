"""All that is asked about a case: several versions of a question, and again without the form."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import Dataset, Example
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Message, Reply
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.scorer import Scorer
from pytest_tablebench.serializers import Image
from pytest_tablebench.strategies import Conversation, Direct, Said, Task, asked_about, texts_of

EXAMPLE = Example("1", {"question": "who?"}, "who?", ("ann",), "ann")


class Marked:
    """Replies hold `answer:`."""

    def is_met(self, reply: str) -> bool:
        return "answer:" in reply

    def note(self, example: Example) -> str:
        return f" ({example.question} say answer:)"


def said(tasks: Sequence[Task], replies: Sequence[str], retries: int = 0) -> tuple[Said, list[Any]]:
    """Have tasks done with these replies, and return what was said and asked."""
    conversation, asked = asked_about(Direct(), tasks, Marked(), retries), []
    step = next(conversation)
    for reply in replies:
        assert isinstance(step, Ask)
        asked.append(step.messages[-1].content)
        try:
            step = conversation.send(Reply(reply))
        except StopIteration as end:
            return end.value, asked
    raise AssertionError(f"asks more: {step}")


def test_a_reply_without_its_form_counts_where_nothing_is_asked_again() -> None:
    assert said([Task(EXAMPLE, "go")], ["ann"]) == (Said("ann", (), {"parse@1": 0.0}), ["go"])


def test_the_note_is_added_at_each_attempt_and_the_last_reply_counts() -> None:
    note = " (who? say answer:)"
    found, asked = said([Task(EXAMPLE, "go")], ["ann", "ann!", "no"], retries=2)
    assert found == Said("no", ("asked_again",), {"parse@1": 0.0})
    assert asked == ["go", f"go{note}", f"go{note}{note}"]


def test_a_reply_with_its_form_is_the_last_one_asked_for() -> None:
    found, asked = said([Task(EXAMPLE, "go")], ["ann", "answer: ann"], retries=5)
    assert found == Said("answer: ann", ("asked_again",), {"parse@1": 0.0})
    assert len(asked) == 2
    first, _ = said([Task(EXAMPLE, "go")], ["answer: ann"], retries=5)
    assert first == Said("answer: ann", (), {"parse@1": 1.0})


class Noting:
    """Asks twice, and reads a fact from the second reply."""

    name = "noting"
    answer_place = "line"

    def converse(self, task: Task) -> Conversation:
        yield Ask((Message("user", "first"),))
        reply = yield Ask((Message("user", "second"),))
        assert isinstance(reply, Reply)
        return Said(reply.text, facts={1: {"words": [reply.text]}})


def test_facts_of_several_tasks_stay_with_their_questions() -> None:
    conversation = asked_about(Noting(), [Task(EXAMPLE, "go"), Task(EXAMPLE, "go")])
    next(conversation)
    for reply in "abc":
        conversation.send(Reply(reply))
    with pytest.raises(StopIteration) as end:
        conversation.send(Reply("d"))
    assert end.value.value.facts == {1: {"words": ["b"]}, 3: {"words": ["d"]}}


def test_a_note_stands_behind_the_pictures() -> None:
    picture = Image("image/png", b"png")
    _, asked = said([Task(EXAMPLE, ("go", picture))], ["ann", "answer: x"], retries=1)
    assert asked[1] == ("go", picture, " (who? say answer:)")


def test_versions_are_asked_one_after_the_other_and_said_as_one_list() -> None:
    tasks = [Task(EXAMPLE, "plain"), Task(EXAMPLE, "swapped")]
    found, asked = said(tasks, ["answer: é", "no"])
    assert (found.text, asked) == ('["answer: é", "no"]', ["plain", "swapped"])
    assert found.parts == {"parse@1": 0.0}
    assert texts_of(found.text) == ["answer: é", "no"]


@pytest.mark.parametrize("text", ["ann", '["a", 1]', "[", "[]", '{"a": "b"}', "[" * 100_000])
def test_any_other_text_is_one_answer(text: str) -> None:
    assert texts_of(text) == [text]


class Versions(Dataset):
    """A dataset whose cases are two questions, with a form of replies."""

    name = "versions"
    has_versions = True
    metric = "realhit_structure"
    reply_form = Marked()

    def open(self, folder: Path, *, compat: Compat = "fixed", **options: Any) -> Any: ...

    def versions(self, example: Example) -> tuple[Example, Example]:
        return example, example

    def reading(self, compat: str) -> tuple[str, ...]:
        return ("realhit_answer_or_nothing",)

    def chain(self, compat: str) -> tuple[str, ...]:
        return ("lower_case",)


def test_replies_are_read_one_by_one_and_references_only_cleaned() -> None:
    text = '["[Final Answer]: ANN", "none"]'
    found = Scorer(builtin_registry()).score_text(Versions(), text, ["Ann"])
    assert (found.prediction, found.references) == (["ann", ""], ("ann",))
