"""Reading replies in TReB's answer forms, by hand."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.config.compat import COMPAT_MODES, Compat
from pytest_tablebench.models import Reply
from pytest_tablebench.strategies._icot import MAX_OUTPUT, Interleaved
from pytest_tablebench.strategies._replies import (
    boxed_answer,
    json_answer,
    last_box,
    python_blocks,
    runnable,
)

PIECES = ["```", "python", "json", "CodeExecuteResult", "\n", " ", "boxed", "{", "}", "</think>"]
PIECES += ['{"answer": ', "1", '"', ",", "[", "]", "\ud800", "import os", "答"]
HOSTILE = st.lists(st.sampled_from(PIECES), max_size=30).map("".join) | st.text(max_size=50)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('so</think>```json{"answer": "a"}```', "a"),
        ('```json\n{"answer": ""}\n```', ""),
        ('```json\n{"answer": 12345678901234567890}\n```', "12345678901234567890"),
        # The block ends at the first fence, also inside a text of it: that is no JSON.
        ('```json\n{"answer": "a ``` b"}\n```', '```json\n{"answer": "a ``` b"}\n```'),
        # More digits than Python turns into a number, and deeper than it reads.
        (f'```json\n{{"answer": {"9" * 5000}}}```', f'```json\n{{"answer": {"9" * 5000}}}```'),
        (f"```json{'[' * 100_000}```", f"```json{'[' * 100_000}```"),
    ],
)
def test_json_answer(reply: str, answer: str) -> None:
    assert json_answer(reply, "reference") == answer
    assert json_answer(Reply(reply).text, "fixed") == answer


def test_fixed_reads_an_answer_that_holds_a_closing_tag() -> None:
    reply = '```json\n{"answer": "the tag </think>"}\n```'
    assert json_answer(reply, "fixed") == "the tag </think>"
    assert json_answer(reply, "reference") == '"}\n```'


def test_a_block_of_python_ends_where_its_fence_does() -> None:
    text = "a```python\nx\n```b```sql\ny\n``````pythonic\nz```"
    blocks = python_blocks(text)
    assert [block.code for block in blocks] == ["x\n", "z"]
    assert [text[block.end :] for block in blocks] == ["b```sql\ny\n``````pythonic\nz```", ""]


def test_only_reference_deletes_lines() -> None:
    code = "import osmnx\nprint(len(osmnx))\n  sys.exit()\npd.read_csv(\n  'x.csv')"
    assert runnable(code, "reference") == "print(len(osmnx))\n  'x.csv')"
    assert runnable(code, "fixed") == code


@pytest.mark.parametrize(
    ("text", "reference", "fixed"),
    [
        (r"\boxed{1} or \boxed{2", "1", "1"),
        (r"\boxed{1 or \boxed{2}", "2", "2"),
        (r"{\boxed{1}}}} {{", "1", "1"),
        ("```CodeExecuteResult\n5\n```So five", "o five", "So five"),
        ("```CodeExecuteResult\n5\n```\nSo five", "So five", "So five"),
        ("```CodeExecuteResult\n5", "```CodeExecuteResult\n5", "```CodeExecuteResult\n5"),
    ],
)
def test_boxed_answer(text: str, reference: str, fixed: str) -> None:
    assert boxed_answer(text, "reference") == reference
    assert boxed_answer(text, "fixed") == fixed


BLOCK = "```python\nx\n```"
RESULT = "\n```CodeExecuteResult\n{}\n```\n"


@pytest.mark.parametrize(
    ("compat", "program", "answer"),
    [("reference", "trap\n", ""), ("fixed", None, "Done.")],
)
def test_output_is_searched_for_blocks_by_reference_alone(
    compat: Compat, program: str | None, answer: str
) -> None:
    begun = Interleaved(compat).said(BLOCK)
    assert (begun.program, begun.finished) == ("x\n", False)
    answered = begun.ran("```python\ntrap\n```").said("Done.")
    assert answered.program == program
    assert answered.finished == (program is None)
    assert answered.programs == (("x\n", "trap\n") if program else ("x\n",))
    if answer:
        assert answered.answer == answer


def test_fixed_takes_the_first_block_of_each_reply() -> None:
    first = Interleaved().said(f"a{BLOCK}b{BLOCK}").ran("1")
    assert first.text == f"a{BLOCK}{RESULT.format(1)}"
    second = first.said(f"c{BLOCK}d")
    assert second.text == f"a{BLOCK}{RESULT.format(1)}c{BLOCK}"
    assert second.programs == ("x\n", "x\n")
    assert second.ran("2").said("").answer == second.ran("2").text


def test_fixed_knows_the_last_words_without_a_fence() -> None:
    asked = Interleaved().said(BLOCK).ran("a ``` b")
    assert asked.said("So a.").answer == "So a."
    assert asked.said("\\boxed{a}").answer == "a"


@pytest.mark.parametrize(
    ("compat", "shown"), [("reference", MAX_OUTPUT + 1), ("fixed", MAX_OUTPUT)]
)
def test_only_fixed_cuts_output(compat: Compat, shown: int) -> None:
    asked = Interleaved(compat).said(BLOCK).ran("x" * (MAX_OUTPUT + 1))
    assert asked.text == BLOCK + RESULT.format("x" * shown)


def test_no_more_programs_than_allowed() -> None:
    asked = Interleaved(max_programs=1).said(BLOCK).ran("1")
    last = asked.said(f"again {BLOCK} \\boxed{{7}}")
    assert (last.finished, last.programs, last.answer) == (True, ("x\n",), "7")
    assert Interleaved(max_programs=0).said(BLOCK).finished


@given(HOSTILE)
def test_any_reply_is_read(reply: str) -> None:
    assert isinstance(json_answer(reply, "fixed"), str)
    assert json_answer(f"{reply}</think>plain", "reference") == "plain"
    for block in python_blocks(reply):
        assert reply[: block.end].endswith(f"{block.code}```")
        assert "```" not in block.code
    assert f"boxed{{{last_box(reply)}}}" in reply or not last_box(reply)
    assert boxed_answer(reply, "fixed") in reply


@given(st.sampled_from(COMPAT_MODES), st.integers(0, 3), st.lists(HOSTILE, min_size=8, max_size=8))
def test_any_conversation_ends(compat: Compat, most: int, said: list[str]) -> None:
    conversation = Interleaved(compat, most)
    steps = iter(said)
    while not conversation.finished:
        begun = conversation.text
        if conversation.program is None:
            conversation = conversation.said(next(steps))
        else:
            conversation = conversation.ran(next(steps))
            assert conversation.text.startswith(begun)
    assert len(conversation.programs) <= most
    assert isinstance(conversation.answer, str)


@pytest.mark.parametrize("piece", ["boxed{", "{", "}", "```", "```python\n", "```json", "</think>"])
@pytest.mark.parametrize(
    "read",
    [
        lambda text: json_answer(text, "reference"),
        python_blocks,
        lambda text: boxed_answer(text, "reference"),
    ],
    ids=["json", "python", "box"],
)
def test_long_replies_are_read_quickly(piece: str, read: Callable[[str], object]) -> None:
    start = time.process_time()
    read(piece * 200_000)
    assert time.process_time() - start < 5
