"""Which spellings of an answer to WikiTableQuestions are equal in the mode `fixed`."""

from __future__ import annotations

import string
import time
import unicodedata
from datetime import date

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pytest_tablebench import score, score_answer
from pytest_tablebench.tables.table import Table


def right(reply: str, *references: str, table: Table | None = None) -> bool:
    """Return whether a reply is right, after checking that the parts agree with the score."""
    result = score_answer("wikitq", reply, references, table=table)
    assert (result.value == 1.0) == (result.parts["unsorted_list_exact_match"] == 1.0)
    assert result.parts["f1_strings"] == result.value
    return result.value == 1.0


DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
dashes = st.sampled_from(DASHES)
numbers = st.integers(0, 3000)
accented = st.sampled_from("áàâäãåçéèêëíìîïñóòôöõúùûüýÿčďěňřšťůžāēīōūąęłńśźżőűğşțșơưạảấ")
days = st.dates(date(1000, 1, 1), date(2999, 12, 31))


# Dashes and minus signs


@given(numbers, numbers, dashes, dashes, st.sampled_from(["", " "]))
@example(10, 6, "-", "–", "")
def test_all_dashes_are_equal(a: int, b: int, one: str, other: str, blank: str) -> None:
    assert right(f"{a}{blank}{one}{blank}{b}", f"{a}{other}{b}")


@given(numbers, dashes, dashes)
def test_all_minus_signs_are_equal_and_a_missing_one_differs(n: int, one: str, other: str) -> None:
    assert right(f"{one}{n + 1}", f"{other}{n + 1}")
    assert not right(f"{one}{n + 1}", str(n + 1))
    assert not right(str(n + 1), f"{one}{n + 1}")


@pytest.mark.parametrize(
    ("reply", "reference"),
    [
        ("Port Vale \u2014 Crewe", "Port Vale - Crewe"),
        ("K\u20131 500 m", "K-1 500 m"),
        ("1982--1985", "1982\u20131985"),
        ("May 1\u20134, 2009", "May 1-4, 2009"),
        ("\u2212\u20093\u00a0°C", "- 3 °C"),
        ("Os\u00adlo\u200e", "Oslo"),
        ("Van\u00a0Gogh", "Van Gogh"),
        ("O’Brien", "O'Brien"),
        ("“Ironic”", '"Ironic"'),
        ("26–29 March 2009", "March 26-29, 2009"),
        ("Sunday, 5 May 2013", "Sunday, May 5, 2013"),
        ("5 May 2013 – 7 June 2013", "May 5, 2013 – June 7, 2013"),
        ("2013-05-05 – 2013-06-07", "May 5, 2013 – June 7, 2013"),
        ("Sept 2009", "September 2009"),
        ("2009-05-xx", "May 2009"),
        ("2004-05-23, 2005-05-23", "May 23, 2004, May 23, 2005"),
    ],
)
def test_dashes_quotes_invisible_characters_and_dates_in_text_are_equal(
    reply: str, reference: str
) -> None:
    assert right(reply, reference)


# Order


ENDS = (
    *("{0}{d}{1}", "{0} {d} {1}", "{0} to {1}", "{0}/{1}", "{0}:{1}"),
    *("{0}{d}{1} kg", "({0}{d}{1})", "won {0}{d}{1}", "{0}{d}{1} (Leeds)"),
)


@given(numbers, numbers, dashes, dashes, st.sampled_from(ENDS))
@example(1965, 1970, "-", "-", "{0}{d}{1}")
@example(2010, 11, "-", "-", "{0}{d}{1}")
def test_a_range_with_exchanged_ends_is_wrong(
    a: int, b: int, one: str, other: str, form: str
) -> None:
    assume(a != b)
    reference = form.format(a, b, d=other)
    assert right(form.format(a, b, d=one), reference)
    assert not right(form.format(b, a, d=one), reference)


@pytest.mark.parametrize(
    ("reply", "reference"),
    [
        ("Crewe – Port Vale", "Port Vale – Crewe"),
        ("March 29-26, 2009", "March 26-29, 2009"),
        ("6-4, 7-5", "7-5, 6-4"),  # the sets of one match are no list
        ("City Spin", "Spin City"),
        ("Cowboys, Dallas", "Dallas Cowboys"),
        ("1-2-3", "3-2-1"),
    ],
)
def test_the_order_of_words_in_an_answer_matters(reply: str, reference: str) -> None:
    assert not right(reply, reference)


