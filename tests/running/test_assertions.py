"""Assertions by the name of what they look at, and the three lines of a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pytest_tablebench as tb
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import Example
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.errors import NotJudgedError, SettingsError
from pytest_tablebench.metrics import JUDGED_PARTS, Score
from pytest_tablebench.metrics._realhit import GPT_EVAL
from pytest_tablebench.metrics._treb import JUDGED
from pytest_tablebench.running.answer import Answer, StepFacts
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.running.case import CaseRun
from pytest_tablebench.running.runner import Runner

REPLY = "plt.bar(['a'], [5])"


def scored(dataset: str, score: Score, **fields: Any) -> tuple[CaseRun, Answer]:
    """A case of a dataset whose answer has this score."""
    example = Example("1", {}, "Draw the sales.", ("[5, 6]",), "[5, 6]")
    answer = Answer(REPLY)
    run = CaseRun(
        Case(dataset, "1", "html", "none", "m", f"{dataset}/1/html/none"),
        example=example,
        answer=answer,
        score=score,
        **fields,
    )
    run.runner = Runner(Settings(), builtin_registry())
    return run, answer


CHART = Score(0.0, {"ecr": 1.0, "pass@1": 0.0}, "pass@1")
BROKEN = Score(0.0, {"ecr": 0.0, "pass@1": 0.0}, "pass@1", ("program_error",))
FINQA = Score(0.0, {"program_accuracy": 0.0, "execution_accuracy": 1.0}, "program_accuracy")


@pytest.mark.parametrize(
    ("check", "dataset", "score", "got"),
    [
        (tb.assert_chart_ecr, "realhit_cg", CHART, None),
        (tb.assert_chart_pass_at_1, "realhit_cg", CHART, "(pass@1 0.00)"),
        (tb.assert_chart_ecr, "realhit_cg", BROKEN, "(ecr 0.00; program_error)"),
        (tb.assert_execution_accuracy, "finqa", FINQA, None),
        (tb.assert_program_accuracy, "finqa", FINQA, "(score 0.00)"),
    ],
)
def test_what_is_looked_at_is_named(
    check: Callable[[CaseRun, Answer], None], dataset: str, score: Score, got: str | None
) -> None:
    run, answer = scored(dataset, score)
    if got is None:
        check(run, answer)
        return
    with pytest.raises(tb.WrongAnswer) as caught:
        check(run, answer)
    assert str(caught.value).split("\n") == [
        "question: Draw the sales.",
        "expected: [5, 6]",
        f"got:      {REPLY}  {got}",
    ]


@pytest.mark.parametrize("part", [GPT_EVAL, JUDGED])
def test_a_judges_mark_counts_whatever_the_score_is(part: str) -> None:
    run, answer = scored("realhit_da", Score(1.0, {"rouge_l": 1.0, part: 0.6}, "rouge_l"))
    tb.assert_judged(run, answer, threshold=0.6)
    with pytest.raises(tb.WrongAnswer, match=rf"\({part} 0\.60\)"):
        tb.assert_judged(run, answer, threshold=0.7)


def test_the_score_of_a_metric_that_asked_a_judge_is_his() -> None:
    asked = StepFacts("ask", "0", "stop")
    run, answer = scored("realhit_da", Score(0.25), judging=[asked])
    with pytest.raises(tb.WrongAnswer, match=r"\(score 0\.25\)"):
        tb.assert_judged(run, answer, threshold=0.5)


def test_without_a_judge_nothing_is_asserted_in_silence() -> None:
    run, answer = scored("realhit_da", Score(1.0, {"rouge_l": 1.0}, "rouge_l"))
    with pytest.raises(SettingsError, match="no judge marked this answer"):
        tb.assert_judged(run, answer)
    run.error = NotJudgedError("the judge had no answer")
    with pytest.raises(NotJudgedError):
        tb.assert_judged(run, answer)


def test_the_parts_of_judges_are_those_that_metrics_give() -> None:
    assert set(JUDGED_PARTS) == {GPT_EVAL, JUDGED}


def test_a_case_is_asked_and_scored_once() -> None:
    runner = Runner(Settings(), builtin_registry())
    [first, *_] = runner.cases("starter")[0]
    run = runner.start(first)
    answer, score = run.ask(), run.score
    assert score is not None
    assert run.ask() is answer
    assert run.score is score
