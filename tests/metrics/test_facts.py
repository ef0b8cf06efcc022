"""Facts that a free text must or must not contain."""

from __future__ import annotations

import pytest

from pytest_tablebench import score

MUST, MUST_NOT = ["2020", "rose / grew / increased"], ["fell", "not"]


@pytest.mark.parametrize(
    ("reply", "value", "must", "must_not"),
    [
        ("Sales grew in 2020.", 1, 1, 1),
        ("In 2020, sales INCREASED.", 1, 1, 1),
        ("Sales fell in 2020.", 0, 0.5, 0.5),
        ("Sales did not grow, they rose in 2020.", 0, 1, 0.5),
        ("Sales rose in 12020.", 0, 0.5, 1),
        ("", 0, 0, 1),
    ],
)
def test_facts_are_whole_words(reply: str, value: float, must: float, must_not: float) -> None:
    result = score("facts", reply, ["x"], must=MUST, must_not=MUST_NOT)
    assert result.value == value
    assert dict(result.parts) == {"must": must, "must_not": must_not}


@pytest.mark.parametrize(
    ("reply", "fact", "value"),
    [
        ("1,200 people", "1200", 1),
        ("1200 people", "1,200", 1),
        ("1200.5 people", "1200", 0),
        ("about 1,200,000 people", "200", 0),
        ("a loss of \u22125", "-5", 1),
        ("\u9500\u552e\u989d\u4e0a\u5347\u4e86", "\u4e0a\u5347", 1),
    ],
)
def test_facts_can_be_numbers_and_chinese(reply: str, fact: str, value: float) -> None:
    assert score("facts", reply, ["x"], must=[fact]).value == value


def test_without_facts_the_score_is_zero() -> None:
    assert score("facts", "anything", ["x"]).value == 0
