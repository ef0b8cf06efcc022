"""Reading replies in TReB's answer forms, by hand."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.config.compat import COMPAT_MODES, Compat
from pytest_tablebench.metrics.steps import Execute, Execution
from pytest_tablebench.models import Reply, as_read
from pytest_tablebench.strategies import Said
from pytest_tablebench.strategies._icot import MAX_OUTPUT, ICoT
from pytest_tablebench.strategies._replies import (
    boxed_answer,
    json_answer,
    last_box,
    python_blocks,
    runnable,
)

from .driving import drive, task, transcript

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
Outcomes = list[str | Execution | Exception]
RESULT = "\n```CodeExecuteResult\n{}\n```\n"


@pytest.mark.parametrize(
    ("compat", "further", "programs", "answer"),
    [
        ("reference", [Execution("ok"), "."], ["x\n", "trap\n"], "."),
        ("fixed", [], ["x\n"], "Done."),
    ],
)
def test_output_is_searched_for_blocks_by_reference_alone(
    compat: Compat, further: list[str | Execution], programs: list[str], answer: str
) -> None:
    outcomes: Outcomes = [BLOCK, Execution("ok", "```python\ntrap\n```"), "Done.", *further]
    steps, said = drive(ICoT(), task(compat=compat), outcomes)
    assert [step.program for step in steps if isinstance(step, Execute)] == programs
    assert said.text == answer


def test_fixed_takes_the_first_block_of_each_reply() -> None:
    outcomes: Outcomes = [
        f"a{BLOCK}b{BLOCK}",
        Execution("ok", "1"),
        f"c{BLOCK}d",
        Execution("ok", "2"),
        "",
    ]
    steps, said = drive(ICoT(), task(), outcomes)
    assert [step.program for step in steps if isinstance(step, Execute)] == ["x\n", "x\n"]
    assert said.text == f"a{BLOCK}{RESULT.format(1)}c{BLOCK}{RESULT.format(2)}"


@pytest.mark.parametrize(("last", "answer"), [("So a.", "So a."), ("\\boxed{a}", "a")])
def test_fixed_knows_the_last_words_without_a_fence(last: str, answer: str) -> None:
    _, said = drive(ICoT(), task(), [BLOCK, Execution("ok", "a ``` b"), last])
    assert said.text == answer


@pytest.mark.parametrize(
    ("compat", "shown"), [("reference", MAX_OUTPUT + 1), ("fixed", MAX_OUTPUT)]
)
def test_only_fixed_cuts_output(compat: Compat, shown: int) -> None:
    outcomes: Outcomes = [BLOCK, Execution("ok", "x" * (MAX_OUTPUT + 1)), "."]
    steps, _ = drive(ICoT(), task(compat=compat), outcomes)
    assert transcript(steps[2])[-1] == ("assistant", BLOCK + RESULT.format("x" * shown))


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
    conversation = ICoT().converse(task(compat=compat, params={"max_exec": most}))
    step, programs = next(conversation), 0
    outcome: object = None
    try:
        for text in said:
            if isinstance(step, Execute):
                programs += 1
                step = conversation.send(Execution("ok", text))
            else:
                step = conversation.send(as_read(Reply(text), "reference"))
    except StopIteration as end:
        outcome = end.value
    assert programs <= most
    assert isinstance(outcome, Said)


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
