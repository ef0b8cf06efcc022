"""Figures and tables as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.documents.formats import (
    PAGE,
    aligned,
    distinct,
    duration,
    interval,
    money,
    number,
    percent,
    signed,
)


@pytest.mark.parametrize(
    ("value", "digits", "plain", "with_sign"),
    [
        (None, 3, "-", "-"),
        (0.12345, 3, "0.123", "+0.123"),
        (0.12345, 4, "0.1235", "+0.1235"),
        (-0.5, 3, "-0.500", "-0.500"),
        # No minus sign before a rounded zero.
        (-0.0004, 3, "0.000", "+0.000"),
        (-0.0, 2, "0.00", "+0.00"),
        (-0.0006, 3, "-0.001", "-0.001"),
    ],
)
def test_numbers_are_rounded_with_or_without_a_sign(value, digits, plain, with_sign):
    assert number(value, digits) == plain
    assert signed(value, digits) == with_sign


def test_shares_and_intervals_are_formatted():
    assert [percent(value) for value in (None, 0, 0.1234, 1)] == ["-", "0.0 %", "12.3 %", "100.0 %"]
    assert interval(None) == interval(()) == "-"
    assert interval((0.25, 1)) == "0.250 to 1.000"
    assert interval((-0.25, 0.5), "signed", 2) == "-0.25 to +0.50"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (89, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h")],
)
def test_durations_are_formatted(seconds, text):
    assert duration(seconds) == text


def test_columns_of_a_table_are_aligned():
    rows = [("", "cases"), ("short", "7"), ("the longest", "1,000")]
    assert aligned(rows) == ["             cases", "short            7", "the longest  1,000"]


def test_text_columns_are_left_aligned_without_trailing_blanks():
    rows = [("a", "b", "1"), ("aa", "", "22"), ("", "bbb", "")]
    assert aligned(rows, left=(0, 1)) == ["a   b     1", "aa       22", "    bbb"]
    assert aligned(rows, left=(0, 1, 2)) == ["a   b    1", "aa       22", "    bbb"]
    assert aligned([]) == []


def test_wide_characters_count_as_two_columns():
    # Each of the two takes two columns; a combining accent takes none.
    assert aligned([("\u8868\u683c", "1"), ("abcde", "2")]) == ["\u8868\u683c   1", "abcde  2"]
    assert aligned([("e\u0301", "1"), ("ab", "2")]) == ["e\u0301   1", "ab  2"]


def test_numbers_of_the_page_are_formatted() -> None:
    assert [PAGE.number(v) for v in (None, 0.12345, -0.5, -0.0001, 1234.5)] == [
        "–", "0.123", "−0.500", "0.000", "1,234.500",
    ]  # fmt: skip
    assert [PAGE.signed(v, 2) for v in (None, 0.126, -0.126, 0.001, 0.0)] == [
        "–", "+0.13", "−0.13", "0.00", "0.00",
    ]  # fmt: skip
    assert [PAGE.percent(v) for v in (None, 0, 0.0345, 1)] == ["–", "0.0 %", "3.5 %", "100.0 %"]
    assert [money(v) for v in (None, 0, 0.00123, 2.5)] == ["unknown", "$0.00", "$0.0012", "$2.50"]
    assert [PAGE.chance(v) for v in (None, 0.0, 0.0005, 0.04)] == [
        "–",
        "< 0.001",
        "< 0.001",
        "0.040",
    ]


def test_long_names_lose_what_they_share_and_are_never_numbered() -> None:
    models = [f"hosted_vllm/meta-llama/Llama-3.{n}-{size}B-Instruct" for n, size in
              ((1, 8), (1, 70), (3, 70))]  # fmt: skip
    assert distinct(models, 32) == [
        "Llama-3.1-8B-Instruct", "Llama-3.1-70B-Instruct", "Llama-3.3-70B-Instruct",
    ]  # fmt: skip
    assert distinct(["gpt-4o", "openai/gpt-4o"], 32) == ["gpt-4o", "openai/gpt-4o"]
    assert distinct(["a/x", "b/x"], 2) == ["a/x", "b/x"]  # cut at the front they would be equal


@given(st.lists(st.text("ab/c.", min_size=1, max_size=30), unique=True), st.integers(4, 12))
def test_different_names_have_different_labels(names: list[str], limit: int) -> None:
    assert len(set(distinct(names, limit))) == len(names)
