"""TAT-QA's metric: reading a reply, and scores worked out by hand."""

from __future__ import annotations

import pytest

from pytest_tablebench import score
from pytest_tablebench.metrics._tatqa import ScaledAnswer, read_reply


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Answer: 12.5\nScale: million", ScaledAnswer(["12.5"], "million")),
        ("Answer: cash | bonds\nScale: none", ScaledAnswer(["cash", "bonds"], "")),
        ("I add both.\n**Answer:** 7\n**Scale:** Thousands", ScaledAnswer(["7"], "thousand")),
        ("Answer: 1\nNo, again.\nAnswer: 2\nScale: percent", ScaledAnswer(["2"], "percent")),
        ("cash\nand more", ScaledAnswer(["cash"], "")),
        ("", ScaledAnswer([], "")),
    ],
)
def test_answer_and_scale_are_read_from_their_last_labelled_lines(
    reply: str, expected: ScaledAnswer
):
    assert read_reply(reply) == expected


@pytest.mark.parametrize(
    ("reply", "references", "context", "em", "f1"),
    [
        # 55,607.5 thousand is 55607500.0000 on both sides.
        ("Answer: 55,607.5\nScale: thousand", ["55607.5"], "arithmetic thousand", 1, 1),
        # The same value at another scale: 12.5 million is 12500 thousand.
        ("Answer: 12.5\nScale: million", ["12500"], "arithmetic thousand", 1, 1),
        ("Answer: 12.5\nScale: thousand", ["12500"], "arithmetic thousand", 0, 0),
        # {net, income} against {net, income, loss}: precision 1, recall 2/3, F1 .8.
        ("Answer: net income", ["the net income loss"], "span ", 0, 0.8),
        ("Answer: bonds | cash", ["cash", "bonds"], "multi-span ", 1, 1),
        ("Answer: 3", ["3"], "count ", 1, 1),
        ("", ["3"], "count ", 0, 0),
    ],
)
def test_scores_agree_with_values_worked_out_by_hand(
    reply: str, references: list[str], context: str, em: float, f1: float
):
    answer_type, scale = context.split(" ")
    scored = score("tatqa", reply, references, answer_type=answer_type, scale=scale)
    assert (scored.value, scored.parts["em"], scored.parts["f1"]) == (em, em, f1)
