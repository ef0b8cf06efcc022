"""Answers by kind: the examples of docs/answer-kinds.md, and further cases."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench import Table, score
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics.typed_answer import KINDS, answer_kind
from tests.support.matrix import FULL, MEGABYTE

PAGE = Path(__file__).parents[2].joinpath("docs/answer-kinds.md").read_text(encoding="utf-8")
HEAD = "| answer | settings | reply | right |\n|---|---|---|---|\n"
FROM = {"free_text": 0.4}


def examples() -> list[tuple[str, ...]]:
    tables = [part.partition("\n\n")[0] for part in PAGE.split(HEAD)[1:]]
    rows = [line for table in tables for line in table.splitlines()]
    return [tuple(cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]) for row in rows]


def told(settings: str) -> tuple[dict[str, Any], str | None]:
    """Return the arguments of the metric, and the alias, from a setting on the page."""
    name, _, value = settings.partition("=")
    if not name:
        return {}, None
    if name == "aliases":
        return {}, value
    if name == "day_first":
        return {name: value == "yes"}, None
    return {"kind" if name == "metric" else name: value}, None


def test_the_page_has_examples_of_every_kind_right_and_wrong() -> None:
    found = set()
    for answer, settings, _, right in examples():
        context, _alias = told(settings)
        answers = [part.strip() for part in answer.split("\\|")]
        found.add((context.get("kind") or answer_kind(answers), right))
    assert found >= {(kind, right) for kind in KINDS for right in ("yes", "no")}
    assert {right for _, right in found} == {"yes", "no", "unclear"}


@pytest.mark.parametrize("example", examples(), ids="-".join)
def test_an_example_of_the_page_has_its_verdict(example: tuple[str, ...]) -> None:
    answer, settings, reply, right = example
    context, alias = told(settings)
    answers = [part.strip() for part in answer.split("\\|")]
    if alias is not None:
        context["aliases"] = {answers[0]: [alias]}
    kind = context.get("kind") or answer_kind(answers, unit=context.get("unit", ""))
    scored = score("typed_answer", reply, answers, **context)
    assert (scored.value >= FROM.get(kind, 1.0)) is (right == "yes")
    assert scored.unclear is (right == "unclear")
    assert bool(scored.why) is (right != "yes" and kind != "free_text")


@given(st.text(min_size=1, max_size=60))
def test_an_answer_repeated_word_for_word_is_right(answer: str) -> None:
    assert score("typed_answer", answer, [answer], kind="text").value == 1
    assert score("typed_answer", f"{answer}\nx", [f"y{answer}"], kind="text").value == 0


@given(st.integers(-(10**12), 10**12), st.sampled_from([".", ","]))
def test_a_number_is_equal_with_and_without_thousands_separators(number: int, decimal: str) -> None:
    written = f"{number:,}".replace(",", "," if decimal == "." else ".")
    for reply in (written, str(number), f"{number:,}".replace(",", " ")):
        told: dict[str, Any] = {"kind": "number", "decimal": decimal}
        assert score("typed_answer", reply, [str(number)], **told).value == 1
        assert score("typed_answer", reply, [str(number + 1)], **told).value == 0


def test_free_text_is_scored_by_rouge() -> None:
    # Longest common subsequence `a b c` of 4 and 3 words: P 1, R 3/4, F 6/7.
    found = score("typed_answer", "a b c", ["a b c d"], kind="free_text")
    assert found.value == pytest.approx(6 / 7)


def test_a_part_of_a_list_has_a_partial_score() -> None:
    found = score("typed_answer", "tea", ["tea", "coffee"])
    assert found.value == 0
    assert found.parts["partial"] == pytest.approx(2 / 3)


def test_lines_with_bullets_are_items() -> None:
    assert score("typed_answer", "Answer:\n- tea\n- coffee", ["tea", "coffee"]).value == 1


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(SettingsError, match="unknown kind of answer 'nummer'; did you mean"):
        score("typed_answer", "1", ["1"], kind="nummer")


@pytest.mark.parametrize("reply", ["", " \n "])
def test_an_empty_reply_is_wrong(reply: str) -> None:
    for answers in (["1234.5"], ["2024-03-05"], ["yes"], ["tea", "coffee"]):
        assert not right(reply, *answers)


def right(reply: str, *answers: str, **context: Any) -> bool:
    return score("typed_answer", reply, answers, **context).value == 1


HUGE = [
    *(
        "9",
        "1,",
        "x",
        "tea ",
        "tea, ",
        "**",
        "**a",
        "\\boxed{",
        "answer: ",
        "(",
        "1/",
        "\n- a",
        " ",
    ),
    *("\n", "is ", "März 5 ", "百", "[", "\\text{", "'", "1e1", "no, ", "and ", "5 km/h "),
]


OF_EACH_KIND = [["1234.5"], ["2024-03-05"], ["yes"], ["tea", "milk"], *[["tea"], ["1", "2"]] * FULL]


@pytest.mark.parametrize("piece", HUGE + ["1.", "1+"] * FULL)
def test_a_reply_of_a_megabyte_is_wrong_quickly(piece: str) -> None:
    reply = f"Not so: {(piece * MEGABYTE)[:MEGABYTE]} end"
    start = time.process_time()
    for answers in OF_EACH_KIND:
        assert not right(reply, *answers)
    assert time.process_time() - start < 15


def test_with_a_tolerance_as_many_items_as_possible_are_paired() -> None:
    # 11 is near both, 9 only near 10.
    assert right("11, 9", "10", "12", tolerance="1")
    assert right("9, 11", "12", "10", tolerance="1")
    assert not right("9, 9", "10", "12", tolerance="1")
    found = score("typed_answer", "11, 9, 40", ["10", "12"], tolerance="1")
    assert found.parts["partial"] == pytest.approx(4 / 5)


@given(
    st.lists(
        st.sampled_from(["tea", "a, b", "c & d", "1. FC", "(x)", "5 kg", "e and f", "7"]),
        min_size=2,
        max_size=6,
        unique=True,
    ),
    st.sampled_from(["\n", "; ", ";\n", "|"]),
    st.randoms(use_true_random=False),
)
def test_a_list_is_right_in_any_order_and_wrong_with_another_item(
    items: list[str], separator: str, draw: Any
) -> None:
    shuffled = draw.sample(items, len(items))
    assert right(separator.join(shuffled), *items)
    assert not right(separator.join([*shuffled, "z9"]), *items)
    assert not right(separator.join([*shuffled[1:], "z9"]), *items)


def test_a_second_value_below_the_first_line_is_another_answer() -> None:
    assert right("12\n\nI counted the rows.", "12")
    assert not right("12\n\n13", "12")


def test_a_long_reply_must_mark_its_answer() -> None:
    thoughts = "Row 7 has tea. " * 500
    assert right(f"{thoughts}\n\nThe answer is 12.", "12")
    assert right(f"{thoughts} \\boxed{{12}}", "12")
    assert not right(f"{thoughts} So there are 12.", "12")


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        (r"So \boxed{840}. But with the rest it is \boxed{", ["840"]),
        (r"So \boxed{840}. But with the rest it is \boxed{84", ["841"]),
        (r"So \boxed{tea} and \boxed{", ["tea", "cocoa"]),
        (r"So \boxed{840}. But with the rest it is \box", ["840"]),
        ("<answer>840</answer>, or rather <answer>84", ["840"]),
        ("<answer>840</answer>, or rather <ans", ["840"]),
    ],
)
def test_a_reply_that_ends_inside_a_box_is_truncated_and_unclear(
    reply: str, answers: list[str]
) -> None:
    scored = score("typed_answer", reply, answers)
    assert (scored.value, scored.unclear, scored.flags) == (0.0, True, ("truncated",))


def test_the_words_and_numbers_of_the_question_are_no_second_answer() -> None:
    question = "What were the sales in 2020?"
    assert right("In 2020, sales were 198.", "198", question=question)
    assert not right("In 2020, sales were 198.", "198")
    assert not right("In 2021, sales were 198.", "198", question=question)


def test_a_unit_is_converted_by_what_it_measures() -> None:
    assert right("12 kg", "12000", unit="g")
    assert right("36 km/h", "10", unit="m/s")
    assert right("32 °F", "0", unit="°C")
    assert not right("12 kg", "12", unit="m")
    assert not right("32", "0", unit="°C")


@pytest.mark.parametrize(
    ("answer", "reply", "why"),
    [
        ("12500", "12.5", "read 12.5, expected 12500"),
        ("12500", "12.500", "read 12.5 (decimal point), expected 12500"),
        ("5%", "5‰", "read 5‰, expected 5%"),
        ("12 kg", "12 lb", "read 12 lb, expected 12 kg"),
        ("5", "€6", "read 6 EUR, expected 5"),
        ("12", "12 kg", "unit kg where none was expected"),
        ("$5", "€5", "unit EUR where USD was expected"),
        ("12", "at least 12", "a bound"),
        ("12", "12 or 13", "several values: 12, 13"),
        ("yes", "No.", "read no, expected yes"),
        ("yes", "I cannot say.", "a refusal"),
        ("-5", "an increase of 5", "read 5, expected -5"),
    ],
)
def test_a_verdict_has_its_reason(answer: str, reply: str, why: str) -> None:
    assert score("typed_answer", reply, [answer]).why == why


def test_another_value_of_the_column_is_named_in_the_reason() -> None:
    table = Table(["City", "Sales"], [["Kiel", "5"], ["Lyon", "7"]])
    context: dict[str, Any] = {"question": "Which city sold most?", "table": table}
    both = score("typed_answer", "Kiel, then Lyon", ["Kiel"], **context)
    assert (both.unclear, both.why) == (True, "several values of the column: Kiel, lyon")
    other = score("typed_answer", "Lyon", ["Kiel"], **context)
    assert (other.unclear, other.why) == (False, "another value of the column: Lyon")


def test_a_reason_is_one_line_without_control_characters() -> None:
    scored = score("typed_answer", "12 \x1b[31m or\n13 \u202e", ["14"])
    assert not set(scored.why) & set("\x1b\n\u202e")
    assert len(score("typed_answer", "x" * 3_000, ["y"]).why) < 200


def test_half_of_an_emoji_does_not_disturb_a_reply() -> None:
    assert right("The value is 26 \ud83d", "26")


def test_accents_matter_if_another_cell_differs_by_just_them() -> None:
    names = Table(["Name"], [["Müller"], ["Muller"]])
    assert right("Muller", "Müller", table=Table(["Name"], [["Müller"], ["Meyer"]]))
    assert not right("Muller", "Müller", table=names)


def test_an_alias_is_compared_by_its_kind() -> None:
    assert right("43.0", "42", aliases={"42": ["43"]})
    assert right("-2,597.75", "2597", aliases={"2597": ["-2597.75"]})
    assert not right("44.0", "42", aliases={"42": ["43"]})


def test_a_currency_is_right_unless_another_one_is_named() -> None:
    question = {"question": "What does tea cost?"}
    assert right("$5", "5", **question)
    assert not right("$5", "5", question="What does tea cost in euros?")
    assert not right("$5", "5", table=Table(["Price in EUR"], [["5"]]), **question)
    assert not right("$5", "5", table=Table(["Price"], [["5"], ["€7"]]), **question)
    assert not right("$5", "5", question="How many shops sell tea?")


def test_a_question_names_the_scale_and_the_unit_of_a_number() -> None:
    question = "What is the GDP in trillion USD?"
    assert right("4.5 trillion dollars", "4.5", question=question)
    assert not right("4.5 billion", "4.5", question=question)
    assert right("42 minutes", "42", question="How many minutes did it take?")
    assert right("25%", "25", question="What percentage of the shops is open?")


def test_words_that_the_question_does_not_explain_make_a_reply_unclear() -> None:
    context: dict[str, Any] = {"question": "How many shops are open?"}
    for reply in ("12 shops are closed.", "There are 12 rows.", "12 customers"):
        assert score("typed_answer", reply, ["12"], **context).unclear
    assert right("There are 12 shops open.", "12", **context)


def test_a_column_of_yes_and_no_may_use_letters() -> None:
    table = Table(["In stock"], [["Y"], ["N"]])
    assert right("Yes", "Y", table=table)
    assert not right("No", "Y", table=table)
    assert not right("Yes", "Y", table=Table(["Axis"], [["X"], ["Y"]]))


def test_a_claim_that_is_repeated_is_no_yes() -> None:
    question = "Is tea cheaper than coffee?"
    assert score("typed_answer", "Tea is cheaper than coffee.", ["yes"], question=question).unclear


def test_a_denial_in_another_clause_does_not_make_a_reply_wrong() -> None:
    assert score("typed_answer", "No milk, so there are 12.", ["12"]).unclear
    assert not score("typed_answer", "There are not 12.", ["12"]).unclear
