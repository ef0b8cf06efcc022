"""What models write of questions and marks is hostile: read strictly, or refused with a reason."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.generate.llm import replies
from pytest_tablebench.generate.llm.prompts import (
    SUBTASKS,
    About,
    _data,
    ask_for_pairs,
    read_table,
    shown,
)
from pytest_tablebench.generate.llm.replies import (
    Attack,
    Draft,
    read_attack,
    read_draft,
    read_drafts,
    read_marks,
    read_solution,
)
from pytest_tablebench.generate.llm.translated import read_texts
from pytest_tablebench.generate.pair import RejectedError
from pytest_tablebench.tables.table import Table

ONE = '{"pairs": [{"question": "Who?", "answer": "Ada"}]}'
HIDDEN = "question has characters that cannot be shown"
KEYS = st.sampled_from(
    ["pairs", "question", "answer", "texts", "title", "header", "rows", "fault", "answerable"]
)
FULL = '{"accuracy": 5, "relevance": 5, "coverage": 5}'


@pytest.mark.parametrize(
    "reply",
    [
        ONE,
        f"\n {ONE}\n",
        f"```json\n{ONE}\n```",
        f"Here they are:\n```\n{ONE}\n```\nDone.",
    ],
)
def test_pairs_are_read_from_the_whole_reply_or_its_one_block(reply: str) -> None:
    (pair,) = read_drafts(reply)
    assert read_draft(pair, "text") == Draft("Who?", ("Ada",))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "reply is not JSON"),
        ("Sorry, I cannot.", "reply is not JSON"),
        (f"Here: {ONE}", "reply is not JSON"),
        (f"{ONE} {ONE}", "reply is not JSON"),
        (ONE[:-3], "reply is not JSON"),
        ("[" * 100_000, "reply is not JSON"),
        ('{"pairs": NaN}', "reply is not JSON"),
        ('{"pairs": 1' + "0" * 5000 + "}", "reply is not JSON"),
        ('{"pairs": [], "pairs": []}', "reply is not JSON"),
        ("__import__('os').system('true')", "reply is not JSON"),
        (f"```json\n{ONE}\n```\n```json\n{ONE}\n```", "reply has several blocks"),
        ("[]", "reply is not a list of pairs"),
        ('{"pairs": {}}', "reply is not a list of pairs"),
        ('{"pairs": [], "more": 1}', "reply is not a list of pairs"),
        ('"' + "x" * 200_000 + '"', "reply is too long"),
    ],
)
def test_other_replies_have_no_pairs(reply: str, reason: str) -> None:
    with pytest.raises(RejectedError) as raised:
        read_drafts(reply)
    assert raised.value.reason == reason


@pytest.mark.parametrize(
    ("answer", "metric", "draft"),
    [
        ("12.50", "number", (("12.50",), "0.01")),
        (12, "number", (("12",), "")),
        (0.5, "number", (("0.5",), "0.1")),
        (["Ada", "Bo"], "list", (("Ada", "Bo"), "")),
        ("Yes", "yes_no", (("yes",), "")),
        ("Sales rose,\nand then fell.", "treb_rouge", (("Sales rose, and then fell.",), "")),
    ],
)
def test_answers_are_read_by_their_kind(answer: object, metric: str, draft: object) -> None:
    found = read_draft({"question": " Which \n one? ", "answer": answer}, metric, ("yes", "no"))
    assert found.question == "Which one?"
    assert (found.answers, found.tolerance) == draft


@pytest.mark.parametrize(
    ("pair", "metric", "reason"),
    [
        ("Who?", "text", "no question with an answer"),
        ({"question": "Who?"}, "text", "no question with an answer"),
        ({"question": "Who?", "answer": "A", "id": 1}, "text", "no question with an answer"),
        ({"question": 3, "answer": "A"}, "text", "question is neither text nor a number"),
        ({"question": " ", "answer": "A"}, "text", "question is neither text nor a number"),
        ({"question": "x" * 601, "answer": "A"}, "text", "question is too long"),
        ({"question": "\x1b[2J?", "answer": "A"}, "text", HIDDEN),
        ({"question": "a\u202eb?", "answer": "A"}, "text", HIDDEN),
        ({"question": "a\ud800?", "answer": "A"}, "text", HIDDEN),
        ({"question": "Who?", "answer": None}, "text", "answer is neither text nor a number"),
        ({"question": "Who?", "answer": True}, "text", "answer is neither text nor a number"),
        ({"question": "Who?", "answer": {"a": 1}}, "text", "answer is neither text nor a number"),
        ({"question": "Who?", "answer": ["A", "B"]}, "text", "answer has several items"),
        ({"question": "Who?", "answer": "A | B"}, "text", "answer cannot be compared"),
        ({"question": "Who?", "answer": "x" * 201}, "text", "answer is too long"),
        ({"question": "Who?", "answer": "A"}, "list", "answer is not a list"),
        ({"question": "Who?", "answer": ["A"]}, "list", "answer is not a list"),
        ({"question": "Who?", "answer": ["A"] * 16}, "list", "answer is not a list"),
        ({"question": "Who?", "answer": ["A", "a"]}, "list", "answer says an item twice"),
        ({"question": "Who?", "answer": "about 12"}, "number", "answer is not a number"),
        ({"question": "Who?", "answer": 1e400}, "number", "answer is not a number"),
        ({"question": "Who?", "answer": "maybe"}, "yes_no", "answer is not yes or no"),
        ({"question": "Who <b>?</b>", "answer": "A"}, "text", "question has HTML in it"),
        ({"question": "Who?", "answer": "<i>A"}, "text", "answer has HTML in it"),
        ({"question": "Who?", "answer": "=A1"}, "text", "answer is a formula"),
        ({"question": "Who is ../../x?", "answer": "A"}, "text", "question names a path"),
    ],
)  # fmt: skip
def test_other_pairs_are_refused(pair: object, metric: str, reason: str) -> None:
    with pytest.raises(RejectedError) as raised:
        read_draft(pair, metric, ("yes", "no"))
    assert raised.value.reason == reason


def test_marks_are_three_whole_numbers_from_1_to_5() -> None:
    assert read_marks(FULL) == {"accuracy": 5, "relevance": 5, "coverage": 5}
    for spoilt in ("6", "0", "5.0", "true", '"5"', "null"):
        with pytest.raises(RejectedError, match="marks cannot be read"):
            read_marks(FULL.replace('"relevance": 5', f'"relevance": {spoilt}'))
    for keys in ("accuracy", "extra"):
        marks = json.loads(FULL)
        marks[keys] = marks.pop(keys, 5)
        del marks["coverage"]
        with pytest.raises(RejectedError, match="marks cannot be read"):
            read_marks(json.dumps(marks))
    with pytest.raises(RejectedError, match="reply is not JSON"):
        read_marks("All fives!")


ATTACK = '{"answerable": true, "unique": false, "correct": false, "fault": "A tie."}'


def test_an_attack_says_of_each_point_whether_it_holds_and_what_is_wrong() -> None:
    assert read_attack(f"Hm.\n```json\n{ATTACK}\n```") == Attack(("unique", "correct"), "A tie.")
    # Where all holds, nothing is mended by what is said beside it.
    assert read_attack(ATTACK.replace("false", "true").replace("A tie.", "<b>")) == Attack((), "")
    for spoilt in ("0", '"no"', "null"):
        with pytest.raises(RejectedError, match="attack cannot be read"):
            read_attack(ATTACK.replace("false", spoilt, 1))
    with pytest.raises(RejectedError, match="attack cannot be read"):
        read_attack(ATTACK.replace('"unique": false, ', ""))
    for fault in ("", "x" * 601, "<b>"):
        with pytest.raises(RejectedError, match="fault"):
            read_attack(ATTACK.replace("A tie.", fault))


def test_a_solver_gives_an_answer_of_the_kind_or_none() -> None:
    assert read_solution('{"answer": 36}', "number") == ("36",)
    assert read_solution('{"answer": ["A", "B"]}', "list") == ("A", "B")
    assert read_solution('{"answer": null}', "number") == ()
    for reply, metric, reason in (
        ('{"answer": "about 36"}', "number", "answer is not a number"),
        ('{"answer": "May 5, 2024"}', "text", "answer cannot be compared"),
        ('{"answer": "=1"}', "text", "answer is a formula"),
        ('{"answer": "A"}', "list", "answer is not a list"),
        ('{"answer": "A", "why": ""}', "text", "reply is not an answer"),
        ('"A"', "text", "reply is not an answer"),
    ):
        with pytest.raises(RejectedError, match=reason):
            read_solution(reply, metric, is_vote=True)
    # What is only held against an answer may be written as in any reply.
    assert read_solution('{"answer": "May 5, 2024"}', "text") == ("May 5, 2024",)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
READERS: tuple[Callable[[str], object], ...] = (
    lambda reply: [read_draft(pair, "text") for pair in read_drafts(reply)],
    read_marks,
    read_attack,
    lambda reply: read_solution(reply, "number"),
    lambda reply: read_solution(reply, "list"),
    lambda reply: read_texts(reply, ["a"]),
    read_table,
)


@given(VALUES | st.dictionaries(KEYS, VALUES))
def test_whatever_a_reply_holds_it_is_read_or_refused(value: object) -> None:
    for reader in READERS:
        with contextlib.suppress(RejectedError, RejectedError):
            reader(json.dumps(value))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_subtask_has_its_words_in_both_languages(language: str) -> None:
    words = _data(language)
    table = Table(["a{0}", "b"], [["1", "{x}"]], title="T {y}")
    assert set(words["kinds"]) == set(SUBTASKS)
    assert len(words["discriminator"]) == 2
    for subtask in SUBTASKS:
        shows = shown(table, subtask, language)
        assert "|1|{x}|" in shows
        assert "T {y}" in shows
        context = About(table, "", subtask, language, shows, set())
        told, asked = ask_for_pairs(context, 3, "m").messages
        assert asked.content == shows
        assert '{"pairs": [{"question": "...", "answer": ' in str(told.content)
    for marks in words["discriminator"]:
        assert set(json.loads(marks.format().strip().splitlines()[-1])) == set(replies.MARKS)
