"""RealHiTBench's replies and text metrics, against values worked out by hand."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import postprocess, score
from pytest_tablebench.metrics.judge_reply import read_score
from pytest_tablebench.metrics.realhit_numbers import has_decimal_commas
from pytest_tablebench.metrics.replies import Reading, read_reply

ANY_TEXT = st.text(max_size=60)
NUMBERS = st.decimals(-1_000_000, 1_000_000, places=3)


def parts(prediction: str, *references: str, compat: Any = "fixed") -> dict[str, float]:
    return dict(score("realhit", prediction, references, compat=compat).parts)


@pytest.mark.parametrize(
    ("prediction", "reference", "published", "fixed"),
    [
        ("-3.2", "3.2", 1, 0),  # signs
        ("\u22123.2", "-3.2", 0, 1),  # both are a minus
        ("32", "3.2", 1, 0),  # points
        ("45", "45%", 1, 0),  # percent signs
        ("10.0", "10", 0, 1),
        ("-0.04", "0", 0, 0),  # a whole number is exact
        (".75", "0.8", 0, 1),
        ("5.85", "5.9", 0, 1),  # half up, whatever the binary number is
        ("1,234.56", "1234.6", 1, 1),
        ("5.81", "5.78", 1, 0),  # the reference shows two places
        ("5.784", "5.78", 1, 1),
        ("5.7", "5.65", 1, 0),  # too coarse
        ("0.95", "1.00", 0, 0),
        ("3.45", "3.448", 0, 1),  # the prompts ask for two places
        ("0.00", "0.003", 1, 0),  # but not for nothing
        ("7.4", "7", 0, 0),
        ("45.3%", "45%", 0, 1),
        ("45 percent", "45%", 0, 1),
        ("July 16, 2014", "2014-07-16", 0, 1),
        ("March 2013", "March, 2013", 1, 1),
        ("10 - 12", "10-12", 0, 1),
        ("2,5", "2.5", 1, 0),
        ("Leeds,York", "Leeds, York", 0, 1),
        ("2019,2020", "2019, 2020", 0, 1),
        ("York, Leeds", "Leeds, York", 0, 0),  # the order counts in both
        ("A", "A", 0, 1),  # no article
        ("B", "A", 0, 0),
        ("-", "-", 0, 1),
        ("", "", 0, 0),
        ("#", "", 0, 0),
        ("", "#", 0, 0),
        ("the Netherlands!", "Netherlands", 1, 1),
        ("cafe\u0301", "caf\u00e9", 0, 1),
        ("v1.25", "v1.2", 0, 0),
        ("1.25.3", "1.2.3", 1, 0),  # no decimals, but parts of a version
        ("12.5%", "$12.50%", 1, 1),
    ],
)
def test_exact_match_is_published_or_corrected_by_mode(
    prediction: str, reference: str, published: int, fixed: int
) -> None:
    assert parts(prediction, reference, compat="reference")["em"] == published
    assert parts(prediction, reference)["em"] == fixed


def test_the_parts_of_an_answer_agree_with_values_worked_out_by_hand() -> None:
    # Three words against two, both shared in order: precision 1, recall 2/3.
    expected = {"em": 0.0, "f1": 0.8, "rouge_l": pytest.approx(0.8)}
    assert parts("Leeds York", "Leeds, York, Hull") == expected
    published = parts("Leeds York", "Leeds, York, Hull", compat="reference")
    assert published == {"em": 0.0, "f1": 0.8, "rouge_l": 0.8, "sacrebleu": 0.0}
    # One word of five: 2/6 is published as 33.33.
    assert parts("yes as it is so", "yes", compat="reference")["f1"] == pytest.approx(0.3333)
    assert parts("yes as it is so", "yes")["f1"] == pytest.approx(1 / 3)


def test_bleu_of_four_words_agrees_with_a_value_worked_out_by_hand() -> None:
    # 4 of 4 words, 2 of 3 pairs (x y, z w), no longer run: halved, then halved again.
    found = parts("x y z w", "z w x y", compat="reference")["sacrebleu"]
    assert found == pytest.approx((1 * 2 / 3 * 1 / 4 * 1 / 4) ** 0.25, abs=5e-5)
    assert parts("x y z", "x y z", compat="reference")["sacrebleu"] == 0
    assert "sacrebleu" not in parts("x y z w", "x y z w")


def test_only_the_mode_fixed_reads_other_scripts_in_rouge() -> None:
    assert parts("北京", "北京", compat="reference")["rouge_l"] == 0
    assert parts("北京", "北京")["rouge_l"] == 1
    assert parts("南京", "北京")["rouge_l"] == 0.5
    assert parts("Москва 5", "москва")["rouge_l"] == pytest.approx(2 / 3)
    # Tokens by plain ASCII make `rich` a token of both.
    assert parts("Zärich", "Zürich", compat="reference")["rouge_l"] > 0
    assert parts("Zärich", "Zürich")["rouge_l"] == 0


def test_each_part_takes_its_best_reference() -> None:
    assert parts("Leeds York", "York Leeds", "Leeds") == {
        "em": 0.0,
        "f1": 1.0,
        "rouge_l": pytest.approx(2 / 3),
    }
    assert parts("Leeds") == {"em": 0, "f1": 0, "rouge_l": 0}


def test_the_score_is_the_main_part_of_the_question() -> None:
    found = score("realhit", "Leeds York", ["Leeds, York, Hull"])
    assert (found.value, found.part) == (0.0, "em")
    found = score("realhit_analysis", "Leeds York", ["Leeds, York, Hull"])
    assert found.value == pytest.approx(0.8)
    assert found.part == "rouge_l"


@pytest.mark.parametrize(
    ("reply", "reading"),
    [
        ("a [Final Answer]: 1 [Final Answer]: 2 ", Reading("marker", "2")),
        ("[Final Answer]: 1\nFinal Answer: 2", Reading("marker", "1\nFinal Answer: 2")),
        ("Final Answer: 1\nFinal Answer:", Reading("fallback", "")),
        ("[final answer]: 1", Reading("missing", None)),
    ],
)
def test_the_answer_is_read_from_a_reply(reply: str, reading: Reading) -> None:
    assert read_reply(reply) == reading
    assert postprocess("realhit_answer_or_nothing", reply) == (reading.answer or "")
    wanted = reply if reading.answer is None else reading.answer
    assert postprocess("realhit_answer_or_reply", reply) == wanted


@given(ANY_TEXT, ANY_TEXT, st.sampled_from(["fixed", "reference"]))
def test_any_texts_are_scored(prediction: str, reference: str, compat: Any) -> None:
    found = parts(prediction, reference, compat=compat)
    assert all(0 <= part <= 1 for part in found.values())
    assert found["em"] == 0 or found["f1"] == 1
    value = read_score(prediction)
    assert value is None or 0 <= value <= 100


@given(ANY_TEXT.filter(lambda text: text.strip() != ""))
def test_every_answer_is_right_word_for_word(text: str) -> None:
    assert parts(text, text)["em"] == 1


@given(NUMBERS, st.integers(-20, 20))
def test_numbers_are_equal_within_half_of_the_last_place(number: Any, thousandths: int) -> None:
    other = number + Decimal(thousandths).scaleb(-4)
    assert parts(f"{other:f}", f"{number:f}")["em"] == (abs(thousandths) <= 5)


@pytest.mark.parametrize(
    ("prediction", "reference", "question", "right"),
    [
        ("84.68", "84.68%", "What percentage of farms is small?", 1),
        ("84.68%", "84.68", "Give the share in percent.", 1),
        ("84.68", "84.68%", "What is the share (%)?", 1),
        ("84.68", "84.68%", "What is the value?", 0),
        ("0.8468", "84.68%", "What percentage of farms is small?", 0),
        ("48.68", "84.68%", "What percentage of farms is small?", 0),
    ],
)
def test_a_percent_sign_is_optional_if_the_question_asks_for_a_percentage(
    prediction: str, reference: str, question: str, right: int
) -> None:
    found = score("realhit", prediction, [reference], question=question)
    assert found.parts == {"em": right, "f1": right, "rouge_l": right}


@pytest.mark.parametrize(
    ("prediction", "reference", "right"),
    [
        ("2,5", "2.5", 1),
        ("2,50", "2,5", 1),
        ("1.234,56", "1234.56", 1),
        ("0,125", "0.125", 1),
        ("1,234", "1234", 1),  # three digits are thousands
        ("2,5", "25", 0),
        ("Leeds,York", "Leeds, York", 1),
    ],
)
def test_commas_are_decimal_in_a_table_with_decimal_commas(
    prediction: str, reference: str, right: int
) -> None:
    assert score("realhit", prediction, [reference], decimal_comma=True).value == right


def test_tables_with_decimal_commas_are_recognized() -> None:
    assert has_decimal_commas(["Ort", "2,5", "-1.234,56 €", 3, None])
    assert not has_decimal_commas(["2.5", "1,234", "12,345,678"])
    assert not has_decimal_commas(["2,5", "2.5"])  # no more than points


@pytest.mark.parametrize(
    ("prediction", "reference", "f1"),
    [
        ("2014-12-07", "2014-12-06", 0),
        ("December 7, 2014", "2014-12-06", 0),
        ("A-17", "A-18", 0),
        ("2007/08", "2005/08", 0),
        ("12:30", "12:45", 0),
        ("1.2.3", "1.2.4", 0),
        ("Day 3", "Day 4", 0.5),  # the word is shared
    ],
)
def test_a_date_or_code_is_one_word(prediction: str, reference: str, f1: float) -> None:
    assert parts(prediction, reference)["f1"] == f1
    assert parts(reference, reference)["f1"] == 1


@pytest.mark.parametrize(
    "text",
    [
        "1." * 100_000,
        "1" * 300_000 + "." + "1" * 300_000,
        "." * 300_000,
        "1.5," * 50_000,
        "1-" * 100_000,
        "1.234,5 " * 20_000,
        "a-1" * 50_000,
        "a " * 100_000,
        "\u0301" * 100_000,
        "[Final Answer]:" * 20_000,
        "北" * 50_000,
        "\ud800 [Score]: " + "9" * 100_000,
    ],
)
@pytest.mark.parametrize("compat", ["fixed", "reference"])
def test_long_replies_are_scored_quickly(text: str, compat: Any) -> None:
    start = time.process_time()
    assert 0 <= parts(text, "one two three four", compat=compat)["f1"] <= 1
    read_score(postprocess("realhit_answer_or_reply", text))
    assert time.process_time() - start < 10
