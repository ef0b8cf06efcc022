"""TableBench's scores and replies, against values worked out by hand."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import postprocess, score
from pytest_tablebench.metrics._tablebench import answer_items, matches

ANY_TEXT = st.text(max_size=60)
NAMES = ("em", "em_with_error_2", "em_with_error_5", "em_with_error_10")


def figures(answer: str, prediction: str, compat: Any = "fixed") -> tuple[float, ...]:
    parts = score("tablebench_answer", prediction, [answer], compat=compat).parts
    return tuple(parts[name] for name in NAMES)


@pytest.mark.parametrize(
    ("answer", "prediction", "expected"),
    [
        # Rounded half up to the decimals of the answer.
        ("2.5", "2.45", (1, 1, 1, 1)),
        ("-2.5", "-2.45", (1, 1, 1, 1)),
        ("2", "2.5", (0, 0, 0, 0)),
        # The fewest decimals of all of the answer's numbers count.
        ("1, 0.26", "1, 0.4", (1, 0.5, 0.5, 0.5)),
        # 2, 5 and 10 percent of the answer are still near, on both sides.
        ("50", "49", (0, 1, 1, 1)),
        ("50", "47.5", (0, 0, 1, 1)),
        ("50", "55", (0, 0, 0, 1)),
        ("1.1", "0.99", (0, 0, 0, 1)),  # a tenth exactly, as binary numbers it is more
        ("-50", "-55", (0, 0, 0, 1)),
        ("0", "0.001", (1, 0, 0, 0)),
        ("0.000", "0.001", (0, 0, 0, 0)),
        # Percentages are shares, to four decimals.
        ("12.345%", "0.12345", (1, 1, 1, 1)),
        ("12.34%", "12.35%", (0, 1, 1, 1)),
        ("12.34%", "12.344%", (1, 1, 1, 1)),
        ("5", "5%", (0, 0, 0, 0)),
        # Thousands are no separators, other commas are.
        ("1,234,567", "1234567", (1, 1, 1, 1)),
        ("1, 234", "1,234", (0, 0, 0, 0)),
        ("1,23", "1, 23", (1, 1, 1, 1)),
        ("12,3456", "123456", (0, 0, 0, 0)),
        # Surplus items on either side lower the score.
        ("a1, b1", "a1, b1, c1", (2 / 3,) * 4),
        ("a1, b1, c1", "a1", (1 / 3,) * 4),
        ("x, y", "y, x", (0, 0, 0, 0)),
        # Text of only punctuation or articles is kept.
        ("A", "a", (1, 1, 1, 1)),
        ("A", "the", (0, 0, 0, 0)),
        ("?", "", (0, 0, 0, 0)),
        ("The U.S.", "us", (1, 1, 1, 1)),
        # A number inside words is no answer.
        ("5", "5 goals", (0, 0, 0, 0)),
        ("9" * 400, "9" * 399 + "8", (0, 1, 1, 1)),
        ("9" * 401, "9" * 400 + "8", (0, 0, 0, 0)),  # too long for a number
    ],
)
def test_answers_are_scored_in_the_mode_fixed(
    answer: str, prediction: str, expected: tuple[float, ...]
) -> None:
    assert figures(answer, prediction) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("answer", "prediction", "question", "em"),
    [
        ("84.68%", "84.68", "What percentage is it?", 1),
        ("84.68", "84.68%", "How many percent is it?", 1),
        ("84.68%, 3", "84.68, 3", "What percentage is it, and how many?", 1),
        ("84.68%", "0.8468", "What percentage is it?", 1),  # the same share
        ("84.68%", "84.68", "What is the value?", 0),
        ("84.68%", "48.68", "What percentage is it?", 0),
    ],
)
def test_a_percent_sign_is_optional_if_the_question_asks_for_a_percentage(
    answer: str, prediction: str, question: str, em: float
) -> None:
    found = score("tablebench_answer", prediction, [answer], question=question)
    assert found.parts["em"] == em


@pytest.mark.parametrize(
    ("answer", "prediction", "expected"),
    [
        ("-5", "5", (1, 1, 1, 1)),
        ("1.25", "12.5", (1, 1, 1, 1)),
        ("45%", "45", (1, 1, 1, 1)),
        ("A", "", (1, 1, 1, 1)),
        ("x, y", "x y", (1, 1, 1, 1)),
        ("x, y", "x", (0, 0, 0, 0)),
        ("5.0", "51", (0, 1, 1, 1)),  # 50 against 51
    ],
)
def test_answers_are_scored_in_the_mode_reference(
    answer: str, prediction: str, expected: tuple[float, ...]
) -> None:
    assert figures(answer, prediction, "reference") == expected


def test_the_function_without_the_metric_ignores_surplus_items() -> None:
    wanted = answer_items("Leeds, 5")
    assert matches(wanted, answer_items("Leeds,5.2 , York"), 0, compat="reference") == 2
    assert matches(wanted, answer_items("Leeds"), 0, compat="reference") == 1
    assert matches(["1.1"], ["0.99"], 10, compat="reference") == 0


@pytest.mark.parametrize(
    ("qtype", "qsubtype", "part"),
    [
        ("FactChecking", "MatchBased", "em"),
        ("NumericalReasoning", "Counting", "em"),
        ("DataAnalysis", "ImpactAnalysis", "em"),
        ("DataAnalysis", "CorrelationAnalysis", "em_with_error_10"),
        ("DataAnalysis", "TrendForecasting", "em_with_error_10"),
        ("DataAnalysis", "StatisticalAnalysis", "em_with_error_10"),
        ("DataAnalysis", "CausalAnalysis", "rouge_l"),
        ("", "", "em"),
    ],
)
def test_the_type_of_question_selects_the_score(qtype: str, qsubtype: str, part: str) -> None:
    found = score("tablebench_answer", "10 of 11", ["11"], qtype=qtype, qsubtype=qsubtype)
    assert (found.part, found.value) == (part, found.parts[part])
    # One word of three against one: precision 1/3, recall 1.
    assert found.parts["rouge_l"] == pytest.approx(1 / 2)


def test_the_best_reference_counts_for_each_part() -> None:
    found = score("tablebench_answer", "b c", ["b", "b c"]).parts
    assert (found["em"], found["rouge_l"]) == (1, 1)
    nothing = dict(score("tablebench_answer", "b", []).parts)
    assert nothing.pop("parse@1") == 1
    assert set(nothing.values()) == {0}


@pytest.mark.parametrize("compat", ["fixed", "reference"])
def test_an_empty_reply_counts_as_not_read(compat: Any) -> None:
    found = score("tablebench_answer", "", ["42"], compat=compat)
    assert (found.value, found.parts["parse@1"]) == (0, 0)


@pytest.mark.parametrize(
    ("reply", "published", "fixed"),
    [
        ("Final Answer: 1\nFinal Answer: 2", "1", "1"),
        ("**Final Answer:** 42", "", "42"),
        ("**Final Answer: 42**", "42**", "42"),
        ("**final answer**: **4**", "", "4"),
        ("Final Answer:42.", "", "42"),
        ("Final Answer:\n\n42\nwhy", "", "42"),
        ("Final Answer:  a  b ", " a  b ", "a  b"),
        ("The answer is 42", "", ""),
        ("Final Answer:", "", ""),
    ],
)
def test_the_answer_is_read_from_a_reply(reply: str, published: str, fixed: str) -> None:
    assert postprocess("tablebench_final_answer", reply) == published
    assert postprocess("tablebench_marked_answer", reply) == fixed
    assert postprocess("tablebench_printed_answer", reply) == (published or reply.strip())
    assert postprocess("tablebench_marked_or_printed", reply) == (fixed or reply.strip())


@given(ANY_TEXT, ANY_TEXT, st.sampled_from(["fixed", "reference"]))
def test_any_texts_are_scored(answer: str, prediction: str, compat: Any) -> None:
    assert all(0 <= part <= 1 for part in figures(answer, prediction, compat))
    for reader in ("final", "marked", "printed"):
        assert isinstance(postprocess(f"tablebench_{reader}_answer", prediction), str)


@given(ANY_TEXT, st.sampled_from(["fixed", "reference"]))
def test_every_answer_is_right_word_for_word(text: str, compat: Any) -> None:
    assert figures(text, text, compat) == (1, 1, 1, 1)


@given(st.integers(1, 10**6), st.integers(0, 2 * 10**6))
def test_errors_are_shares_of_the_answer(answer: int, prediction: int) -> None:
    found = figures(str(answer), str(prediction))
    distance = abs(answer - prediction) * 100
    assert found == tuple(distance <= share * answer for share in (0, 2, 5, 10))


@pytest.mark.parametrize(
    "text",
    [
        "1," * 100_000,
        "9" * 500_000,
        "1," + "000," * 100_000,
        "-" * 300_000,
        "Final Answer:" * 30_000,
        "final answer" + "*" * 300_000,
        ("final answer" + " " * 10) * 20_000,
        "`" * 300_000,
        "\ud800" * 1000,
    ],
)
@pytest.mark.parametrize("compat", ["fixed", "reference"])
def test_long_replies_are_scored_quickly(text: str, compat: Any) -> None:
    start = time.process_time()
    assert figures("1, 2", text, compat)[0] <= 1
    postprocess("tablebench_marked_answer", text)
    postprocess("tablebench_printed_answer", text)
    assert time.process_time() - start < 10
