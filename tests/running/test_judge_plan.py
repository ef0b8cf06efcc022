"""What a plan knows of the questions to a judge: each is in the store, to be paid, or supposed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_tablebench.datasets import Example, TableQuestions
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.metrics import POSTPROCESSORS, Score
from pytest_tablebench.metrics.steps import Ask, Execute
from pytest_tablebench.models import Message, Reply, Request
from pytest_tablebench.registry import Registry
from pytest_tablebench.running.judge_plan import JudgeQuestions
from pytest_tablebench.running.requests import Route
from pytest_tablebench.running.scorer import Scorer


def marks(prediction, references, **_):
    if not prediction:
        return Score(0.0)
    if prediction == "a program":
        yield Execute("draw()")
    reply = yield Ask((Message("user", f"{prediction}, not {references[0]}?"),))
    if reply.text == "?":
        yield Ask((Message("user", f"{prediction}, once more?"),))
    return Score(1.0)


class Store:
    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}

    def get(self, key: str) -> Reply | None:
        return self.replies.get(key)

    def get_execution(self, key: str) -> None:
        return None


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def found(store: Store) -> JudgeQuestions:
    registry = Registry(datasets={"d": TableQuestions("d", (), metric="marks")})
    registry.metrics["marks"] = marks
    registry.postprocessors.update(POSTPROCESSORS)
    models = SimpleNamespace(store=lambda: store, route=lambda model, about: Route(model, {"n": 1}))
    runner = SimpleNamespace(scorer=Scorer(registry, "j"), models=models)
    return JudgeQuestions(cast("Any", runner), "j")


def look(found: JudgeQuestions, number: int, said: str | None, weight: float = 1.0) -> None:
    case = Case("d", str(number), "html", "none", "m", f"d/{number}/html/none")
    found.look(case, Example(str(number), {}, "", ("right",), ""), said, weight)


def test_an_answer_that_is_not_there_is_the_expected_one_for_each_case(
    found: JudgeQuestions,
) -> None:
    look(found, 1, None, weight=2.5)
    look(found, 2, None, weight=2.5)
    assert (found.cases, found.calls, found.supposed, found.hits) == (5, 5, 5, 0)
    assert [one.text for one in found.asked] == ["right, not right?"] * 2


def test_one_question_about_equal_answers_is_asked_once(found: JudgeQuestions) -> None:
    look(found, 1, "wrong")
    look(found, 2, "wrong")
    look(found, 3, "")  # nothing to judge
    assert (found.cases, found.calls, found.supposed) == (3, 1, 0)


def test_stored_replies_are_hits_and_lead_to_further_questions(
    found: JudgeQuestions, store: Store
) -> None:
    for text, reply in (("good, not right?", "!"), ("odd, not right?", "?")):
        asked = Request(
            "j",
            (Message("user", text),),
            {"n": 1},
            strategy="metric:marks",
            case_id="d/1/html/none",
        )
        store.replies[asked.key()] = Reply(reply)
    look(found, 1, "good")
    look(found, 1, "odd")
    assert (found.hits, found.calls) == (2, 1)
    assert found.asked[0].text == "odd, once more?"


def test_behind_a_program_that_did_not_run_nothing_is_known(found: JudgeQuestions) -> None:
    look(found, 1, "a program")
    assert (found.calls, found.unknown) == (0, 1)
