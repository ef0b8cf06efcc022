"""Which answers are equal."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.metrics.normal_form import normal_form, number_in, shown_number, words_of


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("1,157", "1157"),
        ("1157.0", "1157"),
        ("$5,813", "5813"),
        ("6.4%", "6.4"),
        ("(1,844)", "-1844"),
        ("1.5 million", "1500000"),
        ("  New  York. ", "new york"),
        (["b", "a"], ["A", "B"]),
        ("Chile, Ecuador", ["Ecuador", "Chile"]),
    ],
)
def test_equal_answers(first: object, second: object) -> None:
    assert normal_form(first) == normal_form(second) != ""


@pytest.mark.parametrize(
    ("first", "second"),
    [("1157", "115.7"), ("-3", "3"), ("Chile", "Chile, Peru"), ("13-6", "13"), ("2004", "2004-05")],
)
def test_different_answers(first: str, second: str) -> None:
    assert normal_form(first) != normal_form(second)


@pytest.mark.parametrize("empty", [None, "", "  ", [], ["", None]])
def test_an_empty_answer_has_no_form(empty: object) -> None:
    assert normal_form(empty) == ""


@given(st.integers(-(10**9), 10**9), st.integers(0, 4))
def test_a_shown_number_keeps_its_value(whole: int, places: int) -> None:
    number = Fraction(whole, 10**places)
    assert number_in(shown_number(number)) == number


def test_words_lose_plurals_and_marks() -> None:
    assert words_of("How many Cities, and bus stops?") == (
        "how",
        "many",
        "city",
        "and",
        "bus",
        "stop",
    )
