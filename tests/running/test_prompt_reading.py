"""Prompts that a server cut, by the tokens that it counts."""

from __future__ import annotations

import random

import pytest

from benchmarks.prompt_reading import counted, drawn_prompt, measured, trained
from pytest_tablebench.models import Message, Reply
from pytest_tablebench.running.prompt_reading import PromptReading
from pytest_tablebench.serializers.content import Image
from pytest_tablebench.util.tokens import count_tokens

LONG = "\n".join(f"Row {number}: {number * 7919 % 1000}" for number in range(3000))


def check(read: int | None, text: str = LONG, model: str = "m", reading=None):
    reading = PromptReading() if reading is None else reading
    return reading.check(model, [Message("user", text)], Reply("", prompt_tokens=read))


def test_a_small_part_of_a_prompt_is_noticed() -> None:
    part = check(2051)
    assert part is not None
    assert part.sent == count_tokens(LONG.encode())
    assert str(part) == f"the server read 2,051 of about {part.sent:,} tokens"


@pytest.mark.parametrize("read", [None, 0, 255, 30_000])
def test_whole_prompts_and_counts_without_meaning_are_no_cut(read: int | None) -> None:
    assert check(read) is None


def test_built_in_models_and_pictures_are_left_out() -> None:
    assert check(2051, model="tablebench/lexical") is None
    picture = Message("user", (LONG, Image("image/png", b"\x89PNG")))
    assert PromptReading().check("m", [picture], Reply("", prompt_tokens=2051)) is None


def test_short_prompts_show_that_the_tokens_of_a_model_are_larger() -> None:
    reading, tokens = PromptReading(), count_tokens(LONG.encode())
    for number in range(5):
        text = LONG[: 700 + number]
        assert check(count_tokens(text.encode()) // 5, text, reading=reading) is None
    # A fifth of our tokens is what this server counts of whole prompts, too.
    assert check(tokens // 5, reading=reading) is None
    assert check(tokens // 20, reading=reading) is not None
    assert check(tokens // 5, model="another", reading=reading) is not None


def test_equal_counts_of_different_prompts_show_a_window() -> None:
    reading = PromptReading()
    tokens = count_tokens(LONG.encode())
    read = round(0.6 * tokens)
    assert check(tokens, reading=reading) is None
    assert check(read, reading=reading) is None
    assert check(read, LONG + LONG[: len(LONG) // 5], reading=reading) is not None


def test_whole_prompts_of_other_tokenizers_raise_no_alarm() -> None:
    draw = random.Random("reading")
    prompts = [drawn_prompt(draw) for _ in range(60)]
    for tokenizer in (trained(prompts[:30], 2000), trained(prompts, 8000)):
        lengths = {text: len(tokenizer.encode(text).ids) for text in prompts}
        alarms, long = measured(counted(prompts, lengths.__getitem__), whole=True)
        assert (alarms, long > 15) == (0, True)
    noticed, long = measured(counted(prompts, lambda text: count_tokens(text.encode())), 0.25)
    assert noticed >= 0.8 * long
