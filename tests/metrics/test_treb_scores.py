"""TReB's combined metric: the main score, judges, and flags of an answer."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench import score
from pytest_tablebench.config.compat import Compat
from pytest_tablebench.errors import NotJudgedError, SettingsError
from pytest_tablebench.metrics import METRICS, Score, begin
from pytest_tablebench.metrics.replies import oddities
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Reply


def judged(
    prediction: str, reply: str | NotJudgedError, compat: Compat = "fixed", **context: Any
) -> Score:
    conversation = begin("treb", prediction, ["30"], compat=compat, **context)
    try:
        step = next(conversation)
        assert isinstance(step, Ask)
        assert step.model is None
        if isinstance(reply, NotJudgedError):
            conversation.throw(reply)
        else:
            conversation.send(Reply(reply))
    except StopIteration as end:
        found: Score = end.value
        return found
    raise AssertionError("it asks twice")


def test_the_judges_mark_is_the_score_and_the_other_parts_are_kept() -> None:
    found = judged("thirty", "\\boxed{9}", question="How many?")
    assert (found.value, found.part) == (0.9, "llm_score")
    assert found.parts == {
        "em": 0.0, "em_letters": 1.0, "bleu": 0.0, "rougeL": 0.0,
        "llm_score": 0.9, "llm_score_or_0": 0.9,
    }  # fmt: skip


def test_the_judge_gets_question_reference_and_answer() -> None:
    (system, user) = next(begin("treb", "thirty", ["30"], question="How many?")).messages  # type: ignore[union-attr]
    assert (system.role, user.role) == ("system", "user")
    assert "\\boxed{}" in str(system.content)
    assert user.content == "Question:\nHow many?\n\nTrue answer:\n30\n\nStudent's answer:\nthirty"


def test_without_a_judge_the_subtasks_main_part_is_the_score() -> None:
    found = judged("30", NotJudgedError("nobody", no_judge=True), main="rougeL")
    assert (found.value, found.part) == (1.0, "rougeL")
    assert "llm_score" not in found.parts


@pytest.mark.parametrize(
    ("reply", "flags"),
    [
        ("It is right.", ("judge_not_a_number",)),
        ("\\boxed{11}", ("judge_out_of_range",)),
        ("<think>hm \\boxed{3", ("judge_not_a_number",)),
        ("\\boxed{a} or \\boxed{b}", ("judge_several_boxes", "judge_not_a_number")),
    ],
)
def test_without_marks_of_the_judge_the_other_parts_are_kept(
    reply: str, flags: tuple[str, ...]
) -> None:
    with pytest.raises(NotJudgedError, match="has no marks from 0 to 10") as caught:
        judged("30", reply)
    assert caught.value.flags == flags
    assert caught.value.parts["em"] == 1.0
    assert caught.value.parts["llm_score_or_0"] == 0.0
    assert "llm_score" not in caught.value.parts
    published = judged("30", reply, "reference")
    assert (published.value, published.part, published.flags) == (0.0, "llm_score", flags)


def test_without_an_answer_of_the_judge_the_other_parts_are_kept() -> None:
    with pytest.raises(NotJudgedError, match="overloaded") as caught:
        judged("30", NotJudgedError("the judge has no answer (timeout): overloaded"))
    assert caught.value.parts["em"] == 1.0
    with pytest.raises(NotJudgedError):  # the published code's NaN would make a mean one
        judged("30", "\\boxed{nan}", "reference")


@pytest.mark.parametrize("compat", ["fixed", "reference"])
def test_an_empty_answer_is_not_judged(compat: Compat) -> None:
    conversation = begin("treb", " ", ["30"], compat=compat)
    with pytest.raises(StopIteration) as end:
        next(conversation)
    found = end.value.value
    assert (found.value, found.flags) == (0.0, ("empty_prediction",))
    assert found.parts["llm_score_or_0"] == 0.0


@pytest.mark.parametrize(
    ("prediction", "em"),
    [("30", 1), ("30.004", 1), ("30.01", 0), ("1,000", 0), ("thirty", 0), ("nan", 0)],
)
def test_a_number_can_match_the_number_of_the_sample(prediction: str, em: float) -> None:
    found = judged(prediction, NotJudgedError("", no_judge=True), number=30.0)
    assert found.parts["em"] == em


def test_the_letter_rule_is_a_separate_metric() -> None:
    assert score("em_letters", "B, D", ["DB"]).value == 1
    assert score("em_letters", "12", ["99"]).value == 1  # so it is not suitable for numbers
    assert score("em_letters", "A", ["B"]).value == 0
    assert {"em_letters", "treb", "treb_em", "treb_instruction"} <= set(METRICS)
    with pytest.raises(SettingsError, match="asks a judge"):
        score("treb", "30", ["30"])


@pytest.mark.parametrize(
    ("reply", "flags"),
    [
        ("30", ()),
        ("<think>a</think>30", ()),
        ("<think>a \\boxed{1} \\boxed{2}</think>\\boxed{30}", ()),
        ("<think>a</think><think>b", ("unclosed_thinking",)),
        ("\\boxed{1} \\boxed{2} \\boxed{3}", ("several_boxes",)),
    ],
)
def test_unusual_replies_have_flags(reply: str, flags: tuple[str, ...]) -> None:
    assert oddities(reply) == flags