def test_the_partial_score_counts_words_in_the_same_order() -> None:
    # The dash of `10 - 6`; the last of three words.
    assert score_answer("wikitq", "6-10", ["10-6"]).value == pytest.approx(1 / 3)
    assert score_answer("wikitq", "b a c", ["a b c"]).value == pytest.approx(1 / 3)
    assert score_answer("wikitq", "b a", ["a b"]).value == 0


@given(st.permutations(["Oslo, Norway", "79", "May 20, 2069", "7–5, 6–4", "Lima"]))
def test_several_answers_are_right_in_any_order(items: list[str]) -> None:
    wanted = ["Oslo, Norway", "79", "May 20, 2069", "7–5, 6–4", "Lima"]
    assert right(", ".join(items), *wanted)
    assert not right(", ".join(items[:-1]), *wanted)
    assert not right(", ".join([*items, items[0]]), *wanted)
    assert right(", ".join(items).replace("May 20, 2069", "2069-05-20"), *wanted)
    assert not right(", ".join(items).replace("7–5, 6–4", "6–4, 7–5"), *wanted)


# Accents


@given(st.lists(st.sampled_from(string.ascii_letters) | accented, min_size=1, max_size=10))
@example(list("Škoda"))
def test_accents_do_not_matter(letters: list[str]) -> None:
    text = "".join(letters)
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(letter for letter in decomposed if unicodedata.category(letter) != "Mn")
    for reply in (text, decomposed, bare, bare.upper()):
        for reference in (text, decomposed, bare):
            assert right(reply, reference)
    assert not right(bare + "x", text)


def test_letters_without_a_removable_accent_differ() -> None:
    for one, other in (("Łódź", "Kodz"), ("Ærø", "Aro"), ("п", "n"), ("北", "京")):
        assert not right(one, other)


def test_answers_of_symbols_only_are_compared_unchanged() -> None:
    for text in ("\u0301", "—", "**", "?", "\u200b", "★"):
        assert right(text, text)
        assert not right(text, "Italy")
        assert not right("Italy", text)


# Dates


def forms(day: date) -> list[str]:
    name = day.strftime("%B")
    n, year = day.day, f"{day.year:04}"
    return [
        day.isoformat(),
        f"{year}/{day.month}/{n}",
        f"{name} {n}, {year}",
        f"{name} {n} {year}",
        f"{n} {name} {year}",
        f"{n} {name}, {year}",
        f"{n:02} {name[:3]} {year}",
        f"{name[:3]}. {n}, {year}",
        f"{n}th of {name.lower()} {year}",
        f"{year} {name} {n}",
        f"{name.upper()} {n}TH, {year}",
    ]


@given(days)
@example(date(2001, 9, 23))
def test_all_spellings_of_a_date_are_equal(day: date) -> None:
    for reply in forms(day):
        for reference in (f"{day:%B} {day.day}, {day.year:04}", day.isoformat()):
            assert right(reply, reference), (reply, reference)


@given(days, days)
@example(date(2001, 9, 10), date(2001, 10, 9))
@example(date(1998, 9, 20), date(1998, 9, 21))
def test_different_dates_are_wrong(day: date, other: date) -> None:
    assume(day != other)
    for reply in forms(other):
        assert not right(reply, f"{day:%B} {day.day}, {day.year:04}")


@given(days)
def test_dates_without_a_year_are_compared(day: date) -> None:
    name, n = day.strftime("%B"), day.day
    for reply in (
        f"{name} {n}",
        f"{n} {name}",
        f"{name[:3]} {n}",
        f"xx-{day:%m-%d}",
        f"{n:02} {name}",
    ):
        assert right(reply, f"{name} {n}")
    assert not right(day.isoformat(), f"{name} {n}")
    assert not right(f"{name} {n}", f"{name} {n}, {day.year:04}")


@pytest.mark.parametrize(
    ("reply", "reference"),
    [
        ("2004-05", "May 2004"),  # a season
        ("05/06/2004", "May 6, 2004"),  # or the fifth of June
        ("2004-13-05", "May 13, 2004"),
        ("2004-05-32", "May 32, 2004"),
        ("12004-05-03", "May 3, 2004"),
        ("May 5:30", "5 May:30"),
        ("Mayor 5", "5 Mayor"),
        ("May", "5 May"),
    ],
)
def test_text_that_is_no_date_is_unchanged(reply: str, reference: str) -> None:
    assert not right(reply, reference)
    assert right(reply, reply)


