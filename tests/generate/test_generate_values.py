"""Reading numbers from cells, what may stand in an answer, and what sums up others."""

from decimal import Decimal

import pytest

from pytest_tablebench.generate.pair import (
    answer_text,
    cell_key,
    is_empty,
    is_summary,
    parse_number,
)
from tests.support.present import present


@pytest.mark.parametrize(
    ("cell", "value", "before", "after"),
    [
        (12, "12", "", ""),
        (-3, "-3", "", ""),
        (2.5, "2.5", "", ""),
        ("0", "0", "", ""),
        ("1,234", "1234", "", ""),
        ("1,234,567.8", "1234567.8", "", ""),
        ("12.5%", "12.5", "", "%"),
        ("12 km", "12", "", " km"),
        ("-7.5 °C", "-7.5", "", " °C"),
        ("96 m³/s", "96", "", " m³/s"),
        ("$ 3.4", "3.4", "$ ", ""),
        ("$ -12 m", "-12", "$ ", " m"),
        ("18,500 €", "18500", "", " €"),
        ("3 года", "3", "", " года"),
        ("123456789012.345", "123456789012.345", "", ""),
    ],
)
def test_numbers_are_read_with_their_unit(cell, value, before, after):
    number = parse_number(cell)
    assert number is not None
    assert (number.value, number.before, number.after) == (Decimal(value), before, after)


@pytest.mark.parametrize(
    "cell",
    ["", " ", None, True, "abc", "3rd", "21st", "007", "+5", "1,23", "12,345,6", "1.2.3",
     "2001-05-03", "12:30", "L-12", "12 km 5", "٣٤", "1e5", ".5", "5.", "1234567890123456",
     float("nan"), float("inf"), "12 Main Street"],
)  # fmt: skip
def test_what_is_no_number_stays_text(cell):
    assert parse_number(cell) is None


def test_decimals_of_floats_count_without_trailing_zeros():
    assert present(parse_number(3.0)).decimals == 0
    assert present(parse_number("3.0")).decimals == 1
    assert present(parse_number(2.25)).decimals == 2


@pytest.mark.parametrize(
    "cell", ["Ader", "1,234", "a,b", "北部", "نخلة", "O'Brien", 7, 2.5, "12.5%"]
)
def test_answers_are_the_cell_as_written(cell):
    assert answer_text(cell) == str(cell)


@pytest.mark.parametrize(
    "cell",
    [None, True, False, 2.0, float("nan"), "", " a", "a ", "a  b", "a\tb", "a\nb", "a, b", "a|b",
     "etc.", "a,", '"a"', "'a", "Answer: 3", "a\u200bb", ["a"]],
)  # fmt: skip
def test_uncertain_writings_are_no_answer(cell):
    assert answer_text(cell) is None


def test_keys_join_what_reads_the_same():
    assert cell_key("1,234") == cell_key(1234) == cell_key("1234.0") == cell_key(1234.0)
    assert cell_key("North") == cell_key("NORTH") == cell_key("Ｎorth")
    assert cell_key(0) == cell_key("-0")
    assert cell_key("12 km") != cell_key("12 kg")
    assert cell_key("12") != cell_key("12 km")


@pytest.mark.parametrize("cell", [None, "", "  ", float("nan")])
def test_empty(cell):
    assert is_empty(cell)


@pytest.mark.parametrize("cell", [0, False, "0.0", "-"])
def test_not_empty(cell):
    assert not is_empty(cell)


@pytest.mark.parametrize(
    "label",
    ["Total", "sum:", "Subtotal", "Mean", "average", "AVG", "All", "Overall", "Combined",
     "Grand total", "合计", "总计", "小计", "平均", "均值"],
)  # fmt: skip
def test_labels_of_what_sums_up(label):
    assert is_summary(label)


@pytest.mark.parametrize("text", ["Allmere", "Sumner", "The ferry runs all year", "12"])
def test_longer_words_and_sentences_are_no_summary(text):
    assert not is_summary(text)
