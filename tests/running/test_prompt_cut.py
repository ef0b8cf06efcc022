"""Prompts that are cut to a model's context."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.models import Message
from pytest_tablebench.running.requests import cut_messages
from pytest_tablebench.util.tokens import count_tokens, first_tokens


def test_the_first_tokens_of_the_context_less_128_stay():
    # " a" is one token of cl100k_base, however often it is repeated.
    prompt = (Message("system", " a" * 10), Message("user", " a" * 50), Message("user", "more"))
    # 128 + 40: the system's ten tokens, and 30 of the user's.
    assert cut_messages(prompt, 168) == (Message("system", " a" * 10), Message("user", " a" * 30))
    assert cut_messages(prompt, 128 + 60) == prompt[:2]
    assert cut_messages(prompt, 128 + 61) == prompt
    assert cut_messages(prompt, None) == prompt


def test_an_assistants_turn_behind_the_cut_is_dropped_and_within_it_is_cut():
    prompt = (Message("user", " a" * 5), Message("assistant", " a" * 5))
    assert cut_messages(prompt, 128 + 5) == prompt[:1]
    assert cut_messages(prompt, 128 + 7) == (prompt[0], Message("assistant", " a" * 2))


@given(st.text(max_size=200), st.integers(1, 60))
def test_a_cut_text_begins_the_text_and_has_no_more_tokens(text, most):
    start, count = first_tokens(text, most)
    assert text.startswith(start)
    assert count <= most
    assert count_tokens(start.encode("utf-8", "replace")) <= most
    if count_tokens(text.encode("utf-8", "replace")) <= most:
        assert start == text


def test_a_lone_surrogate_and_half_a_character_are_no_error():
    assert first_tokens("a\ud800b", 50)[0] == "a\ud800b"
    # This sign takes several tokens: one token is only a part of it.
    assert first_tokens("\U0001f9ff", 1)[0] == ""


def test_a_prompt_whose_first_sign_does_not_fit_is_an_empty_message():
    # This sign takes several tokens, and the context leaves one.
    assert cut_messages((Message("user", "\U0001f9ff"),), 129) == (Message("user", ""),)
