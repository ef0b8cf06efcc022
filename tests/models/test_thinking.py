"""Thoughts are separated from the answer of a reply."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from pytest_tablebench.executors._wire import reply_fields
from pytest_tablebench.models import Reply, as_read, limited
from pytest_tablebench.models.thinking import read_blocks, split_thoughts, thoughts_of
from pytest_tablebench.store._line import answer_line, read_answer, reply_of

GPT_OSS = (
    "<|channel|>analysis<|message|>hm<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Italy<|return|>"
)
LEADING = {
    "deepseek-r1": "<think>\nhm\n</think>\n\nItaly",
    "opened by the template": "hm\n</think>\n\nItaly",
    "thinking": "<thinking>hm</thinking>Italy",
    "thought": "<thought>hm</thought>\nItaly",
    "reasoning": "<reasoning>hm</reasoning>\nItaly",
    "reflection": "<reflection>hm</reflection> Italy",
    "capitals": "<THINK>hm</Think>Italy",
    "magistral": "[THINK]hm[/THINK]Italy",
    "kimi": "◁think▷hm◁/think▷Italy",
    "gpt-oss": GPT_OSS,
    "gpt-oss, header": f"<|start|>assistant{GPT_OSS}",
    "gpt-oss, opened by the template": GPT_OSS.removeprefix("<|channel|>analysis<|message|>"),
    "blank line before": "\n\n <think>hm</think>Italy",
    "another closing tag": "<think>hm</thinking>Italy",
}


@pytest.mark.parametrize("reply", LEADING.values(), ids=LEADING)
def test_leading_thoughts_are_removed(reply: str) -> None:
    made = Reply(reply)
    assert (made.thinking, made.text, made.written) == ("hm", "Italy", reply)
    assert split_thoughts(made.text).text == "Italy"


@pytest.mark.parametrize(
    ("reply", "thinking", "text"),
    [
        ("<think>\n\n</think>\n\nItaly", "", "Italy"),
        ("</think>\n\nItaly", "", "Italy"),
        ("<think>a</think>\n<reflection>b</reflection>\nItaly", "a\n\nb", "Italy"),
        ("<think>a <think>b</think> c</think>Italy", "a <think>b\n\nc", "Italy"),
        ("<think>the cell `</think>` is it</think>Italy", "the cell `</think>` is it", "Italy"),
        ("<think>```py\nx = 1\n</think>\n```json\n{}\n```", "```py\nx = 1", "```json\n{}\n```"),
        ('<think>12" wide</think>It is 3" high.', '12" wide', 'It is 3" high.'),
        ("<think>a</think>The tag is `<think>`.", "a", "The tag is `<think>`."),
        ("<think>a</think>```\n<think>b</think>\n```", "a", "```\n<think>b</think>\n```"),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary"
            "<|message|>b<|end|><|start|>assistant<|channel|>final<|message|>Italy",
            "a\n\nb",
            "Italy",
        ),
        ("analysisWe look it up.assistantfinalItaly", "We look it up.", "Italy"),
    ],
)  # fmt: skip
def test_several_blocks_before_the_answer_are_thoughts(
    reply: str, thinking: str, text: str
) -> None:
    found = split_thoughts(reply)
    assert (found.thinking, found.text, found.closed) == (thinking, text, True)


@pytest.mark.parametrize("reply", ["<think>hm", "[THINK]hm", "<|channel|>analysis<|message|>hm"])
def test_unfinished_thoughts_are_no_answer(reply: str) -> None:
    found = split_thoughts(reply)
    assert (found.thinking, found.text, found.closed) == ("hm", "", False)


@pytest.mark.parametrize(
    "reply",
    [
        "Italy",
        "  Italy\n",
        "",
        "| a | <think> |\n| - | - |\n| b | </think> |",
        "| b | </think> |",
        '["</think>"]',
        "<table><tr><td></think></td></tr></table>",
        "The tag `</think>` ends them.",
        "```\n</think>\n```",
        "```xml\n<think>a</think>\n```",
        "It says <think>a</think> in row 2.",
        "analysis of variance",
        "```\n<|end|><|start|>assistant<|channel|>final<|message|>x\n```",
    ],
)
def test_tags_inside_an_answer_are_kept(reply: str) -> None:
    made = Reply(reply)
    assert (made.text, made.thinking, made.raw) == (reply, "", None)


def test_thoughts_in_a_separate_field_and_in_the_text_are_joined() -> None:
    beside = Reply("\n\nItaly", thinking="a")
    assert (beside.text, beside.thinking, beside.written) == ("Italy", "a", "\n\nItaly")
    both = Reply("<think>b</think>Italy", thinking="a")
    assert (both.text, both.thinking, both.beside) == ("Italy", "a\n\nb", "a")
    assert as_read(both, "reference").text == "<think>b</think>Italy"


@pytest.mark.parametrize(
    "reply",
    [Reply("<think>b</think>Italy", thinking="a"), Reply("Italy", thinking="a"), Reply(GPT_OSS)],
)
def test_a_reply_is_unchanged_by_wire_and_store(reply: Reply) -> None:
    assert Reply(**reply_fields(reply)) == reply
    line = answer_line("0" * 64, {}, reply)
    stored = reply_of(read_answer(line.rstrip(b"\n")))
    assert (stored.text, stored.thinking, stored.raw) == (reply.text, reply.thinking, reply.raw)


def test_an_entry_of_an_earlier_version_is_split_on_reading() -> None:
    stored = reply_of({"reply": {"text": "<think>hm</think>Italy", "finish_reason": "stop"}})
    assert (stored.text, stored.thinking) == ("Italy", "hm")


def test_the_size_limit_of_a_reply_includes_thoughts() -> None:
    cut = limited(Reply("<think>hm</think>Italy"), 19)
    assert (cut.text, cut.thinking, cut.cut) == ("It", "hm", True)
    beside = limited(Reply("Italy", thinking="éé"), 3)
    assert (beside.text, beside.thinking, beside.cut) == ("Ita", "é", True)


def test_thoughts_are_read_from_the_known_fields_of_a_response() -> None:
    blocks = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "Italy"},
    ]
    assert read_blocks(blocks) == ("Italy", "hm")
    assert read_blocks([{"type": "thinking", "thinking": "hm"}, 3]) == (None, "hm")
    assert thoughts_of(SimpleNamespace(reasoning_content="hm")) == "hm"
    assert thoughts_of(SimpleNamespace(reasoning_content=None, reasoning="hm")) == "hm"
    assert (
        thoughts_of(SimpleNamespace(thinking_blocks=[{"type": "thinking", "thinking": "hm"}]))
        == "hm"
    )
    assert thoughts_of(SimpleNamespace(reasoning_content=3)) == ""


@pytest.mark.parametrize(
    "piece",
    ["<think></think>", "<think></thinking>", "</think>", "`", '<think>"', "[THINK]", "| </think> ",
     "```\n", "<|channel|>", "<|end|> ", "   ", "analysis", "<td></td>"],
)  # fmt: skip
@pytest.mark.parametrize("begin", ["", "<think>", "x "])
def test_the_time_to_split_is_linear_in_the_length(begin: str, piece: str) -> None:
    reply = begin + piece * (200_000 // len(piece))
    start = time.process_time()
    split_thoughts(reply)
    assert time.process_time() - start < 5
