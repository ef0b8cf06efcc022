"""ROUGE worked out by hand, against the rouge-score package, and on hostile texts."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from pytest_tablebench import score
from pytest_tablebench.metrics._rouge import MAX_TOKENS, VARIANTS, rouge
from pytest_tablebench.metrics._rouge_package import MAX_CHARACTERS, is_affordable, sentences
from tests.support.matrix import draws

PACKAGE = RougeScorer(list(VARIANTS))

# Few words, so that texts share some; punctuation and line breaks, so that sentences differ.
WORDS = st.sampled_from(
    ["the", "The", "cat", "sat", "on", "mat", "42", "3.5", "naïve", "K", "İ", "東京", "U.S.", "a_b"]
)
MARKS = st.sampled_from([" ", " ", " ", ". ", "! ", "\n", "\n\n", ", ", ".\n", "? ", "\t", '." '])
PROSE = st.lists(st.tuples(WORDS, MARKS), max_size=40).map(
    lambda pairs: "".join(word + mark for word, mark in pairs)
)
TEXTS = PROSE | st.text(max_size=80)


def parts(prediction: str, *references: str) -> dict[str, float]:
    return dict(score("rouge", prediction, list(references)).parts)


def lined(text: str) -> str:
    return "\n".join(sentences(text))


# By hand


def test_f_measures_of_a_short_pair() -> None:
    # 3 of 4 words and 2 of 3 pairs on either side; "the cat sat" or "the cat down" in order.
    assert parts("the cat sat down", "down the cat sat") == pytest.approx(
        {"rouge1": 1.0, "rouge2": 2 / 3, "rougeL": 3 / 4, "rougeLsum": 3 / 4}, abs=1e-12
    )


def test_rouge_lsum_uses_the_union_of_subsequences() -> None:
    # Reference sentence w1..w5 against two sentences w1 w2 w6 w7 w8 and w1 w3 w8 w9 w5: the union
    # is w1 w2 w3 w5, four of five (Lin 2004, section 3.2); ten tokens in the prediction.
    found = parts("w1 w2 w6 w7 w8\nw1 w3 w8 w9 w5", "w1 w2 w3 w4 w5")
    assert found["rougeLsum"] == pytest.approx(2 * (4 / 5) * (4 / 10) / (4 / 5 + 4 / 10), abs=1e-12)


@pytest.mark.parametrize("empty", ["", "  ", "...", "東京", "\ud800"])
def test_nothing_to_compare_is_zero(empty: str) -> None:
    for prediction, references in ((empty, ["a b"]), ("a b", [empty]), (empty, [empty]), ("a", [])):
        result = score("rouge", prediction, references)
        assert result.value == 0.0
        assert dict(result.parts) == dict.fromkeys(VARIANTS, 0.0)


def test_only_the_requested_variants_are_computed() -> None:
    result = rouge("a b c", ["a c"], variants=("rougeL", "rouge1"))
    assert list(result.parts) == ["rouge1", "rougeL"]
    assert result.value == result.parts["rougeL"] == pytest.approx(0.8, abs=1e-12)


# Against the package


@given(
    st.lists(st.lists(st.sampled_from("abcd"), max_size=12), max_size=5),
    st.lists(st.lists(st.sampled_from("abcde"), max_size=12), max_size=5),
)
@settings(max_examples=draws(300))
def test_equal_to_the_package_where_ties_abound(
    prediction: list[list[str]], reference: list[list[str]]
) -> None:
    # The union over sentences depends on which of several common subsequences is chosen.
    given_text, wanted = ("\n".join(map(" ".join, text)) for text in (prediction, reference))
    theirs = PACKAGE.score(wanted, given_text)
    assert dict(rouge(given_text, [wanted]).parts) == pytest.approx(
        {name: value.fmeasure for name, value in theirs.items()}, abs=1e-12, rel=0
    )


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_several_references_are_scored_as_by_the_package(
    prediction: str, references: list[str]
) -> None:
    theirs = PACKAGE.score_multi([lined(text) for text in references], lined(prediction))
    assert dict(rouge(prediction, references).parts) == pytest.approx(
        {name: value.fmeasure for name, value in theirs.items()}, abs=1e-12, rel=0
    )


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=2))
@settings(max_examples=draws(100))
def test_the_mode_reference_equals_the_package(prediction: str, references: list[str]) -> None:
    theirs = PACKAGE.score_multi([lined(text) for text in references], lined(prediction))
    published = rouge(prediction, references, compat="reference")
    assert dict(published.parts) == {name: value.fmeasure for name, value in theirs.items()}


def test_a_text_too_long_for_the_package_is_still_scored() -> None:
    words = " ".join(map(str, range(1000)))
    assert not is_affordable(words, words)
    assert rouge(words, [words], compat="reference").value == 1.0
    assert not is_affordable("a" * 61, "b")


@given(TEXTS)
def test_a_text_with_a_token_is_equal_to_itself(text: str) -> None:
    tokens = "".join(c if c in ALNUM else " " for c in text.lower()).split()
    found = rouge(text, [text]).parts
    wanted = float(bool(tokens))
    assert found["rouge1"] == found["rougeL"] == found["rougeLsum"] == wanted
    assert found["rouge2"] == float(len(tokens) > 1)


ALNUM = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


# Sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  \n ", []),
        ("no end", ["no end"]),
        (" One. Two! Three? ", ["One.", "Two!", "Three?"]),
        ("one. two.", ["one.", "two."]),
        ("Dr. Smith won. He left.", ["Dr. Smith won.", "He left."]),
        ("It rose by 2.1 points. Good.", ["It rose by 2.1 points.", "Good."]),
        ("As in Tab. 4, it wins.", ["As in Tab. 4, it wins."]),
        ("Put it on the tab. We left.", ["Put it on the tab.", "We left."]),
        ("In the U.S. The fans cheered.", ["In the U.S.", "The fans cheered."]),
        ("Smith et al. report more.", ["Smith et al. report more."]),
        ('He said "Go." Then he left.', ['He said "Go."', "Then he left."]),
    ],
)
def test_texts_are_split_into_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(TEXTS)
def test_sentences_keep_every_character_that_is_not_white_space(text: str) -> None:
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())


# Bounds


def test_bounds_do_not_affect_normal_texts() -> None:
    # 3,000 words in 250 sentences, six times the limit of a benchmark.
    words = [f"w{number % 700}" for number in range(3000)]
    text = ". ".join(" ".join(words[at : at + 12]) for at in range(0, 3000, 12))
    assert len(text) < MAX_CHARACTERS
    assert parts(text, text) == dict.fromkeys(VARIANTS, 1.0)
    other = " ".join(reversed(words[:60]))
    theirs = PACKAGE.score(lined(other), lined(text))
    assert parts(text, other) == pytest.approx(
        {name: value.fmeasure for name, value in theirs.items()}, abs=1e-12, rel=0
    )


HOSTILE = {
    "one word": "a " * 500_000,
    "one letter": "a" * 1_000_000,
    "short sentences": "w1 w2. " * 143_000,
    "other sentences": "".join(f"w{n % 97} w{n % 89} w{n % 83}. " for n in range(80_000)),
    "lines": "".join(f"w{n % 97} w{n % 89} w{n % 83}\n" for n in range(80_000)),
    "one sentence": "".join(f"w{n % 211} " for n in range(210_000)),
    "full stops": "." * 1_000_000,
    "marks": "! " * 500_000,
    "dots and dashes": "--." * 333_000,
    "quotes": '."]) ' * 200_000,
    "blanks": "a." + " " * 1_000_000 + "b",
    "surrogates": "\ud800. " * 333_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_of_anything_is_scored_in_seconds(name: str) -> None:
    reply = HOSTILE[name]
    reference = ". ".join(" ".join(f"w{n + k}" for k in range(12)) for n in range(0, 96, 12))
    started = time.process_time()
    found = parts(reply, reference)
    assert time.process_time() - started < 15  # measured: under 1
    assert all(0.0 <= value <= 1.0 for value in found.values())


def test_a_megabyte_is_scored_against_itself() -> None:
    reply = HOSTILE["other sentences"]
    started = time.process_time()
    found = parts(reply, reply)
    assert time.process_time() - started < 30  # measured: 2
    assert found["rouge1"] == 1.0
    # Text beyond the bound counts as not matched.
    assert found["rougeL"] == pytest.approx(MAX_TOKENS / 240_000, abs=1e-12)
