"""The words of changed answers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.reports.snapshots import change_words, word_diff
from pytest_tablebench.results.snapshots import Entry, change_of

ANY_TEXT = st.text(st.characters(exclude_categories=()))
"""All code points: control characters and lone surrogates as well."""


def test_a_replaced_word_is_marked():
    assert [*word_diff("The answer is 36.", "The answer is 41.")] == [
        ("same", "The answer is "),
        ("old", "36"),
        ("new", "41"),
        ("same", "."),
    ]


def test_added_and_removed_words_are_marked():
    assert [*word_diff("a b", "a x b")] == [("same", "a "), ("new", "x "), ("same", "b")]
    assert [*word_diff("a x b", "a b")] == [("same", "a "), ("old", "x "), ("same", "b")]
    assert [*word_diff("", "a")] == [("new", "a")]
    assert [*word_diff("", "")] == []
    assert [*word_diff("same", "same")] == [("same", "same")]


@given(ANY_TEXT, ANY_TEXT)
def test_a_word_diff_contains_both_texts(old, new):
    parts = [*word_diff(old, new)]
    assert "".join(text for sign, text in parts if sign != "new") == old
    assert "".join(text for sign, text in parts if sign != "old") == new


def test_the_length_of_a_word_diff_is_bounded():
    parts = word_diff("a b " * 10_000, "b a " * 10_000, most=300)
    assert sum(len(text) for _, text in parts) <= 2 * 300


def words(old: str, new: str) -> str:
    answers = (Entry("right", 1.0, text) for text in (old, new))
    return change_words(change_of("c", "f.ambr", "t", *answers))


def test_long_parts_of_changed_words_are_shortened():
    same = "".join(f"{number:03} " for number in range(50))
    assert words(f"{same}a", f"{same}b") == (f"{same[:40]}...{same[-40:]}[-a-]{{+b+}}")
    assert words("", "x" * 500) == f"{{+{'x' * 200}...{'x' * 200}+}}"


def test_changed_words_are_printable():
    assert words("a\x1b[31m\n", "\u202eb") == "[-a\\x1b[31m\\n-]{+\\u202eb+}"