def test_the_partial_score_counts_parts_of_a_date() -> None:
    # Two of three words match on both sides, then one of three.
    assert score_answer("wikitq", "2013-05-21", ["May 20, 2013"]).value == pytest.approx(2 / 3)
    assert score_answer("wikitq", "2013", ["May 20, 2013"]).value == pytest.approx(1 / 2)


# Wrappers around an answer


@pytest.mark.parametrize("wrapper", [
    "{}", "{}.", '"{}"', "'{}'", "“{}”", "**{}**", "`{}`", "({})", "Answer: {}", "answer: {}.",
    "The answer is {}", "**Answer:** {}", "Final answer: **{}**", "Answer: **{}**\nAs told.",
])  # fmt: skip
@pytest.mark.parametrize(
    "answer", ["Italy", "42", "10-6", "May 20, 2069", "Chile, Ecuador", "A.B."]
)
def test_wrappers_are_removed(wrapper: str, answer: str) -> None:
    assert right(wrapper.format(answer), answer)
    assert not right(wrapper.format("Nowhere"), answer)


def test_wrappers_around_each_item_are_removed() -> None:
    assert right("**Chile**, **Ecuador**", "Ecuador", "Chile")
    assert right('"U.S.", "U.K."', "U.K.", "U.S.")
    assert not right("**Chile**, **Peru**", "Ecuador", "Chile")


# Cells with an escaped line break


CELL = r"Ana Horvat\n19, Split\nclub: Hajduk"
CLUBS = Table(["Player", "Club"], [[CELL, "x"], [r"Saint-Pie\n(Estrie)", "10"]])


@pytest.mark.parametrize("table", [None, CLUBS], ids=["any-cell", "cells-known"])
@pytest.mark.parametrize(
    ("reply", "references", "expected"),
    [
        (CELL, ["Ana Horvat"], True),
        (CELL, ["19, Split"], True),
        (CELL, [r"Ana Horvat\n19, Split"], True),
        (CELL, [CELL], True),
        (CELL, ["Split"], False),
        (CELL, ["Horvat"], False),
        (CELL, ["Hajduk", "Ana Horvat"], False),
        (r"Saint-Pie\n(Estrie)", ["Saint-Pie (Estrie)"], True),
        ("Saint-Pie (Estrie)", [r"Saint-Pie\n(Estrie)"], True),
        (r"Saint-Pie\n(Estrie)", ["Estrie"], True),
        (r"Saint-Pie\n(Estrie), 10", ["10", "Saint-Pie"], True),
        (r"Saint-Pie\n(Estrie), 10, 11", ["10", "Saint-Pie"], False),
    ],
)
def test_a_copied_cell_with_line_breaks_is_right(
    reply: str, references: list[str], expected: bool, table: Table | None
) -> None:
    assert right(reply, *references, table=table) is expected


def test_a_list_that_is_no_cell_is_not_right() -> None:
    assert not right(r"Ana Horvat\nSaint-Pie", "Ana Horvat", table=CLUBS)
    assert not right(r"Chile\nPeru", "Chile", table=CLUBS)
    assert not right(r"Saint-Pie\n(Estrie), 10", "Saint-Pie", table=CLUBS)


def test_the_mode_reference_has_none_of_these_rules() -> None:
    for reply, reference in (
        ("10–6", "10-6"),
        ("Galdos", "Galdós"),
        ("2001-09-23", "23 September 2001"),
        ("Answer: Italy", "Italy"),
        (CELL, "Ana Horvat"),
    ):
        assert score_answer("wikitq", reply, [reference], compat="reference", table=CLUBS).value < 1


@pytest.mark.parametrize("metric", ["wikitq", "f1_strings", "exact_match"])
def test_a_long_run_of_accents_is_read_quickly(metric: str) -> None:
    start = time.process_time()
    assert score(metric, "e" + "\u0301\u0323" * 250_000, ["nothing"]).value == 0
    # Sorting such a run would take time quadratic in its length, here half an hour.
    assert time.process_time() - start < 20
