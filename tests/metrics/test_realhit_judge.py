"""GPT-EVAL: the prompt of the judge, its marks, and scores without them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pytest_tablebench.errors import NotJudgedError
from pytest_tablebench.metrics import Score, begin
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.models import Reply
from pytest_tablebench.tables.table import Table
from pytest_tablebench.tables.table_file import TableFile

TABLE = TableFile(Table(["City"], [["Oslo"]]))
GIVEN: dict[str, Any] = {"question": "Why?", "subtype": "Exploratory Analysis", "table": TABLE}


def judged(*replies: str | Exception, **context: Any) -> tuple[Score, list[str]]:
    """Judge an answer; return the score and the last text of each request."""
    conversation = begin("realhit_judged", "it rained", ["it rained a lot"], **context)
    asked: list[Any] = []
    step = next(conversation)
    for reply in replies:
        assert isinstance(step, Ask)
        asked.append(step.messages[-1].content)
        try:
            if isinstance(reply, Exception):
                step = conversation.throw(reply)
            else:
                step = conversation.send(Reply(reply))
        except StopIteration as end:
            return end.value, asked
    raise AssertionError(f"asks more: {step}")


def test_the_judges_mark_is_the_score_and_the_other_parts_are_kept() -> None:
    found, [asked] = judged("Good. [Score]: 85/100", **GIVEN)
    assert (found.value, found.part) == (0.85, "gpt_eval")
    # Both words match, of three expected words without the article.
    assert found.parts["rouge_l"] == pytest.approx(0.8)
    assert "Question: Why?\n\nReference: it rained a lot\n\nAnswer: it rained\n" in asked


@pytest.mark.parametrize("subtype", ["Summary Analysis", "Anomaly Analysis"])
@pytest.mark.parametrize("compat", ["fixed", "reference"])
def test_the_judge_gets_the_table_if_the_papers_prompt_names_it(compat: str, subtype: str) -> None:
    _, [asked] = judged("[Score]: 1", compat=compat, **{**GIVEN, "subtype": subtype})
    assert "\\begin{tabular}" in asked
    assert ("Coherence" in asked) == (subtype == "Summary Analysis")


def test_only_the_mode_fixed_sends_the_table_to_every_judge() -> None:
    _, [fixed] = judged("[Score]: 1", **GIVEN)
    _, [reference] = judged("[Score]: 1", compat="reference", **GIVEN)
    assert ("Oslo" in fixed, "Oslo" in reference) == (True, False)


def test_the_judge_gets_the_cells_that_the_model_gets() -> None:
    # The published code reads the table's numbers, so `reference` has no zeros at their end.
    context = {
        **GIVEN,
        "subtype": "Anomaly Analysis",
        "table": Table(["x"], [["12.500"], ["3.10"]]),
    }
    _, [fixed] = judged("[Score]: 1", **context)
    _, [reference] = judged("[Score]: 1", compat="reference", **context)
    assert re.findall(r"\d+\.\d+", fixed) == ["12.500", "3.10"]
    assert re.findall(r"\d+\.\d+", reference) == ["12.5", "3.1"]


def test_a_table_in_upstreams_form_is_sent_in_that_form() -> None:
    table = TableFile(TABLE.table, b"\\begin{tabular} as it is")
    _, [asked] = judged("[Score]: 1", **{**GIVEN, "table": table})
    assert "Table:\n\\begin{tabular} as it is\n\n" in asked


def test_without_a_judge_rouge_is_the_score() -> None:
    found, _ = judged(NotJudgedError("nobody", no_judge=True), **GIVEN)
    assert (found.value, found.part) == (found.parts["rouge_l"], "rouge_l")
    assert "gpt_eval" not in found.parts


@pytest.mark.parametrize("reply", ["splendid", "[Score]: 101/100", "[Score]: good"])
def test_unreadable_marks_have_a_separate_status(reply: str) -> None:
    with pytest.raises(NotJudgedError) as told:
        judged(reply, **GIVEN)
    assert (told.value.reason, told.value.flags) == ("judge_parse_error", ("judge_parse_error",))
    assert told.value.parts["rouge_l"] == pytest.approx(0.8)


def test_the_published_code_asks_five_times_with_a_note() -> None:
    found, asked = judged("?", "?", "?", "?", "[Score]: 40/100", compat="reference", **GIVEN)
    assert (found.value, len(asked)) == (0.4, 5)
    assert asked[1].endswith("[Score]: xx/100")
    with pytest.raises(NotJudgedError, match="no marks"):
        judged(*"?????", compat="reference", **GIVEN)


def test_without_an_answer_of_the_judge_the_other_parts_are_kept() -> None:
    with pytest.raises(NotJudgedError, match="timeout") as told:
        judged(NotJudgedError("timeout"), **GIVEN)
    assert (told.value.reason, "em" in told.value.parts) == ("not_judged", True)
