"""treethinker: what is asked in each of its forms, and what is measured on the way."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_tablebench.datasets import AnswerForm
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.serializers.content import Image
from pytest_tablebench.strategies import named_strategy
from pytest_tablebench.strategies._treethinker import (
    ALIGN,
    ALIGNED,
    BARE,
    CONTENT,
    CYCLES,
    FINAL,
    HEADERS,
    KEYWORDS,
    LAST,
    STEPS,
    TASK,
    TreeThinker,
)
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.hierarchy.tree import TREE_PROMPT as TREE
from pytest_tablebench.tables.table import Table

from .driving import PEOPLE, drive, task, transcript

SALES = Table(
    ["", "Q1", "Q2"],
    [["North", "5", "6"], ["South", "9", "10"]],
    header_rows=[["Region", "2020", ""]],
    row_headers=1,
    spans=[Span(0, 0, 2, 1), Span(0, 1, 1, 2)],
)
DRAWN = "(C0, 1, 1, Region)\n(C0, 2, 3, 2020)\n(C1, 2, 2, Q1)\n(C1, 3, 3, Q2)\n(R0, 1, 1, North)"
FORM = AnswerForm("the number")


def steps_of(*texts: str, of: str = " of the tree") -> str:
    numbered = (text.format(number=place, of=of) for place, text in enumerate(texts, start=1))
    return STEPS + "".join(numbered) + FINAL.format(ask="the number")


ALL_STEPS = (KEYWORDS, HEADERS, CONTENT, CYCLES, LAST)


def params(text: str) -> dict[str, object]:
    known = {"treethinker": TreeThinker()}
    return dict(named_strategy(f"treethinker[{text}]", known)[1])


def test_the_tree_is_asked_of_the_table_alone_and_then_the_question_by_it():
    given = task(SALES, question="How much in Q2?")
    steps, said = drive(TreeThinker(), given, [DRAWN, "Thought: row 2.\nFinal Answer: 10"])
    assert [transcript(step) for step in steps] == [
        [("user", f"{TREE}\n\ntable of 2")],
        [
            ("user", f"{TREE}\n\ntable of 2"),
            ("assistant", DRAWN),
            ("user", f"{TASK}<(the table above)>\nHow much in Q2?\n\n{steps_of(*ALL_STEPS)}"),
        ],
    ]
    assert (said.text, said.flags) == ("10", ("no_keywords",))
    # South is missing: five edges of six.
    assert said.parts == {"tree_f1": pytest.approx(2 * 5 / 11)}


def test_two_questions_about_a_table_begin_with_the_same_one():
    first, _ = drive(TreeThinker(), task(SALES, question="a"), [DRAWN, "x"])
    second, _ = drive(TreeThinker(), task(SALES, question="b"), [DRAWN, "x"])
    assert first[0] == second[0]
    assert first[1] != second[1]


def test_without_the_tree_there_is_one_question():
    [step], said = drive(TreeThinker(), task(SALES, params=params("tree=off")), ["Final Answer: 1"])
    steps = steps_of(*ALL_STEPS, of="")
    assert transcript(step) == [("user", f"<table of 2>\nHow old is Bo?\n\n{steps}")]
    assert (said.text, said.parts) == ("1", {})


def test_without_reasoning_by_the_tree_the_answer_is_asked_for_at_once():
    given = task(SALES, params=params("tree_reasoning=off"))
    steps, _ = drive(TreeThinker(), given, [DRAWN, "Final Answer: 1"])
    bare = BARE + FINAL.format(ask="the number")
    asked = f"{TASK}<(the table above)>\nHow old is Bo?\n\n{bare}"
    assert transcript(steps[1])[2] == ("user", asked)


@pytest.mark.parametrize(
    ("reply", "text", "flags"),
    [
        ("Final Answer: 1\nno\n**Final Answer**: 2", "2", ()),
        ("**Final Answer:** 2", "2", ()),
        ("[Final Answer]: 1\nfinal answer : 2 ", "2", ()),
        ("<think>Final Answer: 1</think>It is 3.", "It is 3.", ("no_final_answer",)),
        ("It is 3.", "It is 3.", ("no_final_answer",)),
    ],
)
def test_the_answer_stands_behind_the_last_marker(reply, text, flags):
    given = task(SALES, params=params("tree_reasoning=off"))
    said = drive(TreeThinker(), given, [DRAWN, reply])[1]
    assert (said.text, said.flags) == (text, flags)


def test_a_reply_without_a_tree_is_flagged_and_scored_as_none():
    _, said = drive(TreeThinker(), task(SALES), ["I see no headers.", "Final Answer: 1"])
    assert (said.flags, said.parts) == (("no_tree", "no_keywords"), {"tree_f1": 0.0})


def test_nobody_knows_the_rows_of_a_flat_table():
    _, said = drive(TreeThinker(), task(PEOPLE), [DRAWN, "Final Answer: 1"])
    assert said.parts == {}


def test_alignment_shows_the_part_that_fits_and_tells_its_recall():
    def show(table: Table) -> str:
        return str([list(table.header), *map(list, table.rows)])

    given = task(SALES, question="How much was Q2 in South?", show=show, params=params("align=0.9"))
    steps, said = drive(TreeThinker(), given, [DRAWN, "Final Answer: 10"])
    asked = transcript(steps[1])[2][1]
    assert "[['Region', '2020 > Q2'], ['South', '10']]" in asked
    # The reference of the task, 41, is no cell: no recall is known.
    assert set(said.parts) == {"tree_f1"}
    wide = Table(["Name", "Age"], [["Ada", "36"], ["Bo", "41"]])
    given = task(wide, show=show, question="age of Bo", params=params("align=0.9"))
    _, said = drive(TreeThinker(), given, [DRAWN, "Final Answer: 41"])
    assert said.parts == {"align_recall": 1.0}


def test_keywords_are_kept_with_the_reply_and_compared_with_the_headers_of_the_tree():
    reply = "1. **Keywords:** South | Q2 | how much | `2020`\nFinal Answer: 10"
    _, said = drive(TreeThinker(), task(SALES), [DRAWN, reply])
    assert said.facts == {1: {"keywords": ["South", "Q2", "how much", "2020"]}}
    # South is missing in the tree that the model drew.
    assert said.parts["keyword_headers"] == 2 / 4
    assert said.flags == ()
    # Without a tree there is nothing to compare with.
    _, said = drive(TreeThinker(), task(SALES, params=params("tree=off")), [reply])
    assert (said.parts, said.facts[0]["keywords"][0]) == ({}, "South")


def shown_cells(table: Table) -> str:
    return str([list(table.header), *map(list, table.rows)])


def test_align_rule_is_the_rule_with_its_usual_threshold():
    given: dict[str, Any] = {"question": "How much was Q2 in South?", "show": shown_cells}
    replies = [DRAWN, "Final Answer: 10"]
    by_rule, by_number = (
        drive(TreeThinker(), task(SALES, params=params(text), **given), replies)[0]
        for text in ("align=rule", "align=0.8")
    )
    assert by_rule == by_number
    assert "['South', '10']" in transcript(by_rule[1])[2][1]


def test_align_model_asks_which_headers_the_keywords_mean_and_shows_what_is_under_them():
    given = task(SALES, show=shown_cells, params=params("align=model"), question="South, April on?")
    aligned = "South -> South\n- April -> 2020 > Q2\ntotal -> none"
    steps, said = drive(TreeThinker(), given, [DRAWN, aligned, "Final Answer: 10"])
    tree, align, last = (transcript(step) for step in steps)
    assert TreeThinker().rounds(params("align=model")) == (3, 3)
    assert align[:1] == tree
    assert align[2][1].endswith(f"South, April on?\n\n{ALIGN.format(of=' of the tree')}")
    assert last[3] == ("assistant", aligned)
    assert last[4][1] == (
        f"{ALIGNED}These are the rows and columns whose headers fit the task:\n"
        "[['Region', '2020 > Q2'], ['South', '10']]\n\n" + steps_of(CONTENT, CYCLES, LAST)
    )
    assert said.text == "10"
    keywords = ["South", "April", "total"]
    assert said.facts == {1: {"keywords": keywords, "headers": ["South", "2020 > Q2"]}}
    assert said.parts["keyword_headers"] == 0  # the model's tree lacks South
    assert "April -> 2020 > Q2\ntotal -> none" in said.drawn


@pytest.mark.parametrize(
    ("reply", "flags"),
    [
        ("I cannot.", ("no_keywords", "no_alignment")),
        ("Q9 -> Q9", ("no_alignment",)),
    ],
)
def test_an_alignment_without_a_header_of_the_table_shows_no_part(reply, flags):
    given = task(SALES, show=shown_cells, params=params("align=model"))
    steps, said = drive(TreeThinker(), given, [DRAWN, reply, "Final Answer: 10"])
    assert transcript(steps[2])[4][1] == ALIGNED + steps_of(CONTENT, CYCLES, LAST)
    assert said.flags == flags


def test_the_model_aligns_without_a_tree_too():
    given = task(PEOPLE, show=shown_cells, params=params("align=model, tree=off"))
    steps, said = drive(TreeThinker(), given, ["Bo -> Bo\nold -> Age", "Final Answer: 41"])
    assert ALIGN.format(of="") in transcript(steps[0])[0][1]
    assert "[['Name', 'Age'], ['Bo', '41']]" in transcript(steps[1])[2][1]
    assert said.parts == {"align_recall": 1.0}


def test_a_picture_goes_with_the_first_question_alone():
    picture = Image("image/png", b"\x89PNG")

    def show(table: Table) -> tuple[Image, ...]:
        return (picture,)

    steps, _ = drive(TreeThinker(), task(SALES, show=show), [DRAWN, "Final Answer: 1"])
    step = steps[1]
    assert isinstance(step, Ask)
    assert [message.content for message in step.messages[:1]] == [(f"{TREE}", "\n\n", picture)]
    assert isinstance(step.messages[2].content, str)


def test_without_a_table_the_question_is_asked_alone():
    [step], said = drive(TreeThinker(), task(), ["Final Answer: 1"])
    assert len(transcript(step)) == 1
    assert said.text == "1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tree=maybe", "tree must be on or off, not 'maybe'"),
        ("align=2", "align must be rule, model, or a number from 0 to 1, not 2"),
        ("align=much", "align must be rule, model, or a number from 0 to 1, not 'much'"),
    ],
)
def test_parameters_are_checked(text, said):
    with pytest.raises(Exception, match=said):
        params(text)
